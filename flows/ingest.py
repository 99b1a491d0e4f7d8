"""The Prefect flow `ingest`: a thin wrapper around the plain pipeline."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import UUID

from prefect import flow, get_client, get_run_logger
from prefect.artifacts import create_markdown_artifact, create_progress_artifact
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import BaseModel, ConfigDict, Field

from docmill.flows.config.configuration import load
from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import THREADS
from docmill.flows.runs.phases import Phase
from docmill.flows.runs.pipeline import ingest as run_pipeline
from docmill.flows.runs.report import Report, artifact_key
from docmill.flows.runs.run_context import RunContext, current
from docmill.tasks.steps import as_task

T = TypeVar("T")


class IngestParameters(BaseModel):
    """Settings that a single run may override; empty values and 0 keep those of docmill.toml."""

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


class PrefectEngine:
    """Runs steps as Prefect tasks on the flow's threads, and shows progress as an artifact."""

    name = "prefect"

    def __init__(self, own: RunContext) -> None:
        self._own = own
        self._progress = self._begin_progress()
        self._percent = 0.0

    def submit(self, step: Callable[..., T], *args: Any) -> Future[T]:
        self._own.tasks += 1
        return cast("Future[T]", as_task(step).submit(*args))

    def progress(self, phase: Phase) -> None:
        self._percent = max(self._percent, phase.percent)  # several commits repeat phases
        self._update(self._percent)

    def tell(self, message: str) -> None:
        get_run_logger().info(message)

    def report(self, report: Report) -> None:
        """Publish the summary of the run as a Markdown artifact."""
        self._update(100.0)
        key = artifact_key("ingest", self._own.settings.store)
        create_markdown_artifact(report.as_markdown(), key=key, description="What the run did")

    def _begin_progress(self) -> UUID:
        key = artifact_key("progress", self._own.settings.store)
        made = create_progress_artifact(0.0, key=key, description="Documents parsed, tokens embedded, commit")
        return cast(UUID, made)

    def _update(self, percent: float) -> None:
        with get_client(sync_client=True) as client:  # update_progress_artifact leaves its client open
            client.update_artifact(self._progress, ArtifactUpdate(data=percent))


@flow(
    name="ingest",
    description="Bring a store of documents up to date with its sources, in one snapshot.",
    task_runner=ThreadPoolTaskRunner(max_workers=THREADS),  # type: ignore[arg-type]
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
) -> Report:
    """Ingest sources into a store.

    Args:
        sources: Folders, globs, files and s3://BUCKET/PREFIX to ingest. The default is `sources` in docmill.toml.
        store: The folder of the store. The default is `store` in docmill.toml.
        allow_delete: Accept that a source lost many of its documents.
        dry_run: Report what would change, and write nothing.
        retry: Try rejected documents again.
        refresh_contexts: Ask the language model again for contexts that are stale or were unusable.
        config: A docmill.toml. The default is the one in the working folder or in the nearest folder above it.
        options: Settings for this run only.
    """
    own = current() or RunContext(_settings(store, config, options))
    own.flow_run_id = UUID(flow_run.id)
    engine = PrefectEngine(own)
    report = run_pipeline(
        own.settings,
        sources,
        engine,
        dry_run=dry_run,
        allow_delete=allow_delete,
        retry=retry,
        refresh_contexts=refresh_contexts,
    )
    engine.report(report)
    own.done = True
    return report


def _settings(store: str, config: str, options: IngestParameters) -> Settings:
    flags = options.flags()
    if store:
        flags["store",] = store
    return load(flags, Path(config) if config else None)
