"""Embed: vectors for the staged chunks whose indexed text has none yet, each distinct text once."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.artifacts import Packs, pack_embeddings, write_pack
from storage.boundary import boundary
from storage.encoder import load_encoder
from storage.files import TEMPORARY
from storage.schema import indexed_text
from storage.staging import Batch
from tasks.orders import load_order


@dataclass(frozen=True, slots=True)
class Embedding:
    """What embedding did, or would do: distinct texts and their tokens."""

    texts: int
    tokens: int

    def __add__(self, other: "Embedding") -> "Embedding":
        return Embedding(self.texts + other.texts, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class EmbedOrder:
    """Finished batches to embed, the packs that hold vectors already, and the pack to write."""

    batches: tuple[Batch, ...]
    packs: tuple[Path, ...]
    target: Path
    model: str
    revision: str


def embed_batches(order: Path) -> Embedding:
    """Write one pack with the vectors that the order's batches lack."""
    task: EmbedOrder = load_order(order)
    earlier = sorted(task.target.parent.glob("embeddings-*.parquet"))
    rows = unembedded(task.batches, (*task.packs, *earlier))
    if rows.num_rows:
        keys, contexts, texts = (rows.column(name).to_pylist() for name in ("embedding_key", "context", "text"))
        vectors = load_encoder(task.model, task.revision).encode(list(map(indexed_text, contexts, texts)))
        draft = task.target.with_name(TEMPORARY + task.target.name)
        write_pack(draft, pack_embeddings(keys, vectors), "embeddings")
        with boundary("rename vectors"):
            draft.replace(task.target)
    return count(rows)


def unembedded(batches: tuple[Batch, ...], packs: tuple[Path, ...]) -> pa.Table:
    """Return embedding_key, context, text and tokens of each distinct text without a vector."""
    columns = ["embedding_key", "context", "text", "tokens"]
    parts = [batch.chunks(columns) for batch in batches]
    table = pa.concat_tables(parts) if parts else None
    if table is None or not table.num_rows:
        return pa.table({name: pa.array([], pa.string() if name != "tokens" else pa.int32()) for name in columns})
    missing = Packs(packs).missing(table.column("embedding_key").to_pylist())
    table = table.filter(pc.is_in(table.column("embedding_key"), value_set=pa.array(list(missing), pa.string())))
    first: dict[str, int] = {}
    for position, key in enumerate(table.column("embedding_key").to_pylist()):
        first.setdefault(key, position)
    return table.take(pa.array(list(first.values()), pa.int64()))


def count(rows: pa.Table) -> Embedding:
    """Count the texts and tokens of `unembedded` rows."""
    return Embedding(rows.num_rows, pc.sum(rows.column("tokens")).as_py() or 0)


def chunk_count(batch: Batch) -> int:
    """Return the number of chunks of a finished batch."""
    return int(pq.read_metadata(batch.folder / "chunks.parquet").num_rows)
