"""Own files: files that one machine writes anew again and again, and that the others only read.

They are named as shared files are. Here the writer's file is always right: its object is replaced if it differs. A
file of another machine goes when its object is gone, and so does one of this machine that was shared before.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from docmill.storage.errors import StoreError, Transient
from docmill.storage.files import hash_file, remove
from docmill.storage.name_grammar import NOTHING
from docmill.storage.remote.objects.bucket import Objects
from docmill.storage.remote.objects.shared_files import fetch_file, newest_of, share

_log = logging.getLogger("docmill.remote")


def share_own(objects: Objects, folder: str, path: Path) -> None:
    """Upload a file that this machine writes, and note that it was shared."""
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
    """Exchange the files of a folder; those whose names begin with `mine` are of this machine, "" if none is.

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
    """Share a file that never was shared, and remove one whose object is gone."""
    if _is_of(path.stem, mine) and not _mark(path).exists():
        share_own(objects, folder, path)
        return
    remove(path)
    remove(_mark(path))


def _is_of(name: str, mine: str) -> bool:
    return bool(mine) and name.startswith(f"{mine}-")


def _mark(path: Path) -> Path:
    return path.with_name(f".{path.stem}.shared")
