"""Commits: commit what a run has staged, then its pending vectors in steps."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import inf
from pathlib import Path

from docmill.flows.config.from_settings import picture_payment_of, retention_of
from docmill.flows.runs.backlog import SLICE_S, spelled
from docmill.flows.runs.engine import Node
from docmill.flows.runs.phases import COMMIT, EMBED, Pace, Phase, awaited, counted
from docmill.flows.runs.report import PictureWork, Report
from docmill.flows.runs.run_state import Run
from docmill.storage.errors import StoreError
from docmill.storage.process.shutdown import uncut
from docmill.storage.schema import RunRow
from docmill.storage.search.encode.api.api_address import is_api, parse_address
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import PICTURE_VECTORS, SPARSE_VECTORS, StoredFile
from docmill.storage.snapshots.write.chunk_moves import ChunkMoves
from docmill.storage.snapshots.write.commit import Changes
from docmill.tasks.model.embedding_costs import payer_of
from docmill.tasks.publishing.embed_pending import FillOrder, embed_pending, fill
from docmill.tasks.publishing.picture_packs import DuePictures, due_pictures, most_tokens, picture_packs
from docmill.tasks.publishing.publish import PublishOrder, publish_run
from docmill.tasks.work.batch.embed import Embedding
from docmill.tasks.work.batch.step_orders import save_order


def save_changes(run: Run, changes: Changes) -> Path:
    """Promote the staged artifacts, and return an order to commit them with the changes and costs of a run."""
    if payer := payer_of(run.payment):
        payer.note()
    kept = retention_of(run.settings)
    figures = run.base.packs("figures") if run.base else []
    artifacts = staging.promote(run.root, figures)
    figures += [run.root / piece.file.path for piece in artifacts["figures"]]
    artifacts[PICTURE_VECTORS] = _picture_vectors(run, changes, figures)
    artifacts[SPARSE_VECTORS] = _learned_terms(run, changes)
    promoted = replace(changes, artifacts=artifacts, undelete_days=kept.undelete_days)
    order = PublishOrder(run.store, run.base, promoted, _run_row(run), kept, run.gate)
    return save_order(order, run.folder / "publish.json")


def _picture_vectors(run: Run, changes: Changes, figures: Sequence[Path]) -> tuple[StoredFile, ...]:
    """Return the packs of picture vectors for a commit, if the settings name a picture model."""
    if not (name := run.settings.embedding.pictures_where()):
        return ()
    due = due_pictures(run.base, changes.documents, name, figures)
    if len(due.keys):
        run.engine.log(f"embed {counted(len(due.keys), 'pictures')}")
    payer = payer_of(picture_payment_of(run.settings, run.store, run.folder.name))
    packs = picture_packs(run.root, due, figures, payer)
    embedded = sum(one.rows for one in packs) - sum(one.rows for one in due.kept)
    tokens = sum(row.input for row in payer.spent.costs) if payer else 0
    _report_pictures(run, due, embedded, tokens)
    if payer:
        payer.note()
    if left := len(due.keys) - embedded:
        lack = f"{counted(left, 'pictures')} {'has' if left == 1 else 'have'} no vectors"
        run.report.problems.append(f"{lack} because --max-cost was reached; run again")
    return packs


def plan_pictures(run: Run, changes: Changes) -> None:
    """Report how many pictures a commit of these changes would embed."""
    if name := run.settings.embedding.pictures_where():
        figures = run.base.packs("figures") if run.base else []
        staged = [batch.figures for batch in run.batches]
        due = due_pictures(run.base, changes.documents, name, [*figures, *staged])
        _report_pictures(run, due, len(due.keys), most_tokens(due))


def _report_pictures(run: Run, due: DuePictures, embedded: int, tokens: int) -> None:
    """Report the pictures that get vectors, including those of the run's earlier commits, and what they cost."""
    price = max(run.settings.embedding.pictures_price, 0.0)
    name = parse_address(due.model.name).name if is_api(due.model.name) else due.model.name
    before = run.report.pictures.embedded
    run.report.pictures = PictureWork(before + embedded, name, tokens, round(tokens * price / 1e6, 6))


def _learned_terms(run: Run, changes: Changes) -> tuple[StoredFile, ...]:
    """Return the packs of learned terms for a commit, if the settings name a model for them."""
    if not (name := run.settings.embedding.sparse):
        return ()
    from docmill.tasks.publishing.sparse_packs import learned_packs

    return learned_packs(run.folder, run.base, changes.chunks, name, run.engine.log)


def commit(run: Run, order: Path) -> None:
    """Commit an order; the run continues from the new snapshot unless the gate holds it back."""
    run.engine.progress(Phase(COMMIT, 0, 1))
    with uncut():
        done = run.engine.submit(publish_run, order, node=_commit_node(run)).result()
    run.engine.progress(Phase(COMMIT, 1, 1))
    report = run.report
    report.candidate, report.gate = done.candidate, done.finding
    run.engine.log(f"commit: {done.candidate or f'snapshot {done.snapshot}'}, {_moved(done.moves)}")
    count_chunks(report, done.moves)
    if done.snapshot is not None:
        report.snapshot, run.base = done.snapshot, run.store.newest()


def _moved(moves: ChunkMoves) -> str:
    return f"{counted(len(moves.added), 'chunks')} added, {moves.kept:,} kept, {len(moves.removed):,} removed"


def _commit_node(run: Run) -> Node:
    """Return the place of a commit, which is after all steps so far; later commits of a run are numbered."""
    run.commits += 1
    return Node("commit" if run.commits == 1 else f"commit {run.commits}")


def _pending(run: Run) -> str:
    return f"{counted(run.pending, 'chunks')} pending"


def complete(run: Run) -> bool:
    """Embed the pending vectors of the newest snapshot, and commit them every `commit_every` minutes.

    Returns False if the gate held a commit back. With a gate, all vectors are in one commit. Without, this ends early
    when the budget is used up.
    """
    while run.base and run.base.snapshot.pending and not run.unpaid:
        before = run.base.snapshot.pending.chunks
        run.engine.tell(f"snapshot {run.base.number} is committed: vectors {run.base.snapshot.spelled_vectors()}")
        done, rate = _embed_for_a_while(run, run.base)
        run.report.embedded += done.texts
        run.report.tokens_embedded += done.tokens
        if run.unpaid and (run.gate or not done.texts):
            break
        with run.step("commit"):
            commit(run, save_changes(run, fill(run.base, rate)))
        if run.report.candidate:
            return False
        _check_progress(run, before, done)
    return not (run.gate and run.pending)


def _check_progress(run: Run, before: int, done: Embedding) -> None:
    """Raise `StoreError` if the number of pending chunks did not fall, although neither budget nor time was used up.

    The time may end before any chunk with many vectors has its last one.
    """
    if run.pending >= before and not (run.unpaid or done.left):
        who = counted(run.pending, "chunks")
        raise StoreError(f"no vectors can be made for {who}; see: docmill verify --store {run.store.name}")


def _embed_for_a_while(run: Run, base: StoredSnapshot) -> tuple[Embedding, float]:
    """Embed pending vectors until it is time to commit, or until there are no more.

    Returns what was embedded, and the tokens per second in the last minute.
    """
    every = run.settings.run.commit_every
    end = time.monotonic() + (60 * every if every and not run.gate else inf)
    total, pace = Embedding(0, 0), Pace(warming=0)
    with run.step("embed"):
        while (left_s := end - time.monotonic()) > 0 or not total.texts:
            order, target = _saved(run, base, None if left_s == inf else min(SLICE_S, left_s))
            show = partial(_show_progress, run, base, total.tokens, target, pace)
            node = Node(f"embed pending {order.stem.removeprefix('fill-')}", _pending(run))
            done = awaited(run.engine.submit(embed_pending, order, node=node), show)
            if not done.texts:
                break
            total += done
            run.engine.log(f"embed pending: {spelled(done)}")
            if run.unpaid:
                break
            _show_progress(run, base, total.tokens, None, pace)
    return total, pace.rate(total.tokens) or total.rate


def _saved(run: Run, base: StoredSnapshot, seconds: float | None) -> tuple[Path, Path]:
    """Save an order; return its path and the path of the pack that it writes."""
    number = len(list(run.folder.glob("fill-*.json")))
    order = FillOrder(base, run.folder / f"embeddings-{number:05d}.parquet", seconds, run.payment)
    return save_order(order, run.folder / f"fill-{number:05d}.json"), order.target


def _show_progress(run: Run, base: StoredSnapshot, done: int, target: Path | None, pace: Pace) -> None:
    """Report how many of the run's tokens are embedded, including those of its earlier commits.

    `done` are the tokens of finished orders, and `target` is the pack of the current order.
    """
    if pending := base.snapshot.pending:
        before = run.report.tokens_embedded
        settled = done + (staging.settled_tokens(target) if target else 0)
        tokens = min(settled, pending.tokens)  # `pending` counts a text that several chunks share only once
        run.engine.progress(Phase(EMBED, before + tokens, before + pending.tokens, "tokens", pace.rate(settled)))


def count_chunks(report: Report, moves: ChunkMoves) -> None:
    """Add the moves of a commit to a report; chunks that the run itself added earlier do not count as kept."""
    chunks = report.chunks
    chunks.kept = moves.kept - chunks.added
    chunks.added += len(moves.added)
    chunks.removed += len(moves.removed)


def _run_row(run: Run) -> RunRow:
    report, documents = run.report, run.report.documents
    return RunRow(
        run_id=run.folder.name,
        snapshot=0,
        engine=report.engine,
        started=run.started.isoformat("T", "seconds"),
        seconds=(datetime.now(UTC) - run.started).total_seconds(),
        added=documents.added,
        changed=documents.changed,
        moved=documents.moved,
        deleted=documents.deleted,
        unchanged=documents.unchanged,
        rejected=documents.rejected,
        stale=documents.stale,
        chunks_added=report.chunks.added,
        chunks_kept=0,
        chunks_removed=report.chunks.removed,
        parsed=report.parsed,
        embedded=report.embedded,
        tokens_embedded=report.tokens_embedded,
    )
