"""What an object store has of a snapshot, held against its mirror."""

from collections.abc import Iterator
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, hash_file
from docmill.storage.history import snapshots
from docmill.storage.history.garbage import named_files
from docmill.storage.history.snapshots import Snapshot
from docmill.storage.mirror.inventory import vector_files
from docmill.storage.objects.bucket import Objects, Vanished
from docmill.storage.objects.transfer import fetch, key_of_file, send


def far_faults(objects: Objects, root: Path, snapshot: Snapshot, deep: bool) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the objects of a snapshot: its kind and a message.

    The mirror is completed first; with `deep` its files that are damaged are fetched again.
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
    """Bring mirror and object store in line: each gets again what only the other has whole; say what was done.

    What neither has is for others to rebuild.
    """
    snapshot = snapshots.read(root)
    for file, error in _complete(objects, root, snapshot, deep=True).items():
        if not isinstance(error, Vanished):
            objects.delete([key_of_file(file)])  # of another content
    sizes = objects.sizes()
    lost = [file for _, file in _kinds(root, snapshot) if sizes.get(key_of_file(file)) != file.bytes]
    whole = [file for file in lost if (root / file.path).is_file()]
    send(objects, root, whole)
    return [f"sent {len(whole)} objects again to {objects.url}"] if whole else []


def _complete(objects: Objects, root: Path, snapshot: Snapshot, deep: bool) -> dict[FileRef, StoreError]:
    """Fetch what a mirror lacks of a snapshot, and with `deep` what is damaged there; return what cannot be had."""
    failed: dict[FileRef, StoreError] = {}
    for _ in ("what it names", "what its inventory names"):
        files = [file for _, file in _kinds(root, snapshot)]
        for file in files if deep else ():
            path = root / file.path
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
    """Yield the files of a snapshot with their kind, those of its vectors if its inventory is there."""
    yield from named_files(snapshot)
    if snapshot.inventory and (root / snapshot.inventory.path).exists():
        yield from (("vectors", file) for file in vector_files(root, snapshot))
