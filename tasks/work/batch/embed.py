"""Embed: compute the missing vectors of staged chunks, each distinct text once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.schema import indexed_text
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.space import FLOAT32
from docmill.storage.search.encode.text_encoder import DocumentEncoder
from docmill.storage.snapshots.artifacts.late_vectors import encode_windows, windows_of
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, by_vector
from docmill.storage.snapshots.artifacts.packs import Packs, pack_embeddings
from docmill.storage.snapshots.artifacts.staging import DRAFTS, Batch, Portions, embed_in_portions
from docmill.tasks.model.embedding_costs import Payment, payer_of
from docmill.tasks.work.batch.step_orders import load_order


@dataclass(frozen=True, slots=True)
class Embedding:
    """What was embedded, or would be: the number of distinct texts and of their tokens.

    `seconds` is the model's time. `left` says that some texts are not embedded yet.
    """

    texts: int
    tokens: int
    seconds: float = 0.0
    left: bool = False

    def __add__(self, other: "Embedding") -> "Embedding":
        return Embedding(self.texts + other.texts, self.tokens + other.tokens, self.seconds + other.seconds, other.left)

    @property
    def rate(self) -> float:
        """Tokens per second, 0 if unknown."""
        return self.tokens / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class EmbedOrder:
    """Finished batches to embed, the packs with existing vectors, and the pack to write.

    `texts` are further packs of canonical texts, needed for `late` vectors. Embedding stops after `seconds`, or when
    the run's budget is used up.
    """

    batches: tuple[Batch, ...]
    packs: tuple[Path, ...]
    target: Path
    model: str
    revision: str
    late: bool = False
    texts: tuple[Path, ...] = ()
    light: int = 0
    seconds: float | None = None
    payment: Payment | None = None
    dtype: str = FLOAT32


@dataclass(frozen=True, slots=True)
class Encoding:
    """Where texts are encoded. `load` takes a model, its revision, `light` and `dtype`, as `load_encoder` does.

    `lanes` is how many portions the encoder takes in parallel.
    """

    load: Callable[[str, str, int, str], DocumentEncoder] = load_encoder
    lanes: int = 1

    def paid(
        self, model: str, revision: str, light: int, payment: Payment | None, dtype: str = FLOAT32
    ) -> DocumentEncoder:
        """Return the encoder of a model; its requests count against the run's budget."""
        encoder = self.load(model, revision, light, dtype)
        if payment is None:
            return encoder
        from docmill.storage.search.encode.api_encoder import paid_by

        return paid_by(encoder, payer_of(payment))


HERE = Encoding()


def embed_batches(order: Path, encoding: Encoding = HERE) -> Embedding:
    """Write one pack with the vectors that the order's batches lack, or with some of them if time runs out."""
    task = load_order(order, EmbedOrder)
    earlier = sorted(task.target.parent.glob("embeddings-*.parquet"))
    rows = in_turn(unembedded(task.batches, (*task.packs, *earlier)), task.late)
    if not rows.num_rows:
        return Embedding(0, 0)
    encoder = encoding.paid(task.model, task.revision, task.light, task.payment, task.dtype)
    encode = _LateEncoding(task, encoder).encoded if task.late else partial(_plain, encoder)
    return timed(rows, embed_in_portions(rows, encode, task.target, task.seconds, encoding.lanes))


def timed(rows: pa.Table, done: Portions) -> Embedding:
    """Return how much of `rows` was embedded."""
    return replace(count(rows.slice(0, done.rows)), seconds=done.seconds, left=done.rows < rows.num_rows)


def in_turn(rows: pa.Table, late: bool) -> pa.Table:
    """Return rows in the order in which to embed them.

    Texts of similar length fill a model batch best. Late chunks that share a window are already adjacent.
    """
    return rows if late else rows.sort_by([("tokens", "descending")])


def _plain(encoder: DocumentEncoder, rows: pa.Table) -> pa.Table:
    columns = (rows.column(name).to_pylist() for name in ("context", "text", "unread"))
    return _pack(rows, encoder.encode(list(map(indexed_text, *columns))))


def _pack(rows: pa.Table, vectors: npt.NDArray[np.float32]) -> pa.Table:
    return pack_embeddings(rows.column("embedding_key").to_pylist(), vectors)


class _LateEncoding:
    """The windows of an order's chunks, for late vectors."""

    def __init__(self, task: EmbedOrder, encoder: DocumentEncoder) -> None:
        owners = pa.concat_tables([batch.documents().select(["chunk_key", "text_key"]) for batch in task.batches])
        self._text_keys = dict(zip(*(column.to_pylist() for column in owners.columns), strict=True))
        self._texts = Packs([*task.texts, *(batch.texts for batch in task.batches)])
        self._encoder = encoder

    def encoded(self, rows: pa.Table) -> pa.Table:
        """Return rows of a pack with the late vectors of `rows`."""
        named = [self._text_keys[key] for key in rows.column("chunk_key").to_pylist()]
        windows = windows_of(rows.append_column("text_key", pa.array(named, pa.string())), self._texts)
        return _pack(rows, encode_windows(windows, self._encoder))


def unembedded(batches: tuple[Batch, ...], packs: tuple[Path, ...]) -> pa.Table:
    """Return one staged chunk, or part of a chunk, for each vector that no pack has."""
    return unvectored(pa.concat_tables([DRAFTS.empty_table(), *(batch.chunks() for batch in batches)]), packs)


def unvectored(chunks: pa.Table, packs: Sequence[Path]) -> pa.Table:
    """Return one chunk, or part of a chunk, for each vector that no pack has."""
    table = by_vector(chunks)
    missing = Packs(packs).missing(table.column("embedding_key").to_pylist())
    table = table.filter(pc.is_in(table.column("embedding_key"), value_set=pa.array(list(missing), pa.string())))
    first: dict[str, int] = {}
    for position, key in enumerate(table.column("embedding_key").to_pylist()):
        first.setdefault(key, position)
    return table.take(pa.array(list(first.values()), pa.int64()))


def count(rows: pa.Table) -> Embedding:
    """Count the texts and tokens of `unembedded` rows."""
    return Embedding(rows.num_rows, pc.sum(rows.column("tokens")).as_py() or 0)


def tokens_left(batches: Sequence[Batch], packs: Sequence[Path]) -> int:
    """Return the tokens of the distinct staged texts whose vectors no pack has."""
    names = [*KEYS, "tokens", "phrasings"]
    return count(
        unvectored(pa.concat_tables([DRAFTS.empty_table().select(names), *(b.chunks(names) for b in batches)]), packs)
    ).tokens


def chunk_count(batch: Batch) -> int:
    """Return the number of chunks of a finished batch."""
    return int(pq.read_metadata(batch.folder / "chunks.parquet").num_rows)


def document_count(batch: Batch) -> int:
    """Return the number of files of a finished batch, rejected ones included."""
    return int(pq.read_metadata(batch.folder / "documents.parquet").num_rows)
