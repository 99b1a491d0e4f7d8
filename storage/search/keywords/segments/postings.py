"""Postings: a sorted dictionary and CSR lists for a sequence of chunks, with the same layout in memory and in a file.

Strings are looked up in place in a sorted Arrow array: opening costs nothing, and a look-up takes about 20 steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef
from docmill.storage.process.computed_once import computed_once
from docmill.storage.search.keywords.segments.arrays import map_arrays, read_arrays, write_arrays
from docmill.storage.search.keywords.segments.side_postings import (
    SIDE_NAMES,
    Counts,
    Int32,
    Int64,
    SideEntries,
    SidePostings,
    make_side,
    side_from,
)

_FEW = 256
"""With more values than this per wanted string, separate look-ups are faster than one pass over all values."""

_search_sorted = getattr(pc, "search_sorted", None)
"""Arrow's binary search, which PyArrow 24 lacks: 800 terms among 480,000 take .9 ms, and a pass over all takes 5 ms."""


class StringLookup:
    """Find strings in `values`, which are sorted by their UTF-8 bytes, directly or through `order`."""

    def __init__(self, values: pa.StringArray, order: npt.NDArray[np.int32] | None = None) -> None:
        _, offsets, data = values.buffers()
        self.values = values
        self._order = order
        self._offsets = memoryview(offsets).cast("B").cast("i") if len(values) else memoryview(b"")
        self._data = memoryview(data) if data is not None else memoryview(b"")

    def find(self, wanted: str) -> int:
        """Return the position of a string in `values`, or -1."""
        key = wanted.encode()
        offsets, data, order = self._offsets, self._data, self._order
        low, high = 0, len(self.values)
        while low < high:
            middle = (low + high) // 2
            row = middle if order is None else order[middle]
            found = bytes(data[offsets[row] : offsets[row + 1]])
            if found == key:
                return int(row)
            if found < key:
                low = middle + 1
            else:
                high = middle
        return -1

    def find_all(self, wanted: Sequence[str] | pa.StringArray) -> npt.NDArray[np.int64]:
        """Return the positions of strings in `values`, -1 for absent ones; sorted ones are found twice as fast."""
        if _search_sorted is not None and self._order is None and len(self.values):
            return self._searched(pa.array(wanted, pa.string()))
        if len(wanted) * _FEW <= len(self.values):
            strings = wanted.to_pylist() if isinstance(wanted, pa.Array) else wanted
            return np.fromiter(map(self.find, strings), np.int64, len(strings))
        encoded = pa.array(wanted, pa.string()).dictionary_encode()
        found = pc.index_in(self.values, value_set=encoded.dictionary)  # hashes the few strings, not all values
        here = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        places = np.full(len(encoded.dictionary), -1, np.int64)
        places[found.drop_null().to_numpy()] = here
        positions: npt.NDArray[np.int64] = places[encoded.indices.to_numpy()]
        return positions

    def _searched(self, wanted: pa.StringArray) -> npt.NDArray[np.int64]:
        assert _search_sorted is not None
        places = _search_sorted(self.values, wanted).to_numpy().astype(np.int64).clip(max=len(self.values) - 1)
        same = pc.equal(self.values.take(pa.array(places)), wanted).to_numpy(zero_copy_only=False)
        return np.where(same, places, -1)


SUFFIX = ".postings.arrow"
_SLICE = 1 << 18  # postings processed at a time, which bounds the memory of their copies
_CLOSE = 16
"""Rows that span at most 1/16 of a segment are found by comparing bounds, others by a table of all rows.
With 7.8 million postings, bounds take 3 ms for adjacent rows and 31 ms for scattered ones, the table 9 ms for both."""


@dataclass(frozen=True)
class Postings:
    """Chunks 0..n and the terms that they contain.

    Term `t` of the dictionary occurs in chunks `rows[starts[t]:starts[t + 1]]`, ascending. `frequencies` has at the
    same places how often it occurs in their texts, which is 0 if a chunk has it only in other fields, which are in
    `side`. `highest` and `shortest` are, for each term, the largest frequency in a text and the shortest length of a
    text; they bound the term's score. `order` sorts `chunk_ids`; `lengths` counts the terms of each text.
    """

    terms: pa.StringArray
    starts: Int64
    rows: Int32
    frequencies: Counts
    highest: Counts
    shortest: Int32
    chunk_ids: pa.StringArray
    order: Int32
    lengths: Int32
    side: SidePostings

    def lengths_of(self, field: int) -> Int32:
        """Return the number of terms of each chunk in a field."""
        return self.side.lengths_of(field, len(self.lengths)) if field else self.lengths

    @computed_once
    def term_lookup(self) -> StringLookup:
        """Finds the position of a term in the dictionary."""
        return StringLookup(self.terms)

    @computed_once
    def chunk_lookup(self) -> StringLookup:
        """Finds the row of a chunk."""
        return StringLookup(self.chunk_ids, self.order)

    def entries_of(self, rows: Int32) -> Int64:
        """Return the ascending positions in `self.rows` of the given rows, in one pass over the postings."""
        if not len(rows):
            return np.zeros(0, np.int64)
        wanted = np.zeros(len(self.lengths), bool)
        wanted[rows] = True
        lowest, span = rows.min(), np.uint32(rows.max() - rows.min())
        close = int(span) * _CLOSE <= len(wanted)
        found = []
        for start in range(0, len(self.rows), _SLICE):
            piece = self.rows[start : start + _SLICE]
            if close:
                near = np.flatnonzero((piece - lowest).view(np.uint32) <= span)
                here = near[wanted[piece[near]]]
            else:
                here = np.flatnonzero(wanted.take(piece, mode="clip"))
            found.append(here + start)
        return np.concatenate(found) if found else np.zeros(0, np.int64)


def make_postings(
    terms: pa.StringArray,
    starts: Int64,
    rows: Int32,
    frequencies: npt.NDArray[np.integer],
    chunk_ids: pa.StringArray,
    lengths: Int32,
    side: SideEntries,
) -> Postings:
    """Return postings with their derived arrays; every term has at least one row.

    `lengths` are the numbers of terms, (fields, chunks).
    """
    highest = np.maximum.reduceat(frequencies, starts[:-1]) if len(terms) else np.zeros(0, np.uint8)
    narrow = np.min_scalar_type(int(highest.max(initial=0)))
    order = pc.array_sort_indices(chunk_ids).to_numpy().astype(np.int32)
    return Postings(
        terms,
        starts,
        rows,
        frequencies.astype(narrow, copy=False),
        highest.astype(narrow),
        _shortest(lengths[0], rows, starts),
        chunk_ids,
        order,
        lengths[0],
        make_side(side, lengths[1:].reshape(-1), starts, rows),
    )


def _shortest(lengths: Int32, rows: Int32, starts: Int64) -> Int32:
    """Return the shortest length among the rows of each term, computed some postings at a time."""
    found = np.empty(len(starts) - 1, np.int32)
    first = 0
    while first < len(found):
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + _SLICE, side="right")) - 1)
        own = starts[first : last + 1]
        found[first:last] = np.minimum.reduceat(lengths[rows[own[0] : own[-1]]], own[:-1] - own[0])
        first = last
    return found


def check_distinct(parts: Sequence[Postings]) -> None:
    """Raise `StoreError` for a chunk id that was added twice."""
    ids = pa.chunked_array([part.chunk_ids for part in parts], pa.string())
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    counts = pc.value_counts(ids)
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    raise StoreError(f"chunk id {twice[0].as_py()} was added to the keyword index twice; ids must be distinct")


_NAMES = tuple(name for name in Postings.__dataclass_fields__ if name != "side")


def write_postings(root: Path, postings: Postings) -> FileRef:
    """Write postings as an immutable file."""
    return write_arrays(root, SUFFIX, _arrays(postings))


def read_postings(root: Path, file: FileRef) -> Postings:
    """Return the memory-mapped postings of a file."""
    return _postings(read_arrays(root, file, (*_NAMES, *SIDE_NAMES)))


def spill_postings(root: Path, postings: Postings) -> Postings:
    """Return the same postings, memory-mapped from an unlinked file."""
    return _postings(map_arrays(root, _arrays(postings)))


def _arrays(postings: Postings) -> dict[str, Any]:
    return {name: getattr(postings, name) for name in _NAMES} | postings.side.arrays()


def _postings(arrays: dict[str, Any]) -> Postings:
    side = side_from(arrays, len(arrays["lengths"]))
    return Postings(**arrays, side=side)
