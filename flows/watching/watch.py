"""Watch: run the ingest once, then again after each burst of changes, until told to end."""

import time
from collections.abc import Callable
from typing import Protocol

from docmill.flows.runs.report import Report
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.watching.lookout import Lookout
from docmill.storage.errors import Locked, SourceError, StoreError, Transient

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
"""Seconds between two tries of a run that fails: each pause is twice the one before, up to this one."""

_AT_THE_START = (Transient, OSError)
_LATER = (Transient, OSError, SourceError, StoreError)
"""The errors that time or a person may mend while the watch goes on. At the start a source that does not exist is a
slip of the pen, and a store of another model will not become one of this."""


class Told(Protocol):
    """Hears what a watch does."""

    def started(self, lookout: Lookout) -> None:
        """Hear that the sources are watched, and how."""

    def done(self, report: Report, seconds: float) -> None:
        """Hear of a run that has ended."""

    def failed(self, message: str) -> None:
        """Hear why a run failed, and when it is tried again."""


def watch(lookout: Lookout, run: Callable[[RunOptions], Report], first: RunOptions, every_s: float, told: Told) -> None:
    """Run once with the options `first`, then after each burst of changes, and `every_s` seconds after the last run.

    It returns when `lookout.ended` is set.
    A run that fails is tried again, sooner if the sources change. The first one raises what no retry mends, such as a
    source that does not exist; a later one only `ConfigError`.
    """
    _until_it_succeeds(lookout, run, first, told, _AT_THE_START)
    told.started(lookout)
    later = RunOptions(allow_delete=first.allow_delete)
    while not lookout.ended.is_set():
        changed = lookout.wait(every_s)
        _until_it_succeeds(lookout, run, later, told, _LATER, afresh=not changed)


def _until_it_succeeds(
    lookout: Lookout,
    run: Callable[[RunOptions], Report],
    options: RunOptions,
    told: Told,
    passing: tuple[type[Exception], ...],
    afresh: bool = False,
) -> None:
    """Run, and try again with growing pauses while it fails."""
    pause = _FIRST_PAUSE_S
    while not lookout.ended.is_set():
        began = time.monotonic()
        try:
            lookout.arm(afresh)
            report = run(options)
        except passing as error:
            told.failed(f"{_spelled(error)}; trying again in {pause:g} s")
            lookout.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        else:
            told.done(report, time.monotonic() - began)
            return


def _spelled(error: Exception) -> str:
    """Return the message of an error; what it tells to do about a lock, the watch does by itself."""
    return str(error).partition("; wait")[0] if isinstance(error, Locked) else str(error)
