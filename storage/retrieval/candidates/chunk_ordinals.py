"""Chunk ordinals: the document and the position of each chunk, so that a search finds the neighbours of a chunk."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.keys import bucket_of
from docmill.storage.tables.tables import read_stored_file

_COLUMNS = ["chunk_id", "document_id", "ordinal"]


class Place(NamedTuple):
    """The id of a document and the position of a chunk in it, from 0."""

    document: str
    ordinal: int

    def beside(self, step: int) -> "Place":
        """Return the place `step` chunks further on."""
        return Place(self.document, self.ordinal + step)


class ChunkOrdinals:
    """The places of a snapshot's chunks; each bucket is read on first use and cached."""

    def __init__(self, stored: StoredSnapshot) -> None:
        self._root = stored.root
        self._buckets = stored.snapshot.buckets
        self._pieces = {piece.bucket: piece for piece in stored.pieces("chunks")}
        self._read: dict[int, pa.Table] = {}

    def of(self, ids: Collection[str]) -> dict[str, Place]:
        """Return the places of chunks."""
        wanted: dict[int, list[str]] = {}
        for key in ids:
            wanted.setdefault(bucket_of(key, self._buckets), []).append(key)
        return {key: place for bucket, keys in wanted.items() for key, place in self._of(bucket, keys)}

    def _of(self, bucket: int, keys: list[str]) -> list[tuple[str, Place]]:
        table = self._table(bucket)
        rows = pc.index_in(pa.array(keys, pa.string()), value_set=table.column("chunk_id")).drop_null()
        return _places(table.take(rows))

    def _table(self, bucket: int) -> pa.Table:
        if bucket not in self._read:
            piece = self._pieces.get(bucket)
            empty = pa.table({"chunk_id": pa.array([], pa.string()), "document_id": [], "ordinal": []})
            self._read[bucket] = read_stored_file(self._root, piece, _COLUMNS).combine_chunks() if piece else empty
        return self._read[bucket]


def _places(table: pa.Table) -> list[tuple[str, Place]]:
    ids, documents, ordinals = (table.column(name).to_pylist() for name in _COLUMNS)
    return [(key, Place(*place)) for key, *place in zip(ids, documents, np.array(ordinals).tolist(), strict=True)]
