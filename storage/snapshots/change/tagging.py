"""Tagging: give a snapshot a name that never moves to another one, and delete names."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from docmill.storage.errors import QueryError
from docmill.storage.files import put_if_absent, remove
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.history import tags
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.write.current_folder import writing

_NAME = re.compile(r"[^\W\d_][\w.-]{0,99}")
_BYTES = 200  # with a suffix, the tag is a file name, which may have 255 bytes


def set_tag(store: str | Path | StoreFolder, name: str, at: int | str | None = None, wait_s: float = 0.0) -> int:
    """Tag a snapshot, the newest or the one at `at`; return its number."""
    if not _NAME.fullmatch(name) or len(name.encode()) > _BYTES:
        said = "a tag begins with a letter and goes on with letters, digits, '.', '-' and '_'"
        raise QueryError(f"{said}, at most 100 of them in {_BYTES} bytes, got {name!r}")
    if name.startswith("candidate-"):
        raise QueryError(
            f"names that begin with candidate- are reserved for candidate snapshots; choose another name, got {name!r}"
        )
    folder = open_folder(store).existing()
    root = folder.root
    with writing(folder, wait_s):
        number = folder.read(tags.find(root, at)).number
        value = {"snapshot": number, "created": datetime.now(UTC).isoformat("T", "seconds")}
        # On the object store first: only there can it be decided whether another machine has taken the name.
        folder.share_tag(name, json.dumps(value).encode())
        if not put_if_absent(root / tags.FOLDER / f"{name}.json", json.dumps(value).encode()):
            # The name exists already. Tagging the same snapshot again is no error.
            held = tags.find(root, name)
            if held != number:
                raise QueryError(f"tag {name!r} names snapshot {held}; delete it first: docmill tag {name} --delete")
        return number


def delete_tag(store: str | Path | StoreFolder, name: str, wait_s: float = 0.0) -> None:
    """Delete a tag; the retention then decides about the snapshot."""
    folder = open_folder(store).existing()
    root = folder.root
    with writing(folder, wait_s):
        if name not in tags.files(root):
            raise QueryError(f"no tag {name!r}; there are {', '.join(tags.tags(root)) or 'none'}")
        folder.unshare(tags.FOLDER, name)
        remove(root / tags.FOLDER / f"{name}.json")
