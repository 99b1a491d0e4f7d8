"""Inventory: all files of a snapshot on an object store, including the files of its LanceDB version.

LanceDB numbers its manifests, so two writers may create different files with the same name. Therefore objects are named
by content, and the inventory, itself a file that the snapshot names, maps each file to its object.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, hash_file, write_immutable
from docmill.storage.name_grammar import UnsafeName
from docmill.storage.remote.objects.lance_manifest import version_files
from docmill.storage.remote.objects.transfer import VECTORS
from docmill.storage.snapshots.history.garbage import named_files
from docmill.storage.snapshots.history.snapshots import Snapshot

FOLDER = "inventories"
_REUSED = ("data", "_deletions", "_indices")  # names in these folders are never reused


def with_inventory(root: Path, snapshot: Snapshot, base: Snapshot | None, tag: str) -> Snapshot:
    """Write the inventory of a snapshot's vectors and return the snapshot that names it; `tag` keeps their version."""
    known = {file.path: file for file in vector_files(root, base)} if base and _is_here(root, base) else {}
    rows = [_row(root, path, known) for path in _files(root, snapshot, tag)]
    text = json.dumps(rows, indent=0).encode()
    return replace(snapshot, inventory=write_immutable(root, FOLDER, ".json", lambda path: _write(path, text)))


def _is_here(root: Path, snapshot: Snapshot) -> bool:
    return snapshot.inventory is not None and (root / snapshot.inventory.path).is_file()


def _write(path: Path, text: bytes) -> None:
    path.write_bytes(text)


def _files(root: Path, snapshot: Snapshot, tag: str) -> list[Path]:
    table = root / VECTORS / f"{snapshot.vectors.table}.lance"
    return sorted({*version_files(table, snapshot.vectors.version), table / "_refs" / "tags" / f"{tag}.json"})


def _row(root: Path, path: Path, known: dict[str, FileRef]) -> tuple[str, int, str]:
    name, size = path.relative_to(root).as_posix(), path.stat().st_size
    before = known.get(name)
    if before and before.bytes == size and name.split("/")[2] in _REUSED:
        return name, size, before.hash
    return name, size, hash_file(path)


def vector_files(root: Path, snapshot: Snapshot) -> list[FileRef]:
    """Return the files of a snapshot's LanceDB version; the mirror must have its inventory."""
    if snapshot.inventory is None:
        raise StoreError(f"snapshot {snapshot.number} names no inventory: it was not committed on an object store")
    path = root / snapshot.inventory.path
    try:
        files = [FileRef(*row) for row in json.loads(path.read_bytes())]
        for file in files:
            _check(file, snapshot)
        return files
    except (ValueError, TypeError, UnsafeName) as error:
        raise StoreError(f"{path} is no inventory: {error}; see: docmill verify") from error


def _check(file: FileRef, snapshot: Snapshot) -> None:
    """Raise `UnsafeName` for a file that is not part of the snapshot's table of vectors."""
    if not file.path.startswith(f"{VECTORS}/{snapshot.vectors.table}.lance/"):
        raise UnsafeName(f"it names {file.path}, which is not of the table {snapshot.vectors.table}")


def needed_files(snapshot: Snapshot) -> Iterator[FileRef]:
    """Yield the files that a snapshot names directly."""
    yield from (file for _, file in named_files(snapshot))


def all_files(root: Path, snapshot: Snapshot) -> list[FileRef]:
    """Return all files of a snapshot, including those of its vectors."""
    return [*needed_files(snapshot), *vector_files(root, snapshot)]
