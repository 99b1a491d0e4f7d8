"""Writer lock: let one writer among all machines write to a mirrored store, by a lease on the object store."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docmill.storage.address import MirrorMark
from docmill.storage.errors import StoreError
from docmill.storage.remote.mirror.pull import IDENTITY, refresh, refuse, tidy
from docmill.storage.remote.objects.bucket import Objects
from docmill.storage.remote.objects.lease import leased

FORMAT = 1  # of the file that identifies a store


@contextmanager
def leased_and_fresh(objects: Objects, root: Path, mark: MirrorMark, deadline: float, mending: bool) -> Iterator[None]:
    """Hold the lease of a store; the caller has the lock of its mirror, whose list of snapshots is up to date.

    Raises `Locked` if another mirror's writer still holds the lease at `deadline`, on the monotonic clock, and
    `StoreError` if the newest snapshot is damaged, unless the caller is `mending` the store.
    """
    _found(objects)
    with leased(objects, root, mark, deadline):
        unread = refresh(objects, root, mark)
        if not mending:
            refuse(objects, root, unread)
        tidy(root)
        yield


def _found(objects: Objects) -> None:
    """Give a new store its identity; refuse an object store whose conditional puts overwrite objects."""
    if not objects.put_if_absent(IDENTITY, _identity()):
        return
    if objects.put_if_absent(IDENTITY, _identity()):
        objects.delete([IDENTITY])
        raise StoreError(f"{objects.url}: this object store ignores If-None-Match on a put, so no commit would be safe")


def _identity() -> bytes:
    return json.dumps({"format": FORMAT, "store": secrets.token_hex(16)}).encode()
