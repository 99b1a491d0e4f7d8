"""Batches: process the files of a plan in batches, and commit the changes."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue

from docmill.flows.config.from_settings import forecast_of, ocr_of_figures
from docmill.flows.runs.backlog import Backlog, BatchNodes
from docmill.flows.runs.commits import commit, count_chunks, plan_pictures, save_changes
from docmill.flows.runs.phases import LOOK_S, PARSE, Pace, Phase
from docmill.flows.runs.reach_sources import losses
from docmill.flows.runs.report import Report, reason_of, spent, unsaid
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.runs.run_state import Run, ToDo, is_outlived
from docmill.storage.errors import BudgetReached
from docmill.storage.files import TEMPORARY
from docmill.storage.schema import OCR_PAGES
from docmill.storage.search.encode.numpy_bert_check import confirmed
from docmill.storage.search.vectors.vectors import load_ahead
from docmill.storage.snapshots.artifacts.staging import Batch
from docmill.storage.snapshots.write.chunk_moves import compare_chunks, read_left
from docmill.storage.snapshots.write.commit import Changes
from docmill.storage.snapshots.write.pending_vectors import waiting_in
from docmill.storage.sql.document_warnings import warnings_of
from docmill.tasks.model.client import close_shared
from docmill.tasks.paths.local_file import ANYWHERE, LocalFile
from docmill.tasks.publishing.plan import Plan
from docmill.tasks.publishing.publish import artifact_paths, gather
from docmill.tasks.publishing.run_rows import Outcome, settle
from docmill.tasks.work.batch.batch import BatchDone, Order, process_batch
from docmill.tasks.work.batch.embed import Embedding, count, document_count, unembedded, unvectored
from docmill.tasks.work.batch.figure_reader import FigureReading, closing_reader, figures_read
from docmill.tasks.work.batch.resolve_lookups import ASKED, LookupSources, asked_texts
from docmill.tasks.work.batch.step_orders import save_order
from docmill.tasks.work.batch.unpack import UnpackOrder
from docmill.tasks.work.document.work_item import WorkItem


def carry_out(run: Run, found: ToDo, how: RunOptions) -> None:
    """Parse, split, embed and commit the work of a plan; a dry run only counts it."""
    changes = _prepare(run, found, how)
    if changes is None:
        run.report.chunks.kept = run.base.snapshot.rows("chunks") if run.base else 0
    elif how.dry_run:
        left = read_left(run.base, changes.gone)
        count_chunks(run.report, compare_chunks(run.base, left, changes.documents, changes.chunks))
        plan_pictures(run, changes)
    else:
        with run.step("commit"):
            order = save_changes(run, changes)
            del changes  # the commit reads the order; do not keep it in memory twice
            commit(run, order)


def _prepare(run: Run, found: ToDo, how: RunOptions) -> Changes | None:
    """Parse, split and embed. Return the changes to commit, or None if there are none."""
    state, todo = found.state, found.todo
    done = process(run, todo, embed=not how.dry_run)
    with run.step("bind"):
        now = run.started.isoformat("T", "seconds")
        outcome = settle(run.base, state, todo, run.batches, run.recipe, now)
        # Check again, because only now is it known which documents have no text.
        if lost := losses(run, state, todo.lost | {*outcome.gone}, found.expanded, how.allow_delete):
            raise next(iter(lost.values()))
        _count(run.report, found, outcome, done.embedded)
        if todo.empty and not is_outlived(run):
            return None
        changes = gather(run.base, run.batches, state, todo, outcome, confirmed(run.space), run.folder, run.recipe.keys)
        return replace(changes, partial=done.partial, tokens_per_s=done.tokens_per_s)


def _count(report: Report, found: ToDo, outcome: Outcome, embedded: Embedding) -> None:
    """Add the outcome of the planned files to a report that already has the rest of the plan."""
    state, todo = found.state, found.todo
    columns = (outcome.documents.column(name).to_pylist() for name in ("uri", "status"))
    good = [uri for uri, status in zip(*columns, strict=True) if status == "ok"]
    documents = report.documents
    documents.moved = sum(uri in todo.moved for uri in good)
    documents.added = sum(uri not in state.documents for uri in good) - documents.moved
    documents.changed = sum(uri in state.documents for uri in good)
    documents.deleted = len(todo.deleted) - documents.moved + len(outcome.gone)
    documents.stale += len(outcome.stale)
    documents.rejected += sum(row.uri not in state.documents for row in outcome.rejects)
    report.parsed, report.embedded, report.tokens_embedded = outcome.parsed, embedded.texts, embedded.tokens
    report.rejects += outcome.rejects
    report.problems += report.rejections()
    report.rechunked = todo.rechunked
    report.ocr.pages = _read_by_ocr(found, outcome)
    _warn(report, outcome)


def _read_by_ocr(found: ToDo, outcome: Outcome) -> int:
    """Return how many pages OCR has read in this run; documents with equal content are read once."""
    read = {one.work.key: one.file.uri for one in found.todo.planned if one.work and not one.work.text_key}
    uris, told = (outcome.documents.column(name).to_pylist() for name in ("uri", "metadata"))
    of = {uri: metadata for uri, metadata in zip(uris, told, strict=True) if OCR_PAGES in metadata}
    return sum(len(json.loads(of[uri]).get(OCR_PAGES, ())) for uri in read.values() if uri in of)


def _warn(report: Report, outcome: Outcome) -> None:
    """Report what was lost of the documents of this run, or read in a less reliable way."""
    columns = (outcome.documents.column(name).to_pylist() for name in ("uri", "metadata", "metadata_warnings"))
    for uri, metadata, beside in zip(*columns, strict=True):
        found = warnings_of(metadata, beside)
        report.problems += [f"{uri}: {one.message}" for one in found]
        report.lost_text += any(one.lost for one in found)


BATCH_DOCUMENTS = 64
BATCH_BYTES = 4 << 20
"""A batch ends at this many documents or bytes. A crash loses at most the unfinished batches.

Smaller batches need more files and orders; larger ones lose more work and keep other workers waiting at the end.
"""

UNPACKED_BYTES = 256 << 20
"""Bytes of an archive's files to unpack at a time, to limit disk space; a larger file is unpacked alone."""

_FIRST = -(1 << 62)  # sorts before every file of any size

Running = tuple[BatchNodes, Future[BatchDone]]


@dataclass(frozen=True, slots=True)
class Processed:
    """What was embedded, or would be, and whether the rest would take so long that it is left to later commits."""

    embedded: Embedding
    partial: bool = False
    tokens_per_s: float = 0.0


def process(run: Run, todo: Plan, embed: bool) -> Processed:
    """Process all works in batches, and embed finished batches while the next ones are parsed.

    Without `embed`, count the texts to embed.
    """
    backlog = Backlog(run, run.batches, sliced=_may_commit_early(run))
    waiting = list(run.batches)
    works = todo.works
    if embed and not todo.empty and len(works) <= BATCH_DOCUMENTS:
        load_ahead()  # not in a long run, which would only occupy the memory for longer
    parsing = _Parsing(run, len(works))
    with closing_reader(run.folder.name):
        for batch in _processed(run, works, parsing.show):
            waiting.append(batch)
            if embed:
                backlog.add(batch)
            parsing.add(document_count(batch))
        run.report.ocr.figures = figures_read(run.folder.name)
    run.batches = sorted(waiting, key=lambda batch: batch.folder)  # `waiting` is in the order in which they ended
    asked = asked_texts(run.folder)
    _report_calls(run, made=embed)
    if not embed:
        with run.step("plan"):
            packs = (*artifact_paths(run.root, run.base, "embeddings"), *run.folder.glob(f"{ASKED}*.parquet"))
            left = count(unembedded(tuple(waiting), packs)) + count(unvectored(waiting_in(run.base), packs))
            run.report.embedding = forecast_of(run.settings, asked + left)
            return Processed(asked + left)
    partial = _embed_rest(run, backlog)
    return Processed(backlog.embedded + asked, partial, backlog.rate)


class _Parsing:
    """Reports how many documents are parsed, and how fast."""

    def __init__(self, run: Run, total: int) -> None:
        self._run, self._total, self._done, self._pace = run, total, 0, Pace()
        if total:
            self.show()

    def add(self, documents: int) -> None:
        self._done += documents
        self.show()

    def show(self) -> None:
        rate = self._pace.rate(self._done)
        self._run.engine.progress(Phase(PARSE, self._done, self._total, "documents", rate))


def _report_calls(run: Run, made: bool) -> None:
    """Report the calls to the language model; planned calls have no answers, but do not count as failed."""
    done = close_shared(run.folder.name)
    run.report.model, run.report.model_reason = spent(done, bool(run.settings.model.prices)), reason_of(done)
    if made:
        run.report.problems += unsaid(run.report.model, run.report.model_reason)
    elif run.report.model:
        run.report.model["failed"] = 0


def _embed_rest(run: Run, backlog: Backlog) -> bool:
    """Embed the remaining chunks, or return True as soon as it is clear that this takes too long for one commit."""
    early = _may_commit_early(run)
    # An order that began during parsing may continue for a minute, which counts for this phase.
    if backlog.batches and (phase := backlog.phase()).done < phase.total:
        run.engine.progress(phase)
    backlog.settle()
    while backlog.batches:
        if run.unpaid:
            return _left_unpaid(run)
        phase = backlog.phase()
        run.engine.progress(phase)
        if early and (phase.seconds_left or 0.0) > 60 * run.settings.run.early_commit:
            return True
        backlog.step()
    if backlog.embedded.texts:
        run.engine.progress(backlog.phase())
    return False


def _left_unpaid(run: Run) -> bool:
    """Return True, because vectors are left to later commits; raise `BudgetReached` if no snapshot may lack vectors."""
    if run.gate is None:
        return True
    raise BudgetReached("a gate needs all texts embedded, which would cost more than --max-cost; run again to continue")


def _may_commit_early(run: Run) -> bool:
    """Return whether a snapshot may lack vectors; with a gate, it must have all of them."""
    return run.settings.run.commit_every > 0 and run.gate is None


def _processed(run: Run, works: Sequence[WorkItem], look: Callable[[], None]) -> Iterator[Batch]:
    """Yield batches as they finish, with as many in flight as the engine has slots; call `look` while waiting."""
    packs = artifact_paths(run.root, run.base, "texts")
    finished: SimpleQueue[Running] = SimpleQueue()
    in_flight = 0
    unpacks: dict[str, Path] = {}
    recipe = run.recipe.with_passwords(())  # because orders are saved to disk
    for number, part in enumerate(_parts(_laid(run, sorted(works, key=_turn), unpacks))):
        orders = tuple({unpacks[work.key] for work in part if work.place})
        order = Order(run.folder / f"batch-{number:05d}", part, recipe, packs, _answering(run, number), orders)
        path = save_order(order, run.folder / f"order-{number:05d}.json")
        nodes = BatchNodes(number, len(part))
        future = run.engine.submit(process_batch, path, node=nodes.whole)
        future.add_done_callback(_put_into(finished, nodes))
        in_flight += 1
        while in_flight >= run.engine.slots:
            yield _finished(run, finished, look)
            in_flight -= 1
    for _ in range(in_flight):
        yield _finished(run, finished, look)


def _put_into(finished: "SimpleQueue[Running]", nodes: BatchNodes) -> "Callable[[Future[BatchDone]], None]":
    return lambda future: finished.put((nodes, future))


def _answering(run: Run, number: int) -> LookupSources:
    target = run.folder / f"{ASKED}{number:05d}.parquet"
    packs = artifact_paths(run.root, run.base, "embeddings")
    chunk = run.settings.chunk
    figures = artifact_paths(run.root, run.base, "figures") if chunk.describe_figures or chunk.read_figures else ()
    reading = _figure_reading(run) if chunk.read_figures else None
    return LookupSources(packs, target, *run.settings.embedding.where(), run.asking, run.payment, figures, reading)


def _figure_reading(run: Run) -> FigureReading:
    engine, languages = ocr_of_figures(run.settings)
    limits = run.settings.parse.limits()
    return FigureReading(engine, languages, run.store, run.folder.name, limits, counts=run.report.dry_run)


def _turn(work: WorkItem) -> int:
    """Return the sort key of a work item: first members of archives, in archive order, then files, the largest first.

    Otherwise one worker could be left with a long document at the end.
    """
    return -1 - work.size if not work.place else _FIRST


def _laid(run: Run, works: Iterable[WorkItem], unpacks: dict[str, Path]) -> Iterator[WorkItem]:
    """Yield the work items; a member of an archive gets the path that its file will have once unpacked.

    Fills `unpacks` with the order that unpacks each member, by the key of its work item.
    """
    for number, (path, group) in enumerate(_archives(works)):
        if not path:
            yield from group
            continue
        folder = run.folder / f"{TEMPORARY}unpacked-{number:05d}"
        wanted = tuple((work.place, work.key) for work in group)
        archive = LocalFile(path, group[0].reach)
        order = UnpackOrder(archive, archive.name, wanted, replace(run.recipe.archives, passwords=()))
        saved = save_order(order, folder / "order.json")
        for work in group:
            unpacks[work.key] = saved
            yield replace(work, path=str(folder / work.key), reach=ANYWHERE)


def _archives(works: Iterable[WorkItem]) -> Iterator[tuple[str, list[WorkItem]]]:
    """Group the work items of each archive, up to the bytes that may be unpacked at a time.

    Work items outside archives have the key "".
    """
    for path, group in groupby(works, lambda work: work.path if work.place else ""):
        part: list[WorkItem] = []
        size = 0
        for work in group:
            if part and path and size + work.size > UNPACKED_BYTES:
                yield path, part
                part, size = [], 0
            part.append(work)
            size += work.size
        yield path, part


def _finished(run: Run, finished: "SimpleQueue[Running]", look: Callable[[], None]) -> Batch:
    """Wait for the next batch to end, and return it."""
    with run.step("parse and split"):
        nodes, future = _next(finished, look)
        done = future.result()
        nodes.record(run.engine, done)
        run.report.ocr.minutes += done.spent.ocr / 60
        return Batch(done.folder)


def _next(finished: "SimpleQueue[Running]", look: Callable[[], None]) -> Running:
    while True:
        try:
            return finished.get(timeout=LOOK_S)
        except Empty:
            look()


def _parts(works: Iterable[WorkItem]) -> Iterator[tuple[WorkItem, ...]]:
    """Cut work items into batches by number of documents and by bytes."""
    part: list[WorkItem] = []
    size = 0
    for work in works:
        if part and (len(part) == BATCH_DOCUMENTS or size + work.size > BATCH_BYTES):
            yield tuple(part)
            part, size = [], 0
        part.append(work)
        size += work.size
    if part:
        yield tuple(part)
