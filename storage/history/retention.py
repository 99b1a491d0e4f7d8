"""Retention: which snapshots are kept, and how one that is not goes without hurting its readers.

A reader holds its snapshot by a shared lock on the snapshot's file, which the kernel frees with its process;
what is held is not removed. What a tag names is never removed.
"""

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.failpoints import boundary
from docmill.storage.history import snapshots, tags
from docmill.storage.history.snapshots import Snapshot, path_of

_POLL_S = 0.01  # seconds between two looks whether a reader holds a snapshot; the other process needs far less


@dataclass(frozen=True, slots=True)
class Retention:
    """How long things are kept: at most `keep_snapshots` snapshots, none for longer than `keep_days` but the newest.

    A deleted document can be brought back for `undelete_days`. What is removed from an object store stays there for
    `grace_hours`, for those who are fetching it.
    """

    keep_snapshots: int = 100
    keep_days: float = 30.0
    undelete_days: float = 30.0
    grace_hours: float = 1.0


def expired(root: Path, retention: Retention, now: datetime | None = None) -> list[int]:
    """Return the snapshots that the retention keeps no longer, oldest first, tagged ones among them."""
    *older, _ = snapshots.numbers(snapshots.existing(root))
    horizon = (now or datetime.now(UTC)) - timedelta(days=retention.keep_days)
    found = older[: max(0, len(older) + 1 - max(1, retention.keep_snapshots))]
    for number in older[len(found) :]:
        if _created(root, number) >= horizon:
            break
        found.append(number)
    return found


def _created(root: Path, number: int) -> datetime:
    try:
        return datetime.fromisoformat(snapshots.read(root, number).created)
    except StoreError:  # damaged; it goes in its time like the others
        return datetime.fromtimestamp(path_of(root, number).stat().st_mtime, UTC)


def removable(root: Path, retention: Retention) -> list[int]:
    """Return the expired snapshots that no tag names and no reader holds; raise `StoreError` for a damaged tag."""
    tags.check(root)
    named = set(tags.tags(root).values())
    return [number for number in expired(root, retention) if number not in named and not is_held(root, number)]


def forget(path: Path) -> bool:
    """Remove the file of a snapshot unless a reader holds it; say whether it is gone."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with boundary("drop snapshot"):
            path.unlink()
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def is_held(root: Path, number: int) -> bool:
    """Say whether a reader has a snapshot open."""
    return lock_is_held(path_of(root, number))


def lock_is_held(path: Path) -> bool:
    """Say whether a reader has the snapshot in a file open; nobody has one that is gone."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def hold(root: Path, at: int | str | None, name: str = "") -> tuple[Snapshot, int]:
    """Return a snapshot, the newest or the one that `at` says, and the open file that holds it until it is closed."""
    while True:
        with suppress(FileNotFoundError):  # removed since it was listed
            if isinstance(at, str) and at in snapshots.candidates(root):
                handle = _share(snapshots.candidate_path(root, at))
                if handle is not None:
                    return snapshots.read_candidate(root, at), handle
            else:
                snapshot = snapshots.read(root, tags.find(root, at), name)
                handle = _share(path_of(root, snapshot.number))
                if handle is not None:
                    return snapshot, handle
        time.sleep(_POLL_S)  # another process looks whether somebody holds it, or has removed it: the next look tells


def _share(path: Path) -> int | None:
    """Return an open file with a shared lock, or None where another process removes it or looks who holds it."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        gone = os.fstat(handle).st_nlink == 0
    except BlockingIOError:
        gone = True
    if gone:
        os.close(handle)
    return None if gone else handle
