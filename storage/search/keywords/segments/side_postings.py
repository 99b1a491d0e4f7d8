"""Side postings: how often terms occur in the fields besides the text, stored only where they do."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from docmill.storage.search.keywords.segments.chunk_fields import SIDE_FIELDS

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Counts = npt.NDArray[np.unsignedinteger]
Numbers = npt.NDArray[np.uint8]

PREFIX = "side_"  # the names of these arrays in a file of postings begin with it


class SideEntries(NamedTuple):
    """Entry `i` says that posting `places[i]` has its term `frequencies[i]` times in field `fields[i]` (at least 1).

    They are ordered by place, then by field.
    """

    places: npt.NDArray[np.integer[Any]]
    fields: Numbers
    frequencies: Counts


@dataclass(frozen=True, slots=True)
class SidePostings:
    """The entries of all terms of a segment, the lengths of the fields, and bounds for the scores of terms.

    `lengths` has the lengths in all chunks for each side field in turn; trailing fields that are empty in all chunks
    are left out. Term `terms[i]` has the largest frequency `highest[i]` in field `kinds[i]`, and the shortest such
    field of its chunks has `shortest[i]` terms; `terms` ascend.
    """

    places: Int32
    fields: Numbers
    frequencies: Counts
    lengths: Int32
    terms: Int32
    kinds: Numbers
    highest: Counts
    shortest: Int32

    def entries(self, first: int, last: int) -> SideEntries:
        """Return the entries of the postings from `first` to `last`, counted from `first`."""
        start, end = self.places.searchsorted(np.array([first, last], np.int32))
        return SideEntries(
            self.places[start:end] - np.int32(first), self.fields[start:end], self.frequencies[start:end]
        )

    def bounds(self, term: int) -> list[tuple[int, int, int]]:
        """Return (field, largest frequency, shortest length) for each side field that has a term of the dictionary."""
        if not len(self.terms):
            return []
        start, end = self.terms.searchsorted(np.array([term, term + 1], np.int32))
        pieces = (self.kinds[start:end], self.highest[start:end], self.shortest[start:end])
        return list(zip(*(piece.tolist() for piece in pieces), strict=True))

    def lengths_of(self, field: int, rows: int) -> Int32:
        """Return the number of terms of each of all `rows` in a side field."""
        own = self.lengths[(field - 1) * rows : field * rows]
        return own if len(own) else np.zeros(rows, np.int32)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by their names in a file."""
        return {f"{PREFIX}{one.name}": getattr(self, one.name) for one in fields(self)}


SIDE_NAMES = tuple(f"{PREFIX}{one.name}" for one in fields(SidePostings))


def side_from(arrays: dict[str, Any], rows: int) -> SidePostings:
    """Take the side postings out of the arrays of a file; a file of the first layout has none."""
    if PREFIX + "places" not in arrays:
        return make_side(_NOTHING, np.zeros(SIDE_FIELDS * rows, np.int32), np.zeros(1, np.int64), _NO_ROWS)
    return SidePostings(**{name.removeprefix(PREFIX): arrays.pop(name) for name in SIDE_NAMES})


def make_side(entries: SideEntries, lengths: Int32, starts: Int64, rows: Int32) -> SidePostings:
    """Return side postings with their bounds; `starts` and `rows` are those of the postings."""
    kinds, narrow = entries.fields, np.min_scalar_type(int(entries.frequencies.max(initial=0)))
    places, frequencies = entries.places.astype(np.int32, copy=False), entries.frequencies.astype(narrow, copy=False)
    holders = (np.searchsorted(starts, places, side="right") - 1).astype(np.int32)
    order = np.lexsort((kinds, holders))
    held, of = holders[order], kinds[order]
    first = np.flatnonzero(np.diff(held, prepend=-1) | np.diff(of, prepend=0)) if len(order) else order
    own = lengths.reshape(SIDE_FIELDS, -1)[kinds - 1, rows[places]] if len(order) else _NO_ROWS
    return SidePostings(
        places,
        kinds.astype(np.uint8, copy=False),
        frequencies,
        lengths.reshape(SIDE_FIELDS, -1)[: _used(lengths)].reshape(-1),
        held[first],
        of[first].astype(np.uint8, copy=False),
        np.maximum.reduceat(frequencies[order], first) if len(first) else frequencies,
        np.minimum.reduceat(own[order], first) if len(first) else own,
    )


def _used(lengths: Int32) -> int:
    """Return the number of side fields up to the last one that any chunk has."""
    return int(np.flatnonzero(lengths.reshape(SIDE_FIELDS, -1).any(axis=1)).max(initial=-1)) + 1


def join_entries(parts: Sequence[SideEntries]) -> SideEntries:
    """Return the entries of several parts in order; their places are those in the joined postings."""
    places, kinds, frequencies = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    order = np.argsort(places, kind="stable")  # the fields of one posting come from one part, in order
    return SideEntries(places[order], kinds[order], frequencies[order])


_NO_ROWS = np.zeros(0, np.int32)
_NOTHING = SideEntries(_NO_ROWS, np.zeros(0, np.uint8), np.zeros(0, np.uint8))
