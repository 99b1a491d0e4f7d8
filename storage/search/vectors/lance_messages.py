"""Lance messages: read the protocol buffer messages in LanceDB's files by field number.

Layout and fields: https://lance.org/format/table (protos/table.proto). A manifest is such a message, too; the last 16
bytes of its file say where it starts.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from docmill.storage.errors import StoreError

MAGIC = b"LANC"
_FOOTER = struct.Struct("<QHH4s")  # offset of the manifest, major and minor version, magic
_LENGTH = struct.Struct("<I")  # precedes each message
_NEWEST = (1 << 64) - 1
"""LanceDB names a manifest by this number minus its version, so that a listing begins with the newest version."""

_INDEX_SECTION, _INDICES = 6, 1  # fields of a manifest, and of the index section

# Wire types, and the bits of a key and of a byte of a number: https://protobuf.dev/programming-guides/encoding
_NUMBER, _EIGHT_BYTES, _TEXT, _FOUR_BYTES = 0, 1, 2, 5
_FIXED_SIZES = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_KIND_BITS, _KIND_MASK = 3, 0b111
_VALUE_BITS, _VALUE_MASK, _MORE = 7, 0x7F, 0x80


def manifest_path(table: Path, version: int) -> Path:
    """Return the path of the manifest of a version of the table in the folder `table`."""
    return table / "_versions" / f"{_NEWEST - version:020}.manifest"


def manifest_in(data: bytes) -> bytes:
    """Return the message in the bytes of a manifest's file."""
    return _message_at(data, _FOOTER.unpack_from(data, len(data) - _FOOTER.size)[0])


def messages_of_indices(data: bytes) -> Iterator[bytes]:
    """Yield the message of each index, or part of one, in the bytes of a manifest's file."""
    for field, value in fields_in(manifest_in(data)):
        if field == _INDEX_SECTION and isinstance(value, int):
            yield from texts_in(_message_at(data, value), _INDICES)


def _message_at(data: bytes, place: int) -> bytes:
    """Return the message at `place`, where its length precedes it."""
    (size,) = _LENGTH.unpack_from(data, place)
    return data[place + _LENGTH.size : place + _LENGTH.size + size]


def texts_in(message: bytes, wanted: int) -> Iterator[bytes]:
    """Yield the texts, bytes or messages of a field."""
    return (value for field, value in fields_in(message) if field == wanted and isinstance(value, bytes))


def number_in(message: bytes, wanted: int) -> int:
    """Return a number, or 0 if the field is absent."""
    # Protocol buffers leave out a number that is 0.
    return next((value for field, value in fields_in(message) if field == wanted and isinstance(value, int)), 0)


def numbers_in(message: bytes, wanted: int) -> list[int]:
    """Return the numbers of a field that has several."""
    found = list[int]()
    for packed in texts_in(message, wanted):
        at = 0
        while at < len(packed):
            value, at = _varint(packed, at)
            found.append(value)
    return found


def fields_in(message: bytes) -> Iterator[tuple[int, int | bytes]]:
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
            raise StoreError(f"not a file of LanceDB: wire type {kind}")
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
