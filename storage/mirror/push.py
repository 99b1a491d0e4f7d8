"""The one write that commits: of a store's folder a link, of a mirror a conditional put to its object store."""

from pathlib import Path

from docmill.storage.address import mark_of
from docmill.storage.errors import Locked, StoreError
from docmill.storage.files import put_if_absent, settle
from docmill.storage.history import snapshots
from docmill.storage.history.snapshots import Snapshot, vector_tag
from docmill.storage.mirror.inventory import all_files, with_inventory
from docmill.storage.objects.bucket import objects_of
from docmill.storage.objects.lease import confirm
from docmill.storage.objects.transfer import send


def commit(root: Path, snapshot: Snapshot) -> None:
    """Make a snapshot the newest one; the caller holds the writer's lock. Raises where another writer was quicker."""
    settle()
    if mark_of(root):
        _push(root, snapshot)
    elif not put_if_absent(snapshots.path_of(root, snapshot.number), snapshots.encode(snapshot)):
        raise StoreError(f"snapshot {snapshot.number} was committed by another writer; run again")


def _push(root: Path, snapshot: Snapshot) -> None:
    """Send the files that the object store lacks, put the snapshot there if it is absent, then into the mirror.

    Where another writer was quicker the mirror does not have the snapshot, and what was sent is collected later.
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
