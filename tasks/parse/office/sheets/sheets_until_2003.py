"""Excel until 2003: workbooks by `xlrd`, whose memory is bounded by their cells, and those in XML (2002, 2003)."""

import io
from collections.abc import Iterator
from typing import Any

from docmill.tasks.parse.office.sheets.cells import format_kind, shown_number
from docmill.tasks.parse.office.sheets.sheet import CellBudget, Worksheet
from docmill.tasks.parse.trees import whole, words_in, xml_tree

_SS = "{urn:schemas-microsoft-com:office:spreadsheet}"
_MAX_INDEX = 1_048_576  # rows of a sheet; a damaged file may state any number
_NAMED = {
    "Percent": "0%", "Short Date": "yyyy-mm-dd", "Long Date": "yyyy-mm-dd", "Medium Date": "yyyy-mm-dd",
    "General Date": "yyyy-mm-dd hh:mm", "Short Time": "hh:mm", "Long Time": "hh:mm:ss", "Medium Time": "hh:mm",
    "Euro Currency": "#,##0.00 €",
}  # fmt: skip
"""Number formats that go by a name; others of these only round."""


def read_sheets(data: bytes, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a workbook in order."""
    root = xml_tree(data, recover=True)
    kinds = {style.get(_SS + "ID"): _kind(style.find("{*}NumberFormat")) for style in root.iter("{*}Style")}
    for node in root.iter("{*}Worksheet"):
        sheet = Worksheet(node.get(_SS + "Name") or "")
        sheet.hidden = (node.findtext("{*}WorksheetOptions/{*}Visible") or "SheetVisible") != "SheetVisible"
        number = -1
        for row in node.iterfind("{*}Table/{*}Row"):
            number = _place(row, number)
            _read_row(sheet, number, row, kinds, budget)
            number += whole(row.get(_SS + "Span"), 0)
        yield sheet


def _kind(node: Any) -> str:
    stated = "" if node is None else node.get(_SS + "Format") or ""
    return format_kind(0, _NAMED.get(stated, stated))


def _place(node: Any, before: int) -> int:
    """Return the number of a row or cell, from 0: the stated one, else the next."""
    return min(max(whole(node.get(_SS + "Index"), before + 2) - 1, before + 1), _MAX_INDEX)


def _read_row(sheet: Worksheet, number: int, row: Any, kinds: dict[Any, str], budget: CellBudget) -> None:
    column = -1
    for cell in row.iterfind("{*}Cell"):
        column = _place(cell, column)
        across, down = (min(whole(cell.get(_SS + name), 0), _MAX_INDEX) for name in ("MergeAcross", "MergeDown"))
        text = _text(cell.find("{*}Data"), kinds.get(cell.get(_SS + "StyleID"), ""))
        if text:
            budget.put(sheet, number, column, text)
            if address := cell.get(_SS + "HRef"):
                sheet.links[number, column] = address
        if across or down:
            sheet.merged.append((number, column, number + down, column + across))
        note = cell.find("{*}Comment")
        sheet.notes += filter(None, ["" if note is None else words_in(note)])
        column += across


def _text(data: Any, kind: str) -> str:
    text = "" if data is None else "".join(data.itertext())
    stated = "" if data is None else data.get(_SS + "Type") or ""
    if stated == "DateTime":
        return text.partition(".")[0].replace("T", " ").removesuffix(" 00:00:00")
    if stated == "Boolean":
        return "TRUE" if text.strip() == "1" else "FALSE"
    if stated != "Number":
        return text
    try:
        return shown_number(float(text), kind)
    except ValueError:
        return text


def read_binary_sheets(data: bytes, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a workbook in order."""
    import xlrd

    book = xlrd.open_workbook(
        file_contents=data, formatting_info=True, ragged_rows=True, on_demand=True, logfile=io.StringIO()
    )
    kinds = [_kind_of_style(book, style) for style in book.xf_list]
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


def _kind_of_style(book: Any, style: Any) -> str:
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
