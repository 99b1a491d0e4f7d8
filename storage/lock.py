"""Lock: let one process of this machine write. The kernel releases the lock when the process dies, so none goes stale.

Before locking, the features of the file system are checked. Locks and hard links are required. A link takes a name only
if it is free, which LanceDB uses to commit each version of a table. Symbolic links, modes and the sync of folders are
optional, and for mirrors that are only read, `put_if_absent` works without links.
"""

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from docmill.storage.errors import Locked, StoreError
from docmill.storage.failpoints import boundary
from docmill.storage.files import FULL, OWNER_ONLY, UNSUPPORTED, take_lock, temporary, unwritable

WAIT = "wait for it with --wait SECONDS (in Python: the setting wait_s)"
TAKEN = "{root} cannot be a store: it is a file, not a folder; choose another name"
_POLL_S = 0.1  # seconds between two tries to get the lock
_LOOKS = 5  # reads of the holder's name, `_POLL_S` apart


def check_free(root: Path) -> None:
    """Raise `StoreError` if there is a file in place of a store's folder or a folder above it."""
    if any(one.exists() and not one.is_dir() for one in (root, *root.parents)):
        raise StoreError(TAKEN.format(root=root))


@contextmanager
def locked(root: Path, name: str, deadline: float) -> Iterator[None]:
    """Hold the folder `root` of the store `name` for writing.

    Raises `Locked` if another writer, in this or another process, still holds it at `deadline`, on the monotonic clock,
    and `StoreError` if the file system lacks what a writer needs.
    """
    handle = _open(root)
    try:
        _acquire(handle, root, name, deadline)
        try:
            _name_holder(handle)
            _check_links(root)
            yield
        finally:
            os.ftruncate(handle, 0)  # so that nobody is named until the next holder has written its name
    finally:
        os.close(handle)


def _name_holder(handle: int) -> None:
    """Write the holder into the lock file, for messages to others."""
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now(UTC).isoformat("T", "seconds")}
    os.ftruncate(handle, 0)
    with suppress(OSError):  # on a full disk, the lock works without a name, so that files can be removed
        os.pwrite(handle, json.dumps(holder).encode(), 0)


def _open(root: Path) -> int:
    try:
        with boundary("lock"):
            root.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
            return os.open(root / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except (FileExistsError, NotADirectoryError):
        raise StoreError(TAKEN.format(root=root)) from None
    except OSError as error:
        if error.errno in FULL:
            raise
        if root.is_dir():
            reason = os.strerror(error.errno or errno.EIO)
            raise StoreError(f"{root} cannot be written: {reason}; it can be read: search, sql, verify") from None
        raise unwritable(root, error) from None


def _acquire(handle: int, root: Path, name: str, deadline: float) -> None:
    while True:
        try:
            return take_lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, root / "lock")
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Locked(_explain(name, _holder(handle))) from None
            time.sleep(_POLL_S)


def _holder(handle: int) -> bytes:
    """Return what the holder wrote about itself, waiting a little for one that has just taken the lock."""
    for _ in range(_LOOKS):
        if content := os.pread(handle, 4096, 0):
            return content
        time.sleep(_POLL_S)
    return b""


def _explain(name: str, content: bytes) -> str:
    try:
        holder = json.loads(content)
        process = f"process {holder['pid']} on {holder['host']}"
        if (holder["pid"], holder["host"]) == (os.getpid(), socket.gethostname()):
            process = "another thread of this process"
        who = f"{process} since {holder['since']}"
    except (ValueError, KeyError):
        who = "another writer"
    return f"{name} is being written by {who}; {WAIT}"


def _check_links(root: Path) -> None:
    """Raise `StoreError` unless a file can be linked, and only to a free name.

    A full disk passes, because commands that remove files must be able to run.
    """
    try:
        with temporary(root) as draft:
            twin = draft.with_name(f"{draft.name}-link")
            try:
                missing = _missing(draft, twin)
            finally:
                twin.unlink(missing_ok=True)
    except OSError as error:
        if error.errno not in FULL:
            raise
        return
    if missing:
        raise StoreError(
            f"{root} cannot be written: its file system {_kind(root)}has no hard links ({missing}), which LanceDB"
            " needs to commit; use another disk, or a store on an object store: s3://BUCKET/PREFIX"
        )


def _missing(file: Path, twin: Path) -> str:
    try:
        os.link(file, twin)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return os.strerror(error.errno)
    try:
        os.link(file, twin)
    except FileExistsError:
        return ""
    return "a link replaced another file"


def _kind(root: Path) -> str:
    """Return the type and mount point of a folder's file system for a message, or "" if unknown."""
    try:
        mounts = [line.split(" ") for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines()]
    except OSError:
        return ""
    places = [(point.replace("\\040", " "), kind) for _, point, kind, *_ in mounts]
    above = [place for place in places if root.resolve().is_relative_to(place[0])]
    if not above:  # in a chroot, which sees no mount
        return ""
    point, kind = sorted(above, key=lambda place: len(place[0]))[-1]  # of two at one place, the last is visible
    return f"({kind}, mounted at {point}) "
