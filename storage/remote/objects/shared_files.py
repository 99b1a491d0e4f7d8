"""Shared files: files that machines share without a snapshot that names them: model replies and evaluations.

Each file is an object `<folder>/<name>-<hash of its content>.parquet`, so that a listing shows which files a mirror
lacks. A rewritten file, such as a repeated evaluation, replaces the objects of the same name.

Own files are rewritten repeatedly by one machine and only read by the others. The writer's file is always
right: its object is replaced if it differs. A file of another machine is removed when its object is gone, and so is a
file of this machine that was shared before.
"""

import logging
import re
from collections.abc import Iterable
from pathlib import Path

from docmill.storage.errors import StoreError, Transient
from docmill.storage.files import hash_file, remove, write_whole
from docmill.storage.keys import hash_bytes
from docmill.storage.name_grammar import NOTHING, is_listed
from docmill.storage.remote.objects.bucket import ObjectEntry, Objects, Vanished

_OBJECT = re.compile(r"[^/]+/(?P<name>.+)-(?P<hash>[0-9a-f]{32})\.parquet")

_log = logging.getLogger("docmill.remote")


def level(objects: Objects, folder: str, own: Path) -> None:
    """Fetch the objects of `folder` into the folder `own` of its mirror, and upload files that were never there.

    No result depends on it: a failure is only logged.
    """
    try:
        far = newest_of(objects, folder)
        for name, (digest, entry) in far.items():
            path = own / f"{name}.parquet"
            # Read and hashed rather than compared by time, because clocks of mirrors may differ.
            if not path.exists() or hash_file(path) != digest:
                fetch_file(objects, entry.key, digest, path)
        for path in sorted(own.glob("[!.]*.parquet")):  # without files being written
            if path.stem not in far and path.stem != NOTHING:
                _put(objects, folder, path)
    except (StoreError, Transient) as error:
        _log.warning("%s: not shared with other machines: %s", own, error)


def share(objects: Objects, folder: str, path: Path) -> None:
    """Upload a new or rewritten file and replace the object with the same name."""
    fresh = _put(objects, folder, path)
    prefix = f"{folder}/{path.stem}-"
    former = [entry.key for entry in objects.listing(folder) if entry.key.startswith(prefix) and entry.key != fresh]
    if former:
        # Only after the new one exists: a listing meanwhile shows both, and the later one is used.
        objects.delete(former)


def _put(objects: Objects, folder: str, path: Path) -> str:
    key = f"{folder}/{path.stem}-{hash_file(path)}.parquet"
    objects.put(key, path.read_bytes())
    return key


def fetch_file(objects: Objects, key: str, digest: str, path: Path) -> None:
    """Fetch an object into a file; raise `StoreError` if its content does not have the hash `digest`."""
    try:
        data = objects.read(key)
    except Vanished:  # a newer object has just replaced it
        return
    if hash_bytes(data) != digest:
        raise StoreError(f"{objects.url}/{key} does not have the content that was written")
    write_whole(path, data)


def newest_of(objects: Objects, folder: str) -> dict[str, tuple[str, ObjectEntry]]:
    """Return the hash and object of each name; of several objects with a name, the newest one."""
    found: dict[str, tuple[str, ObjectEntry]] = {}
    for entry in sorted(objects.listing(folder), key=lambda entry: (entry.modified, entry.key)):
        named = _OBJECT.fullmatch(entry.key)
        if named and is_listed(entry.key, folder):
            found[named["name"]] = (named["hash"], entry)
    return found


def share_own(objects: Objects, folder: str, path: Path) -> None:
    """Upload a file that this machine writes, and record that it was shared."""
    share(objects, folder, path)
    _mark(path).touch()


def unshare(objects: Objects, folder: str, names: Iterable[str]) -> None:
    """Delete the objects of files, given their names without ending."""
    wanted = set(names)
    if not wanted:
        return
    keys = [entry.key for entry in objects.listing(folder)]
    objects.delete([key for key in keys if key.removeprefix(f"{folder}/").rpartition("-")[0] in wanted])


def level_own(objects: Objects, folder: str, own: Path, mine: str) -> None:
    """Exchange the files of a folder. Those whose names begin with `mine` are this machine's; "" means none is.

    No result depends on it: a failure is only logged.
    """
    try:
        far = newest_of(objects, folder)
        for name, (digest, entry) in far.items():
            path = own / f"{name}.parquet"
            same = path.exists() and hash_file(path) == digest
            if _is_of(name, mine) and not same and path.exists():
                share_own(objects, folder, path)
            elif not same:
                fetch_file(objects, entry.key, digest, path)
        for path in sorted(own.glob("[!.]*.parquet")):
            if path.stem not in far and path.stem != NOTHING:
                _settle(objects, folder, path, mine)
    except (StoreError, Transient) as error:
        _log.warning("%s: not shared with other machines: %s", own, error)


def _settle(objects: Objects, folder: str, path: Path, mine: str) -> None:
    """Share a file that was never shared, or remove one whose object is gone."""
    if _is_of(path.stem, mine) and not _mark(path).exists():
        share_own(objects, folder, path)
        return
    remove(path)
    remove(_mark(path))


def _is_of(name: str, mine: str) -> bool:
    return bool(mine) and name.startswith(f"{mine}-")


def _mark(path: Path) -> Path:
    return path.with_name(f".{path.stem}.shared")
