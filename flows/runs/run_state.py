"""Run state: the state that the steps of a run share."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import Engine, Node
from docmill.flows.runs.report import Report
from docmill.flows.runs.sources_seen import shown_by
from docmill.storage.files import TEMPORARY
from docmill.storage.process.malloc_tuning import give_back
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.snapshots.artifacts.staging import Batch
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.snapshots import PICTURE_VECTORS, SPARSE_VECTORS, Snapshot
from docmill.tasks.model.client import ModelAccess
from docmill.tasks.model.embedding_costs import Payment, payer_of
from docmill.tasks.publishing.plan import Plan, StoreState
from docmill.tasks.sources.expand_archives import Listed
from docmill.tasks.sources.fetch_files import Incoming
from docmill.tasks.work.document.recipe import Recipe

if TYPE_CHECKING:
    from docmill.tasks.publishing.gate import Gate


@dataclass(frozen=True, slots=True)
class ToDo:
    """The files in the sources of a run, the state of the store before it, and the plan."""

    listings: list[Listed]
    expanded: list[Listed]
    state: StoreState
    todo: Plan


@dataclass(slots=True)
class Run:
    """A run in progress: `folder` is its staging folder, `batches` its finished batches, `commits` its commit count."""

    settings: Settings
    store: StoreFolder
    engine: Engine
    folder: Path
    base: StoredSnapshot | None
    space: EmbeddingSpace
    recipe: Recipe
    report: Report
    started: datetime
    gate: "Gate | None" = None
    asking: ModelAccess | None = None
    payment: Payment | None = None
    batches: list[Batch] = field(default_factory=list)
    commits: int = 0
    incoming: Incoming = field(init=False)

    def __post_init__(self) -> None:
        # Absolute, because worker processes may have another working directory than the caller has by now.
        folder = (self.folder / f"{TEMPORARY}incoming").absolute()
        tell = shown_by(self.engine)
        self.incoming = Incoming(folder, self.settings.discover.max_file_bytes, self.root, tell)

    @property
    def root(self) -> Path:
        """The path of the store."""
        return self.store.root

    @property
    def pending(self) -> int:
        """How many chunks of the newest snapshot have no vectors yet."""
        return self.base.snapshot.pending.chunks if self.base and self.base.snapshot.pending else 0

    @property
    def unpaid(self) -> bool:
        """Whether vectors are left out because the budget is used up."""
        payer = payer_of(self.payment)
        return payer is not None and payer.reached

    def remote_address(self, path: str) -> str:
        """Return the address at which workers read a file of a source themselves, or "" if it must be fetched here."""
        return self.incoming.address_of(path) if self.engine.reads_objects else ""

    def record(self, node: Node, began: float, message: str) -> None:
        """Add a step to the graph that started at `began`, in seconds since 1970, and ends now."""
        self.engine.record(node, began, time.time() - began, message)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the wall-clock time of a step to the report, and return free memory to the system."""
        start = time.perf_counter()
        try:
            yield
        finally:
            give_back()
            self.report.seconds[name] = self.report.seconds.get(name, 0.0) + time.perf_counter() - start


def is_outlived(run: Run) -> bool:
    """Return whether a snapshot is due even if no document has changed.

    The reason may be an index, the keys of [metadata], vectors of pictures, or learned terms.
    """
    held = run.base.snapshot if run.base else None
    if held is None:
        return False
    indexes = held.keywords.outdated or held.space.indexed != run.space.indexed
    if indexes or held.keys != run.recipe.keys:
        return True
    return _lacks_pictures(run, held) or _lacks_terms(run, held)


def _lacks_pictures(run: Run, held: Snapshot) -> bool:
    if not (run.settings.embedding.pictures or held.artifacts.get(PICTURE_VECTORS)):
        return False
    from docmill.tasks.publishing.picture_packs import lack_vectors

    return lack_vectors(run.base, run.settings.embedding.pictures_where())


def _lacks_terms(run: Run, held: Snapshot) -> bool:
    if not (run.settings.embedding.sparse or held.artifacts.get(SPARSE_VECTORS)):
        return False
    from docmill.tasks.publishing.sparse_packs import lack_terms

    return lack_terms(run.base, run.settings.embedding.sparse)
