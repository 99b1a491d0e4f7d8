"""Write presentations of PowerPoint 97 (MS-PPT) of a few records, for tests and samples."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tests.kit.writers.compound import compound_file


@dataclass(frozen=True)
class Box:
    """A text box: where it stands, its lines with their levels, and the kind of its text (0 title, 1 body, 4 other)."""

    lines: Sequence[str | tuple[str, int]]
    kind: int = 4
    top: int = 0
    left: int = 0


@dataclass(frozen=True)
class Table:
    """A table of cells."""

    cells: Sequence[Sequence[str]]
    top: int = 2_000


@dataclass(frozen=True)
class Slide:
    """A slide: what is on it, its notes, and whether it is hidden; `outline` is text that the document keeps for it."""

    shapes: Sequence[Box | Table]
    notes: str = ""
    hidden: bool = False
    outline: Sequence[Box] = ()


def old_slides(slides: Sequence[Slide]) -> bytes:
    """Return a presentation."""
    kept, listed, noted = list[bytes](), b"", b""
    for number, slide in enumerate(slides, 256):
        notes = number if slide.notes else 0
        listed += record(1011, struct.pack("<IIiII", len(kept) + 2, 0, 0, number, 0))
        listed += b"".join(_text(box) for box in slide.outline)
        kept.append(_slide(slide, notes))
        if notes:
            noted += record(1011, struct.pack("<IIiII", len(kept) + 2, 0, 0, notes, 0))
            kept.append(record(1008, record(1036, _drawing([Box([slide.notes], 2)])), 0, 15))
    document = record(4080, listed, 0, 15) + record(4080, noted, 2, 15)
    kept = [record(1000, document, 0, 15), *kept]
    offsets = [sum(map(len, kept[:at])) for at in range(len(kept))]
    stream = b"".join(kept)
    directory = record(6002, struct.pack(f"<{len(kept) + 1}I", len(kept) << 20 | 1, *offsets))
    edit = record(4085, struct.pack("<IHBBIIIIHH", 0, 0, 0, 3, 0, len(stream), 1, len(kept) + 1, 0, 0))
    user = record(4086, struct.pack("<III", 20, 0xE391C05F, len(stream) + len(directory)) + bytes(8))
    return compound_file({"Current User": user, "PowerPoint Document": stream + directory + edit})


def record(kind: int, data: bytes = b"", instance: int = 0, version: int = 0) -> bytes:
    """Return a record; those of version 15 contain others."""
    return struct.pack("<HHI", instance << 4 | version, kind, len(data)) + data


def _slide(slide: Slide, notes: int) -> bytes:
    atom = record(1007, bytes(12) + struct.pack("<IIHH", 0, notes, 0, 0))
    show = record(1017, bytes(10) + struct.pack("<HI", 4 * slide.hidden, 0))
    return record(1006, atom + show + record(1036, _drawing(slide.shapes), 0, 15), 0, 15)


def _drawing(shapes: Sequence[Box | Table]) -> bytes:
    inner = record(0xF004, b"", 0, 15) + b"".join(_box(one) if isinstance(one, Box) else _table(one) for one in shapes)
    return record(0xF002, record(0xF003, inner, 0, 15), 0, 15)


def _box(box: Box) -> bytes:
    anchor = record(0xF010, struct.pack("<hhhh", box.top, box.left, box.left + 9, box.top + 9))
    return record(0xF004, anchor + record(0xF00D, _text(box), 0, 15), 0, 15)


def _table(table: Table) -> bytes:
    property_of_table = record(0xF122, struct.pack("<HI", 0x039F, 1), 1)
    inner = record(0xF004, record(0xF010, struct.pack("<hhhh", table.top, 0, 9, 9)) + property_of_table, 0, 15)
    for row, cells in enumerate(table.cells):
        for column, text in enumerate(cells):
            anchor = record(0xF00F, struct.pack("<iiii", column * 100, row * 50, 9, 9))
            inner += record(0xF004, anchor + record(0xF00D, _text(Box([text])), 0, 15), 0, 15)
    return record(0xF003, inner, 0, 15)


def _text(box: Box) -> bytes:
    lines = [line if isinstance(line, tuple) else (line, 0) for line in box.lines]
    text = "\r".join(line for line, _ in lines)
    runs = b"".join(struct.pack("<IHIH", len(line) + 1, level, 0x0800, 0) for line, level in lines)
    wide = record(4000, text.encode("utf-16-le")) if not text.isascii() else record(4008, text.encode())
    return record(3999, struct.pack("<I", box.kind)) + wide + record(4001, runs)
