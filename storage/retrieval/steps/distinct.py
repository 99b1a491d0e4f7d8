"""Distinct: among hits that overlap or repeat each other, keep only the best."""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from docmill.storage.retrieval.candidates.hit import Candidate
from docmill.storage.retrieval.candidates.query import Query
from docmill.storage.schema import ChunkRow

Span = tuple[int, int]

_OVERLAP = 0.5
"""Share of the shorter span above which two hits show the same passage. With a smaller share, neighbours that
overlap by design hide each other; with a larger one, the same passage fills several hits."""
_LIKENESS = 0.9
"""Share of all words of two hits that both contain, from which on one repeats the other. A smaller share treats forms
that differ in a figure or a name as repetitions."""
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F], np.uint64)[:, None]
_WORD = re.compile(r"\w+")


def overlap(one: Span, other: Span, share: float = _OVERLAP) -> bool:
    """Return whether two spans share more than this share of the shorter one; with share 0, whether they overlap."""
    return min(one[1], other[1]) - max(one[0], other[0]) > share * min(one[1] - one[0], other[1] - other[0])


def distinct(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the best candidates, as many as wanted, none of which overlaps a better one or repeats its words.

    Two hits overlap if they share over half of the shorter span. One repeats the other if nine tenths of all their
    words are in both.
    """
    kept, seen = [], _KeptHits()
    for one, row in _rows(candidates, query):
        better = seen.like(row)
        if better is None:
            seen.add(one, row)
            kept.append(one)
        else:
            better.note("distinct", f"stands for {row.uri} {row.start_char}-{row.end_char}, too, which says the same")
        if len(kept) == query.options.wanted:
            break
    return kept


def _rows(candidates: list[Candidate], query: Query) -> Iterator[tuple[Candidate, ChunkRow]]:
    """Yield candidates with their rows, which are read when they are needed."""
    step = query.options.wanted
    for first in range(0, len(candidates), step):
        some = candidates[first : first + step]
        rows = query.rows([one.key for one in some])
        yield from ((one, rows[one.key]) for one in some)


class _KeptHits:
    """The chunks kept so far, found by document and by words."""

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[int, int, Candidate]]] = defaultdict(list)
        self._like: dict[tuple[int, int], list[tuple[frozenset[str], Candidate]]] = defaultdict(list)

    def add(self, one: Candidate, row: ChunkRow) -> None:
        words = frozenset(_WORD.findall(row.text.casefold()))
        self._spans[row.document_id].append((row.start_char, row.end_char, one))
        for sign in _signs(words):
            self._like[sign].append((words, one))

    def like(self, row: ChunkRow) -> Candidate | None:
        """Return a kept chunk that makes this one redundant, or None."""
        for start, end, one in self._spans[row.document_id]:
            if overlap((start, end), (row.start_char, row.end_char)):
                return one
        words = frozenset(_WORD.findall(row.text.casefold()))
        held = (pair for sign in _signs(words) for pair in self._like.get(sign, ()))
        return next((one for others, one in held if len(words & others) >= _LIKENESS * len(words | others)), None)


def _signs(words: frozenset[str]) -> list[tuple[int, int]]:
    """Return signatures of a set of words: sets that are nine tenths alike share one, except in one of 10,000 cases.

    Each is the least hash under its own function (Broder, "On the resemblance and containment of documents", 1997).
    """
    if not words:
        return []
    hashes = np.array([zlib.crc32(word.encode("utf-8", "replace")) for word in words], np.uint64)
    least = ((hashes * _FACTORS) & np.uint64(0xFFFFFFFF)).min(axis=1)
    return list(enumerate(least.tolist()))
