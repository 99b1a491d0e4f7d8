"""A watch in a thread of the test's process, with everything that it tells."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.run_on_engine import start_run
from docmill.flows.runs.report import Report
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.watching.watch import Observer, WatchLoop
from docmill.flows.watching.watch_options import WatchOptions
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench, summary

PATIENCE_S = 30.0
"""Seconds to wait for what should take one: other tests may take the processors."""
QUICK = WatchOptions(debounce_s=0.05, poll_s=0.1)


@dataclass
class Watching:
    """A watch over the sources of a bench; a context manager that ends it."""

    bench: Workbench
    sources: tuple[str, ...] = ()
    options: WatchOptions = QUICK
    first: RunOptions = field(default_factory=RunOptions)
    settings: dict[str, Any] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    error: BaseException | None = None
    after_run: Callable[[], object] = lambda: None
    begun: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        flags = {"embedding": {"model": NAME}, "engine": "local", **self.bench.settings, **self.settings}
        self.set = Settings(store=self.bench.root, **flags)
        self.named = self.sources or (str(self.bench.docs),)
        self.observer = Observer(self.set, self.named, self.options)
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def started(self, observer: Observer) -> None:
        assert observer is self.observer
        self.begun.set()

    def done(self, report: Report, seconds: float) -> None:
        assert seconds > 0
        self.seconds.append(seconds)
        self.reports.append(report)

    def failed(self, message: str) -> None:
        self.failures.append(message)

    @property
    def commits(self) -> list[Report]:
        return [report for report in self.reports if report.snapshot]

    def until(self, reached: Callable[[], object]) -> None:
        """Wait until something is true; raise what ended the watch before."""
        deadline = time.monotonic() + PATIENCE_S
        while not reached():
            if self.error is not None:
                raise self.error
            assert time.monotonic() < deadline, (self.failures, [summary(report) for report in self.reports])
            time.sleep(0.01)

    def __enter__(self) -> Self:
        self._thread.start()
        self.until(self.begun.is_set)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.observer.ended.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def _watch(self) -> None:
        try:
            WatchLoop(self.observer, self._run, self).work(self.first)
        except BaseException as error:
            self.error = error
        finally:
            self.observer.close()

    def _run(self, how: RunOptions) -> Report:
        try:
            return start_run(self.set, self.named, how)
        finally:
            self.after_run()
