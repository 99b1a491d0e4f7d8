"""PDF forms: grids whose boxes each have a label of their own, with what is filled in below or beside it."""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from operator import attrgetter

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.layout.grid_cells import Cell, Extent, Pieces
from docmill.tasks.parse.pdf.layout.rows import PageTable, levels_of
from docmill.tasks.parse.pdf.text.characters import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import NOWHERE, TextLine, texts_to_join

_LEAST_BOXES = 4  # with text: of fewer, a wide one over two others is the header of two columns
_MOST = 0.5
"""Share of the boxes that reach over several columns of other rows, and share of those with a label. In the 19 forms
that were looked at both are half or more; of 300 tables none has more than a third of one if it has half of the other.
"""
_TOP, _LEFT = 0.6, 2.0  # font sizes from the sides of a box to its label; text in the middle of a tall cell is none
_BLANK = 1.0  # font sizes of room to write in below a label, and twice what is above it
_OTHER_SIZE = 0.1  # of the size, by which what is filled in differs from its label
_WORD = re.compile(r"[^\W\d_]{2}")
_ENDS = (":", "?", ".", "!")


def is_form(cells: list[Cell], columns: int) -> bool:
    """Return whether the boxes of a grid of so many columns are those of a form.

    In a table cells stand below one another; the boxes of a form are as wide as what is written in them.
    """
    held = [cell for cell in cells if cell.pieces]
    wide = sum(0 < cell.columns[1] - cell.columns[0] < columns - 1 for cell in held)
    return len(held) >= _LEAST_BOXES and min(wide, sum(map(_is_labelled, held))) >= _MOST * len(held)


def _is_labelled(cell: Cell) -> bool:
    """Return whether a box begins with a label, at its top left, above room to write in or what is filled in."""
    lines = _in_order(cell.pieces)
    first, size = lines[0], lines[0].size
    above, below = first.box[1] - cell.top, cell.bottom - max(line.box[3] for line in lines)
    if above > _TOP * size or first.left - cell.left > _LEFT * size:
        return False
    return below > max(_BLANK * size, 2 * above) or any(_is_filled_in(line, first) for line in lines)


def _is_filled_in(line: TextLine, label: TextLine) -> bool:
    """Return whether a line is the value of a field, or set otherwise than the label of its box."""
    same_font = line.font.bold == label.font.bold and line.font.mono == label.font.mono
    return line.first == NOWHERE or not same_font or abs(line.size - label.size) > _OTHER_SIZE * label.size


def _in_order(pieces: Pieces) -> Pieces:
    return [*chain.from_iterable(sorted(level, key=attrgetter("left")) for level in levels_of(pieces))]


def form_of(cells: list[Cell], box: Box, page: int) -> PageTable:
    """Return a form: for each box with text, in reading order, its label and what is filled in."""
    boxes = [*_boxes([cell for cell in cells if cell.pieces])]
    sides = [(cell.left, cell.top, cell.right, cell.bottom) for cell in boxes]
    return PageTable([_entry(cell) for cell in boxes], 0, box, page, form=sides)


_SIDES: tuple[Callable[[Cell], Extent], ...] = (attrgetter("rows"), attrgetter("columns"))


def _boxes(cells: list[Cell]) -> Iterator[Cell]:
    """Yield boxes in reading order: parts below one another, and within each those beside one another."""
    for side in _SIDES:
        parts = [*_parts(cells, side)]
        if len(parts) > 1:
            yield from chain.from_iterable(map(_boxes, parts))
            return
    yield from cells


def _parts(cells: list[Cell], side: Callable[[Cell], Extent]) -> Iterator[list[Cell]]:
    """Yield the groups of boxes between the rules that cross all others, by rows or by columns."""
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
    """Return what a box says: its label, with a colon if something is filled in, and that."""
    lines = _in_order(cell.pieces)
    named = next((at for at, line in enumerate(lines) if _WORD.search(line.text)), len(lines))  # behind a number
    filled = next((at for at in range(named + 1, len(lines)) if _is_filled_in(lines[at], lines[named])), len(lines))
    parts = [joined(texts_to_join(part), Vocabulary()) for part in (lines[:filled], lines[filled:]) if part]
    if len(parts) > 1 and not parts[0].endswith(_ENDS):
        parts[0] += ":"
    return parts
