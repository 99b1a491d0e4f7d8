"""Pending vectors: find the chunks that are in a snapshot's tables and postings but do not have their vectors yet.

A chunk is in the vector index if and only if every one of its vectors is in a pack of the snapshot. So no list of
pending chunks is stored: a snapshot only has their number.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, by_vector
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import PendingVectors, StoredFile
from docmill.storage.snapshots.tables.spill import Rows, gathered, parts
from docmill.storage.snapshots.tables.tables import read_stored_file

_ROWS_AT_ONCE = 65_536
"""Rows that are looked up at a time; each takes some 150 B."""
COLUMNS = ["chunk_id", "document_id", "tokens", *KEYS]


_NONE = CHUNKS.empty_table().select(COLUMNS)


def waiting(chunks: pa.Table, packs: Packs) -> pa.Table:
    """Return the chunks that lack a vector."""
    rows = by_vector(chunks.select(COLUMNS))
    absent = packs.absent(rows.column("embedding_key").combine_chunks())
    ids = rows.filter(pc.is_in(rows.column("embedding_key"), value_set=absent)).column("chunk_id")
    return among(chunks, ids)


def waiting_rows(chunks: Rows, packs: Packs, wanted: pa.Array) -> pa.Table:
    """Return the `COLUMNS` of the `wanted` chunks that lack a vector."""
    # Each look-up reads the keys of all packs, and spilled rows come in parts of a few documents.
    batches = gathered((among(part, wanted) for part in parts(chunks, COLUMNS)), _ROWS_AT_ONCE)
    return pa.concat_tables([_NONE, *(waiting(pa.Table.from_batches([batch]), packs) for batch in batches)])


def waiting_in(stored: StoredSnapshot | None) -> pa.Table:
    """Return the `COLUMNS` of the chunks of a snapshot whose vectors are pending."""
    return pa.concat_tables([_NONE, *(rows for _, rows in waiting_pieces(stored))])


def waiting_pieces(stored: StoredSnapshot | None, others: Sequence[Path] = ()) -> Iterator[tuple[StoredFile, pa.Table]]:
    """Yield each file of a snapshot's chunks that has pending vectors, with the `COLUMNS` of those chunks.

    Vectors in the packs `others`, which the snapshot does not name, do not count as pending.
    """
    if stored is None or stored.snapshot.pending is None:
        return
    packs = Packs([*stored.packs("embeddings"), *others])
    for piece in stored.pieces("chunks"):
        rows = waiting(read_stored_file(stored.root, piece, COLUMNS), packs)
        if rows.num_rows:
            yield piece, rows


def with_vectors(stored: StoredSnapshot, chunks: pa.Table, packs: Sequence[Path] | None = None) -> pa.Table:
    """Return the chunks whose vectors are all in `packs`, or in the packs of the snapshot if None."""
    if stored.snapshot.pending is None:
        return chunks
    held = Packs(stored.packs("embeddings") if packs is None else packs)
    return without(chunks, waiting(chunks, held).column("chunk_id"))


def counted(rows: pa.Table, tokens_per_s: float) -> PendingVectors | None:
    """Return the counts of pending chunks and tokens, or None if there are none. Tokens of equal texts count once."""
    if not rows.num_rows:
        return None
    distinct = rows.group_by("embedding_key").aggregate([("tokens", "max")])
    return PendingVectors(rows.num_rows, pc.sum(distinct.column("tokens_max")).as_py(), round(tokens_per_s, 3))


def among(table: pa.Table, ids: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the rows of the chunks with these ids."""
    return table.filter(pc.is_in(table.column("chunk_id"), value_set=pc.unique(ids)))


def without(table: pa.Table, ids: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the rows of the chunks that do not have one of these ids."""
    return table.filter(pc.invert(pc.is_in(table.column("chunk_id"), value_set=pc.unique(ids))))
