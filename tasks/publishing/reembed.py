"""Reembed: compute a store's vectors with another model, keeping the old ones, and switch in one snapshot.

Finished vectors are in staging, addressed by content, so a killed run resumes where it stopped.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from docmill.storage.arrow_schema import RUNS, from_table
from docmill.storage.errors import BudgetReached, StoreError
from docmill.storage.files import check_room
from docmill.storage.keys import embedding_key
from docmill.storage.process.shutdown import uncut
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import CostRow, RunRow, indexed_text
from docmill.storage.schema_evolution import conform
from docmill.storage.search.encode.encoder import TextEncoder, Window, load_encoder
from docmill.storage.search.encode.matryoshka import shortens
from docmill.storage.search.encode.numpy_bert_check import confirmed
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.encode.text_encoder import DocumentEncoder, first_of
from docmill.storage.search.vectors import vectors
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.artifacts.late_vectors import encode_windows, keys_of, windows_of
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, by_vector, with_keys
from docmill.storage.snapshots.artifacts.packs import Packs, pack_embeddings
from docmill.storage.snapshots.clean.compact import check_present
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.garbage import sweep
from docmill.storage.snapshots.history.probed_models import probe_model
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import StoredFile, vector_tag
from docmill.storage.snapshots.tables.tables import read_stored_file, read_table, rewrite, write_single
from docmill.storage.snapshots.write import current_folder
from docmill.storage.snapshots.write.commit import join_artifacts
from docmill.storage.snapshots.write.run_tables import costs_of
from docmill.storage.snapshots.write.vector_rows import vector_rows
from docmill.tasks.model import ledger
from docmill.tasks.model.embedding_costs import EmbeddingPayer, Payment, close_payer, payer_of
from docmill.tasks.publishing.gate import Gate
from docmill.tasks.publishing.publish import Published, publish_snapshot

_TABLES = ("chunks", "deleted_chunks")  # deleted chunks are restored with a vector of the new space
_OWNERS = ("documents", "deleted")
_TEXTS_AT_ONCE = 2048
"""Texts in a pack. Smaller packs mean more files for each later look-up, larger ones more rows in memory."""


@dataclass(frozen=True, slots=True)
class Reembedded:
    """The number of embedded texts, and the commit; None if nothing was needed."""

    embedded: int
    published: Published | None


@dataclass(frozen=True, slots=True)
class CommitTerms:
    """The terms of a commit, as in an ingest."""

    retention: Retention
    gate: Gate | None = None
    wait_s: float = 0.0


def reembed(
    store: str | Path | StoreFolder,
    space: EmbeddingSpace,
    terms: CommitTerms,
    progress: Callable[[int, int], None] | None = None,
    payment: Payment | None = None,
) -> Reembedded:
    """Give every chunk of the newest snapshot a vector of `space`, and commit the vectors as one snapshot.

    Readers and older snapshots keep the old vectors. Raise `StoreError` before any change if a chunk exceeds the
    model's token limit or a file of the snapshot is missing. Raise `BudgetReached` when `payment` allows no more;
    another call then continues.
    """
    folder = open_folder(store).existing()
    root = folder.root
    with folder.lock(terms.wait_s), _paying(payment) as payer:
        check_room(root)
        folder.complete()
        if staging.take_over(root):
            sweep(root)
        current_folder.catch_up(folder)
        base = folder.read()
        check_present(base)
        space = probe_model(root, space, payer)
        if (base.snapshot.space.id, base.snapshot.space.indexed) == (space.id, space.indexed):
            return Reembedded(0, None)
        if base.snapshot.space.late != space.late:
            raise StoreError("late vectors need windows, which only an ingest computes; ingest into a new store")
        embedded = _embed(base, space, progress or (lambda *_: None), payer)
        if payer:
            payer.note()
        notes = ledger.pending(root)
        made = _switched(base, space, embedded, ledger.read(notes))
        with uncut():
            published = publish_snapshot(base, made, terms.retention, terms.gate)
            if published.snapshot is not None:
                ledger.clear(notes)
        return Reembedded(embedded, published)


@contextmanager
def _paying(payment: Payment | None) -> Iterator[EmbeddingPayer | None]:
    try:
        yield payer_of(payment)
    finally:
        if payment:
            close_payer(payment.run)


@dataclass(frozen=True)
class VectorSource:
    """The rows to embed, one for each vector, as texts or, in a late space, as windows of texts."""

    base: StoredSnapshot
    space: EmbeddingSpace

    @cached_property
    def _text_keys(self) -> dict[str, str]:
        owners = [read_table(self.base, name, ["document_id", "text_key"]) for name in _OWNERS]
        return dict(zip(*(column.to_pylist() for column in pa.concat_tables(owners).columns), strict=True))

    @cached_property
    def _packs(self) -> Packs:
        return Packs(self.base.packs("texts"))

    def keys(self, table: pa.Table) -> list[str]:
        """Return the key of each row's vector in the space."""
        if self.space.late:
            return keys_of(self.windows(table), self.space.id)
        return [embedding_key(text, self.space.id) for text in _texts(table)]

    @cached_property
    def shortens(self) -> bool:
        """Whether the vectors are prefixes of the stored ones, so that no text need be embedded."""
        return shortens(self.space, self.base.snapshot.space)

    @cached_property
    def _vectors(self) -> Packs:
        return Packs(self.base.packs("embeddings"))

    def shortened(self, table: pa.Table) -> pa.Table:
        """Return a pack of the rows' vectors, shortened from the stored ones."""
        flat = self._vectors.take(table.column("embedding_key").to_pylist()).column("vector").combine_chunks().flatten()
        held = np.asarray(flat, np.float32).reshape(len(table), -1)
        return pack_embeddings(self.keys(table), first_of(held, self.space.dimension))

    def encoded(self, table: pa.Table, encoder: DocumentEncoder) -> pa.Table:
        """Return a pack of the rows' vectors."""
        made = encode_windows(self.windows(table), encoder) if self.space.late else encoder.encode(_texts(table))
        return pack_embeddings(self.keys(table), made)

    def check(self, table: pa.Table, encoder: TextEncoder) -> None:
        """Raise if the model would truncate a row."""
        encoder.check([window.text for window in self.windows(table)] if self.space.late else _texts(table))

    def windows(self, table: pa.Table) -> list[Window]:
        """Return the window of each row."""
        named = [self._text_keys[key] for key in table.column("document_id").to_pylist()]
        return windows_of(table.append_column("text_key", pa.array(named, pa.string())), self._packs)


def _texts(table: pa.Table) -> list[str]:
    return [*map(indexed_text, *(table.column(name).to_pylist() for name in ("context", "text", "unread")))]


def _pieces(base: StoredSnapshot) -> Iterator[StoredFile]:
    for name in _TABLES:
        yield from base.pieces(name)


def _embed(
    base: StoredSnapshot,
    space: EmbeddingSpace,
    progress: Callable[[int, int], None],
    payer: EmbeddingPayer | None,
) -> int:
    """Write packs of the vectors that neither the store nor staging has; return the number of embedded texts."""
    source, root = VectorSource(base, space), base.root
    packs = Packs([*base.packs("embeddings"), *staging.embedding_packs(root)])
    left = [*_lacking(source, packs)]
    total = sum(len(rows) for _, rows in left)
    if not total:
        return 0
    folder = root / staging.FOLDER / f"reembed-{space.id}"
    folder.mkdir(parents=True, exist_ok=True)
    before = [int(path.stem.split("-")[1]) for path in folder.glob("embeddings-*.parquet")]
    groups = enumerate(_groups(root, left), start=max(before, default=0) + 1)
    if source.shortens and base.snapshot.pending is None:
        for number, rows in groups:
            staging.embed_in_portions(rows, source.shortened, folder / f"embeddings-{number:05d}.parquet")
        return 0
    paid = _paid_encoder(source, space, left, payer)
    done = 0
    for number, rows in groups:
        progress(done, total)
        target = folder / f"embeddings-{number:05d}.parquet"
        done += staging.embed_in_portions(rows, lambda some: source.encoded(some, paid), target).rows
        if payer and payer.reached:
            raise BudgetReached(
                f"{done:,} of {total:,} texts are embedded, more would cost more than --max-cost; run again to continue"
            )
    progress(done, total)
    return done


def _paid_encoder(
    source: VectorSource,
    space: EmbeddingSpace,
    left: list[tuple[StoredFile, pa.Array]],
    payer: EmbeddingPayer | None,
) -> DocumentEncoder:
    """Return the encoder of a space, after checking that it accepts every chunk that lacks a vector."""
    encoder = load_encoder(space.model, space.revision, dtype=space.dtype)
    for piece, rows in left:
        source.check(by_vector(read_stored_file(source.base.root, piece)).take(rows), encoder)
    if not payer:
        return encoder
    from docmill.storage.search.encode.api_encoder import paid_by

    return paid_by(encoder, payer)


def _lacking(source: VectorSource, packs: Packs) -> Iterator[tuple[StoredFile, pa.Array]]:
    """Yield the rows of each file whose vectors are in no pack, one row for each vector."""
    seen: set[str] = set()
    for piece in _pieces(source.base):
        keys = source.keys(by_vector(read_stored_file(source.base.root, piece)))
        missing = packs.missing(keys) - seen
        first = {key: row for row, key in reversed([*enumerate(keys)]) if key in missing}
        seen |= missing
        if first:
            yield piece, pa.array(sorted(first.values()), pa.int64())


def _groups(root: Path, left: Sequence[tuple[StoredFile, pa.Array]]) -> Iterator[pa.Table]:
    """Yield rows in groups that fit one pack."""
    held: list[pa.Table] = []
    for piece, rows in left:
        held.append(by_vector(read_stored_file(root, piece)).take(rows))
        while sum(map(len, held)) >= _TEXTS_AT_ONCE:
            joined = pa.concat_tables(held)
            yield joined.slice(0, _TEXTS_AT_ONCE)
            held = [joined.slice(_TEXTS_AT_ONCE)]
    if sum(map(len, held)):
        yield pa.concat_tables(held)


def _switched(base: StoredSnapshot, space: EmbeddingSpace, embedded: int, costs: tuple[CostRow, ...]) -> StoredSnapshot:
    """Return the snapshot with the vectors of `space`, written but not committed."""
    source, number, now = VectorSource(base, space), base.number + 1, datetime.now(UTC)
    root, before = base.root, base.snapshot

    def renamed(table: pa.Table) -> pa.Table:
        return with_keys(table, source.keys(by_vector(table)))

    run = _run(now, number, before.rows("chunks"), embedded)
    tables = {name: rewrite(root, base.pieces(name), name, renamed) for name in _TABLES if name in before.tables}
    tables["runs"] = write_single(root, "runs", pa.concat_tables([read_table(base, "runs"), run]))
    (row,) = from_table(run, RunRow)
    if costs:
        tables["costs"] = write_single(root, "costs", costs_of(base, costs, row))
    made = base.changed(number=number, created=now.isoformat("T", "milliseconds"), space=confirmed(space))
    made = made.changed(run_id=row.run_id, tables={**before.tables, **tables})
    promoted = staging.promote(root, base.packs("figures"))
    made = made.changed(pending=None, artifacts=join_artifacts(before.artifacts, promoted))
    chunks = read_table(made, "chunks", ["chunk_id", "document_id", *KEYS])
    rows = vector_rows(made.packs("embeddings"), chunks)
    return made.changed(vectors=vectors.rebuild(root, space, rows, vector_tag(number)))


def _run(now: datetime, number: int, chunks: int, embedded: int) -> pa.Table:
    named = {"run_id": f"{now:%Y%m%dT%H%M%S}-reembed", "engine": "reembed", "started": now.isoformat("T", "seconds")}
    counts = {"snapshot": number, "chunks_kept": chunks, "embedded": embedded}
    return conform(pa.Table.from_pylist([named | counts]), RUNS)
