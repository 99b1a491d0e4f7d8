"""Question table: the rows of a CSV file or a workbook, each with its line, before anything is made of them.

A file is read as it was saved: separated by commas, semicolons or tabs, in UTF-8 or in the UTF-16 of Excel's "Unicode
text".
"""

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from docmill.storage.errors import QueryError

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_SEPARATORS = (",", ";", "\t")
"""Between two fields. Excel writes semicolons where a comma is the decimal sign."""
_FIELD_LIMIT = 10_000_000
"""Maximum characters of a CSV field: a passage may be as long as a document, and Python's limit is 131,072."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ASKS = "question"


class TableRow(NamedTuple):
    """A row below the header: its place in the file, for a person, and its fields by the name of the column.

    `fault` says why the fields cannot be told apart, or is "".
    """

    place: str
    fields: dict[str, str]
    fault: str = ""


def rows_of(path: Path) -> tuple[list[str], Iterator[TableRow]]:
    """Return the names of the columns, in lower case, and the rows of a table; rows without a value are left out.

    Raises `QueryError` if the file cannot be read as a table.
    """
    lines = _sheet(path) if path.suffix.lower() in WORKBOOKS else _lines(path, text_of(path))
    _, header = next(lines, ("", []))
    names = [name.strip().lower() for name in header]
    return names, (_row(at, names, cells) for at, cells in lines if any(map(str.strip, cells)))


def has_questions(path: Path) -> bool:
    """Return whether the first line of a text names a column `question`."""
    return _ASKS in _names(text_of(path), _separator(text_of(path)))


def text_of(path: Path) -> str:
    """Return the text of a file with its line ends, without a byte order mark; raise `QueryError` if it is none."""
    data = path.read_bytes()
    coding = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"
    try:
        return data.decode(coding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        name = "UTF-16" if coding == "utf-16" else "UTF-8"
        said = f"not {name} ({error.reason} at byte {error.start}, line {line})"
        raise QueryError(f"{path}: {said}; save it as UTF-8") from None


def _row(place: str, names: Sequence[str], cells: Sequence[str]) -> TableRow:
    fields = {name: cells[at] if at < len(cells) else "" for at, name in enumerate(names)}
    if not any(map(str.strip, cells[len(names) :])):
        return TableRow(place, fields)
    fault = f"{len(cells)} fields, the header has {len(names)}; put a field with a separator between quotation marks"
    return TableRow(place, fields, fault)


def _separator(text: str) -> str:
    """Return what separates the fields: with it, a column is named `question`."""
    return next((one for one in _SEPARATORS if _ASKS in _names(text, one)), _SEPARATORS[0])


def _names(text: str, separator: str) -> list[str]:
    first = text.lstrip("\r\n").splitlines()[:1]
    return [name.strip().lower() for name in next(csv.reader(first, delimiter=separator), [])]


def _lines(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the records of a CSV file, each with the line on which it begins."""
    csv.field_size_limit(_FIELD_LIMIT)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text))
    begins = 1
    try:
        for row in rows:
            if row:
                yield f"line {begins}", row
            begins = rows.line_num + 1
    except csv.Error as error:
        raise QueryError(f"{path} after line {begins - 1}: {error}") from None


def _sheet(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of the first sheet of a workbook with a column `question`, else of the first one."""
    from python_calamine import CalamineError, load_workbook

    data = path.read_bytes()
    try:
        book = load_workbook(io.BytesIO(data))
        sheets = [(name, book.get_sheet_by_name(name).to_python(skip_empty_area=False)) for name in book.sheet_names]
    except CalamineError as error:
        raise QueryError(f"{path}: cannot be read as a workbook: {error}") from None
    tables = [_filled(name, rows) for name, rows in sheets]
    return iter(next((rows for rows in tables if _asks(rows)), next(iter(tables), [])))


def _filled(name: str, rows: Sequence[Sequence[object]]) -> list[tuple[str, list[str]]]:
    """Return the rows of a sheet that have a value, each with its place."""
    placed = [(f"sheet {name!r} row {number}", [*map(_cell, row)]) for number, row in enumerate(rows, start=1)]
    return [(place, cells) for place, cells in placed if any(cells)]


def _asks(rows: Sequence[tuple[str, Sequence[str]]]) -> bool:
    return bool(rows) and _ASKS in [cell.strip().lower() for cell in rows[0][1]]


def _cell(value: object) -> str:
    """Return a cell as text; every number of a workbook is a float, and an id is a whole one."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
