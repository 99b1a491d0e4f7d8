"""Distinct: among hits that overlap or repeat each other, keep only the best."""

import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

import numpy as np

from docmill.storage.search.rank.candidates.hit import Candidate, ShownChunk
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.steps.facts import StatedFacts, facts_of

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
_MOST_COPIES = 200
"""Copies that a hit lists; further ones are counted. Of a page in thousands of documents nobody reads them all."""
_MOST_ROWS = 256  # rows that are read at once: so many share the cost of a look-up
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
        if not kept.overlapped(row):
            own = _ComparedChunk(one, row)
            if not kept.copied(own):
                kept.add(own)
        seen += 1
        if len(kept.hits) == query.options.wanted:  # here, as the next row would be read first
            break
    alike = list(islice(filter(kept.ranks_like, candidates[seen:]), _MOST_ALIKE))
    for one, row in _rows(alike, query):
        if not kept.overlapped(row):
            kept.copied(_ComparedChunk(one, row))
    kept.count_copies()
    return kept.hits


def _rows(candidates: list[Candidate], query: Query) -> Iterator[tuple[Candidate, ShownChunk]]:
    """Yield candidates with their rows, which are read when they are needed: the more, the more there were before."""
    first, step = 0, query.options.wanted
    while first < len(candidates):
        some = candidates[first : first + step]
        rows = query.shown([one.key for one in some])
        yield from ((one, rows[one.key]) for one in some)
        first, step = first + step, max(step, min(2 * step, _MOST_ROWS))


class _ComparedChunk:
    """A chunk with the words of its text, and what it states."""

    def __init__(self, one: Candidate, row: ShownChunk) -> None:
        self.one = one
        self.row = row
        self.words = _words(row.text)
        self.signs = _signs(self.words)

    def like(self, other: "_ComparedChunk") -> bool:
        """Return whether nine tenths of all words are in both texts."""
        return len(self.words & other.words) >= _LIKENESS * len(self.words | other.words)

    @cached_property
    def facts(self) -> StatedFacts:
        """What it states, asked for only once a chunk of nearly the same words is seen."""
        return facts_of(self.row.text)


class _KeptHits:
    """The chunks kept so far, found by document and by words."""

    def __init__(self) -> None:
        self.hits: list[Candidate] = []
        self._least = math.inf  # score of what can rank like a kept chunk
        self._by_terms: dict[frozenset[str], list[Candidate]] = defaultdict(list)
        self._spans: dict[str, list[tuple[Span, Candidate]]] = defaultdict(list)
        self._like: dict[tuple[int, int], list[_ComparedChunk]] = defaultdict(list)
        self._unlisted: Counter[str] = Counter()

    def add(self, own: _ComparedChunk) -> None:
        one, row = own.one, own.row
        self.hits.append(one)
        self._by_terms[frozenset(one.terms)].append(one)
        self._least = min(self._least, one.score - _SAME_SCORE * abs(one.score))
        self._spans[row.document_id].append(((row.start_char, row.end_char), one))
        for sign in own.signs:
            self._like[sign].append(own)

    def ranks_like(self, other: Candidate) -> bool:
        """Return whether both indexes gave a chunk nearly the scores of a kept one, as they do to copies of it."""
        if other.score < self._least:
            return False
        return any(_alike(one, other) for one in self._by_terms.get(frozenset(other.terms), ()))

    def overlapped(self, row: ShownChunk) -> bool:
        """Return whether a chunk overlaps a kept one, which then says so."""
        own = row.start_char, row.end_char
        for span, one in self._spans[row.document_id]:
            if overlap(span, own):
                one.note("distinct", f"stands for {row.uri} {own[0]}-{own[1]}, too, which overlaps it")
                return True
        return False

    def copied(self, own: _ComparedChunk) -> bool:
        """Return whether a chunk repeats a kept one, which then has it among its copies."""
        near = (kept for sign in own.signs for kept in self._like.get(sign, ()))
        better = next((kept.one for kept in near if own.like(kept) and kept.facts.same(own.facts)), None)
        if better is not None:
            self._list(better, own.row)
        return better is not None

    def _list(self, better: Candidate, copy: ShownChunk) -> None:
        if len(better.copies) == _MOST_COPIES:
            self._unlisted[better.key] += 1
            return
        better.copies += (copy,)
        better.note("distinct", f"stands for {copy.uri} {copy.start_char}-{copy.end_char}, too, which repeats it")

    def count_copies(self) -> None:
        """Let each hit say how many copies it does not list."""
        for one in self.hits:
            if count := self._unlisted[one.key]:
                one.note("distinct", f"stands for {count:,} further chunks, too, which repeat it")


def _alike(one: Candidate, other: Candidate) -> bool:
    """Return whether two chunks of the same terms have nearly the same scores."""
    if abs(one.score - other.score) > _SAME_SCORE * abs(one.score):
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
