"""Remote batches: turn orders of a run into parcels, and receipts into what local steps leave in staging."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from docmill.flows.cluster.cluster import WorkerLost
from docmill.flows.cluster.sender import TRIES, Sender, SentStep
from docmill.storage.arrow_schema import to_table
from docmill.storage.errors import Rejected
from docmill.storage.files import TEMPORARY, remove, temporary
from docmill.storage.search.encode.api.api_address import is_api
from docmill.storage.search.encode.encoder import Window, load_encoder
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.snapshots.artifacts.packs import FIGURES, TEXTS, Packs, write_pack
from docmill.storage.snapshots.artifacts.staging import DOCUMENTS, DRAFTS, write_batch
from docmill.tasks.paths.local_file import ANYWHERE, LocalFile
from docmill.tasks.work.batch.batch import BatchDone, FirstPass, Order, answer_all, finish, jobs_of
from docmill.tasks.work.batch.embed import Encoding
from docmill.tasks.work.document.process import PhaseSeconds, WorkResult, reject
from docmill.tasks.work.document.recipe import Recipe
from docmill.tasks.work.document.work_item import WorkItem
from docmill.tasks.work.pool.plain_json import Readers, decode, encode
from docmill.tasks.work.remote.parcels import Counts, Receipt
from docmill.tasks.work.remote.worker_steps import AGAIN, BATCH, ORDER, RAW, STORED, TABLES, AnsweredBatch, answered

_LEVEL = 1  # of compression; better compression would take longer than it saves in sending
_SUMMED = ("documents", "rejected", "regions", "chunks", "contexts")
_Tables = tuple[pa.Table, ...]


def process_remote(sender: Sender, task: Order) -> BatchDone:
    """Process a batch on workers and write its folder. If workers die over it, it is halved."""
    asking = task.answering.asking is not None or task.answering.reading is not None
    parts = _tried(sender, task, SentStep(BATCH, task.folder.name, asking=asking))
    write_batch(task.folder, *_joined([tables for _, tables in parts]))
    receipts = [receipt for receipt, _ in parts]
    counts, began = [one.counts for one in receipts], min(one.began for one in receipts)
    return BatchDone(
        task.folder,
        began,
        max(one.began + one.seconds for one in receipts) - began,
        sum(one.answering for one in counts),
        sum((one.spent for one in counts), PhaseSeconds()),
        *(sum(getattr(one, name) for one in counts) for name in _SUMMED),
    )


def _tried(sender: Sender, task: Order, sent: SentStep) -> list[tuple[Receipt, _Tables]]:
    """Return the tables of a batch or of its parts."""
    with temporary(sender.folder) as draft:
        _pack(sender, task, draft)
        try:
            done = sender.carried(sent, draft)
        except WorkerLost as error:
            return _halves(sender, task, sent, error)
        if done.outcome == "asks":
            return [_answered(sender, task, sent.name, done)]
        sender.fetch(done, draft)
        with ZipFile(draft) as made:
            return [(done, tuple(pq.read_table(pa.BufferReader(made.read(one))) for one in TABLES))]


def _answered(sender: Sender, task: Order, name: str, asked: Receipt) -> tuple[Receipt, _Tables]:
    """Return the tables of a batch that asks for answers."""
    folder = sender.folder / f"{TEMPORARY}asked-{name}"
    done = finish_asked(sender, replace(task, folder=folder), _travelling(task.recipe), asked)
    tables = tuple(pq.read_table(folder / one, partitioning=None) for one in TABLES)
    remove(folder)
    counts = Counts(done.answering, done.spent, *(getattr(done, one) for one in _SUMMED))
    return replace(asked, outcome="done", seconds=done.seconds, counts=counts), tables


def _halves(sender: Sender, task: Order, sent: SentStep, why: WorkerLost) -> list[tuple[Receipt, _Tables]]:
    if len(task.works) == 1:
        return [_rejected(task.works[0], f"{why}, as {TRIES} did over it, with no other document at hand")]
    middle = len(task.works) // 2
    some = (task.works[:middle], task.works[middle:])
    return [
        one
        for part, works in zip("ab", some, strict=True)
        for one in _tried(sender, replace(task, works=works), replace(sent, name=sent.name + part, suspect=True))
    ]


def _pack(sender: Sender, task: Order, target: Path) -> None:
    """Write what a worker needs for a batch."""
    stored = [work.text_key for work in task.works if work.text_key]
    works = tuple(_sent(work, sender) for work in task.works)
    answering = replace(task.answering, packs=(), target=Path("asked"), asking=None, figures=(), reading=None)
    order = Order(Path("batch"), works, _travelling(task.recipe), (Path(STORED),) if stored else (), answering)
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        archive.writestr(ORDER, encode(order))
        for name, file in _files(task.works, works).items():
            _add(archive, name, file)
        if stored:
            with temporary(sender.folder) as draft:
                write_pack(draft, Packs(task.text_packs).take(sorted({*stored})), "texts")
                archive.write(draft, STORED)


def _sent(work: WorkItem, sender: Sender) -> WorkItem:
    """Return a work item with the addresses of its files if workers can read these."""
    pictures = tuple(replace(one, path=sender.address_of(one.path), reach=ANYWHERE) for one in work.pictures)
    return replace(work, path=sender.address_of(work.path), place=(), reach=ANYWHERE, pictures=pictures)


def _files(works: Sequence[WorkItem], sent: Sequence[WorkItem]) -> dict[str, LocalFile]:
    """Return the files to send along, by their names there: those to parse that workers cannot read."""
    found = dict[str, LocalFile]()
    for work, far in zip(works, sent, strict=True):
        if work.text_key:
            continue
        if not far.path:
            found[work.key] = work.file
        found |= {
            one.content_hash: one.file for one, other in zip(work.pictures, far.pictures, strict=True) if not other.path
        }
    return found


def _add(archive: ZipFile, name: str, local: LocalFile) -> None:
    """Add a file. The worker rejects a work item whose file is missing."""
    try:
        file = local.open()
    except OSError:
        return
    with file, archive.open(f"{RAW}/{name}", "w") as copy:
        shutil.copyfileobj(file, copy)


def _travelling(recipe: Recipe) -> Recipe:
    """Return a recipe without paths of this machine."""
    return replace(recipe, tokenizer_dir="", chunk=replace(recipe.chunk, sizes_by=""))


def _joined(parts: Sequence[_Tables]) -> _Tables:
    """Return the joined tables of the parts of a batch. Equal documents may have chunks, texts and figures in both."""
    documents, chunks, texts, figures = (list(tables) for tables in zip(*parts, strict=True))
    return pa.concat_tables(documents), _once(chunks, "chunk_key"), _once(texts, "key"), _once(figures, "key")


def _once(tables: Sequence[pa.Table], key: str) -> pa.Table:
    """Concatenate tables without rows whose key occurred before."""
    seen: set[str] = set()
    kept = []
    for table in tables:
        keys = table.column(key).to_pylist()
        kept.append(table.filter(pa.array([one not in seen for one in keys], pa.bool_())))
        seen.update(keys)
    return pa.concat_tables(kept)


def _rejected(work: WorkItem, message: str) -> tuple[Receipt, _Tables]:
    row = reject(work, Rejected("crashed", message)).document
    counts = Counts(documents=1, rejected=1)
    return Receipt("done", "", counts=counts), (
        to_table([row], DOCUMENTS),
        DRAFTS.empty_table(),
        TEXTS.empty_table(),
        FIGURES.empty_table(),
    )


@dataclass(frozen=True, slots=True)
class RemoteEncoder:
    """A `DocumentEncoder` with its model on the workers; each call goes to one of them."""

    sender: Sender

    @property
    def space(self) -> EmbeddingSpace:
        return self.sender.space

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`."""
        return self.sender.embed(texts)

    def encode_late(self, windows: Sequence[Window]) -> npt.NDArray[np.float32]:
        """Return float32 (all spans, dim), rows of unit L2 norm."""
        return self.sender.embed((), windows)


def remote_encoding(sender: Sender, lanes: int = 1) -> Encoding:
    """Return an `Encoding` of texts on the workers."""
    return Encoding(
        lambda model, *how: load_encoder(model, *how) if is_api(model) else RemoteEncoder(sender),
        lanes,
    )


@dataclass(frozen=True, slots=True)
class RemoteHands:
    """Splits documents again on a worker. Their parsed texts and their answers are sent as freight."""

    sender: Sender
    recipe: Recipe

    def map(self, function: Callable[[Any], Any], items: Sequence[Any], light: bool = False) -> Iterable[Any]:
        """Return the result of each request."""
        del function, light  # the step calls `process_document`, and a worker has its own pool
        with temporary(self.sender.folder) as draft:
            self.sender.ask(AGAIN, AnsweredBatch(self.recipe, tuple(map(answered, items))), draft)
            results: list[WorkResult] = decode(draft.read_bytes(), Readers().of(list[WorkResult]))
        return results


def finish_asked(sender: Sender, task: Order, recipe: Recipe, asked: Receipt) -> BatchDone:
    """Write a batch that was processed once and asks for answers; `recipe` is its recipe without local paths."""
    with temporary(sender.folder) as draft:
        sender.fetch(asked, draft)
        results = decode(draft.read_bytes(), Readers().of(list[WorkResult]))
    sender.freight.drop([asked.key])
    first = FirstPass(jobs_of(task, task.recipe), results, asked.began)
    return finish(task, first, RemoteHands(sender, recipe), partial(answer_all, encoding=remote_encoding(sender)))
