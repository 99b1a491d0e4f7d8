"""Writing to a store on an object store: the lease among all machines, around a mirror that is up to date."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.errors import StoreError
from storage.remote.address import mark_of
from storage.remote.lease import leased
from storage.remote.objects import Objects, objects_of
from storage.remote.pull import IDENTITY, refresh, tidy

FORMAT = 1


@contextmanager
def writing(root: Path, deadline: float) -> Iterator[None]:
    """Hold the lease of the store that `root` mirrors, its list of snapshots up to date.

    A folder that is no mirror has none to wait for. The caller has the lock of `root`. Raises `Locked` where
    another machine writes beyond `deadline`.
    """
    mark = mark_of(root)
    if mark is None:
        yield
        return
    objects = objects_of(root)
    _found(objects)
    with leased(objects, root, mark, deadline):
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
