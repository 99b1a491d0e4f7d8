"""Missing files: check that no file of a snapshot is missing, before a command rewrites them."""

from collections.abc import Iterator
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.remote.objects.lance_manifest import named_by_version
from docmill.storage.search.vectors.vectors import FOLDER
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.garbage import named_files


def check_present(stored: StoredSnapshot) -> None:
    """Raise `StoreError` if a file that a snapshot needs is missing; the message names it."""
    for path in _needed(stored):
        if not path.is_file():
            name = path.relative_to(stored.root)
            raise StoreError(f"{name} is missing; rebuild it with: docmill repair --store {stored.folder.name}")


def _needed(stored: StoredSnapshot) -> Iterator[Path]:
    """Yield the files that a snapshot names, and those of its version of the vector table."""
    yield from (stored.root / file.path for _, file in named_files(stored.snapshot))
    vectors = stored.snapshot.vectors
    yield from named_by_version(stored.root / FOLDER / f"{vectors.table}.lance", vectors.version)
