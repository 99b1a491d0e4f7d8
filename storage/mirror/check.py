"""Check: compare the objects of a snapshot on the object store with its mirror, and restore missing ones."""

from collections.abc import Iterator
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, hash_file
from docmill.storage.history import snapshots
from docmill.storage.history.garbage import named_files
from docmill.storage.history.snapshots import Snapshot
from docmill.storage.mirror.inventory import vector_files
from docmill.storage.names import placed
from docmill.storage.objects.bucket import Objects, Vanished
from docmill.storage.objects.transfer import fetch, key_of_file, send


def far_faults(objects: Objects, root: Path, snapshot: Snapshot, deep: bool) -> Iterator[tuple[str, str]]:
    """Yield the faults of a snapshot's objects, each as its kind and a message.

    The mirror is completed first; with `deep`, damaged files of the mirror are fetched again.
    """
    failed = _complete(objects, root, snapshot, deep)
    sizes = objects.sizes()
    for kind, file in _kinds(root, snapshot):
        key = key_of_file(file)
        if key not in sizes:
            yield kind, f"{objects.url}/{key} is missing"
        elif sizes[key] != file.bytes:
            yield kind, f"{objects.url}/{key} has {sizes[key]} bytes, not {file.bytes}"
        elif file in failed:
            yield kind, str(failed[file])


def restore(objects: Objects, root: Path) -> list[str]:
    """Exchange missing files between mirror and object store; return what was done, one line each.

    Files that neither has are left for a repair to rebuild.
    """
    snapshot = snapshots.read(root)
    for file, error in _complete(objects, root, snapshot, deep=True).items():
        if not isinstance(error, Vanished):
            objects.delete([key_of_file(file)])  # its content is wrong
    sizes = objects.sizes()
    lost = [file for _, file in _kinds(root, snapshot) if sizes.get(key_of_file(file)) != file.bytes]
    whole = [file for file in lost if (root / file.path).is_file()]
    send(objects, root, whole)
    return [f"sent {len(whole)} objects again to {objects.url}"] if whole else []


def _complete(objects: Objects, root: Path, snapshot: Snapshot, deep: bool) -> dict[FileRef, StoreError]:
    """Fetch the files of a snapshot that a mirror lacks, with `deep` also damaged ones; return those it cannot get."""
    failed: dict[FileRef, StoreError] = {}
    for _ in ("what it names", "what its inventory names"):
        files = [file for _, file in _kinds(root, snapshot)]
        for file in files if deep else ():
            path = placed(root, file.path)
            if path.is_file() and hash_file(path) != file.hash:
                path.unlink()
        try:
            fetch(objects, root, [file for file in files if file not in failed])
        except StoreError:
            failed |= dict(_fetch_singly(objects, root, files))
    return failed


def _fetch_singly(objects: Objects, root: Path, files: list[FileRef]) -> Iterator[tuple[FileRef, StoreError]]:
    for file in files:
        try:
            fetch(objects, root, [file])
        except StoreError as error:
            yield file, error


def _kinds(root: Path, snapshot: Snapshot) -> Iterator[tuple[str, FileRef]]:
    """Yield the files of a snapshot with their kind, those of its vectors only if its inventory is here."""
    yield from named_files(snapshot)
    if snapshot.inventory and (root / snapshot.inventory.path).exists():
        yield from (("vectors", file) for file in vector_files(root, snapshot))
