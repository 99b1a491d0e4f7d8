"""Vector source: where a search gets the vectors of a snapshot: from LanceDB, or from the packs of a small store."""

from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from docmill.storage.errors import StoreError
from docmill.storage.search.vectors.fence import schema
from docmill.storage.search.vectors.flat_index import FlatIndex
from docmill.storage.search.vectors.index_kind import INDEX_ROWS, kind_of
from docmill.storage.search.vectors.vectors import VectorIndex
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.pending_vectors import COLUMNS, with_vectors
from docmill.storage.snapshots.write.vector_rows import vector_rows

_FOREIGN_SHARE = 4
"""Rows of packs for each vector of the snapshot, above which LanceDB is read: packs keep the vectors of past chunks."""
_ROWS_AT_ONCE = 1 << 14
"""Vectors to take from the packs at a time, in 25 MB if each has 384 numbers: each time, row groups are read anew."""
_ROWS_OF_PART_AT_ONCE = 1 << 16
"""As above, for a part of a store: its vectors are spread over all row groups, which takes 0.4 s each time."""
_MOST_IN_MEMORY = 2 * INDEX_ROWS
"""Chunks of a part of a store whose vectors are compared in memory: the index misses rows with any filter. With 384
numbers, twice as many would take 600 MB for each set of principals."""
_MOST_PACKS = 64  # one takes 2 ms to read, and to import LanceDB takes a second


def open_vectors(stored: StoredSnapshot) -> VectorIndex | FlatIndex:
    """Return the vectors of a snapshot; raise `StoreError` if they are damaged."""
    if stored.folder.whole:
        return _of_part(stored, stored.folder.whole)
    if _is_small(stored):
        with suppress(StoreError):  # LanceDB may have what a damaged pack has lost
            return _from_packs(stored)
    try:
        return VectorIndex(stored.root, stored.snapshot.vectors, stored.snapshot.space)
    except StoreError:
        if stored.number == snapshots.numbers(stored.root)[-1]:
            raise
        # An old snapshot that only a tag keeps: its version of the index was removed with its neighbours.
        stored.ensure_packs("embeddings")
        return _from_packs(stored)


def _of_part(stored: StoredSnapshot, whole: StoredSnapshot) -> VectorIndex | FlatIndex:
    """Return the vectors of what some principals may see: in memory, or in the table of all if they are very many."""
    if stored.snapshot.rows("chunks") <= _MOST_IN_MEMORY:
        return _in_memory(stored, whole.ensure_packs("embeddings"), _ROWS_OF_PART_AT_ONCE)
    ids = read_table(stored, "chunks", ["chunk_id"]).column("chunk_id").to_pylist()
    return VectorIndex(stored.root, stored.snapshot.vectors, stored.snapshot.space, frozenset(ids))


def _is_small(stored: StoredSnapshot) -> bool:
    """Return whether all vectors are compared in memory anyway, and the packs of this machine hold few others."""
    rows, packs = stored.snapshot.vectors.rows, stored.snapshot.artifacts["embeddings"]
    few = len(packs) <= _MOST_PACKS and sum(pack.rows for pack in packs) <= _FOREIGN_SHARE * rows
    return (
        rows < kind_of(stored.snapshot.space).least_rows
        and few
        and all(path.is_file() for path in stored.packs("embeddings"))
    )


def _from_packs(stored: StoredSnapshot) -> FlatIndex:
    return _in_memory(stored, stored.packs("embeddings"), _ROWS_AT_ONCE)


def _in_memory(stored: StoredSnapshot, packs: list[Path], at_once: int) -> FlatIndex:
    chunks = with_vectors(stored, read_table(stored, "chunks", COLUMNS), packs)
    rows = vector_rows(packs, chunks.combine_chunks(), at_once=at_once)
    return FlatIndex(pa.Table.from_batches(rows, schema(stored.snapshot.space.dimension)))
