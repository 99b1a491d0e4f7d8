"""Write Excel's binary workbooks (.xlsb, MS-XLSB) for tests, with texts and numbers."""

import struct
from collections.abc import Mapping, Sequence

from tests.kit.writers.workbook import Cells, zipped

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET_LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
_BOOK_LINK = f'<Relationship Id="r0" Type="{_OFFICE}" Target="xl/workbook.bin"/>'
_PRINTER = (  # as Excel states it of a workbook that was printed
    '<Override PartName="/xl/printerSettings/printerSettings1.bin"'
    ' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.printerSettings"/>'
)
_BEGIN_BOOK, _END_BOOK, _BEGIN_SHEETS, _END_SHEETS, _SHEET = 0x83, 0x84, 0x8F, 0x90, 0x9C
_BEGIN_SHEET, _END_SHEET, _SIZE, _BEGIN_CELLS, _END_CELLS = 0x81, 0x82, 0x94, 0x91, 0x92
_ROW, _NUMBER, _TEXT = 0x00, 0x05, 0x06


def binary_workbook(sheets: Mapping[str, Cells]) -> bytes:
    """Return a workbook of sheets by their names, none of them empty."""
    numbers = range(1, len(sheets) + 1)
    links = "".join(f'<Relationship Id="r{n}" Type="{_SHEET_LINK}" Target="worksheets/{n}.bin"/>' for n in numbers)
    named = zip(numbers, sheets, strict=True)
    listed = b"".join(_record(_SHEET, struct.pack("<II", 0, n) + _wide(f"r{n}") + _wide(name)) for n, name in named)
    book = _record(_BEGIN_BOOK) + _record(_BEGIN_SHEETS) + listed + _record(_END_SHEETS) + _record(_END_BOOK)
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">{_PRINTER}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{_BOOK_LINK}</Relationships>',
        "xl/_rels/workbook.bin.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>',
        "xl/workbook.bin": book,
    }
    bodies = {f"xl/worksheets/{n}.bin": _sheet(rows) for n, rows in zip(numbers, sheets.values(), strict=True)}
    return zipped(members | bodies)


def _sheet(rows: Cells) -> bytes:
    size = struct.pack("<IIII", 0, len(rows) - 1, 0, len(rows[0]) - 1)
    cells = b"".join(_record(_ROW, struct.pack("<I", row) + bytes(21)) + _row(rows[row]) for row in range(len(rows)))
    inside = _record(_SIZE, size) + _record(_BEGIN_CELLS) + cells + _record(_END_CELLS)
    return _record(_BEGIN_SHEET) + inside + _record(_END_SHEET)


def _row(cells: Sequence[str | float]) -> bytes:
    found = b""
    for column, value in enumerate(cells):
        place = struct.pack("<II", column, 0)
        if isinstance(value, str):
            found += _record(_TEXT, place + _wide(value))
        else:
            found += _record(_NUMBER, place + struct.pack("<d", value))
    return found


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _record(kind: int, data: bytes = b"") -> bytes:
    return _number(kind) + _number(len(data)) + data


def _number(number: int) -> bytes:
    """Return a number in sevens of bits, the lowest first."""
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
