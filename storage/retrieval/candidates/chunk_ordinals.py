"""Chunk ordinals: the section and the position of each chunk, so that a search finds the neighbours of a chunk."""

from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.tables.tables import read_table

RUNNING = ("narrative", "structured", "technical", "legal", "transcript")
"""Content types whose chunks go on where the one before ends. Elsewhere one stands beside another by chance: rows of a
table, questions with their answers, turns of a chat, mails of a box, entries of a log, fields, signatures, slides."""
_SERIES = ["document_id", "strategy", "role"]
_COLUMNS = ["chunk_id", "ordinal", "depth", "content_type", "headings", *_SERIES]
_ID_BYTES = "S32"


class Place(NamedTuple):
    """The number of a section and the position of a chunk in its document, from 0."""

    section: int
    ordinal: int

    def beside(self, step: int) -> "Place":
        """Return the place `step` chunks further on."""
        return Place(self.section, self.ordinal + step)


class ChunkOrdinals:
    """The places of a snapshot's chunks of running text, read on first use.

    A section is a document's text under the same headings, cut by the same strategy into chunks of one role and depth.
    """

    def __init__(self, stored: StoredSnapshot) -> None:
        self._stored = stored

    def of(self, ids: Collection[str]) -> dict[str, Place]:
        """Return the places of those of some chunks that are running text."""
        keys, sections, ordinals = self._rows
        if not len(keys):
            return {}
        asked = np.array(list(ids), _ID_BYTES)
        rows = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        places = zip(asked, sections[rows].tolist(), ordinals[rows].tolist(), keys[rows] == asked, strict=True)
        return {key.decode(): Place(section, ordinal) for key, section, ordinal, known in places if known}

    @cached_property
    def _rows(self) -> tuple[npt.NDArray[np.bytes_], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The ids of all chunks of running text in order, and the section and the ordinal of each."""
        table = read_table(self._stored, "chunks", _COLUMNS)
        table = table.filter(pc.is_in(table.column("content_type"), value_set=pa.array(RUNNING)))
        headings = pc.binary_join(table.column("headings"), "\n")
        depth = table.column("depth").cast(pa.string())
        named = pc.binary_join_element_wise(*(table.column(name) for name in _SERIES), depth, headings, "\n")
        sections = named.combine_chunks().dictionary_encode().indices
        keys = np.asarray(table.column("chunk_id").to_numpy(), _ID_BYTES)
        order = np.argsort(keys)
        ordinals = table.column("ordinal").to_numpy()
        return keys[order], np.asarray(sections, np.int32)[order], np.asarray(ordinals, np.int32)[order]
