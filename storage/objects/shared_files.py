"""What machines share and no snapshot names: replies of language models, and evaluations.

Each file is an object `<folder>/<name>-<hash of its content>.parquet`, so that a listing says what a mirror lacks. A
file that is made anew, as an evaluation is, takes the place of the objects that had its name.
"""

import logging
import re
from pathlib import Path

from docmill.storage.errors import StoreError, Transient
from docmill.storage.files import hash_file, write_whole
from docmill.storage.keys import hash_bytes
from docmill.storage.objects.bucket import ObjectEntry, Objects, Vanished

_OBJECT = re.compile(r"[^/]+/(?P<name>.+)-(?P<hash>[0-9a-f]{32})\.parquet")
NOTHING = "none"
"""The name of a file without a row, which is not shared."""

_log = logging.getLogger("docmill.remote")


def level(objects: Objects, folder: str, own: Path) -> None:
    """Bring what the object store has in `folder` to the folder `own` of its mirror, and put what it never had.

    No answer hangs on either: where it cannot be done, that is said in the log.
    """
    try:
        far = _newest(objects, folder)
        for name, (digest, entry) in far.items():
            path = own / f"{name}.parquet"
            if not path.exists() or hash_file(path) != digest:
                _fetch(objects, entry.key, digest, path)
        for path in sorted(own.glob("[!.]*.parquet")):
            if path.stem not in far and path.stem != NOTHING:
                _put(objects, folder, path)
    except (StoreError, Transient) as error:
        _log.warning("%s: not shared with other machines: %s", own, error)


def share(objects: Objects, folder: str, path: Path) -> None:
    """Put a file that was made, or made anew, in the place of what had its name."""
    fresh = _put(objects, folder, path)
    prefix = f"{folder}/{path.stem}-"
    former = [entry.key for entry in objects.listing(folder) if entry.key.startswith(prefix) and entry.key != fresh]
    if former:
        objects.delete(former)


def _put(objects: Objects, folder: str, path: Path) -> str:
    key = f"{folder}/{path.stem}-{hash_file(path)}.parquet"
    objects.put(key, path.read_bytes())
    return key


def _fetch(objects: Objects, key: str, digest: str, path: Path) -> None:
    try:
        data = objects.read(key)
    except Vanished:  # another one has just taken its place
        return
    if hash_bytes(data) != digest:
        raise StoreError(f"{objects.url}/{key} has another content than was written")
    write_whole(path, data)


def _newest(objects: Objects, folder: str) -> dict[str, tuple[str, ObjectEntry]]:
    """Return the hash and the object of each name; of two that were put at once the later one counts."""
    found: dict[str, tuple[str, ObjectEntry]] = {}
    for entry in sorted(objects.listing(folder), key=lambda entry: (entry.modified, entry.key)):
        if named := _OBJECT.fullmatch(entry.key):
            found[named["name"]] = (named["hash"], entry)
    return found
