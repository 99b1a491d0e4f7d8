"""Batch: turn files from bytes into staged chunks, and get the model answers that splitting and contexts need."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from docmill.storage.arrow_schema import to_table
from docmill.storage.errors import Rejected
from docmill.storage.keys import key_of
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed, pack_figures, pack_texts
from docmill.storage.snapshots.artifacts.staging import DOCUMENTS, DRAFTS, write_batch
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.work.batch.embed import HERE, Encoding
from docmill.tasks.work.batch.resolve_lookups import LookupSources, ModelQuestions, answer
from docmill.tasks.work.batch.step_orders import load_order, passwords_of
from docmill.tasks.work.batch.unpack import unpack
from docmill.tasks.work.document.process import PhaseSeconds, WorkRequest, WorkResult, process_document, reject
from docmill.tasks.work.document.recipe import WITH, Recipe, suffix_of
from docmill.tasks.work.document.work_item import WorkItem
from docmill.tasks.work.pool.pool import shared_pool

_LIGHT_BYTES = 128 << 10
"""Most bytes of a light batch. Starting a worker takes 0.45 s of CPU time; 54 pages, 67 kB together, take 0.3 s."""
_PERHAPS_SCANNED = FORMATS["pdf"].suffixes | FORMATS["image"].suffixes  # OCR takes seconds a page

A = TypeVar("A")
B = TypeVar("B")


class Hands(Protocol):
    """Applies a function to each item of a sequence, in the processes of a pool or on other machines."""

    def map(self, function: Callable[[A], B], items: Sequence[A], light: bool = False) -> Iterable[B | Rejected]:
        """Return one result for each item, in order; a failed item gives the reason instead."""


Answering = Callable[[Hands, Sequence[WorkRequest], Sequence[WorkResult], LookupSources], list[WorkResult]]
"""A function from requests, their first results and the sources of answers to the final results."""


@dataclass(frozen=True, slots=True)
class Order:
    """The input of a batch, which the task reads from a file.

    `unpacks` are the orders that extract members of archives.
    """

    folder: Path
    works: tuple[WorkItem, ...]
    recipe: Recipe
    text_packs: tuple[Path, ...]
    answering: LookupSources
    unpacks: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchDone:
    """A finished batch: its folder, when it began (seconds since 1970), its wall-clock seconds, and its counts.

    `spent` adds up the seconds of all workers, which run in parallel. `answering` is the wall-clock time that model
    answers took, and splitting again with them.
    """

    folder: Path
    began: float
    seconds: float
    answering: float
    spent: PhaseSeconds
    documents: int
    rejected: int
    regions: int
    chunks: int
    contexts: int


def process_batch(order: Path) -> BatchDone:
    """Process the batch that an order describes."""
    task = load_order(order, Order)
    passwords = passwords_of(order.parent)
    unpack(task.unpacks, shared_pool(task.recipe.limits), passwords)
    return carry_out(task, passwords, answer_all)


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The documents of a batch, each processed once: the requests, their results, and when it began."""

    jobs: list[WorkRequest]
    results: list[WorkResult]
    began: float


def carry_out(task: Order, passwords: tuple[str, ...], answering: Answering) -> BatchDone:
    """Process a batch whose files are all present; `answering` gets the model answers that the documents need."""
    began = time.time()
    pool = shared_pool(task.recipe.limits)
    jobs = jobs_of(task, task.recipe.with_passwords(passwords))
    return finish(task, FirstPass(jobs, mapped(pool, jobs), began), pool, answering)


def finish(task: Order, first: FirstPass, hands: Hands, answering: Answering) -> BatchDone:
    """Get the answers that documents ask for after the first pass, and write the batch."""
    began, split = first.began, time.time()
    results = answering(hands, first.jobs, first.results, task.answering)
    answered = time.time()
    drafts = _draft_table(results)
    write_batch(
        task.folder,
        to_table([one.document for one in results], DOCUMENTS),
        drafts,
        *_packs(results),
    )
    # Unpacked members are copies, and an archive may unpack to more than the disk can hold.
    for work in task.works:
        if work.place:
            Path(work.path).unlink(missing_ok=True)
    return BatchDone(
        task.folder,
        began,
        time.time() - began,
        answered - split,
        sum((one.spent for one in results), PhaseSeconds()),
        len(results),
        sum(bool(one.document.reason) for one in results),
        sum(len(one.document.regions) for one in results),
        drafts.num_rows,
        sum(bool(context) for context in drafts.column("context").to_pylist()),
    )


def _packs(results: Sequence[WorkResult]) -> tuple[pa.Table, pa.Table]:
    """Return a pack with the texts and a pack with the pictures of the newly parsed documents."""
    new = [(one.document.text_key, one.parsed) for one in results if one.parsed is not None]
    return pack_texts(new), pack_figures(picture for _, parsed in new for picture in parsed.pictures)


def answer_all(
    hands: Hands,
    jobs: Sequence[WorkRequest],
    first: Sequence[WorkResult],
    task: LookupSources,
    encoding: Encoding = HERE,
) -> list[WorkResult]:
    """Return the final results of jobs, given the first ones.

    Documents are split again as long as more of their questions can be answered.
    """
    jobs, results = list(jobs), list(first)
    tried: set[object] = set()
    # Each round may ask new questions: a summary is of chunks that the previous round has cut.
    while waiting := _waiting(results, tried, task):
        tried.update(*(wants(one, task) for one in waiting.values()))
        answers = _answer_some(list(waiting.values()), task, encoding)
        known = [(i, one) for i, one in waiting.items() if answers.knows(one.asked, one.unsaid)]
        again = {i: _asked_again(jobs[i], one, answers) for i, one in known}
        for (i, job), result in zip(again.items(), mapped(hands, list(again.values())), strict=True):
            jobs[i], results[i] = job, _answered(results[i], result)
    return [_marked(one, task) for one in results]


def _waiting(results: Sequence[WorkResult], tried: set[object], task: LookupSources) -> dict[int, WorkResult]:
    """Return the documents, by index, that ask for anything not yet tried."""
    return {i: one for i, one in enumerate(results) if not tried.issuperset(wants(one, task))}


def wants(one: WorkResult, task: LookupSources) -> tuple[object, ...]:
    """Return the texts whose vectors a document needs, and its prompts that a model or OCR can answer."""
    return (*one.asked, *filter(task.takes, one.unsaid))


def _answer_some(asking: Sequence[WorkResult], task: LookupSources, encoding: Encoding) -> Lookup:
    texts = [text for one in asking for text in one.asked]
    prompts = [prompt for one in asking for prompt in filter(task.takes, one.unsaid)]
    pictures = {own.key: own for one in asking if one.parsed for own in one.parsed.pictures}
    return answer(ModelQuestions(texts, prompts, pictures), task, encoding)


def mapped(hands: Hands, jobs: Sequence[WorkRequest]) -> list[WorkResult]:
    """Return the result of each job; a document whose process died is rejected."""
    results = hands.map(process_document, jobs, _light(jobs))
    return [
        result if isinstance(result, WorkResult) else reject(job.work, _naming_plugins(result))
        for job, result in zip(jobs, results, strict=True)
    ]


def _light(jobs: Sequence[WorkRequest]) -> bool:
    """Return whether one worker can process all documents sooner than a second one could start."""
    slow = any(job.reader or (job.recipe.parse.ocr and suffix_of(job.work.uri) in _PERHAPS_SCANNED) for job in jobs)
    return not slow and sum(job.work.size for job in jobs) <= _LIGHT_BYTES


def _naming_plugins(why: Rejected) -> Rejected:
    """Return why a worker gave no answer; the message names the plugins that were at work, if any."""
    plugins = why.parser.partition(WITH)[2]
    return Rejected(why.reason, f"{why.message}, in the hands of {plugins}", why.parser) if plugins else why


def _asked_again(job: WorkRequest, asking: WorkResult, answers: Lookup) -> WorkRequest:
    """Return the job that splits a document again with the new answers."""
    row = asking.document
    known = replace(
        job.work, content_hash=row.content_hash, size=row.size, format=row.format, language=row.language,
        text_key=row.text_key,
    )  # fmt: skip
    lookup = job.lookup.with_all_of(answers.only(asking.asked, asking.unsaid))
    return replace(job, work=known, stored=asking.parsed or job.stored, lookup=lookup)


def _answered(first: WorkResult, second: WorkResult) -> WorkResult:
    """Merge the result of a later call with that of the first, which parsed the document."""
    document = replace(second.document, parsed=first.document.parsed)
    spent = first.spent + second.spent
    return replace(second, document=document, parsed=None if document.reason else first.parsed, spent=spent)


def _marked(one: WorkResult, task: LookupSources) -> WorkResult:
    """Change the chunk key of a document that lacks a reply, so that the next run splits it again."""
    if not any(map(task.takes, one.unsaid)):
        return one
    return replace(one, document=replace(one.document, chunk_key=key_of(one.document.chunk_key, "unsaid")))


def jobs_of(task: Order, recipe: Recipe) -> list[WorkRequest]:
    """Return the requests of a batch, including the parsed documents that are already stored."""
    stored = [work.text_key for work in task.works if work.text_key]
    rows = Packs(task.text_packs).take(stored).to_pylist() if stored else []
    texts = dict(zip(stored, map(decode_parsed, rows), strict=True))
    lookup = Lookup(ahead=task.answering.counts)
    return [WorkRequest(work, recipe, texts.get(work.text_key), lookup) for work in task.works]


def _draft_table(done: Sequence[WorkResult]) -> pa.Table:
    # The same content under two suffixes is two work items, but one set of chunks.
    distinct = list({one.document.chunk_key: one for one in done}.values())
    columns = _key_columns(distinct)
    drafts = [draft for one in distinct for draft in one.drafts]
    columns |= {name: [getattr(draft, name) for draft in drafts] for name in DRAFTS.names if name not in columns}
    return pa.table([pa.array(columns[field.name], field.type) for field in DRAFTS], schema=DRAFTS)


def _key_columns(distinct: Sequence[WorkResult]) -> dict[str, list[Any]]:
    """Return the columns that say which document each draft belongs to, and the keys of its vectors.

    A draft's own key comes first, followed by those of its parts.
    """
    keys = [own for one in distinct for own in one.keys]
    return {
        "chunk_key": [one.document.chunk_key for one in distinct for _ in one.drafts],
        "ordinal": [i for one in distinct for i in range(len(one.drafts))],
        "embedding_key": [own for own, *_ in keys],
        "part_keys": [parts for _, *parts in keys],
    }
