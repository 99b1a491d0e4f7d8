"""Top k: find the best chunks for weighted terms by MaxScore (Turtle and Flood, "Query evaluation", 1995).

Terms that can add much to a score for few postings come first. Once the remaining terms cannot lift an unseen chunk to
the k-th best score so far, no new chunk is considered: the long postings of common terms are then probed for the few
candidates instead of being read. Before a long list is read, the complete scores of the best chunks so far are
computed, because the k-th best of these is usually so high that the list need not be read.
Rows are numbered across all segments. All factors of an excluded chunk are 0, so it scores 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docmill.storage.search.keywords.scoring import Floats
from docmill.storage.search.keywords.segments.side_postings import Counts, Int32, SideEntries

Rows = npt.NDArray[np.intp]
SLACK = 1e-9
"""Rounding tolerance of sums: a candidate is dropped only if its score is lower by more than this."""
_PROBE_COST = 6
"""Postings that can be read in the time of one candidate look-up. With a smaller number, candidates are looked up
although reading is faster; with a larger one, long postings are read for few candidates. The hits are the same."""
_LONG = 10_000
"""Reading more postings than this takes longer than computing the complete scores of the best chunks so far. With
2,000, these scores are computed in vain more often: a search of 300,000 chunks takes a tenth longer."""


@dataclass(frozen=True, slots=True)
class Factors:
    """What one occurrence of a term counts: `by_field` is float64 (fields, rows), 0 for rows not in `included`."""

    by_field: Floats
    included: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Slice:
    """The postings of one term in one segment, whose chunks are the rows `base` to `end` of the index.

    `frequencies` counts the term in the texts, `side` in the other fields.
    """

    base: int
    end: int
    rows: Int32
    frequencies: Counts
    side: SideEntries

    def counts(self, rows: Rows, factors: Factors) -> Floats:
        """Return T, the weighted frequency of the term, in all rows of its postings; `rows` are rows of the index."""
        counts: Floats = factors.by_field[0].take(rows)
        counts *= self.frequencies
        places, fields, frequencies = self.side
        if len(places):
            gains = factors.by_field[fields, rows[places]] * frequencies
            counts += np.bincount(places, gains, len(counts))  # fields in order, so equal chunks have equal sums
        return counts

    def fields(self) -> npt.NDArray[np.uint8]:
        """Return which fields have the term in each posting, one bit for each field."""
        found = (self.frequencies > 0).astype(np.uint8)
        np.bitwise_or.at(found, self.side.places, np.left_shift(1, self.side.fields).astype(np.uint8))
        return found

    def only(self, places: npt.NDArray[np.integer]) -> "Slice":
        """Return the slice with only the postings at some ascending places."""
        if not len(self.side.places):
            return Slice(self.base, self.end, self.rows[places], self.frequencies[places], self.side)
        bounds = np.stack([places, places + 1]).astype(self.side.places.dtype)
        first, last = self.side.places.searchsorted(bounds)
        sizes = last - first
        ends = np.cumsum(sizes)
        picked = np.repeat(first - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)
        own = np.repeat(np.arange(len(places)), sizes)
        side = SideEntries(own, self.side.fields[picked], self.side.frequencies[picked])
        return Slice(self.base, self.end, self.rows[places], self.frequencies[places], side)


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query; it adds `weight` times T / (T + `saturation`) to the score of a chunk, at most `bound`."""

    text: str
    weight: float
    saturation: float
    bound: float
    slices: tuple[Slice, ...]

    @property
    def size(self) -> int:
        """The number of its postings, including those of dead rows."""
        return sum(len(piece.rows) for piece in self.slices)

    def rows(self) -> Rows:
        """Return the rows of its postings, ascending."""
        rows = np.empty(self.size, np.intp)
        start = 0
        for piece in self.slices:
            end = start + len(piece.rows)
            np.add(piece.rows, piece.base, out=rows[start:end])
            start = end
        return rows

    def gains(self, rows: Rows, factors: Factors) -> Floats:
        """Return its gain in each row of its postings."""
        counts = np.empty(len(rows))
        start = 0
        for piece in self.slices:
            end = start + len(piece.rows)
            counts[start:end] = piece.counts(rows[start:end], factors)
            start = end
        return self._gain(counts)

    def gains_at(self, rows: Rows, factors: Factors) -> Floats:
        """Return its gain in each of the given ascending rows, 0 in rows that do not contain it."""
        counts = np.zeros(len(rows))
        for held, piece in self._held(rows):
            counts[held] = piece.counts(rows[held], factors)
        return self._gain(counts)

    def gains_and_fields_at(self, rows: Rows, factors: Factors) -> tuple[Floats, npt.NDArray[np.uint8]]:
        """Return `gains_at`, and which fields of the rows contain the term, one bit for each field."""
        counts, found = np.zeros(len(rows)), np.zeros(len(rows), np.uint8)
        for held, piece in self._held(rows):
            counts[held] = piece.counts(rows[held], factors)
            found[held] = piece.fields()
        return self._gain(counts), found

    def _held(self, rows: Rows) -> Iterator[tuple[Rows, Slice]]:
        """Yield, by segment, which of the ascending `rows` contain the term, with their postings."""
        for piece in self.slices:
            first, last = rows.searchsorted((piece.base, piece.end))
            wanted = (rows[first:last] - piece.base).astype(np.int32)
            place = piece.rows.searchsorted(wanted)
            place[place == len(piece.rows)] = 0  # beyond the last posting; the first one differs as well
            held = np.flatnonzero(piece.rows[place] == wanted)
            if len(held):
                yield first + held, piece.only(place[held])

    def _gain(self, counts: Floats) -> Floats:
        # In place, because a common term has millions of postings.
        above = counts + self.saturation
        counts /= above
        counts *= self.weight
        return counts


def all_scores(terms: Sequence[Term], factors: Factors) -> Floats:
    """Return the score of every row."""
    scores = np.zeros(len(factors.included))
    for term in terms:
        rows = term.rows()
        scores[rows] += term.gains(rows, factors)
    return scores


def best_rows(terms: Sequence[Term], factors: Factors, k: int) -> Rows:
    """Return ascending rows that include the best `k` and all ties with the last of them.

    In a tiny corpus, a term in half of the chunks or more can have a weight of 0 or less, which rules out pruning.
    """
    positive = [term for term in terms if term.weight > 0]
    if all(term.weight >= 0 for term in terms):
        rows = _pruned_rows(positive, factors, k)
        if len(positive) == len(terms) or len(rows) >= k:
            return rows
    rows = np.unique(np.concatenate([term.rows() for term in terms]))
    found: Rows = rows[factors.included[rows]]
    return found


def _pruned_rows(terms: Sequence[Term], factors: Factors, k: int) -> Rows:
    # Ties are sorted by text, so that sums are always rounded in the same order.
    ordered = sorted(terms, key=lambda term: (-term.bound / (1 + term.size), term.text))
    # rest[i] is the most that the terms from i on can add to a score.
    rest = np.append(np.cumsum([term.bound for term in reversed(ordered)])[::-1], 0.0)
    scores, threshold = np.zeros(len(factors.included)), 0.0
    candidates: Rows | None = None
    for place, term in enumerate(ordered):
        if candidates is None and threshold and term.size > _LONG:
            threshold = _reached(scores, threshold, ordered[place:], factors, k)
            candidates = _above(scores, threshold - rest[place])
        if candidates is not None and len(candidates) * _PROBE_COST < term.size:
            seen = scores[candidates] + term.gains_at(candidates, factors)
            scores[candidates] = seen
        else:
            rows = term.rows()
            seen = scores.take(rows) + term.gains(rows, factors)
            scores[rows] = seen
            # Dropped rows have gained, too, but can no longer be among the best.
            seen = seen if candidates is None else scores[candidates]
        threshold = _raise(threshold, seen, k)
        if candidates is None:
            candidates = _above(scores, threshold - rest[place + 1])
        else:
            candidates = candidates[seen >= threshold - rest[place + 1] - SLACK]
    return np.flatnonzero(scores > 0) if candidates is None else candidates


def _above(scores: Floats, worthwhile: float) -> Rows | None:
    """Return the rows with at least a score, or None while a chunk without any term so far could still reach it."""
    return np.flatnonzero(scores >= worthwhile - SLACK) if worthwhile > SLACK else None


def _reached(scores: Floats, threshold: float, left: Sequence[Term], factors: Factors, k: int) -> float:
    """Return the k-th best score once the remaining terms are added for the chunks that have reached `threshold`."""
    best = np.flatnonzero(scores >= threshold)
    whole = scores[best]
    for term in left:
        whole = whole + term.gains_at(best, factors)
    return _raise(threshold, whole, k)


def _raise(threshold: float, scores: Floats, k: int) -> float:
    """Return the k-th best of `scores`, or `threshold` if fewer than `k` are above it."""
    better = scores[scores > threshold]
    place = len(better) - k
    return float(np.partition(better, place)[place]) if place >= 0 else threshold
