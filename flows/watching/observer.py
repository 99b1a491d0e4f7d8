"""Observer: wait until sources change, told by the events of the file system or found by asking them.

Events come in bursts. Sources of which no event tells, such as those on a mount that `deaf` finds, are asked, each in a
thread of its own.
"""

import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple

from watchfiles import Change, watch

from docmill.flows.config.from_settings import discover_options
from docmill.flows.config.settings import Settings
from docmill.flows.runs.reach_sources import UNREACHED
from docmill.flows.watching.watch_options import WatchOptions
from docmill.storage.address import is_address
from docmill.storage.errors import DocmillError
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions, PathRules, Source, readable
from docmill.tasks.sources.walk import is_store

_MOUNTS = Path("/proc/self/mountinfo")
_LOCAL = {
    "apfs", "bcachefs", "btrfs", "ext2", "ext3", "ext4", "exfat", "f2fs", "jfs", "msdos", "ntfs3", "overlay", "ramfs",
    "reiserfs", "tmpfs", "vfat", "xfs", "zfs",
}  # fmt: skip
"""File systems whose every change goes through this kernel. Network and shared folders (nfs, cifs, 9p, virtiofs, fuse)
are changed by other machines, of which the kernel here hears nothing; of an unknown type nothing is promised."""
_ESCAPE = re.compile(r"\\([0-7]{3})")  # of white space in a mount point


class Mount(NamedTuple):
    """A mount point and the type of its file system."""

    point: Path
    kind: str


def deaf(folder: Path, table: Path = _MOUNTS) -> Mount | None:
    """Return the first mount at or below a folder whose changes may give no events, or None.

    `table` is in the form of Linux's mountinfo. Without one, as on macOS, events are taken for given.
    """
    mounts = list(_mounts(table))
    above = [mount for mount in mounts if folder.is_relative_to(mount.point)]
    own = sorted(above, key=lambda mount: len(mount.point.parts))[-1:]  # of two at one point, the last one is seen
    below = [mount for mount in mounts if mount.point != folder and mount.point.is_relative_to(folder)]
    return next((mount for mount in (*own, *below) if mount.kind not in _LOCAL), None)


def _mounts(table: Path) -> Iterator[Mount]:
    try:
        lines = table.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        fields, _, more = line.partition(" - ")
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields.split(" ")[4])
        yield Mount(Path(point), more.split(" ")[0])


_LONGEST_BURST_S = 5.0
"""Seconds after which a burst is taken as over: a file that is written all the time must not hold up the others."""
_CALL_S = 0.1  # for which one call waits
_MS = 1000


class FolderEvents:
    """The events below some folders, from the moment on that this is made.

    Raises `OSError` if the system cannot watch so many folders. Changes of what a run leaves out are no events here,
    nor are those of stores: the runs of two watches would set each other off.
    """

    def __init__(self, folders: Sequence[Path], options: DiscoverOptions, debounce_s: float) -> None:
        self._folders = folders
        self._rules = PathRules(options)
        self._options = options
        self._store = options.store.resolve() if options.store else None
        self._events: Generator[set[tuple[Change, str]]] = watch(
            *folders,
            watch_filter=self._matters,
            debounce=round(_LONGEST_BURST_S * _MS),
            step=max(1, round(debounce_s * _MS)),
            rust_timeout=round(_CALL_S * _MS),
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=False,
            ignore_permission_denied=True,
        )
        self._early = bool(next(self._events))  # the first turn sets the watches

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the next burst; return False if none begins within about so many seconds.

        Raises `RuntimeError` if the system does not tell of events any more.
        """
        early, self._early = self._early, False
        return early or any(next(self._events) for _ in range(max(1, round(seconds / _CALL_S))))

    def close(self) -> None:
        """Stop watching."""
        self._events.close()

    def _matters(self, _: Change, name: str) -> bool:
        """Return whether a run may have to do with a path."""
        path = Path(name)
        if self._store and path.is_relative_to(self._store):
            return False
        return any(self._selects(path, folder) for folder in self._folders if path.is_relative_to(folder))

    def _selects(self, path: Path, folder: Path) -> bool:
        steps = [readable(step) for step in path.relative_to(folder).parts]
        if not steps or steps[-1] == self._options.ignore_file:
            return True
        above = [PurePath(*steps[:end]).as_posix() for end in range(1, len(steps) + 1)]
        if any(self._rules.drop(uri, step, True) for uri, step in zip(above[:-1], steps, strict=False)):
            return False
        is_folder = not path.is_file()  # what is gone may have been one
        return not self._rules.drop(above[-1], steps[-1], is_folder) and not _in_store(path, len(steps))


def _in_store(path: Path, steps: int) -> bool:
    return any(is_store(folder) for folder in list(path.parents)[:steps])


LEAST_S = 1.0
"""Seconds between two looks that a source asks for: one that never stops telling of changes costs no more."""
Seen = frozenset[tuple[object, ...]] | str
"""What a look at a source found: a tuple for each path, a text that changes with them, or the error that hid them."""
Wait = Callable[[float, threading.Event], bool]
"""Waits until a source tells of a change, for so many seconds and until the event; False at once if it cannot tell."""


class Poll:
    """Looks at a source every `every_s` seconds, and sets `stirred` when it differs from what a run has seen.

    Between two looks it lets the source `wait`, which may tell of a change by itself; the next look follows. A source
    that answers slowly holds up no other. The thread ends with the process, or after `end`.
    """

    def __init__(self, look: Callable[[], Seen], wait: Wait, every_s: float, stirred: threading.Event) -> None:
        self._look, self._wait, self._every_s, self._stirred = look, wait, every_s, stirred
        self._before: Seen | None = None
        self._latest: Seen | None = None
        self._ended = threading.Event()
        self._looked = threading.Event()
        threading.Thread(target=self._work, name="docmill-poll", daemon=True).start()

    def arm(self, ended: threading.Event) -> None:
        """Note the state as that before a run: what was seen last, else what the first look finds."""
        while not self._looked.wait(_TURN_S) and not ended.is_set():
            pass
        self._before = self._latest

    @property
    def differs(self) -> bool:
        """Whether the source is no longer as it was before the run."""
        return self._before is not None and self._latest != self._before

    def end(self) -> None:
        """Look no more."""
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
"""Seconds between two looks at the folders of the sources themselves: one that is moved away gives no event."""
_TURN_S = 0.2
"""Seconds to wait for events before the polls are heard again."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A source, None if it cannot be had, and why it is polled; "" if the file system tells of its changes."""

    argument: str
    source: Source | None
    why_polled: str = ""

    @property
    def folder(self) -> Path | None:
        """The folder whose events tell of changes, None if it is polled."""
        return self.source.folder if self.source and not self.why_polled else None

    def every_s(self, poll_s: float) -> float:
        """Return how many seconds lie between two questions, where others are asked every `poll_s`."""
        return (self.source.watch_s if self.source else 0.0) or poll_s

    def wait(self, seconds: float, ended: threading.Event) -> bool:
        """Let the source tell of a change by itself; False if it cannot."""
        try:
            return self.source is not None and seconds > 0 and self.source.wait(seconds, ended)
        except Exception:  # the next look meets it as well
            return False

    def spelled(self, poll_s: float) -> str:
        """Return in words how the source is watched."""
        how = f"polling {self.argument} every {self.every_s(poll_s):g} s: {self.why_polled}"
        return how if self.why_polled else f"watching {self.argument}"


class Observer:
    """The sources of a watch; `arm` before each run, so that nothing that changes during the run is missed."""

    def __init__(self, settings: Settings, arguments: Sequence[str], options: WatchOptions) -> None:
        self._arguments = arguments
        self.options = options
        self._rules: DiscoverOptions = discover_options(settings, may_be_empty=True)
        self._tables = settings.source
        self._events: FolderEvents | None = None
        # Those of the store spare a crawl at the start. A look is not a run, and keeps nothing.
        self._checkpoints = Checkpoints(None if is_address(str(settings.store)) else Path(settings.store))
        self._polls: list[Poll] = []
        self._stirred = threading.Event()
        self._folders: dict[Path, object] = {}
        self.watched: tuple[Watched, ...] = ()
        self.ended = threading.Event()

    def arm(self, afresh: bool = False) -> None:
        """Note the state of the sources as that before a run; with `afresh`, watch all folders again.

        A source that cannot be had is polled until it can. Raises `SourceError` or `Transient` if none can.
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
        except OSError as error:  # so many folders cannot be watched
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
        """Return whether an event told of a change within so many seconds."""
        if self._events is None:
            self._stirred.wait(seconds)
            self._stirred.clear()
            return False
        try:
            return self._events.wait(min(seconds, _TURN_S) if self._polls else seconds)
        except RuntimeError:  # of watchfiles, whose thread has ended
            self.close()
            return True

    def _replaced(self) -> bool:
        """Return whether another folder, or none, is where one was watched."""
        return any(_identity(folder) != known for folder, known in self._folders.items())

    def _look(self, one: Watched) -> Seen:
        """Return what the cheapest question tells of a source: its mark, or else all that it lists."""
        try:
            source = one.source or open_source(one.argument, self._tables)
            if (mark := source.mark()) is not None:
                return mark
            listing = source.list(self._rules, self._checkpoints)
        except Exception as error:  # the run will meet it as well, and tell of it
            return type(error).__name__
        files = ((file.uri, file.size, file.mtime_ns, file.inode, file.origin) for file in listing.found)
        return frozenset((*files, *((skipped.uri, skipped.reason) for skipped in listing.skipped)))


def _why_polled(source: Source, rules: DiscoverOptions) -> str:
    """Return why no events tell of all changes of a source, or "" if they do."""
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
