"""Publish: commit what a run has staged as one snapshot."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.errors import StoreError
from docmill.storage.process.malloc_tuning import returning_large
from docmill.storage.schema import RunRow
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.rank.candidates.search_options import Rewrite
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.artifacts.staging import Batch
from docmill.storage.snapshots.change import candidate_snapshots
from docmill.storage.snapshots.clean.compact import compact_held, due
from docmill.storage.snapshots.history import tags
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.retention import Retention, superseded
from docmill.storage.snapshots.tables.rewrite_buckets import Rewriting, rewrite_here
from docmill.storage.snapshots.tables.spill import spill
from docmill.storage.snapshots.write.chunk_moves import NO_MOVES, ChunkMoves
from docmill.storage.snapshots.write.commit import Changes, prepare, put
from docmill.tasks.model import ledger
from docmill.tasks.model.query_wordings import Rewriter
from docmill.tasks.publishing.gate import Gate, GateVerdict, judge
from docmill.tasks.publishing.plan import Plan, StoreState
from docmill.tasks.publishing.run_rows import Outcome, chunk_tables, reject_table
from docmill.tasks.work.batch.step_orders import load_order


@dataclass(frozen=True, slots=True)
class PublishOrder:
    """Everything that a commit needs; the step gets it as a file."""

    folder: StoreFolder
    base: StoredSnapshot | None
    changes: Changes
    run: RunRow
    retention: Retention
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """The result of a commit: the snapshot's number, or the candidate's name if the gate held it back."""

    snapshot: int | None
    moves: ChunkMoves = NO_MOVES
    candidate: str = ""
    finding: GateVerdict | None = None


def publish_run(order: Path, rewriting: Rewriting = rewrite_here) -> Published:
    """Commit an order, clear its staging, and vacuum if due; `rewriting` writes changed table buckets.

    If the gate rejects the snapshot, it is kept as a candidate, together with the staging, for the next run.
    """
    task = load_order(order, PublishOrder, {Rewrite: Rewriter})
    notes = ledger.pending(task.folder.root)
    changes = replace(task.changes, costs=ledger.read(notes))
    with returning_large():
        made, moves = prepare(task.folder, task.base, changes, task.run, rewriting)
        done = publish_snapshot(task.base, made, task.retention, task.gate)
    if done.snapshot is not None:
        ledger.clear(notes)
    return replace(done, moves=moves)


def publish_snapshot(
    base: StoredSnapshot | None, made: StoredSnapshot, retention: Retention, gate: Gate | None
) -> Published:
    """Commit a prepared snapshot, or keep it as a candidate if the gate rejects it."""
    finding = judge(base, made, gate) if gate and base else None
    if finding and finding.worse:
        return Published(None, candidate=candidate_snapshots.keep(made), finding=finding)
    put(made, base)
    staging.clear(made.root)
    if base and base.snapshot.pending and not retention.keep_steps:
        _drop_steps(made)
    if due(made, retention):
        compact_held(made.folder, retention)
    return Published(made.number, finding=finding)


def _drop_steps(made: StoredSnapshot) -> None:
    """Remove the intermediate snapshots that a run has committed, except those with a reader or a tag."""
    with suppress(StoreError):  # a damaged tag: a person must repair it first, and the run need not wait for that
        tags.check(made.root)
        made.folder.drop(superseded(made.root))


def gather(
    base: StoredSnapshot | None,
    batches: list[Batch],
    state: StoreState,
    plan: Plan,
    outcome: Outcome,
    space: EmbeddingSpace,
    folder: Path,
    keys: dict[str, str],
) -> Changes:
    """Return the changes of a run without touching the store; the chunks are written to `folder`."""
    written = set(outcome.documents.column("document_id").to_pylist())
    before = {row.document_id for row in state.documents.values()}
    deleted = {state.documents[uri].document_id for uri in (*plan.deleted, *outcome.gone)}
    return Changes(
        gone=frozenset(deleted | written & before),
        documents=outcome.documents,
        chunks=spill(folder / "chunks.arrow", CHUNKS, chunk_tables(base, batches, state, outcome.documents)),
        rejects=reject_table(state, plan, outcome),
        artifacts={},
        space=space,
        keys=keys,
    )


def artifact_paths(root: Path, base: StoredSnapshot | None, kind: str) -> tuple[Path, ...]:
    """Return the packs of a kind that a run can reuse: those of the snapshot, then those of unfinished runs."""
    committed = base.packs(kind) if base else []
    staged = staging.text_packs(root) if kind == "texts" else staging.embedding_packs(root)
    return (*committed, *staged)
