"""Facet rows: how many chunks have each value of a facet, of a whole snapshot or under the present question."""

from dataclasses import dataclass
from typing import Any

from docmill.flows.serving.open_stores import ServedStore
from docmill.storage.search.rank.candidates.search_options import Mode, check_where
from docmill.storage.snapshots.read.facets import facet_counts
from docmill.storage.sql.statement_pool import select_ids

MOST_HITS = 100
"""Hits of a question whose values are counted: every question ranks all chunks, and later hits answer nothing."""


@dataclass(frozen=True, slots=True)
class AskedFacets:
    """A question and a condition; "" asks for all chunks."""

    query: str = ""
    mode: Mode = "hybrid"
    where: str = ""


def facet_rows(served: ServedStore, asked: AskedFacets) -> dict[str, Any]:
    """Return the counts, the types of the keys of [metadata], and of how many hits they are; None for all chunks."""
    among = _among(served, asked)
    rows = facet_counts(served.store.stored, among)
    hits = len(among) if asked.query and among is not None else None
    return {**served.head, "rows": rows, "keys": served.store.snapshot.keys, "hits": hits}


def _among(served: ServedStore, asked: AskedFacets) -> set[str] | None:
    store, where = served.store, asked.where or None
    if asked.query:
        return {hit.chunk_id for hit in store.search(asked.query, MOST_HITS, asked.mode, where)}
    if where is None:
        return None
    check_where(where)
    return select_ids(store.stored.paths("chunks"), store.stored.paths("documents"), where, store.snapshot.keys)
