"""Spreadsheets: each sheet is a section with its tables, and cells are shown as in Excel.

OpenDocument workbooks and Excel's XML of 2002 and 2003 are read from their XML, other ones from before 2007 by `xlrd`,
whose memory is bounded by their cells, and binary ones by calamine.
"""

import io
import zipfile
from collections.abc import Iterable, Iterator
from datetime import date, time, timedelta
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.office.flat_document import open_container
from docmill.tasks.parse.office.open_xml import core_properties, open_office, pictures_in
from docmill.tasks.parse.office.properties import compound_properties, open_document_properties
from docmill.tasks.parse.office.sheets import sheets_xml
from docmill.tasks.parse.office.sheets.cells import format_kind, shown_date, shown_number
from docmill.tasks.parse.office.sheets.open_objects import BOXES, OBJECT, open_charts
from docmill.tasks.parse.office.sheets.sheet import CellBudget, Worksheet, draw_sheet
from docmill.tasks.parse.pictures.addresses import Loader
from docmill.tasks.parse.xml_trees import whole, words_in, xml_tree

_BEGINNING = 1_000  # bytes within which an XML file has a tag, whatever its encoding
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE_SPACE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_STYLE, _STYLE_NAME = _STYLE_SPACE + "style", _STYLE_SPACE + "name"
_HREF = "{http://www.w3.org/1999/xlink}href"
_TIMES, _ANNOTATION = _TABLE + "number-columns-repeated", _OFFICE + "annotation"
_PARAGRAPH, _LINK = _TEXT + "p", _TEXT + "a"
_NUMBERS = {"float": "", "percentage": "percent", "currency": ""}
"""The number format kinds of types whose values are numbers."""
_DIGITS = "0123456789.,-+() '\u00a0\u202f%"  # including signs that only group digits or show that they are negative
_SS = "{urn:schemas-microsoft-com:office:spreadsheet}"
_MAX_INDEX = 1_048_576  # rows of a sheet; a damaged file may state any number
_NAMED = {
    "Percent": "0%", "Short Date": "yyyy-mm-dd", "Long Date": "yyyy-mm-dd", "Medium Date": "yyyy-mm-dd",
    "General Date": "yyyy-mm-dd hh:mm", "Short Time": "hh:mm", "Long Time": "hh:mm:ss", "Medium Time": "hh:mm",
    "Euro Currency": "#,##0.00 €",
}  # fmt: skip
"""Number formats known by name; others only round."""


def parse_xlsx(data: bytes, options: ParseOptions) -> Parsed:
    """Return a workbook's sheets as sections; pages are sheet numbers, formulas are their last computed values."""
    with open_office(data, options.max_unpacked_bytes) as container:
        metadata = core_properties(container)
        if "xl/workbook.bin" in container.NameToInfo:
            return _drawn(_binary_sheets(data, CellBudget(options.max_characters)), metadata)
        return _drawn(sheets_xml.read_sheets(container, CellBudget(options.max_characters)), metadata)


def parse_xls(data: bytes, options: ParseOptions) -> Parsed:
    """Return the sheets of an old workbook, or of its XML form, as `parse_xlsx` does."""
    if not data.startswith(b"\xd0\xcf") and b"<" in data[:_BEGINNING]:
        return _drawn(_xml_sheets(data, CellBudget(options.max_characters)), {})
    return _drawn(_old_sheets(data, CellBudget(options.max_characters)), compound_properties(data))


def parse_ods(data: bytes, options: ParseOptions) -> Parsed:
    """Return an OpenDocument workbook's sheets, as `parse_xlsx` does."""
    with open_container(data, options.max_unpacked_bytes) as container:
        metadata = open_document_properties(container)
        return _drawn(_open_sheets(container, CellBudget(options.max_characters)), metadata)


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
    """Yield the sheets of a binary workbook, read by calamine.

    It is written in Rust, and its panics are not `Exception`s, so they would not count as the failure of one document.
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


def _open_sheets(container: zipfile.ZipFile, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a workbook in order; repeated cells and rows count each time."""
    sheet, number, hiding, load = Worksheet(""), 0, set[str](), pictures_in(container)
    with container.open("content.xml") as stream:
        steps = etree.iterparse(
            stream,
            ("start", "end"),
            tag=(_TABLE + "table", _TABLE + "table-row", _STYLE, OBJECT),
            resolve_entities=False,
            no_network=True,
        )
        for event, node in _outside_objects(steps):
            if node.tag == _STYLE:
                if event == "end" and _hides(node):
                    hiding.add(node.get(_STYLE_NAME) or "")
            elif node.tag == _TABLE + "table-row":
                if event == "end":
                    number += _read_open_row(sheet, number, node, budget)
                    _read_shapes(sheet, node, load)
                    node.clear()
            elif event == "start":
                hidden = node.get(_TABLE + "style-name") in hiding
                sheet, number = Worksheet(node.get(_TABLE + "name") or "", hidden=hidden), 0
            else:
                _read_shapes(sheet, node, load)  # its rows are empty by now
                yield sheet
                node.clear()


def _hides(style: Any) -> bool:
    return any(one.get(_TABLE + "display") == "false" for one in style)


def _outside_objects(steps: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the steps outside embedded documents, such as charts with their points, which are read with their shape."""
    within = 0
    for event, node in steps:
        if node.tag == OBJECT:
            within += 1 if event == "start" else -1
        elif not within:
            yield event, node


def _read_shapes(sheet: Worksheet, holder: Any, load: Loader) -> None:
    """Add the texts and charts of the shapes on a sheet or in a row."""
    shapes = [*holder.iter(*BOXES, OBJECT)]
    sheet.notes += filter(None, (_lines(shape) for shape in shapes if shape.tag != OBJECT))
    if any(shape.tag == OBJECT for shape in shapes):
        sheet.charts += open_charts(holder, load)


def _read_open_row(sheet: Worksheet, number: int, row: Any, budget: CellBudget) -> int:
    repeated = _count(row.get(_TABLE + "number-rows-repeated"))
    column = 0
    for cell in row:
        times = _count(cell.get(_TIMES))
        for note in cell.iterchildren(_ANNOTATION):
            sheet.notes += filter(None, [_lines(note)])
        text = _shown_cell(cell)
        link = next(cell.iter(_LINK), None) if text else None
        if link is not None and _is_address(link):
            sheet.links[number, column] = link.get(_HREF)
        # Only filled cells are repeated; blank ones fill up the rest of a sheet.
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


def _shown_cell(cell: Any) -> str:
    kind = cell.get(_OFFICE + "value-type") or ""
    value = cell.get(_OFFICE + "value") or ""
    if kind == "date" and cell.get(_OFFICE + "date-value"):
        return str(cell.get(_OFFICE + "date-value")).replace("T", " ").removesuffix(" 00:00:00")
    if kind in _NUMBERS and value:
        number, shown = shown_number(float(value), _NUMBERS[kind]), _lines(cell)
        return shown if kind != "percentage" and _adds_signs(shown, number) else number
    return _lines(cell)


def _adds_signs(shown: str, number: str) -> bool:
    """Return whether a number is shown with all digits, and with leading zeros, a currency, a unit or a prefix."""
    digits = "".join(filter(str.isdigit, shown))
    added = shown.strip(_DIGITS) != "" or (len(digits) > 1 and digits[0] == "0" and number[:1] not in "0-")
    return added and digits.lstrip("0").startswith("".join(filter(str.isdigit, number)).strip("0"))


def _lines(node: Any) -> str:
    return "\n".join("".join(line.itertext()) for line in node.iterchildren(_PARAGRAPH))


def _count(stated: str | None) -> int:
    """Return the number of repetitions of a cell or row."""
    return max(1, whole(stated, 1))


def _xml_sheets(data: bytes, budget: CellBudget) -> Iterator[Worksheet]:
    """Yield the sheets of a workbook in order."""
    root = xml_tree(data, recover=True)
    kinds = {style.get(_SS + "ID"): _kind(style.find("{*}NumberFormat")) for style in root.iter("{*}Style")}
    for node in root.iter("{*}Worksheet"):
        sheet = Worksheet(node.get(_SS + "Name") or "")
        sheet.hidden = (node.findtext("{*}WorksheetOptions/{*}Visible") or "SheetVisible") != "SheetVisible"
        number = -1
        for row in node.iterfind("{*}Table/{*}Row"):
            number = _place(row, number)
            _read_xml_row(sheet, number, row, kinds, budget)
            number += whole(row.get(_SS + "Span"), 0)
        yield sheet


def _kind(node: Any) -> str:
    stated = "" if node is None else node.get(_SS + "Format") or ""
    return format_kind(0, _NAMED.get(stated, stated))


def _place(node: Any, before: int) -> int:
    """Return the number of a row or cell, from 0: the stated one, else the next."""
    return min(max(whole(node.get(_SS + "Index"), before + 2) - 1, before + 1), _MAX_INDEX)


def _read_xml_row(sheet: Worksheet, number: int, row: Any, kinds: dict[Any, str], budget: CellBudget) -> None:
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


def _old_sheets(data: bytes, budget: CellBudget) -> Iterator[Worksheet]:
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
        book.unload_sheet(number)  # otherwise xlrd keeps every sheet in memory
        yield sheet


def _cells(source: Any, kinds: list[str], from_1904: bool) -> Iterator[tuple[int, int, str]]:
    """Yield row, column and text of each filled cell."""
    for row in range(source.nrows):
        for column, cell in enumerate(source.row(row)):
            text = _shown_old(cell, kinds, from_1904)
            if text:
                yield row, column, text


def _kind_of_style(book: Any, style: Any) -> str:
    """Return the kind of number format of a cell style."""
    stated = book.format_map.get(style.format_key)
    return format_kind(style.format_key, stated.format_str if stated else "")


def _shown_old(cell: Any, kinds: list[str], from_1904: bool) -> str:
    import xlrd

    if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
        style = cell.xf_index or 0
        return shown_number(cell.value, kinds[style] if style < len(kinds) else "", from_1904)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, "#N/A"))
    return str(cell.value)
