"""OpenDocument spreadsheets, read from XML: dates and numbers by their values, other cells as displayed."""

import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.sheets.cells import shown_number
from docmill.tasks.parse.office.sheets.sheet import CellBudget, Worksheet

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_TIMES, _ANNOTATION = _TABLE + "number-columns-repeated", _OFFICE + "annotation"
_PARAGRAPH, _LINK = _TEXT + "p", _TEXT + "a"
_NUMBERS = {"float": "", "percentage": "percent"}
"""The kinds of number format of the types whose values are numbers."""
_MAX_COUNT_DIGITS = 8
"""Digits of a count of repetitions. Sheets have 1 048 576 rows, and their empty end is stated as one row repeated, so
seven are needed; a damaged file may hold any number of them."""


def read_sheets(container: zipfile.ZipFile, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a workbook in order; repeated cells and rows count each time."""
    sheet, number = Worksheet(""), 0
    with container.open("content.xml") as stream:
        steps = etree.iterparse(
            stream,
            ("start", "end"),
            tag=(_TABLE + "table", _TABLE + "table-row"),
            resolve_entities=False,
            no_network=True,
        )
        for event, node in steps:
            if node.tag == _TABLE + "table-row":
                if event == "end":
                    number += _read_row(sheet, number, node, budget)
                    node.clear()
            elif event == "start":
                sheet, number = Worksheet(node.get(_TABLE + "name") or ""), 0
            else:
                yield sheet
                node.clear()


def _read_row(sheet: Worksheet, number: int, row: Any, budget: CellBudget) -> int:
    repeated = _count(row.get(_TABLE + "number-rows-repeated"))
    column = 0
    for cell in row:
        times = _count(cell.get(_TIMES))
        for note in cell.iterchildren(_ANNOTATION):
            sheet.notes += filter(None, [_lines(note)])
        text = _shown(cell)
        link = next(cell.iter(_LINK), None) if text else None
        if link is not None and _is_address(link):
            sheet.links[number, column] = link.get(_HREF)
        # Only filled cells are repeated: blank ones fill the rest of a sheet.
        for at in range(repeated * times if text else 0):
            budget.put(sheet, number + at // times, column + at % times, text)
        below = _count(cell.get(_TABLE + "number-rows-spanned"))
        if below > 1:
            sheet.merged.append((number, column, number + below - 1, column))
        column += times
    return repeated


def _is_address(link: Any) -> bool:
    """Return whether a link is external."""
    return not link.get(_HREF, "#").startswith("#")


def _shown(cell: Any) -> str:
    kind = cell.get(_OFFICE + "value-type") or ""
    value = cell.get(_OFFICE + "value") or ""
    if kind == "date" and cell.get(_OFFICE + "date-value"):
        return str(cell.get(_OFFICE + "date-value")).replace("T", " ").removesuffix(" 00:00:00")
    if kind in _NUMBERS and value:
        return shown_number(float(value), _NUMBERS[kind])
    return _lines(cell)


def _lines(node: Any) -> str:
    return "\n".join("".join(line.itertext()) for line in node.iterchildren(_PARAGRAPH))


def _count(stated: str | None) -> int:
    """Return the number of repetitions of a cell or row: 1 if it is not a number or too long."""
    return max(1, int(stated)) if stated and stated.isdecimal() and len(stated) <= _MAX_COUNT_DIGITS else 1
