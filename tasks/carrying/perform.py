"""Perform: carry out steps on a worker, each with the plain function that a run on one machine calls."""

import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pyarrow.parquet as pq

from docmill.storage.artifacts.late_vectors import encode_windows, keys_of
from docmill.storage.artifacts.packs import pack_embeddings, write_pack
from docmill.storage.embedding.encoder import Window, load_encoder, tokenizer_dir
from docmill.storage.errors import Terminal, Transient
from docmill.storage.files import hash_file
from docmill.storage.keys import embedding_key
from docmill.storage.objects.bucket import Vanished, connect
from docmill.storage.objects.freight import Freight
from docmill.storage.plugins.origin import described
from docmill.tasks.batch.batch import Order, carry_out, wants
from docmill.tasks.batch.embed import Embedding
from docmill.tasks.batch.orders import load_order
from docmill.tasks.batch.resolve_lookups import LookupSources
from docmill.tasks.carrying.models_here import model_here
from docmill.tasks.carrying.parcels import Counts, Parcel, Receipt, terms_of
from docmill.tasks.counting.encodings import counting_folder
from docmill.tasks.document.process import WorkItem, WorkRequest, WorkResult
from docmill.tasks.document.recipe import Recipe
from docmill.tasks.workers.plain_json import Readers, decode, encode
from docmill.tasks.workers.pool import Pool
from docmill.tasks.workers.temporary_folder import make_folder

WORKER = "DOCMILL_WORKER"
"""The variable with the name of this worker."""
ORDER, RAW, STORED = "order.json", "raw", "stored.parquet"
"""The members of what is sent for a batch: the order, the folder of the files, and the pack of parsed texts."""
TABLES = ("documents.parquet", "chunks.parquet", "texts.parquet")
_OBJECT = "s3://"


class Asks(Exception):
    """A document of the batch needs an answer that the driver has to give."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step has made: a file, and its counts."""

    path: Path
    counts: Counts


@dataclass(frozen=True, slots=True)
class Texts:
    """What is sent to embed: texts, or for late vectors windows."""

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
    """Return the bytes of a parcel. The version comes first: another docmill may not be able to read the rest."""
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
    except Asks:
        return Receipt("asks", worker_name())
    except Transient as error:
        return Receipt("transient", worker_name(), str(error))
    # What a library raises must not end the worker either; the driver ends the run, and says why.
    except Exception as error:
        return Receipt("failed", worker_name(), described(error))


def _why_not(task: Parcel) -> str:
    """Return why this worker would make other rows than the driver, or "" if it would not."""
    try:
        return "; ".join(task.terms.lacks(terms_of(task.model)))
    except Terminal as error:  # the model is not here, or is another one under its name
        return str(error)


def _carried(step: str, task: Parcel) -> Receipt:
    """Carry out a step in a folder of its own, and put its result and its receipt."""
    began, cpu = time.time(), time.process_time()
    freight, scratch = Freight(task.freight, task.store), make_folder()
    try:
        if step == CHECK:
            return Receipt("done", worker_name())
        sent = scratch.path / "sent"
        freight.fetch(task.key, sent, task.content_hash)
        made = _STEPS[step](task, sent, scratch.path)
        key = freight.keep(task.run, task.name, made.path)
        own = Receipt("done", worker_name(), "", key, hash_file(made.path), made.path.stat().st_size, began)
        own = replace(own, seconds=time.time() - began, cpu=time.process_time() - cpu, counts=made.counts)
        first: Receipt = decode(freight.confirm(task.run, task.name, encode(own)), Readers().of(Receipt))
        if first.key != key:
            freight.drop([key])  # another try was first
        return first
    finally:
        scratch.remove()


CHECK, BATCH, EMBED = "check", "batch", "embed"


def _batch(task: Parcel, sent: Path, folder: Path) -> StepResult:
    with ZipFile(sent) as archive:
        archive.extractall(folder)
    order = _localized(load_order(folder / ORDER, Order), task, folder)
    done = carry_out(order, task.passwords, _unanswered(task.asking))
    made = folder / "made"
    with ZipFile(made, "w") as archive:  # Parquet is compressed already
        for name in TABLES:
            archive.write(done.folder / name, name)
    counts = (done.answering, done.spent, done.documents, done.rejected, done.regions, done.chunks, done.contexts)
    return StepResult(made, Counts(*counts))


def _unanswered(
    asking: bool,
) -> Callable[[Pool, Sequence[WorkRequest], Sequence[WorkResult], LookupSources], list[WorkResult]]:
    def answer_all(
        _pool: Pool, _jobs: Sequence[WorkRequest], first: Sequence[WorkResult], sources: LookupSources
    ) -> list[WorkResult]:
        if any(wants(one, sources) or (asking and one.unsaid) for one in first):
            raise Asks
        return list(first)

    return answer_all


def _localized(order: Order, task: Parcel, folder: Path) -> Order:
    """Return an order with the paths of this machine."""
    works = tuple(_brought(work, folder / RAW) for work in order.works)
    packs = tuple(folder / path for path in order.text_packs)
    return replace(order, folder=folder / "batch", works=works, recipe=_recipe(order.recipe, task), text_packs=packs)


def _brought(work: WorkItem, folder: Path) -> WorkItem:
    """Return a work whose file is here; an object is read from where the source has it."""
    path = folder / work.key
    if work.path.startswith(_OBJECT):
        folder.mkdir(exist_ok=True)
        above, _, name = work.path.rpartition("/")
        with suppress(Vanished):  # the step then rejects it, as a file that is gone
            connect(above).download(name, path)
    return replace(work, path=str(path))


def _recipe(recipe: Recipe, task: Parcel) -> Recipe:
    model = task.model
    sizes_by = counting_folder(task.sizes_by) if task.sizes_by else ""
    if sizes_by and hash_file(Path(sizes_by) / "tokenizer.json") != recipe.chunk.sizes_id:
        raise Transient(f"the tokenizer {task.sizes_by} is another one on the worker")
    return replace(
        recipe,
        tokenizer_dir=str(tokenizer_dir(model_here(model.model), model.revision)),
        chunk=replace(recipe.chunk, sizes_by=sizes_by),
        limits=replace(recipe.limits, workers=len(os.sched_getaffinity(0))),
    )


def _embed(task: Parcel, sent: Path, folder: Path) -> StepResult:
    """Write a pack of vectors in the order of the texts."""
    given: Texts = decode(sent.read_bytes(), Readers().of(Texts))
    model, began = task.model, time.monotonic()
    encoder = load_encoder(model_here(model.model), model.revision, model.light)
    if model.late:
        keys, vectors = keys_of(given.windows, task.terms.space), encode_windows(given.windows, encoder)
    else:
        keys = [embedding_key(text, task.terms.space) for text in given.texts]
        vectors = encoder.encode(given.texts)
    made = folder / "made"
    write_pack(made, pack_embeddings(keys, vectors), "embeddings")
    rows = pq.read_metadata(made).num_rows
    return StepResult(made, Counts(embedded=Embedding(rows, 0, time.monotonic() - began)))


_STEPS: dict[str, Callable[[Parcel, Path, Path], StepResult]] = {BATCH: _batch, EMBED: _embed}
