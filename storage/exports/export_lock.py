"""Export lock: prevent two simultaneous exports of this machine to one file or folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docmill.storage.errors import Locked
from docmill.storage.files import FULL, take_lock, unwritable


@contextmanager
def claim(path: Path) -> Iterator[None]:
    """Lock the name of a file or folder, whose parent is created if missing; raise `Locked` if an export has it.

    The kernel releases the lock when the process ends. Raises `StoreError` if no file can be created in the folder.
    """
    lock = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        if error.errno in FULL:
            raise
        raise unwritable(path, error) from None
    try:
        _take(handle, lock, path)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _take(handle: int, lock: Path, path: Path) -> None:
    try:
        take_lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, lock)
        is_ours = os.fstat(handle).st_nlink > 0  # otherwise an export that has just ended removed the file
    except BlockingIOError:
        is_ours = False
    if not is_ours:
        raise Locked(f"another export writes to {path}; wait until it has ended")
