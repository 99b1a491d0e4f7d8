"""Removal: a new snapshot without the documents of some sources; `undelete` can bring them back."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS
from docmill.storage.errors import QueryError
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.commit import Changes, commit
from docmill.storage.snapshots.write.run_tables import run_of

_TOLD = 10
"""The most sources that a message names; a store may have hundreds."""


@dataclass(frozen=True, slots=True)
class Removed:
    """How many rows belong to some sources, and the number of the snapshot without them; None until it is committed."""

    sources: tuple[str, ...]
    documents: int
    chunks: int
    rejects: int
    snapshot: int | None = None


def counted(stored: StoredSnapshot, sources: Sequence[str]) -> Removed:
    """Return how many rows belong to these sources; raise `QueryError` for a source that the store does not have."""
    documents, rejects = read_table(stored, "documents", ["source", "chunks"]), read_table(stored, "rejects")
    held = Counter(documents.column("source").to_pylist())
    _check(sources, held, rejects.column("source").to_pylist())
    own = documents.filter(_are_of(documents, sources))
    chunks = pc.sum(own.column("chunks")).as_py() or 0
    return Removed(tuple(sources), own.num_rows, chunks, rejects.filter(_are_of(rejects, sources)).num_rows)


def commit_without(stored: StoredSnapshot, sources: Sequence[str], retention: Retention) -> int:
    """Commit a snapshot without the documents and rejects of these sources; return its number.

    The caller holds the writer's lock, and the files of the newest snapshot are on this machine.
    """
    documents, rejects = read_table(stored, "documents", ["document_id", "source"]), read_table(stored, "rejects")
    gone = documents.filter(_are_of(documents, sources)).column("document_id").to_pylist()
    changes = Changes(
        gone=frozenset(gone),
        documents=DOCUMENTS.empty_table(),
        chunks=CHUNKS.empty_table(),
        rejects=rejects.filter(pc.invert(_are_of(rejects, sources))),
        artifacts={},
        space=stored.snapshot.space,
        undelete_days=retention.undelete_days,
        partial=True,  # pending vectors stay pending
    )
    run = run_of("remove", deleted=len(gone), unchanged=documents.num_rows - len(gone))
    return commit(stored.folder, stored, changes, run)[0].number


def _are_of(table: pa.Table, sources: Sequence[str]) -> pa.ChunkedArray:
    return pc.is_in(table.column("source"), value_set=pa.array(list(sources), pa.string()))


def _check(sources: Iterable[str], held: Counter[str], rejected: Iterable[str]) -> None:
    known = {**dict.fromkeys(rejected, 0), **held}
    for source in sources:
        if source not in known:
            some = sorted(known)[:_TOLD]
            named = ", ".join(f"{name} ({known[name]:,})" for name in some)
            more = f" and {len(known) - _TOLD} more" if len(known) > _TOLD else ""
            there = f"its sources, with their documents, are {named}{more}" if known else "it has no documents"
            raise QueryError(f"the store has no source {source!r}; {there}")
