"""PDF gutters: the empty strips down a page between its columns of text."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, starmap
from operator import ne
from statistics import median
from typing import NamedTuple

from docmill.tasks.parse.pdf.tables.page_table import Item, PageTable
from docmill.tasks.parse.pdf.text.line import TextLine

_GRID = 3  # points: text that begins closer than this begins on one place
_CANDIDATES = 8  # places that are tried, those where most lines begin: each costs a pass over all runs
_OUTDENT = 15  # of _GRID, 45 points: how far left of its text the heading of a side box may begin
_MIN_GUTTER = 5.0  # points: narrower ones are spaces between words
_SLACK = 3.0  # points by which text may reach into a gutter, as hanging punctuation does
_MIN_SHARED = 1.5  # font sizes that both sides must share down the page: one line beside another is no column
_LEAST_STEP = 5.0  # points, where the font is smaller
_BETTER = 1.05  # times the score of the best gutter further left, which is taken where others are about as good

# Columns of text.
_SWITCHES = 0.5
"""Changes from side to side for each line of the shorter one.

Text written row by row has about two; text written column by column has one in all, or a few where pictures stand.
"""
_FULL = 0.6  # of the width of a column, which lines of text fill; cells of a table are shorter
_MOST = 0.6  # share of the letters of a column that stand in such lines
_MIN_LETTERS = 12  # which half of its lines have; figures and names of cells have fewer
_MIN_LINES = 4  # from which on a side may be told by how its lines fill it

_SIDES = _LEFT, _RIGHT, OVER = range(3)  # of a gutter


@dataclass(slots=True)
class ColumnRun:
    """Items of one column below one another; `place` numbers runs in the order of the content."""

    items: list[Item]
    place: int
    left: float
    top: float
    right: float
    bottom: float
    step: float

    def add(self, item: Item) -> None:
        """Put one more item, which is lower, at the end."""
        self.items.append(item)
        left, _, right, bottom = item.box
        if left < self.left:
            self.left = left
        if right > self.right:
            self.right = right
        if bottom > self.bottom:
            self.bottom = bottom


def best_gutter(held: list[ColumnRun]) -> float | None:
    """Return the right edge of the best gutter between runs in columns of text, or None."""
    best, found = 0.0, None
    for start in _starts(held):
        gutter = min([run.left for run in held if abs(round(run.left / _GRID) - start) <= 1])
        score = _score(held, gutter)
        if score > best * _BETTER:
            best, found = score, gutter
    return found


def _starts(held: list[ColumnRun]) -> list[int]:
    """Return the places, in steps of _GRID from the left, where most lines begin and so a column may."""
    weights: Counter[int] = Counter()
    for run in held:
        weights[round(run.left / _GRID)] += len(run.items)
    first = min(weights)
    chosen = {start for start, lines in weights.most_common(_CANDIDATES) if start > first and lines > 1}
    return sorted(chosen | _outdented(chosen, weights, first))


def _outdented(chosen: set[int], weights: Counter[int], first: int) -> set[int]:
    """Return for each place the first one near its left: a heading may begin left of what stands below it."""
    found = (min(other for other in weights if start - _OUTDENT <= other) for start in chosen)
    return {max(first + 1, start) for start in found} & {*weights}


class _Sides(NamedTuple):
    """The runs left and right of a gutter and across it; `written` has the side of each in content order."""

    left: list[ColumnRun]
    right: list[ColumnRun]
    over: list[ColumnRun]
    written: list[int]


def _sides(held: list[ColumnRun], gutter: float) -> _Sides:
    written = [side_of(run, gutter) for run in held]
    left, right, over = ([run for run, at in zip(held, written, strict=True) if at == side] for side in _SIDES)
    return _Sides(left, right, over, written)


def _score(held: list[ColumnRun], gutter: float) -> float:
    """Return the score of a gutter: the height of text on both sides in points, less that across it; 0 for none."""
    sides = _sides(held, gutter)
    if not _are_apart(sides, gutter):
        return 0.0
    top, bottom = _shared(sides)
    if bottom - top < _MIN_SHARED * max(held[0].step, _LEAST_STEP):
        return 0.0
    less = _height(sides.over, top, bottom)
    score = min(_height(sides.left, top, bottom), _height(sides.right, top, bottom)) - less
    return score if score > 0 and _are_columns(sides) else 0.0


def _are_apart(sides: _Sides, gutter: float) -> bool:
    """Return whether there are runs on both sides of a gutter, and it is wide enough."""
    if not sides.left or not sides.right:
        return False
    return gutter - max([run.right for run in sides.left]) >= _MIN_GUTTER


def _shared(sides: _Sides) -> tuple[float, float]:
    """Return the vertical range in which there are runs on both sides."""
    top = max(min([run.top for run in sides.left]), min([run.top for run in sides.right]))
    bottom = min(max([run.bottom for run in sides.left]), max([run.bottom for run in sides.right]))
    return top, bottom


def side_of(run: ColumnRun, gutter: float) -> int:
    """Return the side of a gutter, given by its right edge, that a run is on."""
    if run.left >= gutter - _SLACK:
        return _RIGHT
    return OVER if run.right > gutter + _SLACK else _LEFT


def _height(some: list[ColumnRun], top: float, bottom: float) -> float:
    """Return the total height of runs within a vertical range."""
    inside = [run for run in some if run.bottom > top and run.top < bottom]
    return sum([min(run.bottom, bottom) - max(run.top, top) for run in inside])


def _are_columns(sides: _Sides) -> bool:
    """Return whether the text on two sides is two columns: written column by column, or filling both."""
    fewer = min(_count(sides.left), _count(sides.right))
    if fewer < 2:
        return False
    if _switches(sides.written) <= max(1, _SWITCHES * fewer):
        return True
    return fill(sides.left) and fill(sides.right)


def _switches(written: list[int]) -> int:
    """Return how often the content order changes sides."""
    return sum(starmap(ne, pairwise([side for side in written if side != OVER])))


def _count(some: list[ColumnRun]) -> int:
    """Return the number of lines and rows in runs."""
    return sum(len(item.cells) if isinstance(item, PageTable) else 1 for run in some for item in run.items)


def _lines(some: list[ColumnRun]) -> list[TextLine]:
    return [item for run in some for item in run.items if isinstance(item, TextLine)]


def fill(some: list[ColumnRun]) -> bool:
    """Return whether most letters stand in lines as wide and as long as lines of text are; a table may stand there."""
    lines = _lines(some)
    if len(lines) < _MIN_LINES:
        return False
    width = max(run.right for run in some) - min(run.left for run in some)
    full = sum(len(line.text) for line in lines if line.right - line.left >= _FULL * width)
    return full >= _MOST * sum(len(line.text) for line in lines) and median(map(_length, lines)) >= _MIN_LETTERS


def _length(line: TextLine) -> int:
    return len(line.text)
