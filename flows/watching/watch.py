"""Watch: run the ingest once, then again after each burst of changes that events or polls of the sources show."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from docmill.flows.config.from_settings import discover_options
from docmill.flows.config.settings import Settings
from docmill.flows.runs.reach_sources import UNREACHED
from docmill.flows.runs.report import Report
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.watching.folder_events import FolderEvents, deaf
from docmill.flows.watching.watch_options import WatchOptions
from docmill.storage.address import is_address
from docmill.storage.errors import DocmillError, Locked, SourceError, StoreError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions, Source

LEAST_S = 1.0
"""Minimal seconds between two polls that a source requests, in case it reports changes all the time."""
Seen = frozenset[tuple[object, ...]] | str
"""The result of a poll of a source: a tuple for each path, a text that changes with them, or an error."""
Wait = Callable[[float, threading.Event], bool]
"""Waits until a source reports a change, the seconds are over or the event is set; False at once if it cannot report.
"""


class Poll:
    """Polls a source every `every_s` seconds, and sets `stirred` when it differs from the state of the last run.

    Between two polls it lets the source `wait`, which may report a change by itself and so cause the next poll. A slow
    source does not delay others. The thread ends with the process, or after `end`.
    """

    def __init__(self, look: Callable[[], Seen], wait: Wait, every_s: float, stirred: threading.Event) -> None:
        self._look, self._wait, self._every_s, self._stirred = look, wait, every_s, stirred
        self._before: Seen | None = None
        self._latest: Seen | None = None
        self._ended = threading.Event()
        self._looked = threading.Event()
        threading.Thread(target=self._work, name="docmill-poll", daemon=True).start()

    def arm(self, ended: threading.Event) -> None:
        """Record the state before a run: the last one seen, or else the result of the first poll."""
        while not self._looked.wait(_TURN_S) and not ended.is_set():
            pass
        self._before = self._latest

    @property
    def differs(self) -> bool:
        """Whether the source has changed since the state before the run."""
        return self._before is not None and self._latest != self._before

    def end(self) -> None:
        """Stop polling."""
        self._ended.set()

    def _work(self) -> None:
        while not self._ended.is_set():
            due = time.monotonic() + self._every_s
            self._latest = self._look()
            self._looked.set()
            if self.differs:
                self._stirred.set()
            self._ended.wait(min(LEAST_S, self._every_s))
            if not self._wait(due - time.monotonic(), self._ended):
                self._ended.wait(due - time.monotonic())


_LOOK_S = 1.0
"""Seconds between two checks of the folders of the sources themselves: moving one away causes no event."""
_TURN_S = 0.2
"""Seconds to wait for events before the polls are checked again."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A source, or None if it is unavailable, and why it is polled, or "" if the file system reports its changes."""

    argument: str
    source: Source | None
    why_polled: str = ""

    @property
    def folder(self) -> Path | None:
        """The folder whose events show changes, or None if the source is polled."""
        return self.source.folder if self.source and not self.why_polled else None

    def every_s(self, poll_s: float) -> float:
        """Return the seconds between two polls of this source, if the default is `poll_s`."""
        return (self.source.watch_s if self.source else 0.0) or poll_s

    def wait(self, seconds: float, ended: threading.Event) -> bool:
        """Let the source report a change by itself; return False if it cannot."""
        try:
            return self.source is not None and seconds > 0 and self.source.wait(seconds, ended)
        except Exception:  # the next poll will meet it as well
            return False

    def spelled(self, poll_s: float) -> str:
        """Return in words how the source is watched."""
        how = f"polling {self.argument} every {self.every_s(poll_s):g} s: {self.why_polled}"
        return how if self.why_polled else f"watching {self.argument}"


class Observer:
    """The sources of a watch. Call `arm` before each run, so that no change during the run is missed."""

    def __init__(self, settings: Settings, arguments: Sequence[str], options: WatchOptions) -> None:
        self._arguments = arguments
        self.options = options
        self._rules: DiscoverOptions = discover_options(settings, may_be_empty=True)
        self._tables = settings.source
        self._events: FolderEvents | None = None
        # The checkpoints of the store save a crawl at the start. A poll is not a run and stores nothing.
        self._checkpoints = Checkpoints(None if is_address(str(settings.store)) else Path(settings.store))
        self._polls: list[Poll] = []
        self._stirred = threading.Event()
        self._folders: dict[Path, object] = {}
        self.watched: tuple[Watched, ...] = ()
        self.ended = threading.Event()

    def arm(self, afresh: bool = False) -> None:
        """Record the state of the sources before a run; with `afresh`, watch all folders again.

        An unavailable source is polled until it is available. Raises `SourceError` or `Transient` if none is.
        """
        if afresh or not self.watched or self._replaced() or not all(one.source for one in self.watched):
            self.close()
            self._begin(self._opened())
        for poll in self._polls:
            poll.arm(self.ended)

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the next burst of changes; return False if there is none within `seconds`.

        Once `ended` is set, by any thread, it returns within a second.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.ended.is_set():
            if self._told(min(left, _LOOK_S)) or self._replaced() or any(poll.differs for poll in self._polls):
                return True
        return False

    def close(self) -> None:
        """Stop watching."""
        if self._events is not None:
            self._events.close()
        for poll in self._polls:
            poll.end()
        self._events, self.watched, self._folders, self._polls = None, (), {}, []

    def _opened(self) -> list[Watched]:
        watched, why = list[Watched](), list[DocmillError]()
        for argument in self._arguments:
            try:
                source = open_source(argument, self._tables)
                watched.append(Watched(argument, source, _why_polled(source, self._rules)))
            except UNREACHED as error:
                watched.append(Watched(argument, None, str(error)))
                why.append(error)
        if len(why) == len(watched):
            raise why[0]
        return watched

    def _begin(self, watched: Sequence[Watched]) -> None:
        folders = [one.folder for one in watched if one.folder]
        try:
            self._events = FolderEvents(folders, self._rules, self.options.debounce_s) if folders else None
        except OSError as error:  # too many folders to watch
            why = f"the system cannot watch it ({error})"
            watched = [one if one.why_polled else replace(one, why_polled=why) for one in watched]
        self.watched = tuple(watched)
        self._folders = {folder: _identity(folder) for folder in folders if self._events}
        self._polls = [
            Poll(partial(self._look, one), one.wait, one.every_s(self.options.poll_s), self._stirred)
            for one in self.watched
            if one.why_polled
        ]

    def _told(self, seconds: float) -> bool:
        """Return whether an event reported a change within `seconds`."""
        if self._events is None:
            self._stirred.wait(seconds)
            self._stirred.clear()
            return False
        try:
            return self._events.wait(min(seconds, _TURN_S) if self._polls else seconds)
        except RuntimeError:  # from watchfiles, whose thread has ended
            self.close()
            return True

    def _replaced(self) -> bool:
        """Return whether a watched folder was removed or replaced by another."""
        return any(_identity(folder) != known for folder, known in self._folders.items())

    def _look(self, one: Watched) -> Seen:
        """Return the state of a source by the cheapest way: its mark, or else its listing."""
        try:
            source = one.source or open_source(one.argument, self._tables)
            if (mark := source.mark()) is not None:
                return mark
            listing = source.list(self._rules, self._checkpoints)
        except Exception as error:  # the run will meet and report it as well
            return type(error).__name__
        files = ((file.uri, file.size, file.mtime_ns, file.inode, file.origin) for file in listing.found)
        return frozenset((*files, *((skipped.uri, skipped.reason) for skipped in listing.skipped)))


def _why_polled(source: Source, rules: DiscoverOptions) -> str:
    """Return why events do not report all changes of a source, or "" if they do."""
    if source.folder is None or source.pattern:
        return source.kind
    if rules.follow_links == "all":
        return "links may lead out of it"
    if mount := deaf(source.folder):
        return f"{mount.kind} on {mount.point}"
    return ""


def _identity(folder: Path) -> object:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


_Passing = tuple[type[Exception], ...]
_FIRST_PAUSE_S = 1.0

_AT_THE_START: _Passing = (Transient, OSError)
_LATER: _Passing = (Transient, OSError, SourceError, StoreError)
"""The errors that may pass or be corrected during a watch. At the start, a missing source is probably a typing error,
and a store with another model needs a decision."""


class Told(Protocol):
    """Receives the events of a watch."""

    def started(self, observer: Observer) -> None:
        """Called when the sources are watched."""

    def done(self, report: Report, seconds: float) -> None:
        """Called after a run."""

    def failed(self, message: str) -> None:
        """Called after a failed run with the reason and the time of the next try."""


@dataclass(frozen=True, slots=True)
class WatchLoop:
    """A watch of the sources of `observer`: `run` ingests them, and `told` receives the results."""

    observer: Observer
    run: Callable[[RunOptions], Report]
    told: Told

    def work(self, first: RunOptions) -> None:
        """Run with the options `first`, then after each burst of changes, and at least as often as the options say.

        A failed run is retried, sooner if the sources change. The first run raises errors that a retry does not solve,
        such as `SourceError`; a later run raises only errors in the settings, as `ConfigError` or `QueryError`. If a
        run lacks a source, the next one follows as soon as after a failure. Returns when `observer.ended` is set.
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
        """Run, and retry with growing pauses while it fails. Return whether all sources were reached."""
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
    """Return the message of an error, without advice about a lock, which the watch follows by itself."""
    return str(error).partition("; wait")[0] if isinstance(error, Locked) else str(error)
