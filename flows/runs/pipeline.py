"""Pipeline: the ingest, the same for every engine: discover → plan → batches → embed → commit.

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
from typing import TYPE_CHECKING, NamedTuple

from docmill.flows.config.from_settings import (
    check_model,
    discover_options,
    gate_of,
    grants_of,
    model_access_of,
    opener_of,
    payment_of,
    recipe_of,
    space_of,
)
from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import Engine, Node, RunSite
from docmill.flows.runs.phases import PLAN, counted
from docmill.flows.runs.reach_sources import SourceLost, asked, each, links_out, losses, without
from docmill.flows.runs.report import REQUESTS, Report, spent
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.runs.run_state import Run, ToDo, is_outlived
from docmill.flows.runs.sources_seen import count_sources, failure_logged, log_run
from docmill.storage.arrow_schema import from_table
from docmill.storage.errors import DocmillError, Rejected, SourceError, Transient
from docmill.storage.files import check_room, explain_full_disk, remove
from docmill.storage.process.malloc_tuning import spare_memory
from docmill.storage.process.shutdown import tidied
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import REFUSED, STALE, RejectRow, StagedDocument
from docmill.storage.search.encode.numpy_bert_check import confirmed
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.history.garbage import sweep
from docmill.storage.snapshots.history.probed_models import check_space, probe_model
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.current_folder import catch_up
from docmill.tasks.model.client import close_shared
from docmill.tasks.model.embedding_costs import close_payer, payer_of
from docmill.tasks.publishing.plan import Plan, StoreState, plan, unmatched
from docmill.tasks.publishing.skip_unchanged import narrow
from docmill.tasks.sources.access_grants import granted
from docmill.tasks.sources.discover import check_argument, likely_name, open_source
from docmill.tasks.sources.expand_archives import Listed, expand, without_files
from docmill.tasks.sources.fingerprint import Fingerprints
from docmill.tasks.sources.listings import Listings
from docmill.tasks.sources.pictures_beside import pictured
from docmill.tasks.sources.sidecars import Sidecars, described
from docmill.tasks.sources.source import OUTSIDE, UNREADABLE, Source, SourceFile
from docmill.tasks.work.batch.step_orders import passwords_at_hand
from docmill.tasks.work.document.recipe import Recipe
from docmill.tasks.work.pool.pool import close_pools
from docmill.tasks.work.pool.temporary_folder import PLANNED, make_folder

if TYPE_CHECKING:
    from docmill.tasks.publishing.gate import Gate


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
    """Update the store from its sources and commit one snapshot, or none if nothing changed.

    A run that embeds for a long time commits several times, and only the last of these snapshots stays; see
    `commits.complete`. A dry run parses and splits new and changed documents, and stops before embedding. `retry` tries
    rejected documents again. `refresh_contexts` asks the language model again for contexts that are stale or were
    unusable. The documents of a source that is missing, does not answer, or would lose too many documents stay as they
    are; see `Report.unreached`. Raises `SourceError` or `Transient` if this is true of all sources, `Locked` if another
    writer holds the store, and `Transient` if the disk is full.
    """
    how = RunOptions(dry_run, allow_delete, retry, refresh_contexts)
    store = open_folder(settings.store, settings.mirrors)
    settings = settings.model_copy(update={"store": store.root})
    report = Report(engine=engine.name, dry_run=how.dry_run)
    with ExitStack() as stack:
        stack.enter_context(failure_logged(store.root, report))
        opened = _opened(report, settings, sources or settings.sources)
        ready = _ready(settings, how)  # before the lock, which creates the store's folder, to find wrong settings first
        spare_memory()
        stack.enter_context(explain_full_disk(store.root))
        if dry_run:
            held = make_folder(PLANNED)
            stack.callback(held.remove)
            folder = held.path
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
        stack.callback(close_payer, folder.name)
        stack.callback(close_shared, folder.name)
        stack.enter_context(passwords_at_hand(folder, settings.parse.passwords))
        stack.enter_context(tidied(partial(remove if dry_run else staging.remove_unfinished, folder)))
        run = _begin(ready, store, engine, folder, how, report)
        stack.callback(run.incoming.remove)
        stack.enter_context(tidied(close_pools))
        stack.enter_context(engine.attend(_site(run)))
        _execute(run, opened, how)
        run.report.pending = run.pending
        _report_embedding(run)
        _report_reach(run)
        return run.report


def _report_embedding(run: Run) -> None:
    """Report the embedding requests by API, and what was left out because of the budget."""
    report, payer = run.report, None if run.report.dry_run else payer_of(run.payment)
    if payer is None:
        return
    report.embedding = spent(payer.spent, run.settings.embedding.price >= 0, REQUESTS)
    if run.unpaid:
        report.embedding["left"] = run.pending
        left = f"{counted(run.pending, 'chunks')} {'has' if run.pending == 1 else 'have'}"
        report.problems.append(f"{left} no vectors because --max-cost was reached; run again")


def _report_reach(run: Run) -> None:
    """Report the languages that the model cannot read, if the run has added or changed documents."""
    new = run.report.documents.added + run.report.documents.changed
    if new and run.report.snapshot and (stored := run.store.newest()):
        from docmill.storage.snapshots.read.model_reach import (
            poorly_read,  # imported here, because a run that finds nothing new needs no tokenizer
        )

        run.report.problems += map(str, poorly_read(stored))


@dataclass(frozen=True, slots=True)
class _Ready:
    """Objects made from the settings, which are therefore valid."""

    settings: Settings
    space: EmbeddingSpace
    recipe: Recipe
    gate: "Gate | None"


def _ready(settings: Settings, how: RunOptions) -> _Ready:
    space = space_of(settings)
    recipe = recipe_of(settings, space)
    check_model(settings, recipe)
    return _Ready(settings, space, recipe, None if how.dry_run else gate_of(settings))


def _opened(report: Report, settings: Settings, arguments: Sequence[str]) -> list[Source]:
    if not arguments:
        raise SourceError("no source given; name a folder, or set `sources` in docmill.toml")
    for argument in arguments:  # a wrong argument must not count as an unreachable source
        check_argument(argument)
    opener = opener_of(settings)
    opening = partial(open_source, tables=settings.source, opener=opener)
    return [source for _, source in each(report, arguments, likely_name, opening, settings.run.retries)]


def _begin(ready: _Ready, store: StoreFolder, engine: Engine, folder: Path, how: RunOptions, report: Report) -> Run:
    base = store.newest()
    space = confirmed(ready.space, base.snapshot.space if base else None)
    check_space(base, space)
    payment = payment_of(ready.settings, store, folder.name)
    if not how.dry_run:
        space = probe_model(store.root, space, payer_of(payment))
    asking = model_access_of(ready.settings, run=folder.name, calls=not how.dry_run, refresh=how.refresh_contexts)
    now = datetime.now(UTC)
    ruled = (ready.recipe, report, now, ready.gate)
    return Run(ready.settings, store, engine, folder, base, space, *ruled, asking, payment)


def _site(run: Run) -> RunSite:
    chosen = run.settings
    address_of = run.incoming.address_of
    return RunSite(run.store, run.folder, run.space, chosen.chunk.tokenizer, chosen.parse.passwords, address_of)


class _Caches(NamedTuple):
    """What earlier runs learned about files, by their states and contents."""

    fingerprints: Fingerprints
    listings: Listings
    sidecars: Sidecars


def _execute(run: Run, opened: Sequence[Source], how: RunOptions) -> None:
    if run.gate and not _complete(run):  # the gate compares with the current snapshot, which must have all vectors
        return
    kept = _Caches(Fingerprints(run.root), Listings(run.root, run.recipe.archives), Sidecars(run.root))
    found = _compared(run, opened, how, kept)
    count_sources(run.report, run.incoming.tally)
    _count_known(run.report, found, how)
    run.report.due = is_outlived(run)
    if _is_idle(run, found.todo):
        run.report.problems += run.report.rejections()
        run.report.chunks.kept = run.base.snapshot.rows("chunks") if run.base else 0
    else:
        # Imported here, because it takes a third of the time of runs that find nothing to do, as most scheduled runs.
        from docmill.flows.runs.batches import carry_out

        carry_out(run, found, how)
    if not how.dry_run:
        listed = tuple(source.origin for source, _ in found.listings if source.origin)
        kept.fingerprints.save((listing.found for _, listing in found.listings), listed)
        kept.listings.save()
        kept.sidecars.save()
        run.incoming.save({one.source for one in run.report.unreached})
        log_run(run.root, run.report, [source for source, _ in found.listings])
        _complete(run)


def _is_idle(run: Run, todo: Plan) -> bool:
    """Return whether a run has nothing to process or commit, including work left by an earlier run."""
    return todo.empty and not (run.batches or run.pending or is_outlived(run))


def _complete(run: Run) -> bool:
    """Embed and commit the pending vectors of the newest snapshot; return False if the gate held them back."""
    if not run.pending:
        return True
    from docmill.flows.runs.commits import complete

    return complete(run)


def _count_known(report: Report, found: ToDo, how: RunOptions) -> None:
    """Report what is known from the plan: sources and files left out, and the documents that stay as they are."""
    state, todo = found.state, found.todo
    report.problems += [*map(str, report.unreached), *_skipped(found.expanded), *unmatched(state, found.expanded)]
    if not how.allow_delete:  # with it, an empty folder is the way to remove a source
        report.problems += without_files(found.expanded, state.held)
    documents = report.documents
    documents.unchanged = len(todo.unchanged) + todo.settled
    documents.stale, documents.rejected = len(todo.stale), len(todo.rejected)
    before = dict.fromkeys((*todo.rejected, *todo.stale))
    report.rejected_before += (state.rejects[uri] for uri in before if uri in state.rejects)


def _compared(run: Run, opened: Sequence[Source], how: RunOptions, kept: _Caches) -> ToDo:
    """List the sources, and compare their files with the store; start again without any source that becomes lost."""
    began = time.time()
    with run.step("discover"):
        listings = _listed(run, opened, how)
        far = [file for source, listing in listings if source.origin for file in listing.found]
        kept.fingerprints.learn(far, run.remote_address, run.engine.fingerprints)
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


def _planned(run: Run, listings: list[Listed], expanded: list[Listed], how: RunOptions) -> ToDo:
    """Compare files with the store, and fetch those to parse; raise `SourceLost` if a source lost too many."""
    with run.step("plan"):
        left = narrow(run.base, expanded, _state(run, how.refresh_contexts), run.recipe)
        todo = plan(left.state, left.listings, run.recipe, how.retry)
        todo.settled = left.unchanged
        if lost := losses(run, left.state, todo.lost, expanded, how.allow_delete):
            raise SourceLost(lost)
    with run.step("discover"):
        left_remote = [work for work in todo.works if not work.place and run.remote_address(work.path)]
        shown = {one.path for work in todo.works for one in work.pictures if not run.remote_address(one.path)}
        _bring(run, ({work.path for work in todo.works} - {work.path for work in left_remote}) | shown)
        run.incoming.count_read({work.path: work.size for work in left_remote})
    return ToDo(listings, expanded, left.state, todo)


def _discover(run: Run, listings: list[Listed], kept: _Caches, how: RunOptions) -> list[Listed]:
    """Fetch new remote files, fingerprint all files, read their sidecars, and list the members of archives."""
    seen, bring = kept.fingerprints, partial(_bring, run)
    taken = [
        (source, replace(listing, found=seen.taken(listing.found))) for source, listing in _brought(run, listings, seen)
    ]
    documents = granted(described(taken, kept.sidecars, bring), grants_of(run.settings))
    return expand(pictured(documents), kept.listings, opener_of(run.settings), how.retry, bring)


def _told(todo: Plan) -> str:
    """Return a plan in one line."""
    counts = {
        "to process": len(todo.works),
        "unchanged": len(todo.unchanged) + todo.settled,
        "moved": len(todo.moved),
        "deleted": len(todo.deleted),
        "rejected before": len(todo.rejected),
    }
    return ", ".join(f"{some:,} {name}" for name, some in counts.items() if some) or "nothing to process"


def _skipped(expanded: list[Listed]) -> Iterator[str]:
    """Yield messages about skipped files, except unreadable ones, which are among the rejects."""
    for _, listing in expanded:
        told = (one for one in listing.skipped if one.reason not in (UNREADABLE, OUTSIDE))
        yield from (f"{one.uri or '.'}: skipped, {one.reason}: {one.message}" for one in told)
    yield from links_out(expanded)


def _listed(run: Run, opened: Sequence[Source], how: RunOptions) -> list[Listed]:
    """List the files of the sources."""
    options = discover_options(run.settings, may_be_empty=how.allow_delete)
    listing = partial(run.incoming.listing, options=options)
    found = each(run.report, opened, lambda source: source.name, listing, run.settings.run.retries)
    return [(source, run.incoming.admit(source, listed, how.allow_delete)) for source, listed in found]


def _bring(run: Run, paths: Iterable[str]) -> dict[str, Rejected]:
    """Fetch remote files; return why some were refused, and raise `SourceLost` if a source does not answer."""
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
    """Fetch new and changed remote files; return the listings, with the reason at files that were refused."""
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
    """Return the state of the store without its documents."""
    rejects = from_table(read_table(run.base, "rejects"), RejectRow)
    run.batches = staging.batches(run.root)
    outdated = frozenset(_outdated(run) if refresh_contexts else ())
    staged = [row for batch in run.batches for row in from_table(batch.documents(), StagedDocument)]
    return StoreState({}, {r.uri: r for r in rejects}, staged, outdated)


def _outdated(run: Run) -> Iterator[str]:
    """Yield the uris of documents whose context a language model should write again."""
    table = read_table(run.base, "chunks", ["uri", "context_state"])
    for uri, state in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if state in (STALE, REFUSED):
            yield uri
