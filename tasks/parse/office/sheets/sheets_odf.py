"""OpenDocument spreadsheets, read from XML: dates and numbers by their values, other cells as displayed."""

import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.sheets.cells import shown_number
from docmill.tasks.parse.office.sheets.sheet import CellBudget, Worksheet
from docmill.tasks.parse.trees import whole

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE_SPACE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_STYLE, _STYLE_NAME = _STYLE_SPACE + "style", _STYLE_SPACE + "name"
_HREF = "{http://www.w3.org/1999/xlink}href"
_TIMES, _ANNOTATION = _TABLE + "number-columns-repeated", _OFFICE + "annotation"
_PARAGRAPH, _LINK = _TEXT + "p", _TEXT + "a"
_NUMBERS = {"float": "", "percentage": "percent", "currency": ""}
"""The kinds of number format of the types whose values are numbers."""
_DIGITS = "0123456789.,-+() '\u00a0\u202f%"  # and what only groups them, or says that they are negative


def read_sheets(container: zipfile.ZipFile, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a workbook in order; repeated cells and rows count each time."""
    sheet, number, hiding = Worksheet(""), 0, set[str]()
    with container.open("content.xml") as stream:
        steps = etree.iterparse(
            stream,
            ("start", "end"),
            tag=(_TABLE + "table", _TABLE + "table-row", _STYLE),
            resolve_entities=False,
            no_network=True,
        )
        for event, node in steps:
            if node.tag == _STYLE:
                if event == "end" and any(one.get(_TABLE + "display") == "false" for one in node):
                    hiding.add(node.get(_STYLE_NAME) or "")
            elif node.tag == _TABLE + "table-row":
                if event == "end":
                    number += _read_row(sheet, number, node, budget)
                    node.clear()
            elif event == "start":
                hidden = node.get(_TABLE + "style-name") in hiding
                sheet, number = Worksheet(node.get(_TABLE + "name") or "", hidden=hidden), 0
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
        number, shown = shown_number(float(value), _NUMBERS[kind]), _lines(cell)
        return shown if kind != "percentage" and _adds_signs(shown, number) else number
    return _lines(cell)


def _adds_signs(shown: str, number: str) -> bool:
    """Return whether a number is shown with all its digits, and with zeros in front, a currency, a unit or a prefix."""
    digits = "".join(filter(str.isdigit, shown))
    added = shown.strip(_DIGITS) != "" or (len(digits) > 1 and digits[0] == "0" and number[:1] not in "0-")
    return added and digits.lstrip("0").startswith("".join(filter(str.isdigit, number)).strip("0"))


def _lines(node: Any) -> str:
    return "\n".join("".join(line.itertext()) for line in node.iterchildren(_PARAGRAPH))


def _count(stated: str | None) -> int:
    """Return the number of repetitions of a cell or row."""
    return max(1, whole(stated, 1))
