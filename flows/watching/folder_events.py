"""Folder events: the system's notifications of changes below folders, and the mounts that have none."""

import re
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from watchfiles import Change, watch

from docmill.tasks.sources.source import DiscoverOptions, PathRules, readable
from docmill.tasks.sources.walk import is_store

_MOUNTS = Path("/proc/self/mountinfo")


_LOCAL = {
    "apfs", "bcachefs", "btrfs", "ext2", "ext3", "ext4", "exfat", "f2fs", "jfs", "msdos", "ntfs3", "overlay", "ramfs",
    "reiserfs", "tmpfs", "vfat", "xfs", "zfs",
}  # fmt: skip
"""File systems where all changes go through this kernel. Network and shared folders (nfs, cifs, 9p, virtiofs, fuse) may
be changed by other machines without the kernel's knowledge, and nothing is known about other types."""


_ESCAPE = re.compile(r"\\([0-7]{3})")  # for white space in a mount point


class Mount(NamedTuple):
    """A mount point and the type of its file system."""

    point: Path
    kind: str


def deaf(folder: Path, table: Path = _MOUNTS) -> Mount | None:
    """Return the first mount at or below a folder whose changes may cause no events, or None.

    `table` has the format of Linux's mountinfo. Without one, as on macOS, events are assumed to work.
    """
    mounts = list(_mounts(table))
    above = [mount for mount in mounts if folder.is_relative_to(mount.point)]
    own = sorted(above, key=lambda mount: len(mount.point.parts))[-1:]  # of two at one place, the last is visible
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
"""Seconds after which a burst counts as over, so that a file that is written all the time does not delay others."""


_CALL_S = 0.1  # seconds that one call waits


_MS = 1000


class FolderEvents:
    """The events below some folders since the creation of this object.

    Raises `OSError` if the system cannot watch so many folders. Changes of files that a run leaves out are not events
    here, nor are those of stores, because the runs of two watches would trigger each other.
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
        self._early = bool(next(self._events))  # the first call sets the watches

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the next burst; return False if none begins within about `seconds`.

        Raises `RuntimeError` if the system no longer reports events.
        """
        early, self._early = self._early, False
        return early or any(next(self._events) for _ in range(max(1, round(seconds / _CALL_S))))

    def close(self) -> None:
        """Stop watching."""
        self._events.close()

    def _matters(self, _: Change, name: str) -> bool:
        """Return whether a path may matter for a run."""
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
        is_folder = not path.is_file()  # a removed path may have been a folder
        return not self._rules.drop(above[-1], steps[-1], is_folder) and not _in_store(path, len(steps))


def _in_store(path: Path, steps: int) -> bool:
    return any(is_store(folder) for folder in list(path.parents)[:steps])
