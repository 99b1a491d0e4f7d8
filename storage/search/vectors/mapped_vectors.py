"""Mapped vectors: read vectors of single rows from memory-mapped LanceDB files, and compute distances as LanceDB does.

LanceDB reads each row by itself, which takes half of the time of a search. In its files, the vectors of a page follow
each other, so that a row can be read from a mapped file, whose memory belongs to the page cache.
Layout: https://lance.org/format/file (protos/file2.proto). A sample is compared with LanceDB before this is used.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import StoreError
from docmill.storage.process.library_threads import one_blas_thread
from docmill.storage.search.vectors.lance_messages import (
    MAGIC,
    manifest_in,
    manifest_path,
    messages_of_indices,
    number_in,
    numbers_in,
    texts_in,
)

Floats = npt.NDArray[np.float32]
RowNumbers = npt.NDArray[np.uint64]
_FOOTER = struct.Struct("<QQQIIHH4s")  # of a data file: the table of columns at 8, the number of columns at 28
_COLUMN = struct.Struct("<QQ")  # offset and size of the message of a column
# Field numbers, by message: of a manifest, a fragment, a data file, a column, a page, an index.
_FRAGMENTS, _FRAGMENT_ID, _FILES, _PATH = 2, 1, 2, 1
_PAGES, _OFFSETS, _SIZES, _ROWS = 2, 1, 2, 3
_INDEX_NAME, _INDEXED = 3, 5
_FRAGMENT_BITS = 32  # the upper bits of a row's number are its fragment, the lower 32 its place in the fragment
_PLACE_MASK = np.uint64((1 << _FRAGMENT_BITS) - 1)
_SET_COOKIE = 12346  # marks a Roaring bitmap without runs: https://github.com/RoaringBitmap/RoaringFormatSpec
_SET_HEAD, _MOST_LISTED = 8, 4096  # bytes before the containers; the most numbers of a container that is a list
_LANES = 16
"""The number of partial sums in LanceDB's dot product. With another number, or if products are not rounded before they
are added, the last bits of scores change."""
_NUMBER_BYTES = 4
_ROUNDING = 1e-5  # larger than the error of float32 sums of 10,000 products
UNREADABLE = (StoreError, OSError, struct.error, IndexError, ValueError, UnicodeDecodeError)
"""The errors that files with another layout cause."""


class _VectorPage(NamedTuple):
    """The rows of a page: the place of the first row in its fragment, their number, and the byte where they begin."""

    first: int
    rows: int
    offset: int


class MappedVectors:
    """The vectors of one version of a table, float32 with `dimension` numbers, by LanceDB's row numbers.

    `numbers` are the ascending numbers of all rows, `samples` has a row of each page, and `unindexed` the rows that the
    index lacks. Raises one of `UNREADABLE` if the files have another layout.
    """

    def __init__(self, table: Path, version: int, index: str, dimension: int, numbers: RowNumbers) -> None:
        data = manifest_path(table, version).read_bytes()
        indexed = [*_indexed_fragments(data, index)]
        self._dimension = dimension
        self._fragments = dict(_fragments(table, manifest_in(data), dimension))
        pages = [(owner << _FRAGMENT_BITS) + page.first for owner, one in self._fragments.items() for page in one.pages]
        _, firsts = np.unique(np.searchsorted(np.sort(pages), numbers, "right"), return_index=True)
        self.samples = numbers[firsts]
        self.unindexed = numbers[~np.isin(numbers >> np.uint64(_FRAGMENT_BITS), np.array(indexed, np.uint64))]

    def at(self, numbers: RowNumbers) -> Floats:
        """Return the vectors of rows, in their order."""
        found = np.empty((len(numbers), self._dimension), np.float32)
        for owner, here, places in _by_fragment(numbers):
            found[here] = self._fragments[owner].at(places)
        return found

    def nearest(self, vector: Floats, candidates: RowNumbers, k: int) -> tuple[RowNumbers, Floats]:
        """Return the nearest `k` among the candidates and the rows that are not in the index, and their distances."""
        numbers = np.concatenate([candidates, self._nearest_unindexed(vector, k)])
        found = distances(vector, self.at(numbers))
        best = np.argsort(found, kind="stable")[:k]
        return numbers[best], found[best]

    def _nearest_unindexed(self, vector: Floats, k: int) -> RowNumbers:
        """Return the nearest `k` rows that are not in the index, and all rows within rounding of them."""
        if len(self.unindexed) <= k:
            return self.unindexed
        similar = np.empty(len(self.unindexed), np.float32)
        with one_blas_thread():
            for owner, here, places in _by_fragment(self.unindexed):
                similar[here] = self._fragments[owner].products(vector)[places]
        least = np.partition(similar, -k)[-k]
        near: RowNumbers = self.unindexed[similar >= least - _ROUNDING]
        return near


class _Fragment:
    """The vectors of one memory-mapped file."""

    def __init__(self, path: Path, dimension: int) -> None:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.pages = list(_pages(data, dimension))
        self._numbers = np.frombuffer(data, np.float32, len(data) // _NUMBER_BYTES)
        self._dimension = dimension
        # Overlapping rows, one starting at each number, so that vectors of several pages are taken in one step.
        self._rows = np.lib.stride_tricks.as_strided(
            self._numbers,
            (len(self._numbers) - dimension + 1, dimension),
            (_NUMBER_BYTES, _NUMBER_BYTES),
            writeable=False,
        )
        self._firsts = np.array([page.first for page in self.pages])
        self._starts = np.array([page.offset // _NUMBER_BYTES for page in self.pages])

    def at(self, places: npt.NDArray[np.int64]) -> Floats:
        """Return the vectors at some places."""
        page = self._firsts.searchsorted(places, "right") - 1
        found: Floats = self._rows[self._starts[page] + (places - self._firsts[page]) * self._dimension]
        return found

    def products(self, vector: Floats) -> Floats:
        """Return the dot products of all vectors with one, by place; sums may be added in any order."""
        size = self._dimension
        spans = ((start, page.rows) for start, page in zip(self._starts, self.pages, strict=True))
        return np.concatenate(
            [self._numbers[start : start + rows * size].reshape(rows, size) @ vector for start, rows in spans]
        )


def distances(vector: Floats, rows: Floats) -> Floats:
    """Return 1 - the dot product of a vector with each row, summed in the same order as in LanceDB."""
    whole = len(vector) // _LANES * _LANES
    products = rows * vector
    lanes = np.add.reduce(products[:, :whole].reshape(len(rows), -1, _LANES), axis=1)
    left, total = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.float32)
    for place in range(whole, len(vector)):
        left += products[:, place]
    for lane in range(_LANES):
        total += lanes[:, lane]
    found: Floats = np.float32(1) - (left + total)
    return found


def _by_fragment(numbers: RowNumbers) -> Iterator[tuple[int, npt.NDArray[np.bool_], npt.NDArray[np.int64]]]:
    """Yield each fragment with a mask of its rows among `numbers`, and their places in it."""
    owners, places = numbers >> np.uint64(_FRAGMENT_BITS), (numbers & _PLACE_MASK).astype(np.int64)
    for owner in np.unique(owners).tolist():
        here = owners == owner
        yield owner, here, places[here]


def _fragments(table: Path, manifest: bytes, dimension: int) -> Iterator[tuple[int, _Fragment]]:
    for fragment in texts_in(manifest, _FRAGMENTS):
        (file,) = texts_in(fragment, _FILES)  # a second file would have columns that were added later
        (name,) = texts_in(file, _PATH)
        yield number_in(fragment, _FRAGMENT_ID), _Fragment(table / "data" / name.decode(), dimension)


def _pages(data: Any, dimension: int) -> Iterator[_VectorPage]:
    """Yield the pages of the last column; the vectors of each page are one uncompressed piece."""
    _, table, _, _, columns, _, _, magic = _FOOTER.unpack_from(data, len(data) - _FOOTER.size)
    if magic != MAGIC:
        raise StoreError("not a file of LanceDB")
    place, size = _COLUMN.unpack_from(data, table + (columns - 1) * _COLUMN.size)
    first = 0
    for page in texts_in(data[place : place + size], _PAGES):
        (offset,), (held,), rows = numbers_in(page, _OFFSETS), numbers_in(page, _SIZES), number_in(page, _ROWS)
        if held != rows * dimension * _NUMBER_BYTES or offset % _NUMBER_BYTES:
            raise StoreError(f"a page of {rows} vectors has {held} bytes at {offset}")
        yield _VectorPage(first, rows, offset)
        first += rows


def _indexed_fragments(data: bytes, index: str) -> Iterator[int]:
    """Yield the fragments whose rows are in an index of a manifest; an index may have several parts."""
    for message in messages_of_indices(data):
        if [*texts_in(message, _INDEX_NAME)] == [index.encode()]:
            for held in texts_in(message, _INDEXED):
                yield from _numbers_in_set(held)


def _numbers_in_set(data: bytes) -> Iterator[int]:
    """Yield the numbers of a Roaring bitmap whose containers are lists."""
    cookie, count = struct.unpack_from("<II", data)
    heads = np.frombuffer(data, "<u2", 2 * count, _SET_HEAD).reshape(-1, 2).tolist()
    offsets = np.frombuffer(data, "<u4", count, _SET_HEAD + 4 * count).tolist()
    for (high, last), offset in zip(heads, offsets, strict=True):
        if cookie != _SET_COOKIE or last >= _MOST_LISTED:
            raise StoreError("a set of fragments is not a list")
        yield from ((high << 16) + low for low in np.frombuffer(data, "<u2", last + 1, offset).tolist())
