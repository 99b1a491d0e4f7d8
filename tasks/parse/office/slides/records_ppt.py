"""The records of PowerPoint's binary files (MS-PPT): where slides and notes lie, and their shapes' texts."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from docmill.storage.errors import Rejected

DOCUMENT, SLIDE, NOTES, SLIDE_ATOM, SHOW, DRAWING, LIST, PERSIST = 1000, 1006, 1008, 1007, 1017, 1036, 4080, 1011
HEADER, WIDE, NARROW, STYLE, REFERENCE, EDIT, DIRECTORY = 3999, 4000, 4008, 4001, 3998, 4085, 6002
CONTAINER = 0xF002
GROUP, SHAPE, TEXTBOX, ANCHOR, CHILD_ANCHOR, PROPERTIES, TABLE = 0xF003, 0xF004, 0xF00D, 0xF010, 0xF00F, 0xF122, 0x039F
_MAX_EDITS = 1_000
_MAX_DEPTH = 50
_SPARSE = 100  # times as many places as cells: no table that anybody draws
# The fields of a paragraph's format that precede others, by the bits that say whether they are there.
_FIELDS = ((0xF, 2), (0x80, 2), (0x10, 2), (0x40, 2), (0x20, 4), (0x800, 2), (0x1000, 2), (0x2000, 2), (0x4000, 2),
           (0x100, 2), (0x400, 2), (0x8000, 2))  # fmt: skip
_LATER_FIELDS = ((0x10000, 2), (0xE0000, 2), (0x200000, 2))


class Record(NamedTuple):
    """A record's kind and instance, and where its content begins and ends."""

    kind: int
    instance: int
    start: int
    end: int


class Line(NamedTuple):
    """A paragraph: its level from 0, and whether a bullet is stated for it (None: as its master has it)."""

    text: str
    level: int
    bullet: bool | None


@dataclass
class Text:
    """A text: of a title is kind 0 or 6, of a body 1, 5, 7 or 8, of notes 2, other is 4."""

    kind: int
    lines: list[Line] = field(default_factory=list)


def records(stream: bytes, start: int, end: int) -> Iterator[Record]:
    """Yield the records that lie in a span, one after the other; what is cut off ends them."""
    while start + 8 <= end:
        version, kind, length = struct.unpack_from("<HHI", stream, start)
        yield Record(kind, version >> 4, start + 8, min(end, start + 8 + length))
        start += 8 + length


def record_at(stream: bytes, offset: int) -> Record | None:
    """Return the record that begins at an offset."""
    return next(records(stream, offset, len(stream)), None)


def persisted(stream: bytes, edit: int) -> tuple[dict[int, int], int]:
    """Return where each persistent object lies, and the document's identifier, from the last edit back."""
    found: dict[int, int] = {}
    document = 0
    for _ in range(_MAX_EDITS):
        record = record_at(stream, edit)
        if record is None or record.kind != EDIT or record.end - record.start < 20:
            break
        before, directory, own = struct.unpack_from("<III", stream, record.start + 8)
        document = document or own
        table = record_at(stream, directory)
        at = table.start if table and table.kind == DIRECTORY else 0
        while table and at and at + 4 <= table.end:
            head = int.from_bytes(stream[at : at + 4], "little")
            count = min(head >> 20, (table.end - at - 4) // 4)
            for number, offset in enumerate(struct.unpack_from(f"<{count}I", stream, at + 4), head & 0xFFFFF):
                found.setdefault(number, offset)
            at += 4 + 4 * (head >> 20)
        if not before or before >= edit:
            break
        edit = before
    return found, document


def texts(stream: bytes, start: int, end: int, outline: list[Text]) -> list[Text]:
    """Return the texts in a span; `outline` are those that shapes may refer to by their number."""
    found: list[Text] = []
    for record in records(stream, start, end):
        content = stream[record.start : record.end]
        if record.kind == HEADER:
            found.append(Text(int.from_bytes(content[:4], "little")))
        elif record.kind == REFERENCE and int.from_bytes(content[:4], "little") < len(outline):
            found.append(outline[int.from_bytes(content[:4], "little")])
        elif record.kind in (WIDE, NARROW):
            text = content.decode("utf-16-le" if record.kind == WIDE else "latin-1", "replace")
            found = found or [Text(4)]
            found[-1].lines = [Line(line.replace("\v", "\n"), 0, None) for line in text.split("\r")]
        elif record.kind == STYLE and found:
            found[-1].lines = _styled(found[-1].lines, content)
    return found


def _styled(lines: list[Line], style: bytes) -> list[Line]:
    """Return lines with the levels and bullets that a style's runs of characters give them."""
    found, at, covered, level, bullet = list[Line](), 0, 0, 0, None
    position = 0
    for line in lines:
        while covered <= position and at + 10 <= len(style):
            count, level, mask = struct.unpack_from("<IHI", style, at)
            bullet = bool(style[at + 10 : at + 11] != b"" and style[at + 10] & 1) if mask & 1 else None
            at += 10 + sum(size for bits, size in _FIELDS if mask & bits)
            if mask & 0x100000:
                at += 2 + 4 * int.from_bytes(style[at : at + 2], "little")
            at += sum(size for bits, size in _LATER_FIELDS if mask & bits)
            covered += max(count, 1)
        found.append(Line(line.text, min(level, 8), bullet))
        position += len(line.text) + 1
    return found


class Box(NamedTuple):
    """A shape's place, in units of 1/576 inch, and its texts; a table has rows of cells instead."""

    top: int
    left: int
    texts: list[Text]
    rows: list[list[str]]


def boxes(stream: bytes, start: int, end: int, outline: list[Text], depth: int = 0) -> Iterator[Box]:
    """Yield the shapes of a drawing; those of a group stand where the group does."""
    if depth > _MAX_DEPTH:
        raise Rejected("corrupt", f"shapes nested more than {_MAX_DEPTH} deep")
    for record in records(stream, start, end):
        if record.kind == SHAPE:
            yield _box(stream, record, outline)
        elif record.kind == GROUP:
            inner = list(boxes(stream, record.start, record.end, outline, depth + 1))
            first, rest = (inner[0], inner[1:]) if inner else (Box(0, 0, [], []), [])
            if _is_table(stream, record):
                yield first._replace(rows=_rows(rest), texts=[])
            elif depth > 1:
                yield from (box._replace(top=first.top, left=first.left) for box in inner)
            else:
                yield from inner
        elif record.kind == CONTAINER:
            yield from boxes(stream, record.start, record.end, outline, depth + 1)


def _box(stream: bytes, shape: Record, outline: list[Text]) -> Box:
    top = left = 0
    found: list[Text] = []
    for record in records(stream, shape.start, shape.end):
        content = stream[record.start : record.end]
        if record.kind == ANCHOR and len(content) >= 8:
            top, left = struct.unpack_from("<hh" if len(content) < 16 else "<ii", content)
        elif record.kind == CHILD_ANCHOR and len(content) >= 16:
            left, top = struct.unpack_from("<ii", content)
        elif record.kind == TEXTBOX:
            found += texts(stream, record.start, record.end, outline)
    return Box(top, left, found, [])


def _is_table(stream: bytes, group: Record) -> bool:
    shape = next(records(stream, group.start, group.end), None)
    for record in records(stream, shape.start, shape.end) if shape and shape.kind == SHAPE else ():
        if record.kind == PROPERTIES:
            for at in range(record.start, min(record.end, record.start + 6 * record.instance) - 5, 6):
                if int.from_bytes(stream[at : at + 2], "little") & 0x3FFF == TABLE:
                    return True
    return False


def _rows(cells: list[Box]) -> list[list[str]]:
    filled = [cell for cell in cells if cell.texts]
    if len({cell.left for cell in filled}) * len({cell.top for cell in filled}) > _SPARSE * len(filled):
        return [[line.text for text in cell.texts for line in text.lines] for cell in filled]
    columns = {left: at for at, left in enumerate(sorted({cell.left for cell in filled}))}
    rows: dict[int, list[str]] = {}
    for cell in filled:
        row = rows.setdefault(cell.top, [""] * len(columns))
        row[columns[cell.left]] = "\n".join(line.text for text in cell.texts for line in text.lines)
    return [rows[top] for top in sorted(rows)]
