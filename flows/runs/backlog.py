"""Backlog: embed finished batches in the background while others are parsed, and track how much is left."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from docmill.flows.runs.engine import Engine, Node
from docmill.flows.runs.phases import EMBED, PLAN, Pace, Phase, awaited, counted
from docmill.flows.runs.run_state import Run
from docmill.storage.snapshots.artifacts.staging import Batch, is_portion, settled_tokens
from docmill.tasks.publishing.publish import artifact_paths
from docmill.tasks.work.batch.batch import BatchDone
from docmill.tasks.work.batch.embed import Embedding, EmbedOrder, chunk_count, embed_batches, tokens_left
from docmill.tasks.work.batch.step_orders import save_order

EMBED_CHUNKS = 2048
"""Chunks to collect for each embedding worker before the model is called.

The model batches texts of similar length. With fewer chunks, lengths match less well; with more, memory grows.
"""
SLICE_S = 20.0
"""Seconds after which an order to embed ends, finished or not. A run may have to wait this long when it is interrupted,
or when it could commit; with shorter slices, the keys of the chunks are read more often."""


class Backlog:
    """The finished batches whose chunks are still to be embedded. One order at a time embeds some of them.

    With `sliced`, an order ends after `SLICE_S`. Otherwise it ends when its chunks are done, which makes fewer packs.
    """

    def __init__(self, run: Run, batches: Sequence[Batch], sliced: bool) -> None:
        self._run = run
        self._seconds = SLICE_S if sliced else None
        self._waiting = list(batches)
        self._taken: list[Batch] = []
        self._order: Future[Embedding] | None = None
        self._target = Path()
        self._pace: Pace | None = None
        self._shown = Phase(EMBED, 0, 0, "tokens")
        self._finished = Event()
        self.embedded = Embedding(0, 0)

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches that may have chunks to embed."""
        return (*self._taken, *self._waiting)

    def add(self, batch: Batch) -> None:
        """Add a batch, and start the next order if the last one is finished and there are enough chunks."""
        self._waiting.append(batch)
        if self._order is not None and self._finished.is_set():
            self.settle()
        if self._order is None and not self._run.unpaid and sum(map(chunk_count, self._waiting)) >= self._most:
            self._begin()

    def step(self) -> None:
        """Embed some of the chunks."""
        if self._order is None and self._waiting:
            self._begin()
        self.settle()

    def settle(self) -> None:
        """Wait for the order in progress."""
        if self._order is None:
            return
        with self._run.step("embed"):
            done = awaited(self._order, self._show)
        self._waiting = [*(self._taken if done.left else ()), *self._waiting]
        self._order, self._taken = None, []
        self.embedded += done
        self._run.engine.log(f"embed: {spelled(done)}")

    def phase(self) -> Phase:
        """Return how many tokens of all batches are embedded, and the speed in the last minute.

        Call this only when everything is parsed: the speed while parsing says nothing about the remaining time.
        """
        run = self._run
        packs = (*artifact_paths(run.root, run.base, "embeddings"), *run.folder.glob("embeddings-*.parquet"))
        if self._order:  # its portions may be joined at any moment, so `_phase` counts them by their names
            packs = tuple(path for path in packs if not is_portion(path, self._target))
        return self._phase(self.embedded.tokens + tokens_left(self.batches, packs))

    @property
    def rate(self) -> float:
        """Tokens per second in the last minute, or while that is unknown, of all orders; 0 if there was none."""
        return self._shown.rate or self.embedded.rate

    def _phase(self, total: int) -> Phase:
        settled = self.embedded.tokens + (settled_tokens(self._target) if self._order else 0)
        done = min(total, max(settled, self._shown.done))  # while portions are being joined, some are not counted
        self._pace = self._pace or Pace(warming=done)
        self._shown = Phase(EMBED, done, total, "tokens", self._pace.rate(done))
        return self._shown

    def _show(self) -> None:
        """Report the progress of the current order, if the total is known."""
        if self._pace and self._phase(self._shown.total).done < self._shown.total:
            self._run.engine.progress(self._shown)

    @property
    def _most(self) -> int:
        """The number of chunks that an order embeds."""
        return EMBED_CHUNKS * self._run.engine.embedders

    def _begin(self) -> None:
        while self._waiting and sum(map(chunk_count, self._taken)) < self._most:
            self._taken.append(self._waiting.pop(0))
        self._finished = Event()
        order, self._target = _saved(self._run, self._taken, self._seconds)
        self._order = self._run.engine.submit(embed_batches, order, node=_node(self._run, order, self._taken))
        self._order.add_done_callback(lambda _, finished=self._finished: finished.set())  # type: ignore[misc]


def spelled(done: Embedding) -> str:
    """Return one line about what an order has embedded."""
    rest = ", more to come" if done.left else ""
    return f"{counted(done.texts, 'texts')}, {counted(done.tokens, 'tokens')} in {done.seconds:.1f} s{rest}"


def _node(run: Run, order: Path, batches: Sequence[Batch]) -> Node:
    """Return the place of an order: after its batches, or after the plan for batches that an earlier run left."""
    own = [one for one in batches if one.folder.parent == run.folder]
    after = [key for one in own for key in ends_of(one)] + [PLAN] * (len(own) < len(batches))
    chunks = sum(map(chunk_count, batches))
    return Node(f"embed {order.stem.removeprefix('embed-')}", counted(chunks, "chunks"), tuple(after))


def _saved(run: Run, batches: Sequence[Batch], seconds: float | None) -> tuple[Path, Path]:
    """Save an order; return its path and the path of the pack that it writes."""
    number = len(list(run.folder.glob("embed-*.json")))
    order = EmbedOrder(
        tuple(batches),
        artifact_paths(run.root, run.base, "embeddings"),
        run.folder / f"embeddings-{number:05d}.parquet",
        *run.settings.embedding.where(),
        run.space.late,
        artifact_paths(run.root, run.base, "texts"),
        run.space.light,
        seconds,
        run.payment,
        run.space.dtype,
    )
    return save_order(order, run.folder / f"embed-{number:05d}.json"), order.target


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

        The batch's time is divided by how long workers spent in each phase. The message of a phase gives these seconds.
        """
        at, before = done.began, PLAN
        for phase, about, seconds, message in _phases(done):
            node = Node(f"{phase} {self.number:05d}", about, (before,), self.whole.key)
            engine.record(node, at, seconds, message)
            at, before = at + seconds, node.key


def ends_of(batch: Batch) -> tuple[str, str]:
    """Return the keys of a batch of this run and of its last phase.

    Both are needed because Prefect's page can collapse the phases of a batch, and then draws only the batch's edges.
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
