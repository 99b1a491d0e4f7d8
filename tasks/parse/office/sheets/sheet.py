"""Sheet: cells by position, divided into tables and notes, and drawn."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from docmill.storage.errors import Rejected
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.markup.html.hypertext import plain_words
from docmill.tasks.parse.office.sheets.chart import Chart
from docmill.tasks.parse.passes.table_rows import is_number, is_year, spanned_rows

Row = tuple[int, dict[int, str]]
"""A row's number, and its filled cells by column number."""
Range = tuple[int, int, int, int]
"""The first row and column of a cell range, and its last."""

_MAX_CELLS = 5_000_000
"""Maximum filled cells of a workbook. Each is a string in memory until its sheet is drawn: more would exhaust a worker,
and a lower limit would reject large exports, because one sheet may have 1 048 576 rows."""
_MAX_FILLED = 100_000
"""Rows of a sheet into which merged cells are repeated. A range may cover all rows, and a damaged sheet may have
thousands of such ranges; with a lower limit, long groups would lose their name in their last rows."""
_MIN_SIDE = 2
"""Least columns of each part if rows are cut at empty columns. With 1, a table with an empty column before its last one
would lose the last; with 3, tables of names and values side by side would become one."""
_LARGE, _SPARSE = 1_000_000, 20
"""A table with more places than this, of which fewer than one in 20 is filled, is written as lines. A table is written
with its blanks: a diagonal of cells would take the square of its length. Small tables may have any number of blanks."""
_LONG = 80
"""Characters of a cell above which it is a sentence: a column with such a cell is a text typed line by line. With less,
columns of long names would be no tables; with more, a page of notes would be one."""
_NOTE = _LONG // 2
"""Characters of a single cell below a table above which it is a note about the table, such as its source. With less, so
would be the last row's name without values; with more, short notes would end up on the wrong side."""
_MIN_LIST = 4
"""Rows of one column that make a table. Fewer are headings or remarks; if more, short lists are paragraphs."""
_SHARED = 0.6
"""Share of a row's columns, below a gap, that the row above must have for the table to continue. With less, another
table below would join it; with more, totals that leave out a column would be separated from their table."""
_BLANK_ROWS = 2  # of a header in which a blank is above a name


@dataclass(slots=True)
class Worksheet:
    """A sheet's cells by row and column from 0; merged ranges; comments and text boxes; charts; URLs of cells.

    `unvalued` counts formulas for which the file has no value.
    """

    name: str
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    merged: list[Range] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    hidden: bool = False
    links: dict[tuple[int, int], str] = field(default_factory=dict)
    unvalued: int = 0


class CellBudget:
    """The cells and characters that the sheets of a workbook may still add."""

    def __init__(self, characters: int) -> None:
        self._limit = self._characters = characters
        self._cells = _MAX_CELLS

    def put(self, sheet: Worksheet, row: int, column: int, text: str) -> None:
        """Put a text into a cell, without HTML tags; raise Rejected if the workbook is too large."""
        # Counted on reading, so that a bomb is stopped before it is in memory.
        self._cells -= 1
        self._characters -= len(text)
        if self._cells < 0:
            raise Rejected("too_large", f"more than {_MAX_CELLS} cells are filled")
        if self._characters < 0:
            raise Rejected("too_large", f"cells hold more characters than the limit, {self._limit}")
        sheet.rows.setdefault(row, {})[column] = plain_words(text) if "<" in text else text


def draw_sheet(canvas: Canvas, sheet: Worksheet) -> None:
    """Draw a sheet as a section: its name as a heading, then tables, single cells and notes in order, then charts."""
    if not sheet.rows and not sheet.notes and not sheet.charts:
        return
    # Hidden sheets are drawn with a mark, so that a search finds everything in the file.
    hidden: dict[str, Any] = {"hidden": True} if sheet.hidden else {}
    canvas.heading(f"{sheet.name} (hidden)" if sheet.hidden else sheet.name, 1, sheet=sheet.name, **hidden)
    _fill_merged(sheet)
    for block in _blocks(sorted(sheet.rows.items())):
        _draw_block(canvas, block, sheet)
    for note in sheet.notes:
        canvas.paragraph(note, kind="text", sheet=sheet.name)
    for chart in sheet.charts:
        canvas.paragraph(chart.title, sheet=sheet.name, role="chart")
        canvas.table(chart.rows, sheet=sheet.name, role="chart")


def _fill_merged(sheet: Worksheet) -> None:
    """Repeat the text of vertically merged cells in each row that has other cells."""
    left = _MAX_FILLED
    for top, column, bottom, _ in sheet.merged:
        text = sheet.rows.get(top, {}).get(column, "")
        for row in range(top + 1, min(bottom, top + left) + 1) if text else ():
            left -= 1
            # A row with nothing else would become a row of only the merged text.
            if row in sheet.rows:
                sheet.rows[row].setdefault(column, text)


def _blocks(rows: list[Row]) -> Iterator[list[Row]]:
    """Yield runs of non-empty rows, each cut at empty columns between wide parts."""
    band: list[Row] = []
    for row in rows:
        if band and row[0] - band[-1][0] > 1 and not _goes_on(band[-1], row):
            yield from _sides(band)
            band = []
        band.append(row)
    if band:
        yield from _sides(band)


def _goes_on(above: Row, row: Row) -> bool:
    """Return whether a row with numbers, below a single empty row, belongs to the table above."""
    shared = len(above[1].keys() & row[1].keys())
    return row[0] - above[0] == 2 and shared >= max(2, _SHARED * len(row[1])) and any(map(is_number, row[1].values()))


def _sides(band: list[Row]) -> Iterator[list[Row]]:
    """Yield the tables side by side in a band of rows, or the band itself if they would be too narrow."""
    sides = _runs(_columns(band))
    if len(sides) == 1 or min(map(len, sides)) < _MIN_SIDE:
        yield band
    else:
        yield from _cut(band, sides)


def _cut(band: list[Row], sides: list[list[int]]) -> Iterator[list[Row]]:
    """Yield the rows of each side with its columns, leaving out rows that are empty there."""
    side_of = {column: side for side, columns in enumerate(sides) for column in columns}
    parts: list[dict[int, dict[int, str]]] = [{} for _ in sides]
    for number, cells in band:
        for column, text in cells.items():
            parts[side_of[column]].setdefault(number, {})[column] = text
    yield from (list(part.items()) for part in parts)


def _columns(rows: list[Row]) -> list[int]:
    """Return the columns in which any of the rows has a cell."""
    return sorted({column for _, cells in rows for column in cells})


def _runs(columns: list[int]) -> list[list[int]]:
    """Return columns as runs without empty columns in between."""
    cuts = [at for at, (left, right) in enumerate(pairwise(columns), 1) if right - left > 1]
    return [columns[first:last] for first, last in pairwise([0, *cuts, len(columns)])]


def _links(rows: list[Row], sheet: Worksheet) -> Iterator[dict[str, str]]:
    if sheet.links:  # in most sheets, cells need not be looked up
        found = ((text, sheet.links.get((row, column))) for row, cells in rows for column, text in cells.items())
        yield from ({"text": " ".join(text.split()), "url": url} for text, url in found if url)


def _draw_block(canvas: Canvas, block: list[Row], sheet: Worksheet) -> None:
    """Draw a block: single-cell rows above and below a table as paragraphs, the rest as a table."""
    first, last = _table_in(block)
    _draw_lines(canvas, block[:first], sheet)
    if last > first:
        _draw_table(canvas, block[first:last], sheet, captioned=first == 1)
    _draw_lines(canvas, block[last:], sheet)


def _table_in(block: list[Row]) -> tuple[int, int]:
    """Return the start and end of the table in a block, or the block's end twice if it has none."""
    columns = _columns(block)
    if len(columns) == 1:
        return (0, len(block)) if _is_list(block) else (len(block), len(block))
    first, last = 0, len(block)
    # Single cells above a table are its title and remarks.
    while first < last and len(block[first][1]) == 1:
        first += 1
    while last > first and _is_note(block[last - 1][1], columns[0]):
        last -= 1
    return first, last


def _is_list(rows: list[Row]) -> bool:
    """Return whether rows of one column are a table rather than lines of text."""
    return len(rows) >= _MIN_LIST and max(len(text) for _, cells in rows for text in cells.values()) <= _LONG


def _is_note(cells: dict[int, str], first: int) -> bool:
    return len(cells) == 1 and len(cells.get(first, "")) > _NOTE


def _draw_lines(canvas: Canvas, rows: list[Row], sheet: Worksheet) -> None:
    for row in rows:
        canvas.paragraph(" ".join(row[1].values()), sheet=sheet.name, links=_links([row], sheet))


def _draw_table(canvas: Canvas, rows: list[Row], sheet: Worksheet, captioned: bool) -> None:
    about: dict[str, Any] = {"sheet": sheet.name, "links": _links(rows, sheet)}
    columns = _columns(rows)
    if _is_strewn(rows, columns):
        canvas.paragraph("\n".join(" ".join(cells.values()) for _, cells in rows), **about)
        return
    # A table of one row would have its only row as header, or no header.
    if len(rows) == 1:
        canvas.paragraph(" | ".join(" ".join(text.split()) for text in rows[0][1].values()), **about)
        return
    table = [[cells.get(column, "") for column in columns] for _, cells in rows]
    deep = _header_rows(rows, columns, sheet)
    if deep:
        table[:deep] = _filled(rows[:deep], columns, sheet)
    canvas.table(table, deep or None, captioned=captioned, **about)


def _header_rows(rows: list[Row], columns: list[int], sheet: Worksheet) -> int:
    """Return the number of header rows if the first has merged cells, else 0."""
    deep = spanned_rows(list(_sizes(rows[0], columns, sheet)), len(rows))
    if not deep or not all(rows[deep - 1][1].get(column) for column in columns):
        return 0
    return (
        0
        if any(is_number(text) and not is_year(text) for _, cells in rows[: deep - 1] for text in cells.values())
        else deep
    )


def _sizes(row: Row, columns: list[int], sheet: Worksheet) -> Iterator[tuple[int, int]]:
    """Yield how many rows and columns each cell of a row spans; nothing if none is merged."""
    merged = {left: (bottom - top + 1, right - left + 1) for top, left, bottom, right in sheet.merged if top == row[0]}
    reach = columns[0]
    for column in columns if merged else ():
        if column >= reach:
            # A blank above a column name is equivalent to a cell over both rows.
            size = merged.get(column, (1, 1) if column in row[1] else (_BLANK_ROWS, 1))
            yield size
            reach = column + size[1]


def _filled(rows: list[Row], columns: list[int], sheet: Worksheet) -> list[list[str]]:
    """Return header rows in which a merged cell names all of its columns."""
    filled = {number: dict(cells) for number, cells in rows}
    for top, left, _, right in sheet.merged:
        for column in range(left + 1, min(right, columns[-1]) + 1) if top in filled else ():
            filled[top].setdefault(column, filled[top].get(left, ""))
    return [[filled[number].get(column, "") for column in columns] for number, _ in rows]


def _is_strewn(rows: list[Row], columns: list[int]) -> bool:
    """Return whether a table of the rows would be large and mostly blank."""
    places = len(rows) * len(columns)
    return places > _LARGE and places > _SPARSE * sum(len(cells) for _, cells in rows)
