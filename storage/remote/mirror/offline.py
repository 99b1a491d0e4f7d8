"""Offline: use a complete snapshot of the mirror while the object store does not answer."""

import logging
import os
from datetime import UTC, datetime
from pathlib import Path

from docmill.storage.address import MirrorMark
from docmill.storage.errors import Transient
from docmill.storage.remote.mirror.inventory import vector_files
from docmill.storage.remote.objects.transfer import is_here
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import hold
from docmill.storage.snapshots.history.snapshots import Snapshot

_RECORD = "synced"
"""An empty file of the mirror whose modification time is when it was last in sync with its object store."""
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_log = logging.getLogger("docmill.remote")


def record(root: Path) -> None:
    """Record that a mirror is in sync with its object store."""
    (root / _RECORD).touch()


def synced(root: Path) -> datetime | None:
    """Return when a mirror was last in sync with its object store, or None if never recorded."""
    try:
        return datetime.fromtimestamp((root / _RECORD).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def warn(root: Path, mark: MirrorMark, error: Transient) -> None:
    """Log that the object store does not answer, and the age of the mirror; raise `Transient` if it is empty."""
    if not snapshots.numbers(root):
        raise Transient(f"{mark.url} does not answer, and this machine has no mirror of it yet: {error}") from error
    _log.warning("%s does not answer; this machine's mirror of it is used, %s", mark.url, _age(root))


def take(root: Path, mark: MirrorMark, at: int | str | None, error: Transient) -> tuple[Snapshot, int]:
    """Return a searchable snapshot of a mirror, and the open file that keeps it, without the object store.

    Raises `Transient` if the mirror lacks files of the snapshot.
    """
    warn(root, mark, error)
    snapshot, handle = hold(root, at, mark.url)
    lacking = _lacking(root, snapshot)
    if lacking:
        os.close(handle)
        what = f"this machine's mirror lacks {lacking}, without which snapshot {snapshot.number} cannot be searched"
        raise Transient(f"{what}: {error}") from error
    return snapshot, handle


def _lacking(root: Path, snapshot: Snapshot) -> str:
    """Return what is missing for a search, or "" if nothing is."""
    files = [*snapshot.table_files(), *snapshot.keywords.files()]
    if snapshot.inventory and not is_here(root, snapshot.inventory):
        return "the list of its vector files"
    files += vector_files(root, snapshot)
    lacking = sum(not is_here(root, file) for file in files)
    return f"{lacking} of {len(files)} files" if lacking else ""


def _age(root: Path) -> str:
    """Return in words when the mirror was last in sync."""
    when = synced(root)
    if when is None:
        return "of unknown age"
    seconds = (datetime.now(UTC) - when).total_seconds()
    count, unit = next(((int(seconds // size), name) for name, size in _UNITS if seconds >= size), (0, ""))
    ago = f"{count} {unit}{'s' if count > 1 else ''} ago" if unit else "less than a minute ago"
    return f"last in step {ago} ({when:%Y-%m-%d %H:%M} UTC)"
