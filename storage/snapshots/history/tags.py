"""Tags: names for snapshots. The retention keeps every snapshot that has a tag.

`tags/NAME.json` has the number. A tag is written once; only deleting it removes it (`tagging.py`).
"""

import json
from contextlib import suppress
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.snapshots.history import snapshots

FOLDER = "tags"


def files(root: Path) -> dict[str, Path]:
    """Return the file of each tag, by name, including damaged ones."""
    folder = root / FOLDER
    return {file.stem: file for file in sorted(folder.glob("*.json"))} if folder.is_dir() else {}


def tags(root: Path) -> dict[str, int]:
    """Return the number of each tag's snapshot, by name, without damaged tags."""
    held = {}
    for name, file in files(root).items():
        with suppress(FileNotFoundError, StoreError):  # deleted since it was listed, or damaged
            held[name] = _number(file)
    return held


def check(root: Path) -> None:
    """Raise `StoreError` for a damaged tag, because the snapshot that it names is unknown."""
    for file in files(root).values():
        with suppress(FileNotFoundError):
            _number(file)


def _number(file: Path) -> int:
    try:
        return int(json.loads(file.read_bytes())["snapshot"])
    except (ValueError, KeyError, TypeError) as error:
        mend = f"docmill tag {file.stem} --delete"
        raise StoreError(f"{file} is not a tag: {error}; delete it and tag the snapshot again: {mend}") from error


def find(root: Path, at: int | str | None) -> int | None:
    """Return the number of a snapshot, given its number or tag; None means the newest."""
    if at is None or isinstance(at, int):
        return at
    if at.isdecimal():
        return int(at)
    held = tags(root)
    if at not in held and (file := files(root).get(at)):
        return _number(file)
    if at not in held:
        names = [*held, *snapshots.candidates(root)]
        known = f"its tags are {', '.join(names)}" if names else "it has no tags"
        raise StoreError(f"{root} has no snapshot or tag {at!r}; {known}")
    return held[at]
