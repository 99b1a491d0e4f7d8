"""Tags: names for snapshots. What a tag names is kept, whatever the retention says.

`tags/NAME.json` holds the number; one is written once and goes only by its own deletion.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from storage.errors import QueryError, StoreError
from storage.files import put_if_absent, remove
from storage.history import snapshots
from storage.lock import writer_lock
from storage.remote.naming import share_tag, unshare

FOLDER = "tags"
_NAME = re.compile(r"[^\W\d_][\w.-]{0,99}")


def tags(root: Path) -> dict[str, int]:
    """Return the snapshot of each tag, by name."""
    files = sorted((root / FOLDER).glob("*.json")) if (root / FOLDER).is_dir() else []
    return {file.stem: _number(file) for file in files}


def _number(file: Path) -> int:
    try:
        return int(json.loads(file.read_bytes())["snapshot"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file} is not a tag: {error}; remove it and tag the snapshot again") from error


def set_tag(root: Path, name: str, at: int | str | None = None, wait_s: float = 0.0) -> int:
    """Give a snapshot, the newest unless `at` says which, a name; return its number."""
    if not _NAME.fullmatch(name):
        raise QueryError(f"a tag begins with a letter and goes on with letters, digits, '.', '-' and '_', got {name!r}")
    if name.startswith("candidate-"):
        raise QueryError(f"candidate-… names what the gate has held back; take another name than {name!r}")
    with writer_lock(snapshots.existing(root), wait_s):
        number = snapshots.read(root, find(root, at)).number
        value = {"snapshot": number, "created": datetime.now(UTC).isoformat("T", "seconds")}
        share_tag(root, name, json.dumps(value).encode())
        if not put_if_absent(root / FOLDER / f"{name}.json", json.dumps(value).encode()):
            held = tags(root)[name]
            if held != number:
                raise QueryError(f"tag {name!r} names snapshot {held}; delete it first: docmill tag {name} --delete")
        return number


def delete_tag(root: Path, name: str, wait_s: float = 0.0) -> None:
    """Take a name away; the snapshot stays as long as the retention says."""
    with writer_lock(snapshots.existing(root), wait_s):
        if name not in tags(root):
            raise QueryError(f"no tag {name!r}; there are {', '.join(tags(root)) or 'none'}")
        unshare(root, FOLDER, name)
        remove(root / FOLDER / f"{name}.json")


def find(root: Path, at: int | str | None) -> int | None:
    """Return the number of a snapshot from its number or its tag; None stands for the newest."""
    if at is None or isinstance(at, int):
        return at
    if at.isdecimal():
        return int(at)
    held = tags(root)
    if at not in held:
        names = [*held, *snapshots.candidates(root)]
        raise StoreError(f"{root} has no snapshot or tag {at!r}; its tags are {', '.join(names) or 'none'}")
    return held[at]
