"""PDF forms: grids in which each box has its own label, with the filled-in text below or next to it."""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from operator import attrgetter

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.layout.grid_cells import Cell, Extent, Pieces
from docmill.tasks.parse.pdf.layout.rows import PageTable, levels_of
from docmill.tasks.parse.pdf.text.characters import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import NOWHERE, TextLine, texts_to_join

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
    return len(held) >= _LEAST_BOXES and min(wide, sum(map(_is_labelled, held))) >= _MOST * len(held)


def _is_labelled(cell: Cell) -> bool:
    """Return whether a box has a label at its top left, above room to write in or filled-in text."""
    lines = _in_order(cell.pieces)
    first, size = lines[0], lines[0].size
    above, below = first.box[1] - cell.top, cell.bottom - max(line.box[3] for line in lines)
    if above > _TOP * size or first.left - cell.left > _LEFT * size:
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
    sides = [(cell.left, cell.top, cell.right, cell.bottom) for cell in boxes]
    return PageTable([_entry(cell) for cell in boxes], 0, box, page, form=sides)


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
    parts = [joined(texts_to_join(part), Vocabulary()) for part in (lines[:filled], lines[filled:]) if part]
    if len(parts) > 1 and not parts[0].endswith(_ENDS):
        parts[0] += ":"
    return parts
