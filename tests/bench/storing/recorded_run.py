"""Ingest a folder as `tests.bench.storing.records` asks: with all of Prefect's records, or with few.

python -m tests.bench.storing.recorded_run all|bare SOURCE STORE MODEL [FOLDER of the fake model]
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar, cast

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.run_on_engine import start_run
from docmill.flows.runs.engine import Node
from docmill.flows.runs.report import Report, artifact_key
from docmill.flows.runs.run_options import RunOptions
from docmill.storage.search.encode import encoder, space
from tests.kit import fake_encoder

T = TypeVar("T")
ALL, BARE = "all", "bare"
_LOG_LEVEL = "PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL"


def take_bare_engine() -> None:
    """Let flows run on an engine without a graph: steps are tasks, the outcome is one artifact, the log is empty."""
    os.environ[_LOG_LEVEL] = "WARNING"
    from prefect.artifacts import create_markdown_artifact

    from docmill.flows import ingest as flow
    from docmill.tasks.steps import as_task

    class BareEngine(flow.PrefectEngine):
        def submit(self, step: Callable[..., T], *args: Any, node: Node | None = None) -> Future[T]:
            del node
            self._own.tasks += 1
            return cast("Future[T]", as_task(step).submit(*args))

        def record(self, node: Node, began: float, seconds: float, message: str) -> None:
            """Keep nothing."""

        def log(self, message: str) -> None:
            """Keep nothing."""

        def report(self, report: Report) -> None:
            key = artifact_key("ingest", self._own.settings.store)
            create_markdown_artifact(report.as_markdown(), key=key, description="What the run did")

    flow.PrefectEngine = BareEngine  # type: ignore[misc]


def main(how: str, source: str, store: str, model: str, fake: str = "") -> None:
    """Run one ingest."""
    if fake:
        space.FOLDERS[fake_encoder.NAME] = lambda: Path(fake)
        encoder.LOADERS[fake_encoder.NAME] = fake_encoder.TokenCounts
    if how == BARE:
        take_bare_engine()
    settings = Settings.model_validate({"store": store, "engine": "prefect", "embedding": {"model": model}})
    start_run(settings, [source], RunOptions())


if __name__ == "__main__":
    main(*sys.argv[1:])
