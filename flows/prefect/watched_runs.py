"""Watched runs: start a run of a deployment after each burst of changes in its sources, and wait for its end."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from prefect import get_client
from prefect.deployments.flow_runs import arun_deployment
from prefect.exceptions import ObjectNotFound

from docmill.flows.prefect.records.outcome import SOURCE_UNREACHED
from docmill.flows.runs.report import Report, UnreachedSource
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.watching.watch import Observer, WatchLoop
from docmill.storage.errors import DocmillError, Transient

QUERY_S = 1.0
"""Seconds between polls for due runs while watching; Prefect's 10 would delay each change."""
_END_S = 1.0  # between two checks whether a run has ended
_DEPLOYED_S = 60.0  # for the runner to register the deployment


@dataclass(slots=True)
class WatchedRuns:
    """The runs started by changes of the sources, besides scheduled ones, of the deployment `name`.

    `error` is the error that ended the watch, if any.
    """

    name: str
    observer: Observer
    error: DocmillError | None = field(default=None)

    @contextmanager
    def beside(self, ended: Callable[[], object]) -> Iterator[None]:
        """Watch in a thread during the block; call `ended` if an error ends the watch earlier."""

        def work() -> None:
            try:
                _wait_until_deployed(self.name)
                WatchLoop(self.observer, self._run, self).work(RunOptions())
            except DocmillError as error:
                self.error = error
                ended()

        threading.Thread(target=work, name="docmill-watch", daemon=True).start()
        try:
            yield
        finally:
            self.observer.ended.set()

    def started(self, observer: Observer) -> None:
        """Log which sources are watched, and how."""
        for one in observer.watched:
            self._say(one.spelled(observer.options.poll_s))

    def done(self, report: Report, seconds: float) -> None:
        """Do nothing, because Prefect reports what a run did."""

    def failed(self, message: str) -> None:
        """Log why a run failed, and when it will be retried."""
        self._say(message)

    def _say(self, message: str) -> None:
        print(f"docmill: {message}", file=sys.stderr, flush=True)

    def _run(self, _: RunOptions) -> Report:
        """Run the deployment; raise `Transient` unless the run completes."""
        run = asyncio.run(
            arun_deployment(f"ingest/{self.name}", poll_interval=_END_S, as_subflow=False, tags=["watch"])
        )
        state = run.state
        if state is None or not state.is_completed():
            why = f": {state.message}" if state and state.message else ""
            raise Transient(f"the run {run.name} ended as {state.name if state else 'unknown'}{why}")
        # The report stays in the run; only whether to retry soon matters here.
        away = state.name == SOURCE_UNREACHED
        return Report(engine="prefect", unreached=[UnreachedSource("", state.message or "")] if away else [])


def _wait_until_deployed(name: str) -> None:
    deadline = time.monotonic() + _DEPLOYED_S
    while time.monotonic() < deadline:
        with get_client(sync_client=True) as client:
            try:
                client.read_deployment_by_name(f"ingest/{name}")
            except ObjectNotFound:
                time.sleep(_END_S)
            else:
                return
    raise Transient(f"Prefect has no deployment ingest/{name} after {_DEPLOYED_S:g} s; start again")
