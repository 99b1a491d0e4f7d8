"""dBase: the fields and the records of a `.dbf` file, as dBase III to 5, FoxPro and shapefiles write them."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.datasets.data_table import draw_table
from docmill.tasks.parse.format import ParseOptions

_HEADER = struct.Struct("<BBBBIHH")  # version, year, month, day, records, bytes of the header and of a record
_FIELDS = 32  # where the fields' descriptors begin, and how long each is
_LANGUAGE = 29  # the byte of the header that names the code page
_END_OF_FIELDS = 0x0D
_DELETED = b"*"
_KINDS = {
    "C": "text", "N": "number", "F": "number", "D": "date", "L": "yes or no", "M": "memo", "I": "integer",
    "B": "number", "T": "time", "Y": "money", "G": "object", "V": "text", "O": "number", "+": "integer",
}  # fmt: skip
_CODE_PAGES = {
    0x01: "cp437", 0x02: "cp850", 0x03: "cp1252", 0x57: "cp1252", 0x64: "cp852", 0xC8: "cp1250", 0xC9: "cp1251",
}  # fmt: skip
_YEARS = 1900  # what a two-figure year is added to


class DbaseField(NamedTuple):
    """A field: its name, its type's letter, and its length in bytes."""

    name: str
    kind: str
    length: int


def parse_dbf(data: bytes, _: ParseOptions) -> Parsed:
    """Return a table of the records that are not deleted; memos, which are in another file, are left out."""
    if len(data) < _FIELDS:
        raise Rejected("corrupt", f"{len(data)} bytes are less than a dbf file's header")
    _, year, month, day, count, begin, length = _HEADER.unpack_from(data)
    fields = _fields(data[_FIELDS:begin])
    if not fields or length <= sum(field.length for field in fields):
        raise Rejected("corrupt", "the dbf file's header states no fields, or records that are too short for them")
    records = min(count, max(len(data) - begin, 0) // length)
    held = data[begin : begin + records * length]
    encoding = _CODE_PAGES.get(data[_LANGUAGE]) or _guessed(held)
    rows = [*_records(held, length, fields, encoding)]
    canvas = Canvas()
    draw_table(canvas, "Columns", [(field.name, _KINDS.get(field.kind, "")) for field in fields], rows, len(rows))
    facts = {"rows": len(rows), "modified": f"{_YEARS + year:04}-{month:02}-{day:02}"}
    return canvas.parsed("", facts | ({"missing_rows": count - records} if records < count else {}))


def _guessed(data: bytes) -> str:
    """Return the encoding of a file that names none."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _fields(described: bytes) -> list[DbaseField]:
    fields = []
    for at in range(0, len(described) - _FIELDS + 1, _FIELDS):
        if described[at] == _END_OF_FIELDS:
            break
        name = described[at : at + 11].partition(b"\0")[0].decode("ascii", "replace").strip()
        fields.append(DbaseField(name, chr(described[at + 11]), described[at + 16]))
    return fields


def _records(data: bytes, length: int, fields: list[DbaseField], encoding: str) -> Iterator[list[str]]:
    for at in range(0, len(data), length):
        if data[at : at + 1] == _DELETED:
            continue
        row, begin = [], at + 1
        for field in fields:
            row.append(_value(data[begin : begin + field.length], field.kind, encoding))
            begin += field.length
        yield row


def _value(raw: bytes, kind: str, encoding: str) -> str:
    if kind in "I+" and len(raw) == 4:
        return str(int.from_bytes(raw, "little", signed=True))
    if kind in "BOTYGM":
        return ""  # binary, or the number of a block in another file
    text = raw.decode(encoding, "replace").strip(" \0")
    return f"{text[:4]}-{text[4:6]}-{text[6:]}" if kind == "D" and len(text) == 8 else text
