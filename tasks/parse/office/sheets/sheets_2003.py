"""Excel's XML of 2002 and 2003, whose cells and rows state their places only where some before them are left out."""

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
