"""Push: upload the files of a snapshot from the mirror, and commit it by a conditional put on the object store."""

from pathlib import Path

from docmill.storage.errors import Locked
from docmill.storage.files import put_if_absent, settle
from docmill.storage.remote.mirror.inventory import all_files, with_inventory
from docmill.storage.remote.objects.bucket import Objects
from docmill.storage.remote.objects.lease import confirm
from docmill.storage.remote.objects.transfer import send
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.snapshots import Snapshot, vector_tag


def commit(objects: Objects, root: Path, snapshot: Snapshot) -> None:
    """Upload missing files and, unless its number is taken, the snapshot, then write it into the mirror.

    If another writer was faster, the mirror does not get the snapshot, and the uploaded files are removed later.
    """
    settle()
    whole = with_inventory(root, snapshot, snapshots.newest(root), vector_tag(snapshot.number))
    send(objects, root, all_files(root, whole))
    confirm(objects, root)
    key = f"{snapshots.FOLDER}/{snapshots.path_of(root, snapshot.number).name}"
    newer = [entry.key for entry in objects.listing(snapshots.FOLDER) if entry.key >= key]
    if newer or not objects.put_if_absent(key, snapshots.encode(whole)):
        raise Locked(f"{objects.url}: snapshot {snapshot.number} was committed by another writer; run again")
    put_if_absent(root / key, snapshots.encode(whole))  # a reader may have fetched it meanwhile


def share_candidate(objects: Objects, root: Path, name: str, snapshot: Snapshot) -> Snapshot:
    """Upload a candidate snapshot, and return it as stored there."""
    whole = with_inventory(root, snapshot, snapshots.newest(root), name)
    send(objects, root, all_files(root, whole))
    confirm(objects, root)
    objects.put(f"{snapshots.CANDIDATES}/{name}.json", snapshots.encode(whole))
    return whole
