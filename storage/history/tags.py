"""Tags: names for snapshots. What a tag names is kept, whatever the retention says.

`tags/NAME.json` holds the number; one is written once and goes only by its own deletion (`tagging.py`).
"""

import json
from pathlib import Path

from storage.errors import StoreError
from storage.history import snapshots

FOLDER = "tags"


def tags(root: Path) -> dict[str, int]:
    """Return the snapshot of each tag, by name."""
    files = sorted((root / FOLDER).glob("*.json")) if (root / FOLDER).is_dir() else []
    return {file.stem: _number(file) for file in files}


def _number(file: Path) -> int:
    try:
        return int(json.loads(file.read_bytes())["snapshot"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file} is not a tag: {error}; remove it and tag the snapshot again") from error


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
