"""Quarantine: damaged files that a repair has set aside, because they cannot be rebuilt.

They are below `aside/` under their old names. A vacuum removes them once they are as old as the oldest deleted
documents that can still be restored.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from docmill.storage.failpoints import boundary
from docmill.storage.files import remove

FOLDER = "aside"


@dataclass(frozen=True, slots=True)
class SetAside:
    """A damaged file or object under its old name `path`, its size in `bytes`, and when it was set aside.

    A size of 0 means that the object was missing.
    """

    path: str
    bytes: int
    since: datetime

    def __str__(self) -> str:
        return f"{self.path} ({self.bytes:,} bytes, since {self.since:%Y-%m-%d %H:%M} UTC)"


def move(root: Path, path: str) -> None:
    """Move a file of the store below `aside/`; a missing file is no error."""
    source, target = root / path, root / FOLDER / path
    if not source.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with boundary("set aside"):
        source.replace(target)
    os.utime(target)  # its age counts from now


def listing(root: Path) -> list[SetAside]:
    """Return the files that were set aside in a folder, sorted by name."""
    above = root / FOLDER
    found = [(path, path.stat()) for path in sorted(above.rglob("*")) if path.is_file()]
    return [
        SetAside(path.relative_to(above).as_posix(), status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
        for path, status in found
    ]


def expire(root: Path, days: float) -> None:
    """Remove the files that were set aside more than `days` ago."""
    horizon = datetime.now(UTC) - timedelta(days=days)
    for one in listing(root):
        if one.since <= horizon:
            remove(root / FOLDER / one.path)
