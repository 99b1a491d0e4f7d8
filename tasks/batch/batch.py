"""Batch: some files, from bytes to staged chunks; what splitting and contexts ask of models is found in between."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from docmill.storage.artifacts.packs import Packs, decode_parsed, pack_texts
from docmill.storage.artifacts.staging import DOCUMENTS, DRAFTS, write_batch
from docmill.storage.columns import to_table
from docmill.storage.keys import key_of
from docmill.tasks.batch.orders import load_order
from docmill.tasks.batch.resolve_lookups import Answering, answer
from docmill.tasks.batch.unpack import unpack
from docmill.tasks.document.process import Job, Processed, Recipe, Work, process_document, reject
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.workers.pool import Pool, shared_pool


@dataclass(frozen=True, slots=True)
class Order:
    """What a batch is to do: a file of these travels to the task that does it.

    `unpacks` are the orders that lay the files which are still in archives.
    """

    folder: Path
    works: tuple[Work, ...]
    recipe: Recipe
    text_packs: tuple[Path, ...]
    answering: Answering
    unpacks: tuple[Path, ...] = ()


def process_batch(order: Path) -> Path:
    """Process the batch that an order describes; return the folder of the finished batch."""
    task: Order = load_order(order)
    pool = shared_pool(task.recipe.limits)
    unpack(task.unpacks, pool)
    results = _answer_all(pool, _jobs(task), task.answering)
    write_batch(
        task.folder,
        to_table([one.document for one in results], DOCUMENTS),
        _draft_table(results),
        pack_texts((one.document.text_key, one.parsed) for one in results if one.parsed is not None),
    )
    for work in task.works:
        if work.place:
            Path(work.path).unlink(missing_ok=True)
    return task.folder


def _answer_all(pool: Pool, jobs: list[Job], task: Answering) -> list[Processed]:
    """Return what becomes of the jobs; a document is split again as long as more of what it asks for can be found."""
    results = _map(pool, jobs)
    tried: set[object] = set()
    while waiting := [i for i, one in enumerate(results) if not tried.issuperset(_wants(one, task))]:
        texts = [text for i in waiting for text in results[i].asked]
        prompts = [prompt for i in waiting for prompt in results[i].unsaid if task.asking]
        tried |= {*texts, *prompts}
        answers = answer(texts, prompts, task)
        again = [i for i in waiting if answers.knows(results[i].asked, results[i].unsaid)]
        for i in again:
            jobs[i] = _asked_again(jobs[i], results[i], answers)
        for i, result in zip(again, _map(pool, [jobs[i] for i in again]), strict=True):
            results[i] = _answered(results[i], result)
    return [_marked(one) if task.asking and one.unsaid else one for one in results]


def _wants(one: Processed, task: Answering) -> tuple[object, ...]:
    return (*one.asked, *(one.unsaid if task.asking else ()))


def _map(pool: Pool, jobs: Sequence[Job]) -> list[Processed]:
    results = pool.map(process_document, jobs)
    return [
        result if isinstance(result, Processed) else reject(job.work, result)
        for job, result in zip(jobs, results, strict=True)
    ]


def _asked_again(job: Job, asking: Processed, answers: Lookup) -> Job:
    """Return the job that splits a document once more, now that more of what it asked for is known."""
    row = asking.document
    known = replace(job.work, content_hash=row.content_hash, size=row.size, format=row.format, language=row.language)
    lookup = job.lookup.with_all_of(answers.only(asking.asked, asking.unsaid))
    return replace(job, work=known, stored=asking.parsed or job.stored, lookup=lookup)


def _answered(first: Processed, second: Processed) -> Processed:
    """Return what a later call made of a document that the first one parsed."""
    document = replace(second.document, parsed=first.document.parsed)
    return replace(second, document=document, parsed=None if document.reason else first.parsed)


def _marked(one: Processed) -> Processed:
    """Return a document that lacks a reply: its chunks get a key that no plan looks for, so it is split again."""
    return replace(one, document=replace(one.document, chunk_key=key_of(one.document.chunk_key, "unsaid")))


def _jobs(task: Order) -> list[Job]:
    stored = [work.text_key for work in task.works if work.text_key]
    rows = Packs(task.text_packs).take(stored).to_pylist() if stored else []
    texts = dict(zip(stored, map(decode_parsed, rows), strict=True))
    lookup = Lookup(ahead=bool(task.answering.asking and not task.answering.asking.calls))
    return [Job(work, task.recipe, texts.get(work.text_key), lookup) for work in task.works]


def _draft_table(done: Sequence[Processed]) -> pa.Table:
    # The same content under two suffixes is two works and one set of chunks.
    distinct = {one.document.chunk_key: one for one in done}
    drafts = [(key, i, draft) for key, own in distinct.items() for i, draft in enumerate(own.drafts)]
    keys = [own for one in distinct.values() for own in one.keys]
    columns = {
        "chunk_key": [key for key, _, _ in drafts],
        "ordinal": [i for _, i, _ in drafts],
        "embedding_key": [own[0] for own in keys],
        "part_keys": [own[1:] for own in keys],
    }
    own = {name: [getattr(d, name) for _, _, d in drafts] for name in DRAFTS.names if name not in columns}
    return pa.table([pa.array((columns | own)[f.name], f.type) for f in DRAFTS], schema=DRAFTS)
