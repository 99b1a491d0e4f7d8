"""The writer's lock of a mirror beyond that of its folder: the lease among all machines."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docmill.storage.address import MirrorMark
from docmill.storage.errors import StoreError
from docmill.storage.mirror.pull import IDENTITY, refresh, tidy
from docmill.storage.objects.bucket import Objects
from docmill.storage.objects.lease import leased

FORMAT = 1  # of the file that identifies a store


@contextmanager
def leased_and_fresh(objects: Objects, root: Path, mark: MirrorMark, deadline: float) -> Iterator[None]:
    """Hold the lease of a store for its mirror, whose lock the caller has and whose list of snapshots is up to date.

    Raises `Locked` where another mirror's writer has it beyond `deadline`, of the monotonic clock.
    """
    _found(objects)
    with leased(objects, root, mark, deadline):
        refresh(objects, root, mark)
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
