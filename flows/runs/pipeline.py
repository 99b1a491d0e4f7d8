"""The ingest pipeline, the same for every engine: discover → plan → batches → embed → commit.

Batches of documents are files on disk; steps exchange only paths and small values.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from docmill.flows.config.from_settings import (
    check_model,
    discover_options,
    gate_of,
    grants_of,
    model_access_of,
    opener_of,
    recipe_of,
    space_of,
)
from docmill.flows.config.settings import Settings
from docmill.flows.runs.batch_phases import PLAN
from docmill.flows.runs.batches import process
from docmill.flows.runs.commits import commit, complete, count_chunks, pending_chunks, save_changes
from docmill.flows.runs.engine import Engine, Node, RunSite
from docmill.flows.runs.phases import counted
from docmill.flows.runs.reaching import SourceLost, asked, each, without
from docmill.flows.runs.report import EARLIER, Report
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.runs.run_state import Run
from docmill.storage.arrow_schema import from_table
from docmill.storage.artifacts import staging
from docmill.storage.embedding.agreement import confirmed
from docmill.storage.embedding.encoder import EmbeddingSpace
from docmill.storage.errors import DocmillError, Rejected, SourceError, Transient
from docmill.storage.files import check_room, explain_full_disk, remove
from docmill.storage.history.folder import StoreFolder
from docmill.storage.history.garbage import sweep
from docmill.storage.history.probed_models import probe_model
from docmill.storage.mirror.mirror_folder import open_folder
from docmill.storage.process.ending import tidied
from docmill.storage.process.malloc_tuning import spare_memory
from docmill.storage.schema import REFUSED, STALE, RejectRow
from docmill.storage.sql.document_warnings import warnings_of
from docmill.storage.tables.tables import read_table
from docmill.storage.writer.chunk_moves import compare_chunks, read_left
from docmill.storage.writer.commit import Changes, check_space
from docmill.storage.writer.current_folder import catch_up
from docmill.tasks.batch.embed import Embedding
from docmill.tasks.batch.orders import passwords_at_hand
from docmill.tasks.document.recipe import Recipe
from docmill.tasks.model.client import close_shared
from docmill.tasks.publishing.gate import Gate
from docmill.tasks.publishing.narrow import narrow
from docmill.tasks.publishing.plan import Plan, StoreState, excessive_losses, plan, unmatched
from docmill.tasks.publishing.publish import gather
from docmill.tasks.publishing.run_rows import Outcome, settle, staged_documents
from docmill.tasks.sources.discover import check_argument, likely_name, open_source
from docmill.tasks.sources.expand import Listed, expand, without_files
from docmill.tasks.sources.fingerprint import Fingerprints
from docmill.tasks.sources.grants import granted
from docmill.tasks.sources.listings import Listings
from docmill.tasks.sources.sidecars import Sidecars, described
from docmill.tasks.sources.source import OUTSIDE, UNREADABLE, Source, SourceFile
from docmill.tasks.workers.pool import close_pools

_TOLD = 3
"""Links out of a source that a report names; it counts them all."""


def ingest(
    settings: Settings,
    sources: Sequence[str],
    engine: Engine,
    *,
    dry_run: bool = False,
    allow_delete: bool = False,
    retry: bool = False,
    refresh_contexts: bool = False,
) -> Report:
    """Bring the store in line with its sources and commit one snapshot, or none if nothing changed.

    A run that embeds for long commits several times; the last of these snapshots stays, see `commits.complete`.
    A dry run parses and splits new and changed documents, and stops before embedding. `retry` tries rejected documents
    again. `refresh_contexts` asks the language model again for contexts that are stale or were unusable. A source that
    is missing, does not answer, or would lose too many documents is left as it was, see `Report.unreached`. Raises
    `SourceError` or `Transient` if that holds for all sources, `Locked` if another writer holds it, and `Transient` if
    the disk is full.
    """
    how = RunOptions(dry_run, allow_delete, retry, refresh_contexts)
    store = open_folder(settings.store, settings.mirrors)
    settings = settings.model_copy(update={"store": store.root})
    report = Report(engine=engine.name, dry_run=how.dry_run)
    opened = _opened(report, settings, sources or settings.sources)
    ready = _ready(settings, how)  # a wrong setting is found before the lock makes a folder for the store
    spare_memory()
    with ExitStack() as stack:
        stack.enter_context(explain_full_disk(store.root))
        if dry_run:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="docmill-plan-")))
            store.refresh()
            store.complete()
        else:
            stack.enter_context(store.lock(settings.wait_s))
            check_room(store.root)
            store.complete()
            if staging.take_over(store.root):
                sweep(store.root)
            catch_up(store)
            folder = store.root / staging.FOLDER / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.getpid()}"
        stack.callback(close_shared, folder.name)
        stack.enter_context(passwords_at_hand(folder, settings.parse.passwords))
        stack.enter_context(tidied(partial(remove if dry_run else staging.remove_unfinished, folder)))
        run = _begin(ready, store, engine, folder, how, report)
        stack.callback(run.incoming.remove)
        stack.enter_context(tidied(close_pools))
        stack.enter_context(engine.attend(_site(run)))
        _execute(run, opened, how)
        run.report.pending = pending_chunks(run)
        return run.report


@dataclass(frozen=True, slots=True)
class _Ready:
    """What the settings ask for, built and found to be right."""

    settings: Settings
    space: EmbeddingSpace
    recipe: Recipe
    gate: Gate | None


def _ready(settings: Settings, how: RunOptions) -> _Ready:
    space = space_of(settings)
    recipe = recipe_of(settings, space)
    check_model(settings, recipe)
    return _Ready(settings, space, recipe, None if how.dry_run else gate_of(settings))


def _opened(report: Report, settings: Settings, arguments: Sequence[str]) -> list[Source]:
    if not arguments:
        raise SourceError("no source given; name a folder, or set `sources` in docmill.toml")
    for argument in arguments:  # a wrong one is no source that is away
        check_argument(argument)
    opener = opener_of(settings)
    opening = partial(open_source, tables=settings.source, opener=opener)
    return [source for _, source in each(report, arguments, likely_name, opening, settings.run.retries)]


def _begin(ready: _Ready, store: StoreFolder, engine: Engine, folder: Path, how: RunOptions, report: Report) -> Run:
    base = store.newest()
    space = confirmed(ready.space, base.snapshot.space if base else None)
    check_space(base, space)
    if not how.dry_run:
        space = probe_model(store.root, space)
    asking = model_access_of(ready.settings, run=folder.name, calls=not how.dry_run, refresh=how.refresh_contexts)
    now = datetime.now(UTC)
    return Run(ready.settings, store, engine, folder, base, space, ready.recipe, report, now, ready.gate, asking)


def _site(run: Run) -> RunSite:
    chosen = run.settings
    address_of = run.incoming.address_of
    return RunSite(run.store, run.folder, run.space, chosen.chunk.tokenizer, chosen.parse.passwords, address_of)


@dataclass(frozen=True, slots=True)
class _ToDo:
    """The files in the sources that a run has, the store as it was, and what there is to do."""

    listings: list[Listed]
    expanded: list[Listed]
    state: StoreState
    todo: Plan


class _Caches(NamedTuple):
    """What earlier runs learned of files, by their states and contents."""

    fingerprints: Fingerprints
    listings: Listings
    sidecars: Sidecars


def _execute(run: Run, opened: Sequence[Source], how: RunOptions) -> None:
    if run.gate and not complete(run):  # what the gate compares with has to have all its vectors
        return
    kept = _Caches(Fingerprints(run.root), Listings(run.root, run.recipe.archives), Sidecars(run.root))
    found = _compared(run, opened, how, kept)
    changes = _prepare(run, found, how)
    if changes is None:
        run.report.chunks.kept = run.base.snapshot.rows("chunks") if run.base else 0
    elif how.dry_run:
        left = read_left(run.base, changes.gone)
        count_chunks(run.report, compare_chunks(run.base, left, changes.documents, changes.chunks))
    else:
        with run.step("commit"):
            order = save_changes(run, changes)
            del changes  # the commit reads the order; do not hold it in memory twice
            commit(run, order)
    if not how.dry_run:
        listed = tuple(source.origin for source, _ in found.listings if source.origin)
        kept.fingerprints.save((listing.found for _, listing in found.listings), listed)
        kept.listings.save()
        kept.sidecars.save()
        run.incoming.save({one.source for one in run.report.unreached})
        complete(run)


def _compared(run: Run, opened: Sequence[Source], how: RunOptions, kept: _Caches) -> _ToDo:
    """List the sources, and compare their files with the store; begin again without a source that gets lost."""
    began = time.time()
    with run.step("discover"):
        listings = _listed(run, opened, how)
        far = [file for source, listing in listings if source.origin for file in listing.found]
        kept.fingerprints.learn(far, run.far_address, run.engine.fingerprints)
    while True:
        try:
            with run.step("discover"):
                expanded = _discover(run, listings, kept, how)
            planning = time.time()
            found = _planned(run, listings, expanded, how)
            break
        except SourceLost as lost:
            listings = without(run.report, listings, lost)
    names = ", ".join(source.name for source, _ in listings)
    files = counted(sum(len(listing.found) for _, listing in listings), "files")
    run.engine.record(Node("discover", files), began, planning - began, f"{files} in {names}")
    run.record(Node(PLAN, f"{len(found.todo.works):,} to process"), planning, _told(found.todo))
    return found


def _planned(run: Run, listings: list[Listed], expanded: list[Listed], how: RunOptions) -> _ToDo:
    """Compare files with the store, and fetch those to parse; raise `SourceLost` if a source lost too many."""
    with run.step("plan"):
        left = narrow(run.base, expanded, _state(run, how.refresh_contexts), run.recipe)
        todo = plan(left.state, left.listings, run.recipe, how.retry)
        todo.settled = left.unchanged
        if lost := _losses(run, left.state, todo.lost, expanded, how):
            raise SourceLost(lost)
    with run.step("discover"):
        _bring(run, (work.path for work in todo.works if work.place or not run.far_address(work.path)))
    return _ToDo(listings, expanded, left.state, todo)


def _discover(run: Run, listings: list[Listed], kept: _Caches, how: RunOptions) -> list[Listed]:
    """Fetch what is new elsewhere, fingerprint the files, read their sidecars, and list the members of archives."""
    seen, bring = kept.fingerprints, partial(_bring, run)
    taken = [
        (source, replace(listing, found=seen.taken(listing.found))) for source, listing in _brought(run, listings, seen)
    ]
    documents = granted(described(taken, kept.sidecars, bring), grants_of(run.settings))
    return expand(documents, kept.listings, opener_of(run.settings), how.retry, bring)


def _prepare(run: Run, found: _ToDo, how: RunOptions) -> Changes | None:
    """Parse, split and embed. Return the changes to commit, or None if there are none."""
    state, todo, expanded = found.state, found.todo, found.expanded
    run.report.problems += [*map(str, run.report.unreached), *_skipped(expanded), *unmatched(state, expanded)]
    if not how.allow_delete:  # with it, an empty folder is what removes a source
        run.report.problems += without_files(expanded, state.held)
    done = process(run, todo, embed=not how.dry_run)
    with run.step("bind"):
        now = run.started.isoformat("T", "seconds")
        outcome = settle(run.base, state, todo, run.batches, run.recipe, now)
        # Check again: which documents gave no text is known only now.
        if lost := _losses(run, state, todo.lost | {*outcome.gone}, expanded, how):
            raise next(iter(lost.values()))
        _count(run.report, state, todo, outcome, done.embedded)
        if todo.empty and not _outlived(run):
            return None
        changes = gather(run.base, run.batches, state, todo, outcome, confirmed(run.space), run.folder, run.recipe.keys)
        return replace(changes, partial=done.partial, tokens_per_s=done.tokens_per_s)


def _outlived(run: Run) -> bool:
    """Return whether a snapshot is due although no document has changed: for its postings, or keys of [metadata]."""
    held = run.base.snapshot if run.base else None
    return held is not None and (held.keywords.outdated or held.keys != run.recipe.keys)


def _told(todo: Plan) -> str:
    """Return what a plan holds, in one line."""
    counts = {
        "to process": len(todo.works),
        "unchanged": len(todo.unchanged) + todo.settled,
        "moved": len(todo.moved),
        "deleted": len(todo.deleted),
        "rejected before": len(todo.rejected),
    }
    return ", ".join(f"{some:,} {name}" for name, some in counts.items() if some) or "nothing to process"


def _skipped(expanded: list[Listed]) -> Iterator[str]:
    """Yield messages about skipped files; what could not be looked at is told among the rejects."""
    for _, listing in expanded:
        told = (one for one in listing.skipped if one.reason not in (UNREADABLE, OUTSIDE))
        yield from (f"{one.uri}: skipped, {one.reason}: {one.message}" for one in told)
    yield from _links_out(expanded)


def _links_out(expanded: Iterable[Listed]) -> Iterator[str]:
    """Yield one message for all links that lead out of a source."""
    for source, listing in expanded:
        links = sorted(one.uri for one in listing.skipped if one.reason == OUTSIDE)
        if links:
            some = ", ".join(links[:_TOLD]) + (", ..." if len(links) > _TOLD else "")
            yield f"{source.name}: {len(links)} link(s) out of the source not followed: {some} (discover.follow_links)"


def _losses(
    run: Run, state: StoreState, lost: set[str], expanded: list[Listed], how: RunOptions
) -> dict[str, DocmillError]:
    """Return an error for each source that would lose too many documents; it names links that may lead to them."""
    most = 1.0 if how.allow_delete else run.settings.max_delete_fraction
    return {
        name: SourceError("; ".join([said, *_links_out(one for one in expanded if one[0].name == name)]))
        for name, said in excessive_losses(state, lost, most).items()
    }


def _listed(run: Run, opened: Sequence[Source], how: RunOptions) -> list[Listed]:
    """List the files of the sources."""
    options = discover_options(run.settings, may_be_empty=how.allow_delete)
    listing = partial(run.incoming.listing, options=options)
    found = each(run.report, opened, lambda source: source.name, listing, run.settings.run.retries)
    return [(source, run.incoming.admit(source, listed, how.allow_delete)) for source, listed in found]


def _bring(run: Run, paths: Iterable[str]) -> dict[str, Rejected]:
    """Fetch files that are elsewhere, and return why some cannot be had; raise `SourceLost` if a source is away."""
    refused, lost = dict[str, Rejected](), dict[str, DocmillError]()
    for name, own in run.incoming.by_source(paths).items():
        try:
            refused |= asked(partial(run.incoming.bring, own), run.settings.run.retries)
        except Transient as error:
            lost[name] = error
    if lost:
        raise SourceLost(lost)
    return refused


def _brought(run: Run, listings: Sequence[Listed], seen: Fingerprints) -> list[Listed]:
    """Fetch the files that are elsewhere and new or changed; return the listings with why some cannot be had."""
    far = [seen.lacking(listing.found) for source, listing in listings if source.origin]
    refused = _bring(run, (file.path for files in far for file in files if file.origin))

    def told(file: SourceFile) -> SourceFile:
        why = refused.get(file.path)
        return replace(file, reason=why.reason, message=why.message) if why else file

    return [
        (source, replace(listing, found=[*map(told, listing.found)]) if source.origin else listing)
        for source, listing in listings
    ]


def _state(run: Run, refresh_contexts: bool) -> StoreState:
    """Return all of the state but the documents."""
    rejects = from_table(read_table(run.base, "rejects"), RejectRow)
    run.batches = staging.batches(run.root)
    outdated = frozenset(_outdated(run) if refresh_contexts else ())
    staged = staged_documents(run.batches)
    return StoreState({}, {r.uri: r for r in rejects}, staged, outdated)


def _outdated(run: Run) -> Iterator[str]:
    """Yield the uris of documents whose context a language model should write again."""
    table = read_table(run.base, "chunks", ["uri", "context_state"])
    for uri, state in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if state in (STALE, REFUSED):
            yield uri


def _count(report: Report, state: StoreState, todo: Plan, outcome: Outcome, embedded: Embedding) -> None:
    columns = (outcome.documents.column(name).to_pylist() for name in ("uri", "status"))
    good = [uri for uri, status in zip(*columns, strict=True) if status == "ok"]
    documents = report.documents
    documents.moved = sum(uri in todo.moved for uri in good)
    documents.added = sum(uri not in state.documents for uri in good) - documents.moved
    documents.changed = sum(uri in state.documents for uri in good)
    documents.deleted = len(todo.deleted) - documents.moved + len(outcome.gone)
    documents.unchanged = len(todo.unchanged) + todo.settled
    documents.stale = len(todo.stale) + len(outcome.stale)
    documents.rejected = len(todo.rejected) + sum(row.uri not in state.documents for row in outcome.rejects)
    report.parsed, report.embedded, report.tokens_embedded = outcome.parsed, embedded.texts, embedded.tokens
    report.rejects += outcome.rejects
    before = dict.fromkeys((*todo.rejected, *todo.stale))
    report.rejected_before += (state.rejects[uri] for uri in before if uri in state.rejects)
    report.problems += _rejections(report)
    report.rechunked = todo.rechunked
    _warn(report, outcome)


def _warn(report: Report, outcome: Outcome) -> None:
    """Report what was lost of the documents of this run, or read by a lesser way."""
    columns = (outcome.documents.column(name).to_pylist() for name in ("uri", "metadata", "metadata_warnings"))
    for uri, metadata, beside in zip(*columns, strict=True):
        found = warnings_of(metadata, beside)
        report.problems += [f"{uri}: {one.message}" for one in found]
        report.lost_text += any(one.lost for one in found)


def _rejections(report: Report) -> Iterator[str]:
    """Yield messages about documents that are rejected or stale: first those of this run, then earlier ones."""
    for row in report.rejects:
        yield f"{row.uri}: {row.reason}: {row.message}"
    for row in report.rejected_before:
        yield f"{row.uri}: {row.reason}: {row.message}{EARLIER}"
