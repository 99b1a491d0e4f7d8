"""Watch: run the ingest once, then again after each burst of changes, until told to end."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from docmill.flows.runs.report import Report
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.watching.observer import Observer
from docmill.storage.errors import Locked, SourceError, StoreError, Transient

_Passing = tuple[type[Exception], ...]
_FIRST_PAUSE_S = 1.0

_AT_THE_START: _Passing = (Transient, OSError)
_LATER: _Passing = (Transient, OSError, SourceError, StoreError)
"""The errors that time or a person may mend while the watch goes on. At the start a source that does not exist is a
slip of the pen, and a store of another model will not become one of this."""


class Told(Protocol):
    """Hears what a watch does."""

    def started(self, observer: Observer) -> None:
        """Hear that the sources are watched, and how."""

    def done(self, report: Report, seconds: float) -> None:
        """Hear of a run that has ended."""

    def failed(self, message: str) -> None:
        """Hear why a run failed, and when it is tried again."""


@dataclass(frozen=True, slots=True)
class WatchLoop:
    """A watch over the sources of `observer`: `run` ingests them, and `told` hears what comes of it."""

    observer: Observer
    run: Callable[[RunOptions], Report]
    told: Told

    def work(self, first: RunOptions) -> None:
        """Run with the options `first`, then after each burst of changes, and at least as often as the options say.

        A run that fails is tried again, sooner if the sources change. The first one raises what no retry mends, such as
        `SourceError`; a later one only what is wrong in the settings, as `ConfigError` or `QueryError`. While a run
        lacks a source, the next one follows as soon as after a failure. Returns when `observer.ended` is set.
        """
        complete = self._until_it_succeeds(first, _AT_THE_START)
        self.told.started(self.observer)
        later = RunOptions(allow_delete=first.allow_delete)
        pause = _FIRST_PAUSE_S
        while not self.observer.ended.is_set():
            changed = self.observer.wait(self.observer.options.every_s if complete else pause)
            pause = _FIRST_PAUSE_S if complete else self._longer(pause)
            complete = self._until_it_succeeds(later, _LATER, afresh=not changed)

    def _longer(self, pause: float) -> float:
        return min(2 * pause, self.observer.options.longest_pause_s)

    def _until_it_succeeds(self, options: RunOptions, passing: _Passing, afresh: bool = False) -> bool:
        """Run, and try again with growing pauses while it fails. Return whether all sources were reached."""
        pause = _FIRST_PAUSE_S
        while not self.observer.ended.is_set():
            began = time.monotonic()
            try:
                self.observer.arm(afresh)
                report = self.run(options)
            except passing as error:
                self.told.failed(f"{_spelled(error)}; trying again in {pause:g} s")
                self.observer.wait(pause)
                pause = self._longer(pause)
            else:
                self.told.done(report, time.monotonic() - began)
                return not report.unreached
        return False


def _spelled(error: Exception) -> str:
    """Return the message of an error; what it tells to do about a lock, the watch does by itself."""
    return str(error).partition("; wait")[0] if isinstance(error, Locked) else str(error)
