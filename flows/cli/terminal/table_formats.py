"""Table formats: a result of SQL as an aligned table, JSON, CSV, Parquet or an Excel workbook."""

import csv
import io
import math
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docmill.flows.cli.terminal.capabilities import width_of_terminal
from docmill.flows.cli.terminal.output import aligned, as_json_text, for_terminal
from docmill.flows.runs.terminal_safe_text import visible
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.process.extras import extra

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1_048_575, 16_384, 32_767
"""Limits of an Excel sheet: rows below the header, columns, and characters of a cell."""
_FIRST_DAY = datetime(1900, 3, 1)
"""Excel's count of days is wrong before this day and does not exist before 1900, so earlier days become text."""
_MICROSECONDS = 6  # digits of a second in Python's datetime
_DAY, _TIME = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"  # formats of cells with days, and with times, which are in UTC
_EXACT = 1 << 53  # Excel's numbers are floats; an integer beyond this becomes text


class TableFormat(StrEnum):
    """The output format of a table."""

    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"
    xlsx = "xlsx"


BINARY = (TableFormat.parquet, TableFormat.xlsx)
_NAMES_APART = (TableFormat.json, TableFormat.parquet)
_SUFFIXES = {f".{form.value}": form for form in TableFormat if form is not TableFormat.table}


def format_of(chosen: TableFormat | None, output: Path | None) -> TableFormat:
    """Return the format of a table: the chosen one, or else that of the file's suffix.

    Raises `ConfigError` if the suffix names no format.
    """
    if chosen is not None or output is None:
        return chosen or TableFormat.table
    if (form := _SUFFIXES.get(output.suffix.lower())) is None:
        raise ConfigError(
            f"{output}: the suffix must be one of {', '.join(_SUFFIXES)}; or choose a format with --format"
        )
    return form


def render(table: "pa.Table", form: TableFormat, shown: bool = False) -> bytes:
    """Return a table in a format; raise `QueryError` if the format cannot hold it.

    With `shown`, for a terminal, control characters are escaped, and every row of CSV is one line.
    """
    twice = next((name for name in table.column_names if table.column_names.count(name) > 1), "")
    if twice and form in _NAMES_APART:
        raise QueryError(f"{form.value} cannot hold two columns named {twice!r}; rename one of them with AS")
    return _BYTES[form](table) if form in BINARY else _TEXT[form](table, shown).encode()


def _json(table: "pa.Table", shown: bool) -> str:
    text = as_json_text([dict(zip(table.column_names, row, strict=True)) for row in _rows(table)])
    return f"{for_terminal(text) if shown else text}\n"


def _csv(table: "pa.Table", shown: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    spell = visible if shown else str
    for row in [table.column_names, *_words(table)]:
        writer.writerow([spell(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue()


def _table(table: "pa.Table", shown: bool) -> str:
    return f"{aligned(table.column_names, _words(table), width_of_terminal() if shown else None)}\n"


def _rows(table: "pa.Table") -> list[tuple[Any, ...]]:
    from docmill.storage.sql.python_values import columns_of

    return list(zip(*columns_of(table), strict=True))


def _words(table: "pa.Table") -> list[list[Any]]:
    return [[_word(value) for value in row] for row in _rows(table)]


def _word(value: Any) -> Any:
    """Return a boolean as in SQL, and a list or a struct as JSON."""
    return as_json_text(value) if isinstance(value, bool | list | dict) else value


def _parquet(table: "pa.Table") -> bytes:
    from pyarrow import ArrowNotImplementedError, parquet

    data = io.BytesIO()
    try:
        parquet.write_table(table, data)
    except ArrowNotImplementedError as error:
        raise QueryError(f"parquet cannot hold a column ({error}); cast it, as in length::VARCHAR") from None
    return data.getvalue()


def _xlsx(table: "pa.Table") -> bytes:
    """Return a workbook of one sheet with the names in the first row. Text such as `=1+1` stays text."""
    with extra("xlsx", "an Excel file"):
        import xlsxwriter
    if table.num_rows > _MOST_ROWS or table.num_columns > _MOST_COLUMNS:
        raise QueryError(
            f"xlsx holds {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns at most; select fewer, or write .csv"
        )
    data = io.BytesIO()
    with xlsxwriter.Workbook(data, {"in_memory": True}) as book:
        sheet = book.add_worksheet("docmill")
        sheet.freeze_panes(1, 0)
        shapes = [_shape(field.type, book) for field in table.schema]
        for place, (name, shape) in enumerate(zip(table.column_names, shapes, strict=True)):
            sheet.write_string(0, place, name)
            if shape:
                sheet.set_column(place, place, len(shape.num_format) + 1)
        for line, row in enumerate(_rows(table), 1):
            for place, (value, shape) in enumerate(zip(row, shapes, strict=True)):
                if shape and value is not None and (moment := _moment(value)):
                    sheet.write_datetime(line, place, moment, shape)
                else:
                    _write_cell(sheet, line, place, value)
    return data.getvalue()


def _shape(kind: "pa.DataType", book: Any) -> Any:
    """Return the cell format of a column of days or times, or None for other columns."""
    from pyarrow import types

    if types.is_date(kind) or types.is_timestamp(kind):
        return book.add_format({"num_format": _DAY if types.is_date(kind) else _TIME})
    return None


def _moment(text: str) -> datetime | None:
    """Parse a day or a time as SQL writes it; None for one that Excel lacks."""
    try:
        found = datetime.fromisoformat(text.removesuffix("+00"))
    except ValueError:
        return None
    is_exact = len(text.removesuffix("+00").partition(".")[2]) <= _MICROSECONDS
    return found if is_exact and found >= _FIRST_DAY else None


def _write_cell(sheet: Any, line: int, place: int, value: Any) -> None:
    """Write a number, a boolean or a text, but never a formula or a link, whatever the text begins with."""
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(line, place, value)
    elif isinstance(value, int | float | Decimal) and math.isfinite(value) and -_EXACT <= value <= _EXACT:
        sheet.write_number(line, place, value)
    else:
        text = str(_word(value))
        if len(text) > _LONGEST:
            said = f"a cell of {len(text):,} characters in row {line}"
            raise QueryError(
                f"xlsx holds {_LONGEST:,} characters in a cell at most, got {said}; shorten it: left(text, 32767)"
            )
        sheet.write_string(line, place, text)


_TEXT: dict[TableFormat, Callable[["pa.Table", bool], str]] = {
    TableFormat.json: _json,
    TableFormat.csv: _csv,
    TableFormat.table: _table,
}
_BYTES: dict[TableFormat, Callable[["pa.Table"], bytes]] = {TableFormat.parquet: _parquet, TableFormat.xlsx: _xlsx}
