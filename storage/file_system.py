"""File system: check in the first second of a run that the one under a store has what every writer needs.

Needed are locks (`storage/lock.py` finds out when it takes one) and hard links. A link takes a name only if it is free:
LanceDB commits each version of a table by one. The code that uses symbolic links, modes and the sync of folders does
without them where they are missing, and `put_if_absent` without links, for mirrors that are only read.
"""

import os
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import FULL, UNSUPPORTED, temporary

ROOM_BYTES = 1 << 18
"""What must fit before a run begins. The smallest commit, one document of one chunk, takes 170 kB."""


def check_links(root: Path) -> None:
    """Raise `StoreError` unless a file can be linked, and only to a name that is free; the caller has the store's lock.

    A full disk passes: what removes files must be able to run.
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
            f"{root} cannot be written: its file system {_kind(root)}has no hard links ({missing}), by which LanceDB"
            " commits; put it on another disk, or the store on an object store: s3://BUCKET/PREFIX"
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


def check_room(root: Path) -> None:
    """Raise `OSError`, with the number of a full disk, unless the least that a run writes fits into the store."""
    with temporary(root) as draft, draft.open("wb") as file:
        file.write(os.urandom(ROOM_BYTES))  # zeros would be compressed away, or not be stored at all
        file.flush()
        os.fsync(file.fileno())


def _kind(root: Path) -> str:
    """Return the type and mount point of a folder's file system for a message, or "" where Linux does not say."""
    try:
        mounts = [line.split(" ") for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines()]
    except OSError:
        return ""
    places = [(point.replace("\\040", " "), kind) for _, point, kind, *_ in mounts]
    above = [place for place in places if root.resolve().is_relative_to(place[0])]
    point, kind = sorted(above, key=lambda place: len(place[0]))[-1]  # of two at one point, the last one is seen
    return f"({kind}, mounted at {point}) "
