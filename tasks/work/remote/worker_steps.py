"""Worker steps: carry out steps on a worker, with the same plain functions that a run on one machine calls."""

import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pyarrow.parquet as pq

from docmill.storage.errors import Terminal, Transient
from docmill.storage.files import hash_file
from docmill.storage.keys import embedding_key
from docmill.storage.plugins.origin import described
from docmill.storage.process.processors import processors
from docmill.storage.remote.objects.bucket import Vanished, connect
from docmill.storage.remote.objects.freight import Freight
from docmill.storage.schema import Parsed
from docmill.storage.search.encode.encoder import Window, load_encoder
from docmill.storage.search.encode.model_spaces import tokenizer_dir
from docmill.storage.snapshots.artifacts.late_vectors import encode_windows, keys_of
from docmill.storage.snapshots.artifacts.packs import pack_embeddings, write_pack
from docmill.tasks.archive.archive_kinds import head_bytes, held_by
from docmill.tasks.counting.counter import counter_of
from docmill.tasks.counting.encodings import counting_folder
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.model.prompt import Answer
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.work.batch.batch import Answering, Hands, Order, carry_out, mapped, wants
from docmill.tasks.work.batch.embed import Embedding
from docmill.tasks.work.batch.resolve_lookups import LookupSources
from docmill.tasks.work.batch.step_orders import load_order
from docmill.tasks.work.document.process import PhaseSeconds, WorkRequest, WorkResult
from docmill.tasks.work.document.recipe import Recipe
from docmill.tasks.work.document.work_item import WorkItem
from docmill.tasks.work.pool.plain_json import Readers, decode, encode
from docmill.tasks.work.pool.pool import shared_pool
from docmill.tasks.work.pool.temporary_folder import make_folder
from docmill.tasks.work.remote.parcels import Counts, Parcel, Receipt, model_here, terms_of
from docmill.tasks.work.remote.rewriting import rewrite_sent


@dataclass(frozen=True, slots=True)
class AnsweredWork:
    """A document, its parsed text, and its look-up: vectors by text, and answers by the identity of the prompt."""

    work: WorkItem
    stored: Parsed | None
    vectors: tuple[tuple[str, tuple[float, ...]], ...]
    answers: tuple[tuple[tuple[str, ...], Answer], ...]

    def request(self, recipe: Recipe) -> WorkRequest:
        """Return the request for a pool on this machine."""
        vectors = {text: np.array(vector, np.float32) for text, vector in self.vectors}
        return WorkRequest(self.work, recipe, self.stored, Lookup(vectors, dict(self.answers)))


@dataclass(frozen=True, slots=True)
class AnsweredBatch:
    """Documents to split again, and the recipe for all of them."""

    recipe: Recipe
    works: tuple[AnsweredWork, ...]


def answered(job: WorkRequest) -> AnsweredWork:
    """Return a request as plain values. The file is not sent, because the document is already parsed."""
    vectors = tuple((text, tuple(vector.tolist())) for text, vector in job.lookup.vectors.items())
    return AnsweredWork(job.work, job.stored, vectors, tuple(job.lookup.answers.items()))


WORKER = "DOCMILL_WORKER"
"""The environment variable with the name of this worker."""
ORDER, RAW, STORED = "order.json", "raw", "stored.parquet"
"""Members of the archive that is sent for a batch: the order, the folder of files, and the pack of parsed texts."""
TABLES = ("documents.parquet", "chunks.parquet", "texts.parquet", "figures.parquet")
_OBJECT = "s3://"
_AT_ONCE = 16
"""Concurrent downloads, as many as a driver makes: each mostly waits for the store."""


class Asks(Exception):
    """Documents of the batch need answers that the driver has to get; `first` are the results without them."""

    def __init__(self, first: list[WorkResult]) -> None:
        super().__init__()
        self.first = first


@dataclass(frozen=True, slots=True)
class StepResult:
    """The output of a step: a file, its counts, and whether the driver has to give answers first."""

    path: Path
    counts: Counts = field(default_factory=Counts)
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """What is sent for embedding: texts, or windows for late vectors."""

    texts: tuple[str, ...]
    windows: tuple[Window, ...] = ()


def perform(step: str, parcel: bytes) -> bytes:
    """Carry out a step and return its receipt, whatever happens."""
    began, cpu = time.time(), time.process_time()
    receipt = _receipt_of(step, parcel)
    if receipt.outcome == "done":
        return encode(receipt)
    return encode(replace(receipt, began=began, seconds=time.time() - began, cpu=time.process_time() - cpu))


def worker_name() -> str:
    """Return the name of this worker in receipts."""
    return os.environ.get(WORKER) or f"{socket.gethostname()}-{os.getpid()}"


def spelled(parcel: Parcel) -> bytes:
    """Return the bytes of a parcel. The version comes first, as another version may not be able to read the rest."""
    return encode([version("docmill"), parcel])


def _receipt_of(step: str, parcel: bytes) -> Receipt:
    try:
        theirs, *_ = json.loads(parcel)
        if theirs != (own := version("docmill")):
            return Receipt("refused", worker_name(), f"docmill: {own} there, {theirs} here")
        _, task = decode(parcel, Readers().of(tuple[str, Parcel]))
        if why := _why_not(task):
            return Receipt("refused", worker_name(), why)
        return _carried(step, task)
    except Transient as error:
        return Receipt("transient", worker_name(), str(error))
    # An exception of a library must not end the worker; the driver ends the run and reports why.
    except Exception as error:
        return Receipt("failed", worker_name(), described(error))


def _why_not(task: Parcel) -> str:
    """Return why this worker would make other rows than the driver, or ""."""
    try:
        return "; ".join(task.terms.lacks(terms_of(task.model)))
    except Terminal as error:  # the model is not here, or another model has its name
        return str(error)


def _carried(step: str, task: Parcel) -> Receipt:
    """Carry out a step in a temporary folder, and store its result and its receipt."""
    began, cpu = time.time(), time.process_time()
    freight, scratch = Freight(task.freight, task.store), make_folder()
    try:
        if step == CHECK:
            return Receipt("done", worker_name(), f"docmill {version('docmill')}, {processors()} CPUs")
        sent = scratch.path / "sent"
        freight.fetch(task.key, sent, task.content_hash)
        made = _STEPS[step](task, sent, scratch.path)
        key = freight.keep(task.run, task.name, made.path)
        own = Receipt("done", worker_name(), "", key, hash_file(made.path), made.path.stat().st_size, began)
        own = replace(own, seconds=time.time() - began, cpu=time.process_time() - cpu, counts=made.counts)
        if made.asks:
            return replace(own, outcome="asks")  # not confirmed: another driver could not take this over
        first: Receipt = decode(freight.confirm(task.run, task.name, encode(own)), Readers().of(Receipt))
        if first.key != key:
            freight.drop([key])  # another try has finished first
        return first
    finally:
        scratch.remove()


CHECK, BATCH, AGAIN, EMBED, READ, REWRITE = "check", "batch", "again", "embed", "read", "rewrite"


def _batch(task: Parcel, sent: Path, folder: Path) -> StepResult:
    with ZipFile(sent) as archive:
        archive.extractall(folder)
    order = _localized(load_order(folder / ORDER, Order), task, folder)
    made = folder / "made"
    try:
        done = carry_out(order, task.passwords, _unanswered(task.asking))
    except Asks as asks:
        made.write_bytes(encode(asks.first))
        spent = sum((one.spent for one in asks.first), PhaseSeconds())
        return StepResult(made, Counts(spent=spent, documents=len(asks.first)), asks=True)
    with ZipFile(made, "w") as archive:  # Parquet is compressed already
        for name in TABLES:
            archive.write(done.folder / name, name)
    counts = (done.answering, done.spent, done.documents, done.rejected, done.regions, done.chunks, done.contexts)
    return StepResult(made, Counts(*counts))


def _unanswered(asking: bool) -> Answering:
    def answering(
        _hands: Hands, _jobs: Sequence[WorkRequest], first: Sequence[WorkResult], sources: LookupSources
    ) -> list[WorkResult]:
        if any(wants(one, sources) or (asking and one.unsaid) for one in first):
            raise Asks(list(first))
        return list(first)

    return answering


def _again(task: Parcel, sent: Path, folder: Path) -> StepResult:
    """Split documents again with the answers, and write the results."""
    given: AnsweredBatch = decode(sent.read_bytes(), Readers().of(AnsweredBatch))
    recipe = _recipe(given.recipe, task)
    made = folder / "made"
    made.write_bytes(encode(mapped(shared_pool(recipe.limits), [one.request(recipe) for one in given.works])))
    return StepResult(made)


def _localized(order: Order, task: Parcel, folder: Path) -> Order:
    """Return an order with the paths of this machine."""
    works = tuple(_brought(work, folder / RAW) for work in order.works)
    packs = tuple(folder / path for path in order.text_packs)
    return replace(order, folder=folder / "batch", works=works, recipe=_recipe(order.recipe, task), text_packs=packs)


def _brought(work: WorkItem, folder: Path) -> WorkItem:
    """Return the work with paths on this machine; objects on S3 are downloaded."""
    pictures = tuple(replace(one, path=_path_here(one.path, folder / one.content_hash)) for one in work.pictures)
    return replace(work, path=_path_here(work.path, folder / work.key), pictures=pictures)


def _path_here(address: str, path: Path) -> str:
    """Return where a file is on this machine; download it first if it is an object on S3."""
    if address.startswith(_OBJECT) and not path.exists():
        path.parent.mkdir(exist_ok=True)
        above, _, name = address.rpartition("/")
        with suppress(Vanished):  # the step then rejects it as a missing file
            connect(above).download(name, path)
    return str(path)


def _recipe(recipe: Recipe, task: Parcel) -> Recipe:
    model = task.model
    sizes_by = counting_folder(task.sizes_by) if task.sizes_by else ""
    if sizes_by and hash_file(Path(sizes_by) / "tokenizer.json") != recipe.chunk.sizes_id:
        raise Transient(f"the tokenizer {task.sizes_by} is another one on the worker")
    return replace(
        recipe,
        tokenizer_dir=str(tokenizer_dir(model_here(model.model), model.revision)),
        chunk=replace(recipe.chunk, sizes_by=sizes_by),
        limits=replace(recipe.limits, workers=processors()),
    )


def _embed(task: Parcel, sent: Path, folder: Path) -> StepResult:
    """Write a pack of vectors in the order of the texts."""
    given: Texts = decode(sent.read_bytes(), Readers().of(Texts))
    model, began = task.model, time.monotonic()
    encoder = load_encoder(model_here(model.model), model.revision, model.light, model.dtype)
    if model.late:
        keys, vectors = keys_of(given.windows, task.terms.space), encode_windows(given.windows, encoder)
    else:
        keys = [embedding_key(text, task.terms.space) for text in given.texts]
        vectors = encoder.encode(given.texts)
    made = folder / "made"
    texts = [*given.texts, *(window.text for window in given.windows)]
    write_pack(made, pack_embeddings(keys, vectors), "embeddings")
    seconds = time.monotonic() - began
    counter = counter_of(load_tokenizer(str(tokenizer_dir(model_here(model.model), model.revision))))
    tokens = sum(counter.counts(texts)) + counter.special * len(texts)
    return StepResult(made, Counts(embedded=Embedding(pq.read_metadata(made).num_rows, tokens, seconds)))


def _read(task: Parcel, sent: Path, folder: Path) -> StepResult:
    """Write the hash of each object and whether it may contain other files; None if it is gone."""
    del task
    addresses: tuple[str, ...] = decode(sent.read_bytes(), Readers().of(tuple[str, ...]))
    (folder / RAW).mkdir()
    with ThreadPoolExecutor(_AT_ONCE, "docmill-read") as threads:
        prints = list(threads.map(_print_of, addresses, (folder / RAW / str(i) for i in range(len(addresses)))))
    made = folder / "made"
    made.write_bytes(encode(prints))
    return StepResult(made)


def _print_of(address: str, path: Path) -> tuple[str, str] | None:
    above, _, name = address.rpartition("/")
    try:
        connect(above).download(name, path)
    except Vanished:
        return None
    with path.open("rb") as file:
        head = file.read(head_bytes(name))
    taken = hash_file(path), held_by(name, head)
    path.unlink()
    return taken


def _rewrite(task: Parcel, sent: Path, folder: Path) -> StepResult:
    """Write new files for buckets of a table; ask for the old files if the store cannot be read from here."""
    del task
    if made := rewrite_sent(sent, folder):
        return StepResult(made.path, Counts(buckets=made.buckets))
    nothing = folder / "made"
    nothing.touch()
    return StepResult(nothing, asks=True)


_STEPS: dict[str, Callable[[Parcel, Path, Path], StepResult]] = {
    BATCH: _batch,
    AGAIN: _again,
    EMBED: _embed,
    READ: _read,
    REWRITE: _rewrite,
}
