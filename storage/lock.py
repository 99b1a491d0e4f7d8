"""Lock: let one process of this machine write; the kernel frees the lock when the process dies, so none goes stale."""

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from docmill.storage.errors import Locked, StoreError
from docmill.storage.failpoints import boundary
from docmill.storage.file_system import check_links
from docmill.storage.files import OWNER_ONLY, take_lock

_POLL_S = 0.1  # seconds between two tries to get the lock


@contextmanager
def locked(root: Path, name: str, deadline: float) -> Iterator[None]:
    """Hold the folder `root` of the store `name` for writing.

    Raises `Locked` if another process still holds it at `deadline`, on the monotonic clock, and `StoreError` if the
    file system lacks what a writer needs.
    """
    handle = _open(root)
    try:
        _acquire(handle, root, name, deadline)
        check_links(root)
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": datetime.now(UTC).isoformat("T", "seconds"),
        }
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(holder).encode(), 0)
        yield
    finally:
        os.close(handle)


def _open(root: Path) -> int:
    try:
        with boundary("lock"):
            root.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
            return os.open(root / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except (FileExistsError, NotADirectoryError):
        raise StoreError(f"{root} cannot be a store: a file has the name of a folder; name another") from None
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        reason = os.strerror(error.errno)
        can = "it can be read: search, sql, verify" if root.is_dir() else "name another folder"
        raise StoreError(f"{root} cannot be written: {reason}; {can}") from None


def _acquire(handle: int, root: Path, name: str, deadline: float) -> None:
    while True:
        try:
            return take_lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, root / "lock")
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Locked(_explain(name, os.pread(handle, 4096, 0))) from None
            time.sleep(_POLL_S)


def _explain(name: str, content: bytes) -> str:
    try:
        holder = json.loads(content)
        who = f"process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (ValueError, KeyError):
        who = "another process"
    return f"{name} is being written by {who}; wait for it with --wait SECONDS"
