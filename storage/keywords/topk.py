"""Top k: find the best chunks for weighted terms by MaxScore (Turtle and Flood, "Query evaluation", 1995).

Terms are processed by descending bound. Once the remaining terms cannot lift an unseen chunk to the k-th best score so
far, no new chunk is considered: the long postings of common terms are then probed for the few candidates instead of
being read.
Rows are numbered through all segments. The norm of an excluded chunk is infinite, so that it scores 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docmill.storage.keywords.scoring import Floats
from docmill.storage.keywords.segments.postings import Counts, Int32

Rows = npt.NDArray[np.intp]
SLACK = 1e-9
"""Rounding tolerance of sums: a candidate is dropped only if its score is lower by more than this."""
_PROBE_COST = 6
"""Postings that can be read in the time of one look-up of a candidate. A smaller number looks up where reading is
faster, a larger one reads long postings for few candidates; the hits are the same."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The postings of one term in one segment; the segment's chunks are the rows `base` to `end` of the index."""

    base: int
    end: int
    rows: Int32
    frequencies: Counts


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query; it adds `weight` times f / (f + norm) to the score of a chunk, at most `bound`."""

    text: str
    weight: float
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

    def gains(self, rows: Rows, norms: Floats) -> Floats:
        """Return its gain in each row of its postings."""
        pieces = [piece.frequencies for piece in self.slices]
        frequencies = (pieces[0] if len(pieces) == 1 else np.concatenate(pieces)).astype(np.float64)
        return self._gain(frequencies, norms.take(rows))

    def gains_at(self, rows: Rows, norms: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return its gain in each of the given ascending rows, and which of them contain it."""
        frequencies = np.zeros(len(rows))
        for piece in self.slices:
            first, last = rows.searchsorted((piece.base, piece.end))
            if first == last:
                continue
            wanted = (rows[first:last] - piece.base).astype(np.int32)
            place = piece.rows.searchsorted(wanted)
            place[place == len(piece.rows)] = 0  # beyond the last posting; the first one is not equal either
            frequencies[first:last] = np.where(piece.rows[place] == wanted, piece.frequencies[place], 0)
        held = frequencies > 0
        gains = np.zeros(len(rows))
        gains[held] = self._gain(frequencies[held], norms[rows[held]])
        return gains, held

    def _gain(self, frequencies: Floats, norms: Floats) -> Floats:
        # In place: both arrays were made for this call, and a common term has millions of postings.
        norms += frequencies
        frequencies /= norms
        frequencies *= self.weight
        return frequencies


def all_scores(terms: Sequence[Term], norms: Floats) -> Floats:
    """Return the score of every row."""
    scores = np.zeros(len(norms))
    for term in terms:
        rows = term.rows()
        scores[rows] += term.gains(rows, norms)
    return scores


def best_rows(terms: Sequence[Term], norms: Floats, k: int) -> Rows:
    """Return ascending rows that include the best `k` and all ties with the last of them.

    In a tiny corpus, a term in half of the chunks or more can weigh 0 or less; its bound then prunes nothing.
    """
    positive = [term for term in terms if term.weight > 0]
    if all(term.weight >= 0 for term in terms):
        rows = _pruned_rows(positive, norms, k)
        if len(positive) == len(terms) or len(rows) >= k:
            return rows
    rows = np.unique(np.concatenate([term.rows() for term in terms]))
    found: Rows = rows[np.isfinite(norms[rows])]
    return found


def _pruned_rows(terms: Sequence[Term], norms: Floats, k: int) -> Rows:
    # The text settles ties, so that sums are rounded in the same order each time.
    ordered = sorted(terms, key=lambda term: (-term.bound, term.text))
    # rest[i] is the most that the terms from i on can add to a score.
    rest = np.append(np.cumsum([term.bound for term in reversed(ordered)])[::-1], 0.0)
    scores, threshold = np.zeros(len(norms)), 0.0
    candidates: Rows | None = None
    for term, left in zip(ordered, rest[1:], strict=True):
        if candidates is not None and len(candidates) * _PROBE_COST < term.size:
            gains, _ = term.gains_at(candidates, norms)
            seen = scores[candidates] + gains
            scores[candidates] = seen
        else:
            rows = term.rows()
            seen = scores.take(rows) + term.gains(rows, norms)
            scores[rows] = seen
            # Rows that were dropped have gained too, but cannot be among the best any more.
            seen = seen if candidates is None else scores[candidates]
        threshold = _raise(threshold, seen, k)
        worthwhile = threshold - left - SLACK
        if candidates is not None:
            candidates = candidates[seen >= worthwhile]
        # Until then a chunk that has none of the terms so far could still reach the k-th best.
        elif worthwhile > 0:
            candidates = np.flatnonzero(scores >= worthwhile)
    return np.flatnonzero(scores > 0) if candidates is None else candidates


def _raise(threshold: float, scores: Floats, k: int) -> float:
    """Return the k-th best of `scores`, or `threshold` if fewer than `k` are above it."""
    better = scores[scores > threshold]
    place = len(better) - k
    return float(np.partition(better, place)[place]) if place >= 0 else threshold
