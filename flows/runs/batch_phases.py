"""Batch phases: the parts of a batch's work in the graph of a run.

A worker takes each document through all phases in one call, and the documents of a batch side by side. Between tasks,
their parsed texts would have to be written and read again. So a batch is one step, and its phases are recorded when it
has ended.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from docmill.flows.runs.engine import Engine, Node
from docmill.flows.runs.phases import PLAN, counted
from docmill.storage.snapshots.artifacts.staging import Batch
from docmill.tasks.work.batch.batch import BatchDone

_LAST = "contextualize"


@dataclass(frozen=True, slots=True)
class BatchNodes:
    """The places of a batch and of its phases in the graph of a run."""

    number: int
    files: int

    @property
    def whole(self) -> Node:
        """The batch itself."""
        return Node(f"batch {self.number:05d}", counted(self.files, "files"), (PLAN,))

    def record(self, engine: Engine, done: BatchDone) -> None:
        """Record the phases of a finished batch, one after the other.

        Each gets the share of the batch's time that workers spent in it. The message of each says how many seconds of
        workers these are.
        """
        at, before = done.began, PLAN
        for phase, about, seconds, message in _phases(done):
            node = Node(f"{phase} {self.number:05d}", about, (before,), self.whole.key)
            engine.record(node, at, seconds, message)
            at, before = at + seconds, node.key


def ends_of(batch: Batch) -> tuple[str, str]:
    """Return the keys of a batch of this run and of its last phase.

    Prefect's page folds the phases into their batch, and then draws only the edges of the batch.
    """
    number = batch.folder.name.removeprefix("batch-")
    return f"batch {number}", f"{_LAST} {number}"


def _phases(done: BatchDone) -> Iterator[tuple[str, str, float, str]]:
    """Yield the name of each phase, what it counts, its seconds and a message."""
    spent, rejected = done.spent, f", {done.rejected:,} rejected" if done.rejected else ""
    busy = spent.parse + spent.detect + spent.chunk
    share = (done.seconds - done.answering) / busy if busy else 0.0
    for phase, about, seconds in (
        ("parse", f"{counted(done.documents, 'files')}{rejected}", spent.parse),
        ("detect", counted(done.regions, "regions"), spent.detect),
        ("chunk", counted(done.chunks, "chunks"), spent.chunk),
    ):
        yield phase, about, share * seconds, f"{about}, {seconds:.2f} s of workers"
    contexts = counted(done.contexts, "contexts")
    asked = f"{contexts}, {done.answering:.2f} s for answers of models"
    yield _LAST, contexts, done.answering, asked
