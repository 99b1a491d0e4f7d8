"""Spreadsheets: each sheet is a section of its tables, with cells as displayed by Excel."""

import io
from collections.abc import Iterator
from datetime import date, time, timedelta
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.office.flat_document import open_container
from docmill.tasks.parse.office.open_xml import check_container, core_properties, with_usual_names
from docmill.tasks.parse.office.properties import compound_properties, open_document_properties
from docmill.tasks.parse.office.sheets import sheets_odf, sheets_until_2003, sheets_xml
from docmill.tasks.parse.office.sheets.cells import shown_date, shown_number
from docmill.tasks.parse.office.sheets.sheet import CellBudget, Worksheet, draw_sheet

_BEGINNING = 1_000  # bytes, in which a file of XML has a tag, whatever its encoding


def parse_xlsx(data: bytes, options: ParseOptions) -> Parsed:
    """Return a workbook's sheets as sections; pages are sheet numbers, formulas are their last computed values."""
    with check_container(with_usual_names(data), options.max_unpacked_bytes) as container:
        metadata = core_properties(container)
        if "xl/workbook.bin" in container.NameToInfo:
            return _drawn(_binary_sheets(data, CellBudget(options.max_characters)), metadata)
        return _drawn(sheets_xml.read_sheets(container, CellBudget(options.max_characters)), metadata)


def parse_xls(data: bytes, options: ParseOptions) -> Parsed:
    """Return an old workbook's sheets, or those of its form in XML, as `parse_xlsx` does."""
    if not data.startswith(b"\xd0\xcf") and b"<" in data[:_BEGINNING]:
        return _drawn(sheets_until_2003.read_sheets(data, CellBudget(options.max_characters)), {})
    return _drawn(
        sheets_until_2003.read_binary_sheets(data, CellBudget(options.max_characters)), compound_properties(data)
    )


def parse_ods(data: bytes, options: ParseOptions) -> Parsed:
    """Return an OpenDocument workbook's sheets, as `parse_xlsx` does."""
    with open_container(data, options.max_unpacked_bytes) as container:
        metadata = open_document_properties(container)
        return _drawn(sheets_odf.read_sheets(container, CellBudget(options.max_characters)), metadata)


def _drawn(sheets: Iterator[Worksheet], metadata: dict[str, Any]) -> Parsed:
    canvas, unvalued = Canvas(), 0
    for number, sheet in enumerate(sheets, 1):
        canvas.page = number
        draw_sheet(canvas, sheet)
        unvalued += sheet.unvalued
    if unvalued:
        formulas = "a formula" if unvalued == 1 else f"{unvalued} formulas"
        metadata["read_as"] = f"a workbook without the values of {formulas}, which it does not store"
    return canvas.parsed(metadata.pop("title", ""), metadata)


def _binary_sheets(data: bytes, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a binary workbook, by calamine.

    It is written in Rust, and its panics are not `Exception`s, which would not count as a failure of one document.
    """
    try:
        yield from _calamine_sheets(data, budget)
    except Exception:
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise Rejected("corrupt", f"cannot be read as a workbook: {error}") from error


def _calamine_sheets(data: bytes, budget: CellBudget) -> Iterator[Worksheet]:
    from python_calamine import PasswordError, SheetVisibleEnum, load_workbook

    try:
        book = load_workbook(io.BytesIO(data))
    except PasswordError as error:
        raise Rejected("encrypted", "a workbook that needs a password; give it in [parse.passwords]") from error
    for stated in book.sheets_metadata:
        source = book.get_sheet_by_name(stated.name)
        sheet = Worksheet(stated.name, hidden=stated.visible != SheetVisibleEnum.Visible)
        top, left = source.start or (0, 0)
        rows = source.to_python(skip_empty_area=True) if source.start else ()
        for row, cells in enumerate(rows, top):
            _put_row(sheet, row, dict(enumerate(cells, left)), budget)
        sheet.merged = [(*first, *last) for first, last in source.merged_cell_ranges or ()]
        yield sheet


def _put_row(sheet: Worksheet, row: int, cells: dict[int, Any], budget: CellBudget) -> None:
    for column, value in cells.items():
        if value != "":
            budget.put(sheet, row, column, _shown(value))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, date | time | timedelta):
        return shown_date(value)
    return shown_number(value) if isinstance(value, int | float) else str(value)
