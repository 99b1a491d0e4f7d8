"""Chunk ordinals: the document, section and position of each chunk, so that a search finds what is around it."""

from collections.abc import Collection
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.process.computed_once import computed_once
from docmill.storage.tables.tables import read_table

RUNNING = ("narrative", "structured", "technical", "legal", "transcript")
"""Content types whose chunks go on where the one before ends. Elsewhere one is beside another by chance: rows of a
table, questions with their answers, turns of a chat, mails of a box, entries of a log, fields, signatures, slides."""
_SERIES = ["document_id", "strategy", "role"]
_COLUMNS = ["chunk_id", "ordinal", "depth", "content_type", "headings", *_SERIES]
_ID_BYTES = "S32"


class Place(NamedTuple):
    """The numbers of a document and of a section, the position of a chunk in its document, from 0, whether the document
    has a title, and whether the chunk is running text."""

    document: int
    section: int
    ordinal: int
    titled: int
    running: int


class ChunkOrdinals:
    """The places of a snapshot's chunks, read on first use.

    A section is a document's text under the same headings, cut by the same strategy into chunks of one role and depth.
    """

    def __init__(self, stored: StoredSnapshot) -> None:
        self._stored = stored

    def of(self, ids: Collection[str]) -> dict[str, Place]:
        """Return the places of chunks."""
        keys, rows_of = self._rows
        if not len(keys):
            return {}
        asked = np.array(list(ids), _ID_BYTES)
        rows = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        known = keys[rows] == asked
        # Column by column, as a list for each row would be garbage that Python must look for.
        columns = (column.tolist() for column in rows_of[rows[known]].T)
        return dict(zip(compress(ids, known.tolist()), map(Place, *columns), strict=True))

    @computed_once
    def _rows(self) -> tuple[npt.NDArray[np.bytes_], npt.NDArray[np.int32]]:
        """The ids of all chunks in order, and the place of each, (n, 5)."""
        table = read_table(self._stored, "chunks", _COLUMNS)
        running = pc.is_in(table.column("content_type"), value_set=pa.array(RUNNING))
        headings = pc.binary_join(table.column("headings"), "\n")
        depth = table.column("depth").cast(pa.string())
        named = pc.binary_join_element_wise(*(table.column(name) for name in _SERIES), depth, headings, "\n")
        documents, sections = (_numbered(one) for one in (table.column("document_id"), named))
        titled = pc.is_in(table.column("document_id"), value_set=self._titled())
        keys = np.asarray(table.column("chunk_id").to_numpy(), _ID_BYTES)
        order = np.argsort(keys)
        ordinals, *said = (one.to_numpy() for one in (table.column("ordinal"), titled, running))
        places = np.column_stack((documents, sections, ordinals, *said))
        return keys[order], places[order].astype(np.int32)

    def _titled(self) -> pa.ChunkedArray:
        """Return the ids of the documents that have a title."""
        table = read_table(self._stored, "documents", ["document_id", "title"])
        return table.filter(pc.not_equal(table.column("title"), "")).column("document_id")


def _numbered(names: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """Return a number for each name, the same for equal ones."""
    return np.asarray(names.combine_chunks().dictionary_encode().indices, np.int32)
