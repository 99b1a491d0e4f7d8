"""Retention: which snapshots are kept, and how the others are removed without disturbing readers.

A reader holds its snapshot with a shared lock on the snapshot's file, which the kernel releases when the process ends.
A snapshot that is held or has a tag is not removed.
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
from docmill.storage.files import open_to_lock, take_lock
from docmill.storage.snapshots.history import snapshots, tags
from docmill.storage.snapshots.history.snapshots import Snapshot, path_of

_POLL_S = 0.01  # seconds between two attempts to hold a snapshot; the other process needs far less


@dataclass(frozen=True, slots=True)
class Retention:
    """The limits of what is kept: `keep_snapshots` snapshots, none older than `keep_days`; the newest always stays.

    A deleted document can be restored for `undelete_days`. A long run commits several snapshots; its last one replaces
    the earlier ones unless `keep_steps` is set. Unnamed objects stay in an object store for `grace_hours`, because
    other machines may still be fetching them.
    """

    keep_snapshots: int = 100
    keep_days: float = 30.0
    undelete_days: float = 30.0
    grace_hours: float = 1.0
    keep_steps: bool = False


def expired(root: Path, retention: Retention, now: datetime | None = None) -> list[int]:
    """Return the snapshots beyond the retention, oldest first, including those with a tag."""
    # The newest never expires: without it there is no store.
    *older, _ = snapshots.numbers(snapshots.existing(root))
    horizon = (now or datetime.now(UTC)) - timedelta(days=retention.keep_days)
    found = older[: max(0, len(older) + 1 - max(1, retention.keep_snapshots))]
    for number in older[len(found) :]:
        # Numbers ascend with time, so all later snapshots are younger.
        if _created(root, number) >= horizon:
            break
        found.append(number)
    return found


def superseded(root: Path) -> list[int]:
    """Return the snapshots with pending vectors whose documents and chunks a later snapshot also has, oldest first.

    They are steps of a run, whose last snapshot has everything that they have. Tagged snapshots are left out.
    """
    named, seen, found = set(tags.tags(root).values()), set[tuple[object, ...]](), []
    # From the newest, because the last of several equal snapshots stays.
    for state in reversed([*snapshots.each(root)]):
        content = tuple(state.tables.get(name) for name in ("documents", "chunks"))
        if state.pending and content in seen and state.number not in named:
            found.append(state.number)
        seen.add(content)
    return sorted(found)


def _created(root: Path, number: int) -> datetime:
    try:
        return datetime.fromisoformat(snapshots.read(root, number).created)
    except StoreError:  # damaged; it expires like the others
        return datetime.fromtimestamp(path_of(root, number).stat().st_mtime, UTC)


def removable(root: Path, retention: Retention) -> list[int]:
    """Return the expired and superseded snapshots without a tag or a reader; raise `StoreError` for a damaged tag."""
    tags.check(root)
    named = set(tags.tags(root).values())
    gone = sorted({*expired(root, retention), *(() if retention.keep_steps else superseded(root))})
    return [number for number in gone if number not in named and not is_held(root, number)]


def forget(path: Path) -> bool:
    """Remove the file of a snapshot unless a reader holds it; return whether it is gone."""
    handle = open_to_lock(path)
    try:
        # An exclusive lock is granted only if no reader has a shared one.
        take_lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, path)
        with boundary("drop snapshot"):
            path.unlink()
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def is_held(root: Path, number: int) -> bool:
    """Return whether a reader has a snapshot open."""
    return lock_is_held(path_of(root, number))


def lock_is_held(path: Path) -> bool:
    """Return whether a reader has the snapshot in a file open; False if the file is gone."""
    try:
        handle = open_to_lock(path)
    except FileNotFoundError:
        return False
    try:
        take_lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, path)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def hold(root: Path, at: int | str | None, name: str = "") -> tuple[Snapshot, int]:
    """Return a snapshot, the newest or the one at `at`, and the open file that holds it until it is closed."""
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
        time.sleep(_POLL_S)  # another process is testing the lock or has removed the file; try again to find out


def _share(path: Path) -> int | None:
    """Return an open file with a shared lock, or None if another process is removing it or testing its lock."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        take_lock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB, path)
        # If the file was removed between opening and locking, the lock protects nothing.
        gone = os.fstat(handle).st_nlink == 0
    except BlockingIOError:
        gone = True
    except BaseException:
        os.close(handle)
        raise
    if gone:
        os.close(handle)
    return None if gone else handle
