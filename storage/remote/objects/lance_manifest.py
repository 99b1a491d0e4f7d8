"""Lance manifest: list the files of a version of a LanceDB table from its manifest."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, pairwise
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.name_grammar import fault, shown
from docmill.storage.search.vectors.lance_messages import (
    MAGIC,
    manifest_in,
    manifest_path,
    messages_of_indices,
    number_in,
    texts_in,
)

# Field numbers, by message.
_FRAGMENTS, _VERSION, _TRANSACTION = 2, 3, 12
_FRAGMENT_ID, _DATA_FILES, _DELETION_FILE = 1, 2, 3
_READ_VERSION, _DELETION_ID = 2, 3
_DATA_PATH = 1
_UUID, _UUID_BYTES = 1, 1

_UUID_GROUPS = (0, 8, 12, 16, 20, None)  # where the groups of hexadecimal digits begin; None is the end


def version_files(table: Path, version: int) -> list[Path]:
    """Return the files of a version of the table in the folder `table`; raise `StoreError` if one is missing."""
    path = manifest_path(table, version)
    if not path.is_file():
        raise StoreError(f"{path} is missing: the version {version} of {table.name}")
    data = path.read_bytes()
    manifest = manifest_in(data)
    found = [path, *_fragments(table, manifest), *_indices(table, data)]
    transactions = [_below(table, "_transactions", name) for name in texts_in(manifest, _TRANSACTION)]
    lost = [file for file in found if not file.is_file()]
    if data[-len(MAGIC) :] != MAGIC or number_in(manifest, _VERSION) != version or lost:
        raise StoreError(f"{path} is not the manifest of version {version}, or {lost[:1]} is missing")
    # A version is complete without the record of its transaction, which only other writers read.
    return [*found, *(file for file in transactions if file.is_file())]


def named_by_version(table: Path, version: int) -> Iterator[Path]:
    """Yield the manifest of a version and the data files that it names, whether they exist or not.

    An unreadable manifest names none, and LanceDB reports what is wrong with it.
    """
    path = manifest_path(table, version)
    yield path
    with suppress(OSError, struct.error, IndexError, UnicodeDecodeError, StoreError):
        data = path.read_bytes()
        yield from _fragments(table, manifest_in(data))


def _fragments(table: Path, manifest: bytes) -> Iterator[Path]:
    for fragment in texts_in(manifest, _FRAGMENTS):
        for file in texts_in(fragment, _DATA_FILES):
            yield from (_below(table, "data", name) for name in texts_in(file, _DATA_PATH))
        for deletion in texts_in(fragment, _DELETION_FILE):
            number, read = number_in(fragment, _FRAGMENT_ID), number_in(deletion, _READ_VERSION)
            stem = f"{number}-{read}-{number_in(deletion, _DELETION_ID)}"
            files = list((table / "_deletions").glob(f"{stem}.*"))
            yield from files or [table / "_deletions" / stem]


def _below(table: Path, folder: str, name: bytes) -> Path:
    """Return the path of a file in a folder of the table; raise `StoreError` if its name points elsewhere."""
    path = f"{folder}/{name.decode('utf-8', 'replace')}"
    if found := fault(path, folder):
        raise StoreError(f"a manifest of {table} names the file {shown(path)}, {found}")
    return table / path


def _indices(table: Path, data: bytes) -> Iterator[Path]:
    """Yield the files of the version's indexes; each index has a folder named by its UUID."""
    for index in messages_of_indices(data):
        for uuid in chain.from_iterable(texts_in(whole, _UUID_BYTES) for whole in texts_in(index, _UUID)):
            folder = table / "_indices" / _spelled(uuid)
            yield from (file for file in folder.rglob("*") if file.is_file())


def _spelled(uuid: bytes) -> str:
    """Return a UUID in its usual five groups of digits."""
    digits = uuid.hex()
    return "-".join(digits[start:end] for start, end in pairwise(_UUID_GROUPS))
