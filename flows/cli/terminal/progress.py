"""Progress: a bar per phase on a terminal, else lines after 5 seconds and every 30; a spinner for other slow work."""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from docmill.flows.cli.terminal.output import note
from docmill.flows.runs.phases import Phase, counted, sized
from docmill.storage.process.shutdown import tidied

LOADING = "docmill.loading"
"""The logger of `storage/search/encode/encoder.py` for the loading of models."""
EVERY_S = 30.0
"""Seconds between two lines if standard error is no terminal. The log of a night stays short enough to read."""
FIRST_S = 5.0
"""Seconds of a phase before its first line: short phases have none, and longer ones soon show that the command is
working and how long it will take."""
_LOOK_S = 0.5  # seconds between two checks whether a line is due
_UNCOUNTED = ("at work", "done")
_BAR_WIDTH = 20  # leaves space for counts, rate and time in 80 columns
Progress = Callable[[Phase], None]


@contextmanager
def progress_shown(begin: str = "", brief: bool = False) -> Iterator[Progress]:
    """Yield a function that shows the progress of a phase on standard error.

    `begin` is shown on a terminal until the first phase. If `brief`, a log has no lines for phases under 30 seconds.
    """
    with _bars(begin) if sys.stderr.isatty() else _lines(brief) as show:
        yield show


@contextmanager
def _bars(begin: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description:<8}"), BarColumn(_BAR_WIDTH), TextColumn("{task.fields[said]}"))
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars, tidied(bars.stop):
        tasks = {"": bars.add_task(begin, total=None, said="")}

        def show(phase: Phase) -> None:
            if "" in tasks:
                bars.remove_task(tasks.pop(""))
            values: dict[str, Any] = {"completed": phase.done, "total": phase.total or None, "said": figures(phase)}
            if phase.name not in tasks:
                tasks[phase.name] = bars.add_task(phase.name, **values)
            bars.update(tasks[phase.name], **values)

        yield show


@contextmanager
def _lines(brief: bool) -> Iterator[Progress]:
    """Print the progress of a phase after 5 seconds and every 30, and its duration at the end."""
    lines = _Lines(brief)
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(min(_LOOK_S, EVERY_S)):
            lines.say_if_due(time.monotonic())

    threading.Thread(target=repeat, name="docmill-progress", daemon=True).start()
    try:
        yield lines.show
        lines.close()
    finally:
        over.set()


class _Lines:
    """The current phase and its start. After one thread closes a phase, other threads print nothing more about it."""

    def __init__(self, brief: bool = False) -> None:
        self._lock = threading.Lock()
        self._phase: Phase | None = None
        self._began = self._due = time.monotonic()
        self._first_s = EVERY_S if brief else min(FIRST_S, EVERY_S)
        self._least_s = EVERY_S if brief else 0.0

    def show(self, phase: Phase) -> None:
        if self._phase is not None and (self._phase.name, self._phase.source) != (phase.name, phase.source):
            self.close()
        if self._phase is None:
            self._began = time.monotonic()
            self._due = self._began + self._first_s
        self._phase = phase

    def say_if_due(self, now: float) -> None:
        with self._lock:
            phase = self._phase
            over = phase is None or phase.done == phase.total > 0  # its final line follows at once
            if not over and now >= self._due:
                self._due = now + EVERY_S
                self.say()

    def say(self) -> None:
        if (phase := self._phase) is not None:
            note(f"{phase.name}: {figures(phase)}")

    def close(self) -> None:
        with self._lock:
            # Many sources are listed in no time, which needs no line.
            least_s = max(self._least_s, FIRST_S) if self._phase and self._phase.source else self._least_s
            phase = self._phase
            if phase is not None and (phase.done or not phase.unit) and time.monotonic() - self._began >= least_s:
                said = f"{counted(phase.done, phase.unit)}{_of_source(phase)} in " if phase.unit else "done in "
                note(f"{phase.name}: {said}{time.monotonic() - self._began:.1f} s")
            self._phase = None


def figures(phase: Phase) -> str:
    """Return count, rate and time left of a phase, if known."""
    left, all_ = phase.seconds_left, f" of {phase.total:,}" if phase.total else ""
    done = f"{phase.done:,}{all_} {phase.unit}{_of_source(phase)}"
    parts = [
        done if phase.unit else _UNCOUNTED[phase.done == phase.total],
        *([f"{phase.rate:,.{0 if phase.rate >= 10 else 1}f}/s"] if phase.rate else []),
        *([f"{timedelta(seconds=round(left))} left"] if left is not None and phase.done < phase.total else []),
    ]
    return ", ".join(parts)


def _of_source(phase: Phase) -> str:
    size = f" ({sized(phase.bytes)})" if phase.bytes else ""  # a website does not state the size of its pages
    return f" of {phase.source}{size}" if phase.source else ""


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """Show a spinner beside `label` on standard error during the block if that is a terminal.

    While the embedding model loads, which takes seconds, the label says so.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(label) as status, _told(lambda said: status.update(f"{label}: {said} ...")):
        yield


@contextmanager
def _told(show: Callable[[str], None]) -> Iterator[None]:
    """Call `show` with each model that is loaded during the block."""
    logger, handler = logging.getLogger(LOADING), _Handing(show)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Handing(logging.Handler):
    """Passes the messages of a logger to a function."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record.getMessage())
