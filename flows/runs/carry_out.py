"""Carry out: process what a plan holds, and commit what has changed."""

import json
from dataclasses import replace

from docmill.flows.runs.batches import process
from docmill.flows.runs.commits import commit, count_chunks, plan_pictures, save_changes
from docmill.flows.runs.reach_sources import losses
from docmill.flows.runs.report import Report
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.runs.run_state import Run, ToDo, is_outlived
from docmill.storage.schema import OCR_PAGES
from docmill.storage.search.encode.agreement import confirmed
from docmill.storage.snapshots.write.chunk_moves import compare_chunks, read_left
from docmill.storage.snapshots.write.commit import Changes
from docmill.storage.sql.document_warnings import warnings_of
from docmill.tasks.publishing.publish import gather
from docmill.tasks.publishing.run_rows import Outcome, settle
from docmill.tasks.work.batch.embed import Embedding


def carry_out(run: Run, found: ToDo, how: RunOptions) -> None:
    """Parse, split and embed what is to do, and commit it; a dry run counts it."""
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
            del changes  # the commit reads the order; do not hold it in memory twice
            commit(run, order)


def _prepare(run: Run, found: ToDo, how: RunOptions) -> Changes | None:
    """Parse, split and embed. Return the changes to commit, or None if there are none."""
    state, todo = found.state, found.todo
    done = process(run, todo, embed=not how.dry_run)
    with run.step("bind"):
        now = run.started.isoformat("T", "seconds")
        outcome = settle(run.base, state, todo, run.batches, run.recipe, now)
        # Check again: which documents gave no text is known only now.
        if lost := losses(run, state, todo.lost | {*outcome.gone}, found.expanded, how.allow_delete):
            raise next(iter(lost.values()))
        _count(run.report, found, outcome, done.embedded)
        if todo.empty and not is_outlived(run):
            return None
        changes = gather(run.base, run.batches, state, todo, outcome, confirmed(run.space), run.folder, run.recipe.keys)
        return replace(changes, partial=done.partial, tokens_per_s=done.tokens_per_s)


def _count(report: Report, found: ToDo, outcome: Outcome, embedded: Embedding) -> None:
    """Add the outcome of the planned files to a report that has the rest of the plan."""
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
    """Return how many pages OCR has read in this run; documents of equal content are read once."""
    read = {one.work.key: one.file.uri for one in found.todo.planned if one.work and not one.work.text_key}
    uris, told = (outcome.documents.column(name).to_pylist() for name in ("uri", "metadata"))
    of = {uri: metadata for uri, metadata in zip(uris, told, strict=True) if OCR_PAGES in metadata}
    return sum(len(json.loads(of[uri]).get(OCR_PAGES, ())) for uri in read.values() if uri in of)


def _warn(report: Report, outcome: Outcome) -> None:
    """Report what was lost of the documents of this run, or read by a lesser way."""
    columns = (outcome.documents.column(name).to_pylist() for name in ("uri", "metadata", "metadata_warnings"))
    for uri, metadata, beside in zip(*columns, strict=True):
        found = warnings_of(metadata, beside)
        report.problems += [f"{uri}: {one.message}" for one in found]
        report.lost_text += any(one.lost for one in found)
