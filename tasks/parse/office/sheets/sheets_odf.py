"""OpenDocument's spreadsheets, read from their XML: what is shown in the cells, dates and numbers by their values."""

import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.sheets.cells import shown_number
from docmill.tasks.parse.office.sheets.sheet import Budget, Sheet

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_HREF = "{http://www.w3.org/1999/xlink}href"


def read_sheets(container: zipfile.ZipFile, budget: Budget) -> Iterator[Sheet]:
    """Yield the sheets of a workbook in order; a cell or row that is repeated counts as often."""
    sheet, number = Sheet(""), 0
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
                sheet, number = Sheet(node.get(_TABLE + "name") or ""), 0
            else:
                yield sheet
                node.clear()


def _read_row(sheet: Sheet, number: int, row: Any, budget: Budget) -> int:
    repeated = _count(row.get(_TABLE + "number-rows-repeated"))
    column = 0
    for cell in row:
        times = _count(cell.get(_TABLE + "number-columns-repeated"))
        text = _shown(cell, sheet)
        link = next(cell.iter(_TEXT + "a"), None) if text else None
        if link is not None and not link.get(_HREF, "#").startswith("#"):
            sheet.links[number, column] = link.get(_HREF)
        for at in range(repeated * times if text else 0):
            budget.put(sheet, number + at // times, column + at % times, text)
        below = _count(cell.get(_TABLE + "number-rows-spanned"))
        if below > 1:
            sheet.merged.append((number, column, number + below - 1, column))
        column += times
    return repeated


def _shown(cell: Any, sheet: Sheet) -> str:
    for note in cell.iterchildren(_OFFICE + "annotation"):
        sheet.notes += filter(None, ["\n".join("".join(line.itertext()) for line in note.iterchildren(_TEXT + "p"))])
    kind = cell.get(_OFFICE + "value-type") or ""
    value = cell.get(_OFFICE + "value") or ""
    if kind == "date" and cell.get(_OFFICE + "date-value"):
        return str(cell.get(_OFFICE + "date-value")).replace("T", " ").removesuffix(" 00:00:00")
    if kind in ("float", "percentage") and value:
        return shown_number(float(value), "percent" if kind == "percentage" else "")
    return "\n".join("".join(line.itertext()) for line in cell.iterchildren(_TEXT + "p"))


def _count(stated: str | None) -> int:
    return max(1, int(stated)) if stated and stated.isdigit() and len(stated) < 9 else 1
