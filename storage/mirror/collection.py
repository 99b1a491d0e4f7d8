"""Collection: remove the objects that no snapshot names, once no machine can still be fetching them.

A removed snapshot moves to `dropped/`, and its files stay for the grace period, counted from that moment.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from docmill.storage.history import snapshots
from docmill.storage.history.snapshots import Snapshot
from docmill.storage.mirror.inventory import FOLDER as INVENTORIES
from docmill.storage.mirror.inventory import needed_files, vector_files
from docmill.storage.names import is_listed
from docmill.storage.objects.bucket import ObjectEntry, Objects, Vanished
from docmill.storage.objects.lease import confirm
from docmill.storage.objects.transfer import VECTORS, fetch, key_of_file, sized

DROPPED = "dropped"
_COLLECTED = ("tables", "artifacts", "keywords", INVENTORIES, VECTORS, "clock")
_AT_ONCE = 500
"""Objects deleted between two confirmations of the lease; S3 takes at most 1000 keys a request."""
_log = logging.getLogger("docmill.remote")


def condemn(objects: Objects, root: Path, numbers: Iterable[int]) -> None:
    """Move removed snapshots of a mirror to `dropped/` on its object store, so that nobody opens them any more."""
    for number in numbers:
        name = snapshots.path_of(root, number).name
        try:
            objects.put(f"{DROPPED}/{name}", objects.read(f"{snapshots.FOLDER}/{name}"))
        except Vanished:  # an earlier try has removed it
            continue
        objects.delete([f"{snapshots.FOLDER}/{name}"])


def collect(objects: Objects, root: Path, grace_hours: float) -> int:
    """Remove the objects that no snapshot names and return their bytes.

    Objects younger than `grace_hours` stay, and so do those of a snapshot dropped within that time. All stay if a
    snapshot is damaged, because the files that it names are unknown. The caller holds the writer's lock.
    """
    if not snapshots.all_known(root):
        return 0
    garbage = _garbage(objects, root, confirm(objects, root) - timedelta(hours=grace_hours))
    for first in range(0, len(garbage), _AT_ONCE):
        confirm(objects, root)
        objects.delete([entry.key for entry in garbage[first : first + _AT_ONCE]])
    freed = sum(entry.bytes for entry in garbage)
    if garbage:
        _log.info("removed from %s: %d objects, %s", objects.url, len(garbage), sized(freed))
    return freed


def _garbage(objects: Objects, root: Path, horizon: datetime) -> list[ObjectEntry]:
    """Return the objects that no machine can still be fetching: older than `horizon`, and named by no live snapshot."""
    entries = objects.listing()
    dropped = [entry for entry in entries if is_listed(entry.key, DROPPED)]
    young = [entry.key for entry in dropped if entry.modified > horizon]
    named = set(_named(objects, root, [*snapshots.needed(root), *_dropped(objects, young)]))
    garbage = [entry for entry in entries if _is_garbage(entry, named, horizon)]
    old = [entry for entry in dropped if entry.modified <= horizon]
    return garbage + old  # dropped snapshots are deleted last, so that a crash loses track of none


def _is_garbage(entry: ObjectEntry, named: set[str], horizon: datetime) -> bool:
    return entry.key.split("/")[0] in _COLLECTED and entry.key not in named and entry.modified <= horizon


def _dropped(objects: Objects, keys: Iterable[str]) -> Iterator[Snapshot]:
    for key in keys:
        yield snapshots.parse(objects.read(key), f"{objects.url}/{key}")


def _named(objects: Objects, root: Path, states: Iterable[Snapshot]) -> Iterator[str]:
    """Yield the keys of all objects that snapshots name, after fetching their inventories."""
    held = [state for state in states if state.inventory]
    fetch(objects, root, [state.inventory for state in held if state.inventory])
    for state in held:
        yield from (key_of_file(file) for file in (*needed_files(state), *vector_files(root, state)))
