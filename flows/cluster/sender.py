"""Sender: turn orders of a run into parcels, and receipts into what the plain steps leave in staging."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from docmill.flows.cluster.cluster import RemoteWorkers, WorkerLost
from docmill.storage.arrow_schema import to_table
from docmill.storage.artifacts.packs import TEXTS, Packs, write_pack
from docmill.storage.artifacts.staging import DOCUMENTS, DRAFTS, write_batch
from docmill.storage.embedding.encoder import EmbeddingSpace, Window
from docmill.storage.errors import ConfigError, Rejected, Terminal, Transient
from docmill.storage.files import hash_file, temporary
from docmill.storage.objects.freight import Freight
from docmill.tasks.batch.batch import BatchDone, Order
from docmill.tasks.carrying.parcels import Counts, ModelName, Parcel, Receipt, terms_of
from docmill.tasks.carrying.perform import BATCH, CHECK, EMBED, ORDER, RAW, STORED, TABLES, Texts, spelled
from docmill.tasks.document.process import PhaseSeconds, WorkItem, reject
from docmill.tasks.workers.plain_json import Readers, decode, encode

_TRIES = 2
"""How often workers may die over a parcel before it is halved; the first death may have another cause."""
_ERRANDS = 3  # tries of a parcel whose worker lacks a connection or room, which another may have
_LEVEL = 1  # of compression: the driver sends text faster than it could compress it better


class Asked(Exception):
    """A batch asks for answers that the driver has to give."""


@dataclass
class Sender:
    """Carries the steps of one run to the workers of a cluster."""

    cluster: RemoteWorkers
    freight: Freight
    run: str
    folder: Path
    space: EmbeddingSpace
    sizes_by: str
    passwords: tuple[str, ...]
    address_of: Callable[[str], str]
    embed_on: str = ""
    receipts: list[Receipt] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def check(self) -> None:
        """Raise `ConfigError` unless every worker has the same docmill, model and plugins as this machine."""
        parcel = spelled(self._parcel("check", "", ""))
        for found in map(_read, self.cluster.call_each(CHECK, parcel)):
            _check(found)

    def process(self, task: Order) -> BatchDone:
        """Process a batch on a worker; raise `Asked` if this machine has to."""
        parts = self._parts(task, task.folder.name)
        counts = [one.counts for one in parts]
        began = min(one.began for one in parts)
        return BatchDone(
            task.folder,
            began,
            max(one.began + one.seconds for one in parts) - began,
            sum(one.answering for one in counts),
            sum((one.spent for one in counts), PhaseSeconds()),
            *(sum(getattr(one, name) for one in counts) for name in _SUMMED),
        )

    def embed(self, texts: Sequence[str], windows: Sequence[Window] = ()) -> npt.NDArray[np.float32]:
        """Return the vectors of texts or of windows, which one worker makes."""
        name = f"embed-{next(self._numbers):06d}"
        with temporary(self.folder) as draft:
            draft.write_bytes(encode(Texts(tuple(texts), tuple(windows))))
            done = self._carried(EMBED, name, draft, self.embed_on)
            self._fetch(done, draft)
            column = pq.read_table(draft, columns=["vector"], partitioning=None).column("vector").combine_chunks()
            return np.asarray(column.flatten(), np.float32).reshape(len(column), -1)

    def _parts(self, task: Order, name: str) -> list[Receipt]:
        """Process a batch, halved where workers die over it, and write its folder."""
        tables = [self._try(task, name)]
        receipts = [receipt for some in tables for receipt, _ in some]
        parts = [folder for some in tables for _, folder in some]
        write_batch(task.folder, *_joined(parts))
        return receipts

    def _try(self, task: Order, name: str) -> list[tuple[Receipt, tuple[pa.Table, ...]]]:
        with temporary(self.folder) as draft:
            self._pack(task, draft)
            try:
                done = self._carried(BATCH, name, draft, asking=task.answering.asking is not None)
            except WorkerLost as error:
                return self._halves(task, name, error)
            self._fetch(done, draft)
            with ZipFile(draft) as made:
                return [(done, tuple(pq.read_table(pa.BufferReader(made.read(one))) for one in TABLES))]

    def _halves(self, task: Order, name: str, why: WorkerLost) -> list[tuple[Receipt, tuple[pa.Table, ...]]]:
        if len(task.works) == 1:
            return [_rejected(task.works[0], f"{why} {_TRIES} times, with no other document at hand")]
        middle = len(task.works) // 2
        some = (task.works[:middle], task.works[middle:])
        return [
            one
            for part, works in zip("ab", some, strict=True)
            for one in self._try(replace(task, works=works), name + part)
        ]

    def _pack(self, task: Order, target: Path) -> None:
        """Write what a worker needs for a batch."""
        stored = [work.text_key for work in task.works if work.text_key]
        works = tuple(replace(work, path=self.address_of(work.path), place=()) for work in task.works)
        recipe = replace(task.recipe, tokenizer_dir="", chunk=replace(task.recipe.chunk, sizes_by=""))
        answering = replace(task.answering, packs=(), target=Path("asked"), asking=None)
        packs = (Path(STORED),) if stored else ()
        order = Order(Path("batch"), works, recipe, packs, answering)
        with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            archive.writestr(ORDER, encode(order))
            for work, sent in zip(task.works, works, strict=True):
                if not sent.path and not work.text_key and Path(work.path).is_file():
                    archive.write(work.path, f"{RAW}/{work.key}")
            if stored:
                with temporary(self.folder) as draft:
                    write_pack(draft, Packs(task.text_packs).take(sorted({*stored})), "texts")
                    archive.write(draft, STORED)

    def _carried(self, step: str, name: str, path: Path, resource: str = "", asking: bool = False) -> Receipt:
        """Send a file and return the receipt of the step; raise what became of it otherwise."""
        key = self.freight.send(self.run, name, path)
        parcel = replace(self._parcel(name, key, hash_file(path)), asking=asking)
        done = _persistent(partial(self.cluster.call, step, spelled(parcel), resource))
        self.freight.drop([key])
        self.receipts.append(done)
        return done

    def _fetch(self, done: Receipt, path: Path) -> None:
        self.freight.fetch(done.key, path, done.content_hash)

    def _parcel(self, name: str, key: str, content_hash: str) -> Parcel:
        space = self.space
        model = ModelName(space.model, space.revision, space.light, space.late)
        return Parcel(
            self.freight.url,
            self.freight.store,
            self.run,
            name,
            key,
            content_hash,
            model,
            terms_of(model),
            self.sizes_by,
            passwords=self.passwords,
        )


_SUMMED = ("documents", "rejected", "regions", "chunks", "contexts")


def _persistent(call: Callable[[], bytes]) -> Receipt:
    """Call until there is a receipt that counts; raise `WorkerLost` if workers die over it, or what else fails."""
    lost = errands = 0
    while True:
        try:
            done = _read(call())
            _check(done)
            return done
        except WorkerLost:
            lost += 1
            if lost >= _TRIES:
                raise
        except Transient:
            errands += 1
            if errands >= _ERRANDS:
                raise


def _read(data: bytes) -> Receipt:
    receipt: Receipt = decode(data, Readers().of(Receipt))
    return receipt


def _check(done: Receipt) -> None:
    """Raise an error for a receipt that has no result."""
    if done.outcome == "asks":
        raise Asked
    if done.outcome == "refused":
        raise ConfigError(f"worker {done.worker} would make other rows: {done.message}")
    if done.outcome == "transient":
        raise Transient(f"worker {done.worker}: {done.message}")
    if done.outcome != "done":
        raise Terminal(f"worker {done.worker}: {done.message}")


def _joined(parts: Sequence[tuple[pa.Table, ...]]) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Return the tables of the parts of a batch as one; equal documents may have chunks and texts in both."""
    documents, chunks, texts = (list(tables) for tables in zip(*parts, strict=True))
    return pa.concat_tables(documents), _once(chunks, "chunk_key"), _once(texts, "key")


def _once(tables: Sequence[pa.Table], key: str) -> pa.Table:
    """Concatenate tables without the rows whose key an earlier one has."""
    seen: set[str] = set()
    kept = []
    for table in tables:
        keys = table.column(key).to_pylist()
        kept.append(table.filter(pa.array([one not in seen for one in keys], pa.bool_())))
        seen.update(keys)
    return pa.concat_tables(kept)


def _rejected(work: WorkItem, message: str) -> tuple[Receipt, tuple[pa.Table, ...]]:
    row = reject(work, Rejected("crashed", message)).document
    counts = Counts(documents=1, rejected=1)
    return Receipt("done", "", counts=counts), (
        to_table([row], DOCUMENTS),
        DRAFTS.empty_table(),
        TEXTS.empty_table(),
    )
