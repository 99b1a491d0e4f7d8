"""Restore objects: a repair sets a damaged object aside as `aside/KEY`, which asks other machines for a whole one.

A machine whose mirror has the file whole overwrites the damaged object when it next looks at the object store, and
then deletes the copy. The damaged object stays in its place until then, or until a repair gives it up.
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

# Keys come from the object store, so they are matched in full before they name a file here.
_SNAPSHOT = re.compile(rf"{snapshots.FOLDER}/\d{{6,}}\.json")
_NAMED_BY_CONTENT = re.compile(r"(?:tables|artifacts|keywords|inventories)/(?:\w+/)*(?P<hash>[0-9a-f]{32})[\w.]*")
_log = logging.getLogger("docmill.remote")


def listing(objects: Objects) -> list[SetAside]:
    """Return the objects that were set aside, by their old keys."""
    return [
        SetAside(entry.key.removeprefix(f"{FOLDER}/"), entry.bytes, entry.modified) for entry in objects.listing(FOLDER)
    ]


def ask(objects: Objects, keys: Iterable[str]) -> list[str]:
    """Copy damaged objects to `aside/`, or put an empty object there for a missing one; return the new ones."""
    # A copy that is there keeps its age, by which it expires.
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
    # What looks worthless today may be all that is left for a person to mend.
    ask(objects, given)
    if given:
        objects.delete(given)


def fulfil(objects: Objects, keys: Iterable[str]) -> None:
    """Delete the copies of damaged objects that are whole again."""
    wanted = {one.path for one in listing(objects)}
    if done := [f"{FOLDER}/{key}" for key in keys if key in wanted]:
        objects.delete(done)


def answer(objects: Objects, root: Path) -> None:
    """Overwrite the objects that other machines have asked for with the files that this mirror has whole.

    A machine that may not write only logs it: its own work does not depend on it.
    """
    try:
        wanted = {one.path for one in listing(objects)}
    except DocmillError as error:  # such as a missing bucket: what follows says so, and nobody is known to have asked
        _log.debug("what is asked for cannot be listed: %s", error)
        return
    try:
        for key, path in _whole(root, wanted):
            objects.upload(path, key)
            # One by one: if this machine ends, what it has given back is no longer asked for.
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
    """Yield the keys of which this mirror has the whole file, each with the file."""
    yield from ((key, root / key) for key in sorted(keys) if _is_whole(root, key))
    # Only then, because the inventories of all snapshots have to be read for it.
    if any(key.startswith(f"{VECTORS}/") for key in keys):
        files = [file for file in _all_vectors(root) if key_of_file(file) in keys]
        yield from ((key_of_file(file), root / file.path) for file in files if not fault(root, file))


def _is_whole(root: Path, key: str) -> bool:
    """Return whether this mirror has the file of a key, and its content is what its name or its checksum says."""
    content, snapshot = _NAMED_BY_CONTENT.fullmatch(key), _SNAPSHOT.fullmatch(key)
    if not (content or snapshot) or not (root / key).is_file():
        return False
    return hash_file(root / key) == content["hash"] if content else snapshots.is_sound((root / key).read_bytes())


def _all_vectors(root: Path) -> set[FileRef]:
    states = snapshots.needed(root)
    here = [state for state in states if state.inventory and (root / state.inventory.path).is_file()]
    return {file for state in here for file in vector_files(root, state)}
