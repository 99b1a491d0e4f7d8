"""The writer's lock: that of a store's folder, for a mirror also the lease among all machines."""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from docmill.storage.address import mark_of
from docmill.storage.errors import StoreError
from docmill.storage.files import explain_full_disk
from docmill.storage.lock import locked
from docmill.storage.mirror.pull import IDENTITY, refresh, tidy
from docmill.storage.objects.bucket import Objects, objects_of
from docmill.storage.objects.lease import leased

FORMAT = 1  # of the file that identifies a store


@contextmanager
def writer_lock(root: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the store at `root` for writing, a mirror with its list of snapshots up to date.

    Raises `Locked` if another writer has it for longer than `wait_s` seconds, `Transient` where the disk is full.
    """
    deadline = time.monotonic() + wait_s
    with ExitStack() as stack:
        stack.enter_context(explain_full_disk(root))
        stack.enter_context(locked(root, deadline))
        mark = mark_of(root)
        if mark:
            objects = objects_of(root)
            _found(objects)
            stack.enter_context(leased(objects, root, mark, deadline))
            refresh(root)
            tidy(root)
        yield


def _found(objects: Objects) -> None:
    """Give a new store its identity; refuse an object store whose conditional puts overwrite."""
    if not objects.put_if_absent(IDENTITY, _identity()):
        return
    if objects.put_if_absent(IDENTITY, _identity()):
        objects.delete([IDENTITY])
        raise StoreError(f"{objects.url}: put with If-None-Match overwrites there, so that no commit would be safe")


def _identity() -> bytes:
    return json.dumps({"format": FORMAT, "store": secrets.token_hex(16)}).encode()
