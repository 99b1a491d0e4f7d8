"""From the mirror to the object store: the files that it lacks, then the snapshot, whose conditional put commits."""

from pathlib import Path

from storage.commit import vector_tag
from storage.errors import Locked
from storage.files import put_if_absent
from storage.history import snapshots
from storage.history.snapshots import Snapshot
from storage.remote.address import mark_of
from storage.remote.inventory import all_files, with_inventory
from storage.remote.lease import confirm
from storage.remote.objects import objects_of
from storage.remote.transfer import send


def push(root: Path, snapshot: Snapshot) -> None:
    """Make a snapshot of the mirror at `root` the newest one of its object store, and then of the mirror.

    Raises `Locked` where another writer was quicker; the mirror then does not have the snapshot, and what was
    sent is collected later.
    """
    objects = objects_of(root)
    whole = with_inventory(root, snapshot, snapshots.newest(root), vector_tag(snapshot.number))
    send(objects, root, all_files(root, whole))
    confirm(objects, root)
    key = f"{snapshots.FOLDER}/{snapshots.path_of(root, snapshot.number).name}"
    newer = [entry.key for entry in objects.listing(snapshots.FOLDER) if entry.key >= key]
    if newer or not objects.put_if_absent(key, snapshots.encode(whole)):
        raise Locked(f"{objects.url}: snapshot {snapshot.number} was committed by another writer; run again")
    put_if_absent(root / key, snapshots.encode(whole))  # a reader may have fetched it since


def share_candidate(root: Path, name: str, snapshot: Snapshot) -> Snapshot:
    """Give a snapshot that is held back to the object store of a mirror, and return it as it is kept there."""
    if mark_of(root) is None:
        return snapshot
    objects = objects_of(root)
    whole = with_inventory(root, snapshot, snapshots.newest(root), name)
    send(objects, root, all_files(root, whole))
    confirm(objects, root)
    objects.put(f"{snapshots.CANDIDATES}/{name}.json", snapshots.encode(whole))
    return whole
