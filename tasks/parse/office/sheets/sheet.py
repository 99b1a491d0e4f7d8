"""Sheets: cells as they stand, cut into tables and notes and drawn."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from docmill.storage.errors import Rejected
from docmill.tasks.parse.canvas import Canvas

Row = tuple[int, dict[int, str]]
_MAX_CELLS = 5_000_000
_MAX_FILLED = 100_000
_MIN_SIDE = 2
_SPARSE, _LARGE = 20, 1_000_000
_LONG = 80
_MAX_LINKS = 200
_SHARED = 0.6
_YEARS = range(1800, 2200)


@dataclass(slots=True)
class Sheet:
    """A sheet's cells by row and column from 0, merged ranges, addresses of cells, texts that float above them."""

    name: str
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hidden: bool = False
    links: dict[tuple[int, int], str] = field(default_factory=dict)


class Budget:
    """What all sheets of a workbook may hold together: cells, and characters."""

    def __init__(self, characters: int) -> None:
        self._limit = self._characters = characters
        self._cells = _MAX_CELLS

    def put(self, sheet: Sheet, row: int, column: int, text: str) -> None:
        """Put a text into a cell, or raise Rejected where the workbook holds too much."""
        self._cells -= 1
        self._characters -= len(text)
        if self._cells < 0:
            raise Rejected("too_large", f"more than {_MAX_CELLS} cells are filled")
        if self._characters < 0:
            raise Rejected("too_large", f"cells hold more than {self._limit} characters, which is the limit")
        sheet.rows.setdefault(row, {})[column] = text


def draw_sheet(canvas: Canvas, sheet: Sheet) -> None:
    """Draw a sheet as a section: its name as heading, then tables, single cells and notes in order."""
    if not sheet.rows and not sheet.notes:
        return
    hidden: dict[str, Any] = {"hidden": True} if sheet.hidden else {}
    canvas.heading(sheet.name, 1, sheet=sheet.name, **hidden)
    _fill_merged(sheet)
    for block in _blocks(sorted(sheet.rows.items())):
        _draw_block(canvas, block, sheet)
    for note in sheet.notes:
        canvas.paragraph(note, kind="text", sheet=sheet.name)


def _fill_merged(sheet: Sheet) -> None:
    """Repeat what is merged over several rows in each that holds other cells."""
    left = _MAX_FILLED
    for top, column, bottom, _ in sheet.merged:
        text = sheet.rows.get(top, {}).get(column, "")
        for row in range(top + 1, min(bottom, top + left) + 1) if text else ():
            left -= 1
            if row in sheet.rows:
                sheet.rows[row].setdefault(column, text)


def _blocks(rows: list[Row]) -> Iterator[list[Row]]:
    """Yield runs of rows without an empty one between them, each cut at empty columns between wide parts."""
    band: list[Row] = []
    for row in rows:
        if band and row[0] - band[-1][0] > 1 and not _goes_on(band[-1], row):
            yield from _sides(band)
            band = []
        band.append(row)
    if band:
        yield from _sides(band)


def _goes_on(above: Row, row: Row) -> bool:
    """Return whether a row with numbers below a single empty one belongs to the table above it."""
    shared = len(above[1].keys() & row[1].keys())
    return row[0] - above[0] == 2 and shared >= max(2, _SHARED * len(row[1])) and any(map(_is_number, row[1].values()))


def _sides(band: list[Row]) -> Iterator[list[Row]]:
    columns = sorted({column for _, cells in band for column in cells})
    cuts = [at for at, (left, right) in enumerate(pairwise(columns), 1) if right - left > 1]
    edges = [0, *cuts, len(columns)]
    if not cuts or min(right - left for left, right in pairwise(edges)) < _MIN_SIDE:
        yield band
        return
    side_of = {column: side for side, (left, right) in enumerate(pairwise(edges)) for column in columns[left:right]}
    sides: list[dict[int, dict[int, str]]] = [{} for _ in edges[1:]]
    for number, cells in band:
        for column, text in cells.items():
            sides[side_of[column]].setdefault(number, {})[column] = text
    for side in sides:
        yield list(side.items())


def _links(rows: list[Row], sheet: Sheet) -> dict[str, Any]:
    found = ((text, sheet.links.get((row, column))) for row, cells in rows for column, text in cells.items())
    links = [{"text": " ".join(text.split()), "url": url} for text, url in found if url] if sheet.links else []
    return {"links": links[:_MAX_LINKS]} if links else {}


def _draw_block(canvas: Canvas, block: list[Row], sheet: Sheet) -> None:
    """Draw a block: rows of one cell above and below a table as paragraphs, the rest as a table."""
    first, last = 0, len(block)
    columns = sorted({column for _, cells in block for column in cells})
    if len(columns) > 1:
        while first < last and len(block[first][1]) == 1:
            first += 1
        while last > first and _is_note(block[last - 1][1], columns[0]):
            last -= 1
    elif len(block) < 4 or max(len(text) for _, cells in block for text in cells.values()) > _LONG:
        first = last
    for row in block[:first]:
        canvas.paragraph(" ".join(row[1].values()), sheet=sheet.name, **_links([row], sheet))
    if last > first:
        _draw_table(canvas, block[first:last], sheet)
    for row in block[max(first, last) :]:
        canvas.paragraph(" ".join(row[1].values()), sheet=sheet.name, **_links([row], sheet))


def _is_note(cells: dict[int, str], first: int) -> bool:
    return len(cells) == 1 and len(cells.get(first, "")) > _LONG / 2


def _draw_table(canvas: Canvas, rows: list[Row], sheet: Sheet) -> None:
    about: dict[str, Any] = {"sheet": sheet.name} | _links(rows, sheet)
    columns = sorted({column for _, cells in rows for column in cells})
    area, filled = len(rows) * len(columns), sum(len(cells) for _, cells in rows)
    if area > _LARGE and area > _SPARSE * filled:  # cells strewn over a sheet would be a table of blanks
        canvas.paragraph("\n".join(" ".join(cells.values()) for _, cells in rows), **about)
        return
    if len(rows) == 1:
        canvas.paragraph(" | ".join(" ".join(text.split()) for text in rows[0][1].values()), **about)
        return
    table = [[cells.get(column, "") for column in columns] for _, cells in rows]
    canvas.table(table, int(has_header(table)), **about)


def has_header(table: list[list[str]]) -> bool:
    """Return whether the first row names the columns: two or more texts and, beside years, no number."""
    first = [cell for cell in table[0] if cell]
    numbers = [cell for cell in first if _is_number(cell)]
    years = all(cell.isdigit() and int(cell) in _YEARS for cell in numbers)
    named = years and (len(numbers) < len(first) or not table[0][0]) if numbers else len(first) > 1 or len(table[0]) < 2
    return len(table) > 1 and named


def _is_number(text: str) -> bool:
    return (text[-1:].isdigit() and text[:1] in "-+0123456789.") or text.endswith("%")
