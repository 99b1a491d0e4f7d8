"""Embed pending: compute pending vectors of the newest snapshot for the commits that follow."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import read_stored_file, read_table
from docmill.storage.snapshots.write.commit import Changes
from docmill.storage.snapshots.write.pending_vectors import among, waiting_pieces
from docmill.tasks.model.embedding_costs import Payment
from docmill.tasks.publishing.reembed import VectorSource
from docmill.tasks.work.batch.embed import HERE, Embedding, Encoding, in_turn, timed, unvectored
from docmill.tasks.work.batch.step_orders import load_order

_CHUNKS_AT_ONCE = 2048
"""Chunks in memory for each lane, from which the model fills batches of similar length."""


@dataclass(frozen=True, slots=True)
class FillOrder:
    """The snapshot whose vectors are pending, the pack to write, the time limit in seconds, and who pays."""

    base: StoredSnapshot
    target: Path
    seconds: float | None
    payment: Payment | None = None


def embed_pending(order: Path, encoding: Encoding = HERE) -> Embedding:
    """Write one pack with pending vectors; `left` says whether the order ended before the last one."""
    task = load_order(order, FillOrder)
    chunks = _some_chunks(task.base, _CHUNKS_AT_ONCE * encoding.lanes)
    space = task.base.snapshot.space
    packs = [*staging.embedding_packs(task.base.root), *task.base.packs("embeddings")]
    rows = in_turn(unvectored(chunks, packs), space.late)
    if not rows.num_rows:
        return Embedding(0, 0)
    source = VectorSource(task.base, space)
    encoder = encoding.paid(space.model, space.revision, space.light, task.payment, space.dtype)

    def encode(some: pa.Table) -> pa.Table:
        return source.encoded(some, encoder)

    return timed(rows, staging.embed_in_portions(rows, encode, task.target, task.seconds, encoding.lanes))


def _some_chunks(base: StoredSnapshot, most: int) -> pa.Table:
    """Return about `most` chunks whose vectors are pending and not in staging either."""
    found = [CHUNKS.empty_table()]
    for piece, rows in waiting_pieces(base, staging.embedding_packs(base.root)):
        found.append(among(read_stored_file(base.root, piece), rows.column("chunk_id")))
        if sum(map(len, found)) >= most:
            break
    return pa.concat_tables(found).slice(0, most)


def fill(base: StoredSnapshot, tokens_per_s: float) -> Changes:
    """Return changes that add the staged vectors to a snapshot and nothing else."""
    return Changes(
        gone=frozenset(),
        documents=read_table(None, "documents"),
        chunks=CHUNKS.empty_table(),
        rejects=read_table(base, "rejects"),
        artifacts={},
        space=base.snapshot.space,
        partial=True,
        tokens_per_s=tokens_per_s,
    )
