"""Excel workbooks of up to 2003, by `xlrd`, whose memory is bounded by their cells, however damaged they are."""

import io
from collections.abc import Iterator
from typing import Any

from docmill.tasks.parse.office.sheets.cells import format_kind, shown_number
from docmill.tasks.parse.office.sheets.sheet import CellBudget, Worksheet


def read_sheets(data: bytes, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a workbook in order."""
    import xlrd

    book = xlrd.open_workbook(
        file_contents=data, formatting_info=True, ragged_rows=True, on_demand=True, logfile=io.StringIO()
    )
    kinds = [_kind(book, style) for style in book.xf_list]
    for number in range(book.nsheets):
        source = book.sheet_by_index(number)
        sheet = Worksheet(source.name, hidden=bool(source.visibility))
        for row, column, text in _cells(source, kinds, bool(book.datemode)):
            budget.put(sheet, row, column, text)
        sheet.merged = [(top, left, bottom - 1, right - 1) for top, bottom, left, right in source.merged_cells]
        sheet.notes = [note.text for _, note in sorted(source.cell_note_map.items()) if note.text.strip()]
        book.unload_sheet(number)  # else xlrd keeps every sheet to the end
        yield sheet


def _cells(source: Any, kinds: list[str], from_1904: bool) -> Iterator[tuple[int, int, str]]:
    """Yield row, column and text of each filled cell."""
    for row in range(source.nrows):
        for column, cell in enumerate(source.row(row)):
            text = _shown(cell, kinds, from_1904)
            if text:
                yield row, column, text


def _kind(book: Any, style: Any) -> str:
    """Return the kind of number format of a cell style."""
    stated = book.format_map.get(style.format_key)
    return format_kind(style.format_key, stated.format_str if stated else "")


def _shown(cell: Any, kinds: list[str], from_1904: bool) -> str:
    import xlrd

    if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
        style = cell.xf_index or 0
        return shown_number(cell.value, kinds[style] if style < len(kinds) else "", from_1904)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, "#N/A"))
    return str(cell.value)
