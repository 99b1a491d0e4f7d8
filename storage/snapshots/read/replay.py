"""Replay: ask the same queries of two snapshots, and report how the answers differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.snapshots.read.query_analysis import best_of


@dataclass(frozen=True, slots=True)
class ReplayedQuery:
    """A query as two snapshots answer it.

    Attributes:
        query: The query.
        times: How often it was asked according to the log; 1 if the caller gave the query.
        same: Whether both snapshots have the same hits in the same order: documents, and texts of chunks.
        kept: The share of the documents found before that are still found after, from 0 to 1.
        entered: Documents that only the later snapshot finds, in the order of their hits.
        left: Documents that only the earlier snapshot finds.
        first: The document of the first hit before and after; "" without a hit.
        relevance: The relevance of the best hit before and after, each None without a hit.
        confidence: The confidence of the best hit before and after.
    """

    query: str
    times: int
    same: bool
    kept: float
    entered: tuple[str, ...]
    left: tuple[str, ...]
    first: tuple[str, str]
    relevance: tuple[float | None, float | None]
    confidence: tuple[float | None, float | None]


def replayed(query: str, times: int, before: Sequence[Hit], after: Sequence[Hit]) -> ReplayedQuery:
    """Return how the hits of two snapshots differ for a query."""
    old, new = _documents(before), _documents(after)
    left = _without(old, new)
    kept = 1 - len(left) / len(old) if old else float(not new)
    relevance, confidence = zip(best_of(before), best_of(after), strict=True)
    same = [(hit.uri, hit.text) for hit in before] == [(hit.uri, hit.text) for hit in after]
    first = old[0] if old else "", new[0] if new else ""
    return ReplayedQuery(query, times, same, kept, _without(new, old), left, first, relevance, confidence)


def _documents(hits: Sequence[Hit]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(hit.uri for hit in hits))


def _without(documents: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(uri for uri in documents if uri not in others)
