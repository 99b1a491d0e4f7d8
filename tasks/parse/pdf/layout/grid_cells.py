"""PDF grid cells: the text in the cells of a grid, as rows of a table or as the boxes of a form.

Rules do not separate all rows: there may be a rule below every third row, or none in the body of a table. Lines within
the cells of one band are separate rows if, in several columns, they break next to figures or although there was room.
In a form, each box has its own label, with the filled-in text below or next to it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from operator import attrgetter

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.layout.rows import LAYOUT, Extent, PageTable, are_level, had_room, is_value, levels_of
from docmill.tasks.parse.pdf.text.line import NOWHERE, TextLine, joined, texts_to_join
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all

_YEAR = range(1800, 2200)
"""Figures that are years: the only figures that a header may consist of."""
_YEAR_DIGITS = 4  # without a comma or point: "1,900" is an amount


Pieces = list[TextLine]


@dataclass(slots=True)
class Cell:
    """A cell of a grid: its first and last row and column, its box, and its pieces of text."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    box: Box
    pieces: Pieces


def table_of(cells: list[Cell], xs: list[float], box: Box, page: int) -> PageTable:
    """Return the table of the cells that contain text; `xs` are the positions of the rules between columns."""
    held = [cell for cell in cells if cell.pieces]
    columns = sorted({cell.columns[0] for cell in held})
    rows = [*_rows(held)]
    bands = [band for band, _ in rows]
    size = held[0].pieces[0].size if held else 0.0
    sides = [*pairwise([*(xs[column] for column in columns), xs[-1]])]
    texts = [[""] * len(columns) for _ in rows]
    table = PageTable(texts, 0, box, page, columns=sides, extents=[extent for _, extent in rows], size=size)
    for cell in held:
        _place(table, cell, bands, columns)
    return table


def _rows(cells: list[Cell]) -> Iterator[tuple[int, Extent]]:
    """Yield the band number and the extent of each row."""
    for band in sorted({cell.rows[0] for cell in cells}):
        for extent in _extents(band, cells):
            yield band, extent


def _place(table: PageTable, cell: Cell, bands: list[int], columns: list[int]) -> None:
    """Put the text of a cell into its rows: line by line if its lines are on the levels of the rows."""
    within = _places(bands, cell.rows)
    column, *more = _places(columns, cell.columns)
    wide = 1 + len(more)
    is_tall = cell.rows[0] < cell.rows[1] or (len(within) > 1 and _is_label(cell))
    held = _by_rows(cell.pieces, within, table.extents, max(2.0, LAYOUT.beside_tall * len(within)) if is_tall else 1.0)
    tall = len(within) if is_tall and len(held) == 1 else 1
    for row, pieces in held.items():
        table.cells[row][column] = joined(texts_to_join(pieces))
        if tall * wide > 1:
            table.spans.append((row, column, tall, wide))


def _places(numbers: list[int], ends: tuple[int, int]) -> list[int]:
    """Return the indexes of the numbers between two ends, both included."""
    return [at for at, number in enumerate(numbers) if ends[0] <= number <= ends[1]]


def _by_rows(pieces: Pieces, within: list[int], extents: list[Extent], least: float) -> dict[int, Pieces]:
    if len(within) == 1:
        return {within[0]: pieces}
    found: defaultdict[int, Pieces] = defaultdict(list)
    for piece in pieces:
        near = min(within, key=lambda row: abs(sum(extents[row]) / 2 - piece.middle))
        top, bottom = extents[near]
        if not top < piece.middle < bottom:
            return {within[0]: pieces}
        found[near].append(piece)
    return dict(found) if len(found) >= least else {within[0]: pieces}


def _extents(band: int, cells: list[Cell]) -> list[Extent]:
    """Return the extents of the rows of a band between rules: one row, or as many as its lines form."""
    begun = [cell for cell in cells if cell.rows[0] == band]
    own = [cell for cell in begun if cell.rows[1] == band]
    groups = _groups(own) if own else [_all_of(begun)]
    return [(min(one.box[1] for one in group), max(one.box[3] for one in group)) for group in groups]


def _all_of(cells: list[Cell]) -> Pieces:
    return [*chain.from_iterable(cell.pieces for cell in cells)]


def _groups(cells: list[Cell]) -> list[Pieces]:
    """Return the pieces in the cells of a band, grouped by row."""
    if max(len(cell.pieces) for cell in cells) == 1:  # as in most bands
        return [_all_of(cells)]
    levels = levels_of(chain.from_iterable(cell.pieces for cell in cells if not _is_label(cell)))
    return levels if len(levels) > 1 and _are_rows(cells) else [_all_of(cells)]


def _is_label(cell: Cell) -> bool:
    """Return whether a cell is one line of words, which names all rows of its band if there are several."""
    return len(levels_of(cell.pieces)) == 1 and not any(is_value(piece.text) for piece in cell.pieces)


def _are_rows(cells: list[Cell]) -> bool:
    """Return whether the lines in a band are rows: in several columns they break by figures or with room to spare."""
    lines = [(cell, _lines(cell)) for cell in cells]
    several = [(cell, found) for cell, found in lines if len(found) > 1]
    figures = [line for _, found in lines for line in found if is_value(line.text)]
    breaks = [*_breaks(several, figures)]
    return len(several) > 1 and sum(breaks) >= LAYOUT.breaks * len(breaks) and _hold_figures(several)


_Lines = list[tuple[Cell, Pieces]]


def _lines(cell: Cell) -> Pieces:
    """Return the lines of a cell; for a cell over several columns, only the first."""
    levels = levels_of(cell.pieces)
    return [_whole(level) for level in (levels if cell.columns[0] == cell.columns[1] else levels[:1])]


def _hold_figures(lines: _Lines) -> bool:
    """Return whether any cell holds hardly anything but figures."""
    return any(sum(not is_value(line.text) for line in found) < LAYOUT.mixed * len(found) for _, found in lines)


def _breaks(several: _Lines, values: Pieces) -> Iterator[bool]:
    """Yield for each line below another in its cell whether it starts a row: beside a figure, or with room above."""
    for cell, found in several:
        for one, other in pairwise(found):
            yield any(are_level(other, value) for value in values) or had_room(one, other, cell.box[2] - cell.box[0])


def _whole(level: Pieces) -> TextLine:
    """Return the pieces of one cell on one level, merged into one line."""
    if len(level) == 1:
        return level[0]
    level = sorted(level, key=lambda one: one.left)
    return replace(level[0], text=" ".join(one.text for one in level), box=around_all([one.box for one in level]))


def header_rows(cells: list[list[str]]) -> int:
    """Return 0 if a table's first row has figures in at least half of the columns of figures, else 1.

    If there are no such columns, all filled cells of the row count. Years and consecutive numbers may name columns.
    """
    names = [cells[0][at] for at in _telling(cells)]
    figures = [*filter(_is_figure, names)]
    counted = len(figures) < sum(map(bool, cells[0])) and _count_on(figures)
    return int(counted or 2 * len(figures) < max(len(names), 1))


def _telling(cells: list[list[str]]) -> list[int]:
    """Return the columns of figures that a table's first row fills; all that it fills if none is of figures."""
    filled = [at for at, cell in enumerate(cells[0]) if cell]
    return [at for at in filled if _has_figures(cells, at)] or filled


def _has_figures(cells: list[list[str]], column: int) -> bool:
    """Return whether most cells below the first in a column are figures."""
    below = [row[column] for row in cells[1:] if row[column]]
    return 2 * sum(map(_is_figure, below)) > len(below)


def _count_on(figures: list[str]) -> bool:
    """Return whether figures number the columns: each is one more than the previous one."""
    whole = len(figures) > 1 and all(map(str.isdecimal, figures))
    return whole and all(int(other) - int(one) == 1 for one, other in pairwise(figures))


def _is_figure(text: str) -> bool:
    if text[:1].isalpha() or text[-1:].isalpha():  # as most cells
        return False
    plain = text.strip(" $€£%()+-–").replace(",", "").replace(".", "").replace(" ", "")
    return plain.isdecimal() and not (len(text) == _YEAR_DIGITS and int(plain) in _YEAR)


_LEAST_BOXES = 4  # with text: in a grid of three, a wide box over two others is the header of two columns
_MOST = 0.5
"""Minimum share of boxes that span several columns of other rows, and of boxes with a label. In the 19 forms examined,
both shares are half or more; none of 300 tables has more than a third of one together with half of the other.
"""
_TOP, _LEFT = 0.6, 2.0  # font sizes from the box's sides to its label; text in the middle of a tall cell is no label
_BLANK = 1.0  # font sizes of room to write in below a label, which must also be twice the room above it
_OTHER_SIZE = 0.1  # of the font size, by which filled-in text differs from its label
_WORD = re.compile(r"[^\W\d_]{2}")
_ENDS = (":", "?", ".", "!")


def is_form(cells: list[Cell], columns: int) -> bool:
    """Return whether a grid with this many columns is a form.

    Cells of a table are aligned in columns; the boxes of a form are as wide as their content needs.
    """
    held = [cell for cell in cells if cell.pieces]
    wide = sum(0 < cell.columns[1] - cell.columns[0] < columns - 1 for cell in held)
    if len(held) < _LEAST_BOXES or wide < _MOST * len(held):
        return False
    return sum(map(_is_labelled, held)) >= _MOST * len(held)


def _is_labelled(cell: Cell) -> bool:
    """Return whether a box has a label at its top left, above room to write in or filled-in text."""
    lines, (left, top, _, bottom) = _in_order(cell.pieces), cell.box
    first, size = lines[0], lines[0].size
    above, below = first.box[1] - top, bottom - max(line.box[3] for line in lines)
    if above > _TOP * size or first.left - left > _LEFT * size:
        return False
    return below > max(_BLANK * size, 2 * above) or any(_is_filled_in(line, first) for line in lines)


def _is_filled_in(line: TextLine, label: TextLine) -> bool:
    """Return whether a line is the value of a field, or in another font or size than the label of its box."""
    same_font = line.font.bold == label.font.bold and line.font.mono == label.font.mono
    return line.first == NOWHERE or not same_font or abs(line.size - label.size) > _OTHER_SIZE * label.size


def _in_order(pieces: Pieces) -> Pieces:
    return [*chain.from_iterable(sorted(level, key=attrgetter("left")) for level in levels_of(pieces))]


def form_of(cells: list[Cell], box: Box, page: int) -> PageTable:
    """Return a form: the label and the filled-in text of each box with text, in reading order."""
    boxes = [*_boxes([cell for cell in cells if cell.pieces])]
    return PageTable([_entry(cell) for cell in boxes], 0, box, page, form=[cell.box for cell in boxes])


_SIDES: tuple[Callable[[Cell], Extent], ...] = (attrgetter("rows"), attrgetter("columns"))


def _boxes(cells: list[Cell]) -> Iterator[Cell]:
    """Yield boxes in reading order: parts from top to bottom, and within each part from left to right."""
    for side in _SIDES:
        parts = [*_parts(cells, side)]
        if len(parts) > 1:
            yield from chain.from_iterable(map(_boxes, parts))
            return
    yield from cells


def _parts(cells: list[Cell], side: Callable[[Cell], Extent]) -> Iterator[list[Cell]]:
    """Yield the groups of boxes between rules that cross all of them, by rows or by columns."""
    part: list[Cell] = []
    end = 0.0
    for cell in sorted(cells, key=side):
        first, last = side(cell)
        if part and first > end:
            yield part
            part = []
        part.append(cell)
        end = max(end, last)
    yield part


def _entry(cell: Cell) -> list[str]:
    """Return the text of a box: its label, with a colon if text is filled in, and the filled-in text."""
    lines = _in_order(cell.pieces)
    named = next((at for at, line in enumerate(lines) if _WORD.search(line.text)), len(lines))  # skip a number
    filled = next((at for at in range(named + 1, len(lines)) if _is_filled_in(lines[at], lines[named])), len(lines))
    parts = [joined(texts_to_join(part)) for part in (lines[:filled], lines[filled:]) if part]
    if len(parts) > 1 and not parts[0].endswith(_ENDS):
        parts[0] += ":"
    return parts
