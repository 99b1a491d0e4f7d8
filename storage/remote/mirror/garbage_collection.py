"""Garbage collection: remove the objects that no snapshot names, after no machine can still be fetching them.

A removed snapshot is moved to `dropped/`, and its files stay for the grace period after that.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.name_grammar import is_listed
from docmill.storage.remote.mirror import check
from docmill.storage.remote.mirror.inventory import FOLDER as INVENTORIES
from docmill.storage.remote.mirror.inventory import needed_files, vector_files
from docmill.storage.remote.objects.bucket import ObjectEntry, Objects, Vanished
from docmill.storage.remote.objects.lease import confirm
from docmill.storage.remote.objects.transfer import VECTORS, fetch, key_of_file, sized
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.snapshots import Snapshot

DROPPED = "dropped"
_COLLECTED = ("tables", "artifacts", "keywords", INVENTORIES, VECTORS, "clock")
_AT_ONCE = 500
"""Objects deleted between two confirmations of the lease; S3 takes at most 1000 keys a request."""
_log = logging.getLogger("docmill.remote")


def condemn(objects: Objects, root: Path, numbers: Iterable[int]) -> None:
    """Move removed snapshots of a mirror to `dropped/` on its object store, so that nobody can open them any more."""
    for number in numbers:
        name = snapshots.path_of(root, number).name
        try:
            # The copy comes first: its modification time is the start of the grace period.
            objects.put(f"{DROPPED}/{name}", objects.read(f"{snapshots.FOLDER}/{name}"))
        except Vanished:  # an earlier try has removed it
            continue
        objects.delete([f"{snapshots.FOLDER}/{name}"])


def collect(objects: Objects, root: Path, grace_hours: float) -> int:
    """Remove the objects that no snapshot names and return their bytes.

    Objects younger than `grace_hours` stay, and so do those of a snapshot dropped within that time. All stay if a
    snapshot is damaged, because the files that it names are unknown. The caller holds the writer's lock.
    """
    if not snapshots.all_known(root) or check.snapshot_faults(objects, root, read=False):
        _log.warning("nothing is removed from %s, because a snapshot is damaged; see: docmill verify", objects.url)
        return 0
    garbage = _garbage(objects, root, confirm(objects, root) - timedelta(hours=grace_hours))
    for first in range(0, len(garbage), _AT_ONCE):
        # Each time, because another writer may take over the lease during a long listing or deletion.
        confirm(objects, root)
        objects.delete([entry.key for entry in garbage[first : first + _AT_ONCE]])
    freed = sum(entry.bytes for entry in garbage)
    if garbage:
        _log.info("removed from %s: %d objects, %s", objects.url, len(garbage), sized(freed))
    return freed


def _garbage(objects: Objects, root: Path, horizon: datetime) -> list[ObjectEntry]:
    """Return the objects that no machine can still be fetching: older than `horizon` and named by no live snapshot."""
    entries = objects.listing()
    dropped = [entry for entry in entries if is_listed(entry.key, DROPPED)]
    # A machine that took such a snapshot before it was dropped may still fetch its files.
    young = [entry.key for entry in dropped if entry.modified > horizon]
    named = _named(objects, root, [*snapshots.needed(root), *_dropped(objects, young)])
    garbage = [entry for entry in entries if _is_garbage(entry, named, horizon)]
    old = [entry for entry in dropped if entry.modified <= horizon]
    return garbage + old  # dropped snapshots are deleted last, so that none is forgotten after a crash


def _is_garbage(entry: ObjectEntry, named: set[str], horizon: datetime) -> bool:
    folder = entry.key.split("/")[0]
    return folder in _COLLECTED and not named & {entry.key, folder} and entry.modified <= horizon


def _dropped(objects: Objects, keys: Iterable[str]) -> Iterator[Snapshot]:
    for key in keys:
        yield snapshots.parse(objects.read(key), f"{objects.url}/{key}")


def _has_inventory(objects: Objects, root: Path, state: Snapshot) -> bool:
    """Return whether the files of a snapshot's vectors are known, after fetching its inventory."""
    try:
        fetch(objects, root, [state.inventory] if state.inventory else [])
    except StoreError as error:  # it is lost or damaged; `verify` reports it
        _log.warning("no vectors are removed: %s", error)
        return False
    return state.inventory is not None


def _named(objects: Objects, root: Path, states: Iterable[Snapshot]) -> set[str]:
    """Return the keys of all objects that snapshots name, or the whole folder of vectors if some are unknown."""
    named: set[str] = set()
    for state in states:
        named.update(map(key_of_file, needed_files(state)))
        known = _has_inventory(objects, root, state)
        # Without its inventory, any file of vectors may belong to it.
        named.update(map(key_of_file, vector_files(root, state)) if known else [VECTORS])
    return named
