"""Distinct: among hits that overlap or repeat each other, keep only the best."""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from docmill.storage.retrieval.candidates.hit import Candidate
from docmill.storage.retrieval.candidates.query import Query
from docmill.storage.retrieval.steps.facts import StatedFacts, facts_of
from docmill.storage.schema import ChunkRow

Span = tuple[int, int]

_OVERLAP = 0.5
"""Share of the shorter span above which two hits show the same passage. With a smaller share, neighbours that
overlap by design hide each other; with a larger one, the same passage fills several hits."""
_LIKENESS = 0.9
"""Share of all words of two hits that both contain, from which on one may repeat the other, if both state the same."""
_SAME_SCORE, _SAME_COSINE = 0.05, 0.05
"""Share of the score and difference of cosines up to which a chunk of the same matched terms may be a copy, as
contexts make the scores of copies differ. Once there are enough hits, only the rows of such chunks are read: reading
rows takes most of the time of a search."""
_MOST_ALIKE = 5  # rows of possible copies that are read for a search; each takes half a millisecond
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F], np.uint64)[:, None]
_WORD = re.compile(r"\w+")


def overlap(one: Span, other: Span, share: float = _OVERLAP) -> bool:
    """Return whether two spans share more than this share of the shorter one; with share 0, whether they overlap."""
    return min(one[1], other[1]) - max(one[0], other[0]) > share * min(one[1] - one[0], other[1] - other[0])


def distinct(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the best candidates, as many as wanted, none of which overlaps a better one or repeats it.

    Two hits overlap if they share over half of the shorter span. One repeats the other if nine tenths of all their
    words are in both and they state the same numbers, names and negations; the better one then has the other among its
    `copies`.
    """
    kept, seen = _KeptHits(), 0
    for one, row in _rows(candidates, query):
        if not kept.overlapped(row) and not kept.copied(row):
            kept.add(one, row)
        seen += 1
        if len(kept.hits) == query.options.wanted:  # here, as the next row would be read first
            break
    alike = list(islice(filter(kept.ranks_like, candidates[seen:]), _MOST_ALIKE))
    for _, row in _rows(alike, query):
        if not kept.overlapped(row):
            kept.copied(row)
    return kept.hits


def _rows(candidates: list[Candidate], query: Query) -> Iterator[tuple[Candidate, ChunkRow]]:
    """Yield candidates with their rows, which are read when they are needed."""
    step = query.options.wanted
    for first in range(0, len(candidates), step):
        some = candidates[first : first + step]
        rows = query.rows([one.key for one in some])
        yield from ((one, rows[one.key]) for one in some)


class _Kept(NamedTuple):
    """A chunk that was kept, with the words of its text and what it states."""

    one: Candidate
    words: frozenset[str]
    facts: StatedFacts


class _KeptHits:
    """The chunks kept so far, found by document and by words."""

    def __init__(self) -> None:
        self.hits: list[Candidate] = []
        self._spans: dict[str, list[tuple[Span, Candidate]]] = defaultdict(list)
        self._like: dict[tuple[int, int], list[_Kept]] = defaultdict(list)

    def add(self, one: Candidate, row: ChunkRow) -> None:
        kept = _Kept(one, _words(row.text), facts_of(row.text))
        self.hits.append(one)
        self._spans[row.document_id].append(((row.start_char, row.end_char), one))
        for sign in _signs(kept.words):
            self._like[sign].append(kept)

    def ranks_like(self, other: Candidate) -> bool:
        """Return whether both indexes gave a chunk nearly the scores of a kept one, as they do to copies of it."""
        return any(_alike(one, other) for one in self.hits)

    def overlapped(self, row: ChunkRow) -> bool:
        """Return whether a chunk overlaps a kept one, which then says so."""
        own = row.start_char, row.end_char
        for span, one in self._spans[row.document_id]:
            if overlap(span, own):
                one.note("distinct", f"stands for {row.uri} {own[0]}-{own[1]}, too, which overlaps it")
                return True
        return False

    def copied(self, row: ChunkRow) -> bool:
        """Return whether a chunk repeats a kept one, which then has it among its copies."""
        better = self._repeated(row.text)
        if better is not None:
            better.copies.append(row)
            better.note("distinct", f"stands for {row.uri} {row.start_char}-{row.end_char}, too, which repeats it")
        return better is not None

    def _repeated(self, text: str) -> Candidate | None:
        words = _words(text)
        near = (kept for sign in _signs(words) for kept in self._like.get(sign, ()))
        like = [kept for kept in near if len(words & kept.words) >= _LIKENESS * len(words | kept.words)]
        facts = facts_of(text) if like else None
        return next((kept.one for kept in like if facts and kept.facts.same(facts)), None)


def _alike(one: Candidate, other: Candidate) -> bool:
    if abs(one.score - other.score) > _SAME_SCORE * abs(one.score) or one.terms.keys() != other.terms.keys():
        return False
    meanings = [found.vector_score for found in (one, other) if found.vector_score is not None]
    return len(meanings) != 1 and max(meanings, default=0.0) - min(meanings, default=0.0) <= _SAME_COSINE


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _signs(words: frozenset[str]) -> list[tuple[int, int]]:
    """Return signatures of a set of words: sets that are nine tenths alike share one, except in one of 10,000 cases.

    Each is the least hash under its own function (Broder, "On the resemblance and containment of documents", 1997).
    """
    if not words:
        return []
    hashes = np.array([zlib.crc32(word.encode("utf-8", "replace")) for word in words], np.uint64)
    least = ((hashes * _FACTORS) & np.uint64(0xFFFFFFFF)).min(axis=1)
    return list(enumerate(least.tolist()))
