"""Event support: whether the file system of a folder gives an event for each change below it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
