"""Which files of a LanceDB table one of its versions consists of, read from the version's manifest.

Layout and fields: https://lance.org/format/table (protos/table.proto): a message of protocol buffers whose place stands
in the last 16 bytes of the file.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from docmill.storage.errors import StoreError

_MAGIC = b"LANC"
_NEWEST = (1 << 64) - 1
# Numbers of fields, by message.
_FRAGMENTS, _VERSION, _INDEX_SECTION, _TRANSACTION = 2, 3, 6, 12
_FRAGMENT_ID, _DATA_FILES, _DELETION_FILE = 1, 2, 3
_READ_VERSION, _DELETION_ID = 2, 3


def version_files(table: Path, version: int) -> list[Path]:
    """Return the files of a version of the table in the folder `table`; raise `StoreError` where one is missing."""
    path = table / "_versions" / f"{_NEWEST - version:020}.manifest"
    if not path.is_file():
        raise StoreError(f"{path} is missing: the version {version} of {table.name}")
    data = path.read_bytes()
    manifest = _message(data, struct.unpack_from("<Q", data, len(data) - 16)[0])
    found = [path, *_fragments(table, manifest), *_indices(table, data, manifest)]
    transactions = [table / "_transactions" / name.decode() for name in _texts(manifest, _TRANSACTION)]
    lost = [file for file in found if not file.is_file()]
    if data[-4:] != _MAGIC or _number(manifest, _VERSION) != version or lost:
        raise StoreError(f"{path} is not the manifest of version {version}, or {lost[:1]} is missing")
    return [*found, *(file for file in transactions if file.is_file())]


def _fragments(table: Path, manifest: bytes) -> Iterator[Path]:
    for fragment in _texts(manifest, _FRAGMENTS):
        for file in _texts(fragment, _DATA_FILES):
            yield from (table / "data" / name.decode() for name in _texts(file, 1))
        for deletion in _texts(fragment, _DELETION_FILE):
            number, read = _number(fragment, _FRAGMENT_ID), _number(deletion, _READ_VERSION)
            stem = f"{number}-{read}-{_number(deletion, _DELETION_ID)}"
            files = list((table / "_deletions").glob(f"{stem}.*"))
            yield from files or [table / "_deletions" / stem]


def _indices(table: Path, data: bytes, manifest: bytes) -> Iterator[Path]:
    for place in (value for field, value in _fields(manifest) if field == _INDEX_SECTION and isinstance(value, int)):
        for index in _texts(_message(data, place), 1):
            for uuid in (part for whole in _texts(index, 1) for part in _texts(whole, 1)):
                text = uuid.hex()
                name = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
                yield from (file for file in (table / "_indices" / name).rglob("*") if file.is_file())


def _message(data: bytes, place: int) -> bytes:
    (size,) = struct.unpack_from("<I", data, place)
    return data[place + 4 : place + 4 + size]


def _texts(message: bytes, wanted: int) -> Iterator[bytes]:
    return (value for field, value in _fields(message) if field == wanted and isinstance(value, bytes))


def _number(message: bytes, wanted: int) -> int:
    """Return a number, 0 where it is not written."""
    return next((value for field, value in _fields(message) if field == wanted and isinstance(value, int)), 0)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message of protocol buffers by number, undecoded."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if kind == 2:
            size, at = _varint(message, at)
        if size is None:
            raise StoreError(f"not a manifest of LanceDB: wire type {kind}")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7
