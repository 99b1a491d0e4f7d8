"""From the mirror to the object store: the files of a snapshot, and the one conditional put that commits it."""

from pathlib import Path

from docmill.storage.errors import Locked
from docmill.storage.files import put_if_absent, settle
from docmill.storage.history import snapshots
from docmill.storage.history.snapshots import Snapshot, vector_tag
from docmill.storage.mirror.inventory import all_files, with_inventory
from docmill.storage.objects.bucket import Objects
from docmill.storage.objects.lease import confirm
from docmill.storage.objects.transfer import send


def commit(objects: Objects, root: Path, snapshot: Snapshot) -> None:
    """Send the files that the object store lacks, put the snapshot there if it is absent, then into the mirror.

    Where another writer was quicker the mirror does not have the snapshot, and what was sent is collected later.
    """
    settle()
    whole = with_inventory(root, snapshot, snapshots.newest(root), vector_tag(snapshot.number))
    send(objects, root, all_files(root, whole))
    confirm(objects, root)
    key = f"{snapshots.FOLDER}/{snapshots.path_of(root, snapshot.number).name}"
    newer = [entry.key for entry in objects.listing(snapshots.FOLDER) if entry.key >= key]
    if newer or not objects.put_if_absent(key, snapshots.encode(whole)):
        raise Locked(f"{objects.url}: snapshot {snapshot.number} was committed by another writer; run again")
    put_if_absent(root / key, snapshots.encode(whole))  # a reader may have fetched it since


def share_candidate(objects: Objects, root: Path, name: str, snapshot: Snapshot) -> Snapshot:
    """Give a snapshot that is held back to the object store, and return it as it is kept there."""
    whole = with_inventory(root, snapshot, snapshots.newest(root), name)
    send(objects, root, all_files(root, whole))
    confirm(objects, root)
    objects.put(f"{snapshots.CANDIDATES}/{name}.json", snapshots.encode(whole))
    return whole
