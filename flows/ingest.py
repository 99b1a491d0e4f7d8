"""The Prefect flow `ingest`: a thin wrapper around the plain pipeline."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, TypeVar, cast
from uuid import UUID

from prefect import flow, get_client, get_run_logger
from prefect.artifacts import create_progress_artifact, create_table_artifact
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import BaseModel, ConfigDict, Field

from docmill.flows.cluster.cluster_engine import MOST_SLOTS, on_cluster
from docmill.flows.config.configuration import load
from docmill.flows.config.settings import Settings
from docmill.flows.prefect.records.outcome import emit_events, final_state, leave_artifacts
from docmill.flows.prefect.records.task_graph import TaskGraph
from docmill.flows.runs.engine import SPARE_THREADS, Engine, Node
from docmill.flows.runs.phases import COMMIT, Phase, first_of
from docmill.flows.runs.pipeline import ingest as run_pipeline
from docmill.flows.runs.report import Report, artifact_key
from docmill.flows.runs.run_context import RunContext, current
from docmill.flows.runs.terminal_safe_text import one_line
from docmill.storage.errors import DocmillError

T = TypeVar("T")
MOST_NAMED = 3  # sources in the name of a run


class IngestParameters(BaseModel):
    """Settings that a single run may override. Empty values and 0 keep those of docmill.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    include: list[str] = Field(default=[], description="Take only files that match one of these patterns.")
    exclude: list[str] = Field(default=[], description="Leave out files that match one of these patterns.")
    workers: int = Field(default=0, ge=0, description="Processes that parse.")
    wait_s: float = Field(default=0.0, ge=0, description="Seconds to wait while another run writes.")

    def flags(self) -> dict[tuple[str, ...], Any]:
        """Return the given values by their key in docmill.toml."""
        given = {
            ("discover", "include"): self.include,
            ("discover", "exclude"): self.exclude,
            ("parse", "workers"): self.workers,
            ("wait_s",): self.wait_s,
        }
        return {key: value for key, value in given.items() if value}


class PrefectEngine(Engine):
    """Runs steps as Prefect tasks on the flow's threads and shows the progress as an artifact."""

    name = "prefect"

    def __init__(self, own: RunContext, flow_run_id: UUID) -> None:
        self._own = own
        self._graph = TaskGraph(flow_run_id)
        self._progress = self._begin_progress()
        self._percent = 0.0

    def submit(self, step: Callable[..., T], *args: Any, node: Node | None = None) -> Future[T]:
        self._own.tasks += 1
        return self._graph.submit(node or Node(f"{step.__name__} {self._own.tasks}"), step, *args)

    def record(self, node: Node, began: float, seconds: float, message: str) -> None:
        self._own.tasks += 1
        self._graph.record(node, began, seconds, message)
        self.log(f"{node.key}: {message} ({seconds:.1f} s)")

    def progress(self, phase: Phase) -> None:
        """Update the progress of the run. It never moves back, or for a commit, after which embedding may continue."""
        if phase.name != COMMIT and phase.percent > self._percent:
            self._percent = phase.percent
            self._update(self._percent)

    def log(self, message: str) -> None:
        get_run_logger().info(message)

    def table(self, name: str, rows: Sequence[dict[str, Any]], description: str) -> None:
        create_table_artifact([*rows], key=artifact_key(name, self._own.settings.store), description=description)

    def tell(self, message: str) -> None:
        self.log(message)

    def report(self, report: Report) -> None:
        """Publish the results of the run: its log, artifacts and events."""
        self._update(100.0)
        store, log = self._own.settings.store, get_run_logger()
        for problem in report.told():
            log.warning(one_line(problem))
        log.info(report.headline)
        leave_artifacts(report, store)
        emit_events(report, store)

    def _begin_progress(self) -> UUID:
        key = artifact_key("progress", self._own.settings.store)
        made = create_progress_artifact(0.0, key=key, description="Documents parsed, tokens embedded, commit")
        return cast(UUID, made)

    def _update(self, percent: float) -> None:
        with get_client(sync_client=True) as client:  # update_progress_artifact leaves its client open
            client.update_artifact(self._progress, ArtifactUpdate(data=percent))


def run_name() -> str:
    """Return the name of this flow run: the last path components of its sources, and its store."""
    given = flow_run.parameters
    held, store, sources = current(), given["store"], given["sources"]
    with suppress(DocmillError):  # the run itself raises it
        settings = held.settings if held else _settings(store, given["config"], IngestParameters())
        store, sources = settings.store, sources or settings.sources
    names = [PurePath(one).name or one for one in sources]
    return one_line(f"ingest {first_of(names, MOST_NAMED)} → {PurePath(store).name}")


@flow(
    name="ingest",
    flow_run_name=run_name,
    description="Bring a store of documents up to date with its sources, in one snapshot.",
    task_runner=ThreadPoolTaskRunner(max_workers=MOST_SLOTS + SPARE_THREADS),  # type: ignore[arg-type]
    persist_result=False,
)
def ingest(
    sources: list[str] = [],  # noqa: B006  a form shows it; nothing changes it
    store: str = "",
    allow_delete: bool = False,
    dry_run: bool = False,
    retry: bool = False,
    refresh_contexts: bool = False,
    config: str = "",
    options: IngestParameters = IngestParameters(),  # noqa: B008  frozen
) -> State[Report]:
    """Ingest sources into a store.

    The final state says how it ended: Completed, CompletedWithRejects, SourceUnreached, HeldByGate or NothingToDo. Its
    result is the report, which a direct call returns.

    Args:
        sources: Folders, globs, files and s3://BUCKET/PREFIX to ingest. The default is `sources` in docmill.toml.
        store: The folder of the store. The default is `store` in docmill.toml.
        allow_delete: Allow a source to lose more documents than `max_delete_fraction`.
        dry_run: Report what would change, and write nothing.
        retry: Try rejected documents again.
        refresh_contexts: Ask the language model again for contexts that are stale or were unusable.
        config: A docmill.toml. The default is the one in the working folder or in the nearest folder above it.
        options: Settings for this run only.
    """
    own = current() or RunContext(_settings(store, config, options))
    own.flow_run_id = UUID(flow_run.id)
    engine = PrefectEngine(own, own.flow_run_id)
    with on_cluster(engine, own.settings, dry_run) as placed:
        report = run_pipeline(
            own.settings,
            sources,
            placed,
            dry_run=dry_run,
            allow_delete=allow_delete,
            retry=retry,
            refresh_contexts=refresh_contexts,
        )
    engine.report(report)
    own.done = True
    return final_state(report)


def _settings(store: str, config: str, options: IngestParameters) -> Settings:
    flags = options.flags()
    if store:
        flags["store",] = store
    return load(flags, Path(config) if config else None)
