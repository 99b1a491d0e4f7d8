"""Restore objects: a repair sets a damaged object aside as `aside/KEY`, which requests it from other machines.

A machine whose mirror has the undamaged file overwrites the damaged object at its next refresh and then deletes the
copy. The damaged object stays in its place until then, or until a repair gives it up.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path

from docmill.storage.errors import DocmillError
from docmill.storage.files import FileRef, fault, hash_file
from docmill.storage.remote.mirror.inventory import vector_files
from docmill.storage.remote.objects.bucket import Objects, Vanished
from docmill.storage.remote.objects.lease import confirm
from docmill.storage.remote.objects.transfer import VECTORS, key_of_file
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.quarantine import FOLDER, SetAside

# Keys come from the object store, so they are matched as a whole before they name a file here.
_SNAPSHOT = re.compile(rf"{snapshots.FOLDER}/\d{{6,}}\.json")
_NAMED_BY_CONTENT = re.compile(r"(?:tables|artifacts|keywords|inventories)/(?:\w+/)*(?P<hash>[0-9a-f]{32})[\w.]*")
_log = logging.getLogger("docmill.remote")


def listing(objects: Objects) -> list[SetAside]:
    """Return the objects that were set aside, under their old keys."""
    return [
        SetAside(entry.key.removeprefix(f"{FOLDER}/"), entry.bytes, entry.modified) for entry in objects.listing(FOLDER)
    ]


def ask(objects: Objects, keys: Iterable[str]) -> list[str]:
    """Copy damaged objects to `aside/`, or put an empty object there for a missing one; return the new ones."""
    # An existing copy keeps its age, by which it expires.
    known = {one.path for one in listing(objects)}
    new = [key for key in keys if key not in known]
    for key in new:
        try:
            objects.copy(key, f"{FOLDER}/{key}")
        except Vanished:
            objects.put(f"{FOLDER}/{key}", b"")
    return new


def give_up(objects: Objects, keys: Iterable[str]) -> None:
    """Delete damaged objects, of which a copy remains set aside."""
    given = list(keys)
    # A person may be able to repair the copy by hand.
    ask(objects, given)
    if given:
        objects.delete(given)


def fulfil(objects: Objects, keys: Iterable[str]) -> None:
    """Delete the copies of objects that are undamaged again."""
    wanted = {one.path for one in listing(objects)}
    if done := [f"{FOLDER}/{key}" for key in keys if key in wanted]:
        objects.delete(done)


def answer(objects: Objects, root: Path) -> None:
    """Overwrite the objects that other machines have requested with undamaged files of this mirror.

    A machine without write access only logs this, because its own work does not depend on it.
    """
    try:
        wanted = {one.path for one in listing(objects)}
    except DocmillError as error:  # such as a missing bucket, which the next step reports
        _log.debug("what is asked for cannot be listed: %s", error)
        return
    try:
        for key, path in _whole(root, wanted):
            objects.upload(path, key)
            # One by one, so that what was restored is no longer requested if this machine ends.
            fulfil(objects, [key])
            _log.info("gave back %s/%s, which was damaged and is whole on this machine", objects.url, key)
    except (DocmillError, OSError) as error:  # a file may have been removed meanwhile
        _log.warning("damaged objects were not given back: %s", error)


def expire(objects: Objects, root: Path, days: float) -> None:
    """Remove the copies older than `days` by the clock of the object store; the caller holds the writer's lock."""
    if not (held := listing(objects)):
        return
    horizon = confirm(objects, root) - timedelta(days=days)
    if old := [f"{FOLDER}/{one.path}" for one in held if one.since <= horizon]:
        objects.delete(old)


def _whole(root: Path, keys: set[str]) -> Iterator[tuple[str, Path]]:
    """Yield the keys of which this mirror has the undamaged file, with the file."""
    yield from ((key, root / key) for key in sorted(keys) if _is_whole(root, key))
    # Only if needed, because the inventories of all snapshots have to be read for it.
    if any(key.startswith(f"{VECTORS}/") for key in keys):
        files = [file for file in _all_vectors(root) if key_of_file(file) in keys]
        yield from ((key_of_file(file), root / file.path) for file in files if not fault(root, file))


def _is_whole(root: Path, key: str) -> bool:
    """Return whether this mirror has the file of a key, with the content that its name or checksum says."""
    content, snapshot = _NAMED_BY_CONTENT.fullmatch(key), _SNAPSHOT.fullmatch(key)
    if not (content or snapshot) or not (root / key).is_file():
        return False
    return hash_file(root / key) == content["hash"] if content else snapshots.is_sound((root / key).read_bytes())


def _all_vectors(root: Path) -> set[FileRef]:
    states = snapshots.needed(root)
    here = [state for state in states if state.inventory and (root / state.inventory.path).is_file()]
    return {file for state in here for file in vector_files(root, state)}
