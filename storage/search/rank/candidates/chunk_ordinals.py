"""Chunk ordinals: the document, section and position of each chunk, so that a search can find its neighbours."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.process.computed_once import computed_once
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.tables import at_once, read_stored_file

RUNNING = ("narrative", "structured", "technical", "legal", "transcript")
"""Content types of running text, whose chunks continue the chunk before. In others, neighbours are unrelated: rows of a
table, questions with answers, turns of a chat, mails of a mailbox, log entries, fields, signatures, slides."""
_SERIES = ["document_id", "strategy", "role"]
_COLUMNS = ["chunk_id", "ordinal", "depth", "content_type", "headings", *_SERIES]
_ID_BYTES = "S32"
_WORDS = 4  # words of eight bytes in an id
_MIXED = np.array(
    [
        [0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93],
        [0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53],
    ],
    np.uint64,
)
"""Odd numbers by which the words of an id are multiplied before they are added, so that an id becomes a key of two
numbers. Comparing keys takes a tenth of the time of comparing 32 letters. Two ids have equal keys with a probability of
2**-128."""
_Ids = npt.NDArray[np.bytes_]
_Keys = npt.NDArray[np.uint64]
_Ints = npt.NDArray[np.int32]
T = TypeVar("T")


class Place(NamedTuple):
    """The numbers of a chunk's document and section, its position in the document from 0, whether the document has a
    title, and whether the chunk is running text."""

    document: int
    section: int
    ordinal: int
    titled: int
    running: int


class _OfFile(NamedTuple):
    """The chunks of one file, whose documents are in no other file. `keys` is (n, 2). `numbers` is (n, 4): the numbers
    of the document and the section within the file, the ordinal, and 1 for running text. `documents` are ids (m,)."""

    keys: _Keys
    numbers: _Ints
    documents: _Ids


@dataclass(frozen=True)
class _OfSnapshot:
    """The places of a snapshot's chunks and the ids of titled documents, by file and as arrays of the whole snapshot.

    The arrays of the files are slices of those of the snapshot. `sorted` are the first numbers of the keys, sorted, and
    `order` their rows.
    """

    files: Mapping[StoredFile, _OfFile]
    titled: Mapping[StoredFile, _Ids]
    keys: _Keys
    numbers: _Ints
    sorted: _Keys
    order: _Ints
    firsts: _Ints  # (files, 3): the first row, document and section of each file
    has_title: npt.NDArray[np.bool_]  # by document

    def places(self, rows: _Ints) -> Iterator[list[int]]:
        """Yield the columns of `Place` for some rows."""
        file = np.searchsorted(self.firsts[:, 0], rows, "right") - 1
        document, section, ordinal, running = self.numbers[rows].T
        documents = document + self.firsts[file, 1]
        # Column by column, because a list for each row would burden the garbage collector.
        yield documents.tolist()
        yield (section + self.firsts[file, 2]).tolist()
        yield ordinal.tolist()
        yield self.has_title[documents].astype(int).tolist()
        yield running.tolist()


class ChunkOrdinals:
    """The places of a snapshot's chunks, read on first use.

    A section is a document's text under the same headings, cut by the same strategy into chunks of one role and depth.
    Files that an open snapshot of the store has already read are reused: reading 100,000 chunks takes 0.25 s of CPU.
    """

    def __init__(self, stored: StoredSnapshot) -> None:
        self._stored = stored

    def of(self, ids: Collection[str]) -> dict[str, Place]:
        """Return the places of chunks."""
        held = self.held
        if not len(held.keys):
            return {}
        asked = _keys(np.array(list(ids), _ID_BYTES))
        rows = held.order[np.minimum(held.sorted.searchsorted(asked[:, 0]), len(held.order) - 1)]
        known = (held.keys[rows] == asked).all(axis=1)
        return dict(zip(compress(ids, known.tolist()), map(Place, *held.places(rows[known])), strict=True))

    @computed_once
    def held(self) -> _OfSnapshot:
        """The places of all chunks of the snapshot."""
        root = self._stored.root
        earlier = _LATEST.get(root)
        files, titled = (earlier.held.files, earlier.held.titled) if earlier else ({}, {})
        found = _together(
            _completed(self._pieces("chunks"), files, lambda fresh: _read(root, fresh)),
            _completed(self._pieces("documents"), titled, lambda fresh: _titled(root, fresh)),
        )
        _LATEST[root] = self
        return found

    def _pieces(self, table: str) -> list[StoredFile]:
        return [one for one in self._stored.pieces(table) if one.rows]


_LATEST: "WeakValueDictionary[Path, ChunkOrdinals]" = WeakValueDictionary()
"""The most recently read snapshot of each store, while it is open."""


def _completed(
    pieces: Sequence[StoredFile],
    before: Mapping[StoredFile, T],
    read: Callable[[Sequence[StoredFile]], Mapping[StoredFile, T]],
) -> dict[StoredFile, T]:
    """Return the results for files, in order; only files that are not in `before` are read."""
    known = {**before, **read([one for one in pieces if one not in before])}
    return {one: known[one] for one in pieces}


def _table(root: Path, name: str, pieces: Sequence[StoredFile], columns: list[str]) -> pa.Table:
    held = at_once(lambda piece: read_stored_file(root, piece, columns), pieces)
    return pa.concat_tables(held or [pa.schema([SCHEMAS[name].field(one) for one in columns]).empty_table()])


def _spans(pieces: Sequence[StoredFile]) -> Iterator[tuple[StoredFile, slice]]:
    """Yield each file with the slice of its rows in the joined rows."""
    ends = np.cumsum([0, *(one.rows for one in pieces)]).tolist()
    return ((one, slice(*span)) for one, span in zip(pieces, pairwise(ends), strict=True))


def _read(root: Path, pieces: Sequence[StoredFile]) -> dict[StoredFile, _OfFile]:
    """Read files of chunks in one pass, which is faster than a pass over each file."""
    table = _table(root, "chunks", pieces, _COLUMNS)
    headings = pc.binary_join(table.column("headings"), "\n")
    depth = table.column("depth").cast(pa.string())
    named = pc.binary_join_element_wise(*(table.column(name) for name in _SERIES), depth, headings, "\n")
    documents, sections = _encoded(table.column("document_id")), _encoded(named)
    running = pc.is_in(table.column("content_type"), value_set=pa.array(RUNNING))
    columns = (documents.indices, sections.indices, table.column("ordinal"), running)
    numbers = np.column_stack([one.to_numpy(zero_copy_only=False).astype(np.int32) for one in columns])
    keys, names = _keys(_ids(table.column("chunk_id"))), _ids(documents.dictionary)
    found: dict[StoredFile, _OfFile] = {}
    for piece, span in _spans(pieces):
        own = numbers[span]
        # Numbered in order of appearance, so the numbers in a file are consecutive from that of its first row.
        first = own[0] * (1, 1, 0, 0)
        found[piece] = _OfFile(keys[span], own - first, names[first[0] : own[:, 0].max() + 1])
    return found


def _titled(root: Path, pieces: Sequence[StoredFile]) -> dict[StoredFile, _Ids]:
    """Return, by file, the ids of the documents that have a title."""
    table = _table(root, "documents", pieces, ["document_id", "title"])
    keys, has = _ids(table.column("document_id")), pc.not_equal(table.column("title"), "").to_numpy()
    return {piece: keys[span][has[span]] for piece, span in _spans(pieces)}


def _together(files: Mapping[StoredFile, _OfFile], titled: Mapping[StoredFile, _Ids]) -> _OfSnapshot:
    blank = _OfFile(np.empty((0, 2), np.uint64), np.empty((0, 4), np.int32), np.empty(0, _ID_BYTES))
    keys, numbers, documents = (np.concatenate(own) for own in zip(blank, *files.values(), strict=True))
    sizes = [(len(one.keys), len(one.documents), 1 + one.numbers[:, 1].max()) for one in files.values()]
    firsts = np.cumsum([(0, 0, 0), *sizes], axis=0, dtype=np.int32)[:-1]
    with_title = np.concatenate([blank.documents, *titled.values()])
    own = {
        piece: _OfFile(keys[span], numbers[span], one.documents)
        for (piece, span), one in zip(_spans([*files]), files.values(), strict=True)
    }
    order = np.argsort(keys[:, 0]).astype(np.int32)
    return _OfSnapshot(own, titled, keys, numbers, keys[order, 0], order, firsts, np.isin(documents, with_title))


def _ids(column: pa.ChunkedArray | pa.Array) -> _Ids:
    return np.asarray(column.to_numpy(zero_copy_only=False), _ID_BYTES)


def _keys(ids: _Ids) -> _Keys:
    """Return a key for each id, (n, 2)."""
    words = ids.view(np.uint64).reshape(-1, _WORDS)
    return np.stack([(words * factors).sum(axis=1, dtype=np.uint64) for factors in _MIXED], axis=1)


def _encoded(names: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a number for each name; equal names have equal numbers."""
    return names.combine_chunks().dictionary_encode()
