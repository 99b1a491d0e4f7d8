"""Lance manifest: list the files of one version of a LanceDB table.

Layout and fields: https://lance.org/format/table (protos/table.proto). A manifest is a protocol buffer message; the
last 16 bytes of the file say where it starts.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, pairwise
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.name_grammar import fault, shown

_MAGIC = b"LANC"
_FOOTER = struct.Struct("<QHH4s")  # offset of the manifest, major and minor version, magic
_LENGTH = struct.Struct("<I")  # precedes each message
_NEWEST = (1 << 64) - 1
"""LanceDB names a manifest by this number minus its version, so that a listing begins with the newest version."""

# Field numbers, by message.
_FRAGMENTS, _VERSION, _INDEX_SECTION, _TRANSACTION = 2, 3, 6, 12
_FRAGMENT_ID, _DATA_FILES, _DELETION_FILE = 1, 2, 3
_READ_VERSION, _DELETION_ID = 2, 3
_DATA_PATH = 1
_INDICES, _UUID, _UUID_BYTES = 1, 1, 1

_UUID_GROUPS = (0, 8, 12, 16, 20, None)  # where the groups of hexadecimal digits begin; the last is open

# Wire types, and the bits of a key and of a byte of a number: https://protobuf.dev/programming-guides/encoding
_NUMBER, _EIGHT_BYTES, _TEXT, _FOUR_BYTES = 0, 1, 2, 5
_FIXED_SIZES = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_KIND_BITS, _KIND_MASK = 3, 0b111
_VALUE_BITS, _VALUE_MASK, _MORE = 7, 0x7F, 0x80


def version_files(table: Path, version: int) -> list[Path]:
    """Return the files of a version of the table in the folder `table`; raise `StoreError` if one is missing."""
    path = _manifest_path(table, version)
    if not path.is_file():
        raise StoreError(f"{path} is missing: the version {version} of {table.name}")
    data = path.read_bytes()
    manifest = _message(data, _FOOTER.unpack_from(data, len(data) - _FOOTER.size)[0])
    found = [path, *_fragments(table, manifest), *_indices(table, data, manifest)]
    transactions = [_below(table, "_transactions", name) for name in _texts(manifest, _TRANSACTION)]
    lost = [file for file in found if not file.is_file()]
    if data[-len(_MAGIC) :] != _MAGIC or _number(manifest, _VERSION) != version or lost:
        raise StoreError(f"{path} is not the manifest of version {version}, or {lost[:1]} is missing")
    # A version is whole without the record of its transaction, which nothing reads but other writers.
    return [*found, *(file for file in transactions if file.is_file())]


def named_by_version(table: Path, version: int) -> Iterator[Path]:
    """Yield the manifest of a version and the data files that it names, whether they are there or not.

    A manifest that cannot be read names none: LanceDB says what is wrong with it.
    """
    path = _manifest_path(table, version)
    yield path
    with suppress(OSError, struct.error, IndexError, UnicodeDecodeError, StoreError):
        data = path.read_bytes()
        yield from _fragments(table, _message(data, _FOOTER.unpack_from(data, len(data) - _FOOTER.size)[0]))


def _manifest_path(table: Path, version: int) -> Path:
    return table / "_versions" / f"{_NEWEST - version:020}.manifest"


def _fragments(table: Path, manifest: bytes) -> Iterator[Path]:
    for fragment in _texts(manifest, _FRAGMENTS):
        for file in _texts(fragment, _DATA_FILES):
            yield from (_below(table, "data", name) for name in _texts(file, _DATA_PATH))
        for deletion in _texts(fragment, _DELETION_FILE):
            number, read = _number(fragment, _FRAGMENT_ID), _number(deletion, _READ_VERSION)
            stem = f"{number}-{read}-{_number(deletion, _DELETION_ID)}"
            files = list((table / "_deletions").glob(f"{stem}.*"))
            yield from files or [table / "_deletions" / stem]


def _below(table: Path, folder: str, name: bytes) -> Path:
    """Return the path of a file in a folder of the table; raise `StoreError` if its name leads elsewhere."""
    path = f"{folder}/{name.decode('utf-8', 'replace')}"
    if found := fault(path, folder):
        raise StoreError(f"a manifest of {table} names the file {shown(path)}, {found}")
    return table / path


def _indices(table: Path, data: bytes, manifest: bytes) -> Iterator[Path]:
    """Yield the files of the version's indexes; each index has a folder named by its UUID."""
    for section in _index_sections(data, manifest):
        for index in _texts(section, _INDICES):
            for uuid in chain.from_iterable(_texts(whole, _UUID_BYTES) for whole in _texts(index, _UUID)):
                folder = table / "_indices" / _spelled(uuid)
                yield from (file for file in folder.rglob("*") if file.is_file())


def _spelled(uuid: bytes) -> str:
    """Return a UUID in its usual five groups of digits."""
    digits = uuid.hex()
    return "-".join(digits[start:end] for start, end in pairwise(_UUID_GROUPS))


def _index_sections(data: bytes, manifest: bytes) -> Iterator[bytes]:
    for field, value in _fields(manifest):
        if field == _INDEX_SECTION and isinstance(value, int):
            yield _message(data, value)


def _message(data: bytes, place: int) -> bytes:
    """Return the message at `place`, where its length precedes it."""
    (size,) = _LENGTH.unpack_from(data, place)
    return data[place + _LENGTH.size : place + _LENGTH.size + size]


def _texts(message: bytes, wanted: int) -> Iterator[bytes]:
    return (value for field, value in _fields(message) if field == wanted and isinstance(value, bytes))


def _number(message: bytes, wanted: int) -> int:
    """Return a number, or 0 if the field is absent."""
    # Protocol buffers leave out a number that is 0.
    return next((value for field, value in _fields(message) if field == wanted and isinstance(value, int)), 0)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protocol buffer message by number, undecoded."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & _KIND_MASK
        if kind == _NUMBER:
            value, at = _varint(message, at)
            yield key >> _KIND_BITS, value
            continue
        size = _FIXED_SIZES.get(kind)
        if kind == _TEXT:
            size, at = _varint(message, at)
        if size is None:
            raise StoreError(f"not a manifest of LanceDB: wire type {kind}")
        yield key >> _KIND_BITS, message[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & _VALUE_MASK) << shift
        if not byte & _MORE:
            return value, at
        shift += _VALUE_BITS
