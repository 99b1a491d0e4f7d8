"""PDF gutters: the empty strips down a page between its columns of text."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby, pairwise, starmap
from operator import attrgetter, ne
from statistics import median
from typing import NamedTuple

from docmill.tasks.parse.pdf.layout.aligned import with_level_tables, with_tables
from docmill.tasks.parse.pdf.layout.rows import Item, PageTable, lines_in
from docmill.tasks.parse.pdf.text.characters import HYPHEN, LEVEL, LOWERED, RAISED, unmarked
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around, around_all, grouped
from docmill.tasks.parse.pdf.text.right_to_left import is_right_to_left
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules

_GRID = 3  # points: lines that begin closer than this count as aligned
_CANDIDATES = 8  # positions to try, those where most lines begin: each needs a pass over all runs
_OUTDENT = 15  # steps of _GRID, so 45 points: how far left of its text the heading of a side box may begin
_MIN_GUTTER = 5.0  # points: narrower ones are spaces between words
_SLACK = 3.0  # points by which text, such as hanging punctuation, may reach into a gutter

# Columns of text.
_SWITCHES = 0.5
"""Changes of side per line of the shorter side.

Text written row by row has about two. Text written column by column has one in all, or a few around pictures.
"""
_FULL = 0.6  # of a column's width, which lines of text fill; cells of a table are shorter
_MOST = 0.6  # share of a column's letters in such lines
_MIN_LETTERS = 12  # median letters of a column's lines; figures and names in cells have fewer
_MIN_LINES = 4  # with fewer, how lines fill a side does not show whether it is a column

_SIDES = _LEFT, _RIGHT, OVER = range(3)  # of a gutter


@dataclass(slots=True)
class ColumnRun:
    """Consecutive items of one column; `place` numbers runs in content order."""

    items: list[Item]
    place: int
    left: float
    top: float
    right: float
    bottom: float
    step: float


def best_gutter(held: list[ColumnRun]) -> float | None:
    """Return the right edge of the best gutter between columns of text, or None."""
    best, found = 0.0, None
    for start in _starts(held):
        gutter = min([run.left for run in held if abs(round(run.left / _GRID) - start) <= 1])
        score = _score(held, gutter)
        if score > best:
            best, found = score, gutter
    return found


def _starts(held: list[ColumnRun]) -> list[int]:
    """Return the positions, in steps of _GRID, where most lines begin and a column may begin."""
    weights: Counter[int] = Counter()
    for run in held:
        weights[round(run.left / _GRID)] += len(run.items)
    first = min(weights)
    chosen = {start for start, lines in weights.most_common(_CANDIDATES) if start > first and lines > 1}
    # A heading may begin left of the text below it, so the leftmost start near each chosen one is tried, too.
    outdented = (min(other for other in weights if start - _OUTDENT <= other) for start in chosen)
    return sorted(chosen | ({max(first + 1, start) for start in outdented} & {*weights}))


class _Sides(NamedTuple):
    """The runs left of a gutter, right of it and across it; `written` is the side of each run in content order."""

    left: list[ColumnRun]
    right: list[ColumnRun]
    over: list[ColumnRun]
    written: list[int]


def _sides(held: list[ColumnRun], gutter: float) -> _Sides:
    written = [side_of(run, gutter) for run in held]
    left, right, over = ([run for run, at in zip(held, written, strict=True) if at == side] for side in _SIDES)
    return _Sides(left, right, over, written)


def _score(held: list[ColumnRun], gutter: float) -> float:
    """Return the score of a gutter: the lesser height of text beside it, minus the height across it; 0 if invalid."""
    sides = _sides(held, gutter)
    if not _are_apart(sides, gutter):
        return 0.0
    top, bottom = _shared(sides)
    less = _height(sides.over, top, bottom)
    score = min(_height(sides.left, top, bottom), _height(sides.right, top, bottom)) - less
    return score if score > 0 and _are_columns(sides) else 0.0


def _are_apart(sides: _Sides, gutter: float) -> bool:
    """Return whether a gutter has runs on both sides, and beside these no run ends in it.

    A title above both sides or a page number below them may end in it.
    """
    if not sides.left or not sides.right:
        return False
    both = sides.left + sides.right
    top, bottom = min([run.top for run in both]), max([run.bottom for run in both])
    return not any(run.right <= gutter + _SLACK and run.bottom > top and run.top < bottom for run in sides.over)


def _shared(sides: _Sides) -> tuple[float, float]:
    """Return the vertical range in which there are runs on both sides."""
    top = max(min([run.top for run in sides.left]), min([run.top for run in sides.right]))
    bottom = min(max([run.bottom for run in sides.left]), max([run.bottom for run in sides.right]))
    return top, bottom


def side_of(run: ColumnRun, gutter: float) -> int:
    """Return the side of a gutter, given by its right edge, that a run is on."""
    if run.left >= gutter - _SLACK:
        return _RIGHT
    return OVER if run.right > gutter - _MIN_GUTTER else _LEFT


def _height(some: list[ColumnRun], top: float, bottom: float) -> float:
    """Return the total height of runs, clipped to a vertical range."""
    inside = [run for run in some if run.bottom > top and run.top < bottom]
    return sum([min(run.bottom, bottom) - max(run.top, top) for run in inside])


def _are_columns(sides: _Sides) -> bool:
    """Return whether the two sides are columns: written column by column, or each filled with lines of text."""
    fewer = min(_count(sides.left), _count(sides.right))
    if fewer < 2:
        return False
    switches = sum(starmap(ne, pairwise([side for side in sides.written if side != OVER])))
    return switches <= max(1, _SWITCHES * fewer) or (_fill(sides.left) and _fill(sides.right))


def _count(some: list[ColumnRun]) -> int:
    """Return the number of lines and rows in runs."""
    return sum(len(item.cells) if isinstance(item, PageTable) else 1 for item in _items(some))


def _fill(some: list[ColumnRun]) -> bool:
    """Return whether most letters are in lines as wide and long as lines of text; tables are ignored."""
    lines = lines_in(_items(some))
    if len(lines) < _MIN_LINES:
        return False
    width = max(run.right for run in some) - min(run.left for run in some)
    full = sum(len(line.text) for line in lines if line.right - line.left >= _FULL * width)
    letters = [len(line.text) for line in lines]
    return full >= _MOST * sum(letters) and median(letters) >= _MIN_LETTERS


_NUMBER = re.compile(r"\d[\d.,]*")
_MAX_DEPTH = 10
"""Nested gutters. It bounds the work for a page built to have many."""

# Pieces of a line, in font sizes.
_CUT, _ROW = 1.0, 1000.0  # maximum distance between pieces of a line that pdfium cut, and of any row
_NO_SPACE = 0.15  # closer pieces are one word; a thin space is a fifth of the font size
_OFF_GRID, _ON_GRID = 0.05, 0.8
"""Letters by which pieces of a line of code may be off a whole number of letters apart, and the share that must not be:
signs in another font have other widths. Columns of cells are at a whole number of letters only by chance."""
_MARK = 3  # characters of a bullet or number before an item, which may be larger than the item's text
_SMALLER, _HIGHER = 0.92, 0.1  # scripts are this much smaller than the text before, superscripts end this much higher
_LOWER = 0.2  # subscripts begin this much lower
_LONGEST_SCRIPT, _LONGEST_LETTERS = 12, 3  # signs; raised letters alone: a longer word is not a script
_RAISED_GAP = 0.3  # between a script and its line: they touch, except for a thin space

# Pieces of a line, as shares of the lesser height unless stated otherwise.
_ALIKE, _HALF = 0.9, 0.45  # of the font size: for equal sizes; how much lower a cell of another column is
_LEVEL = 0.5  # minimum overlap of two pieces on one baseline
_TOUCHING = 0.25  # minimum overlap of any two pieces of a line: even superscripts reach into it
_LEAST_HEIGHT = 0.1  # points, for text that a page gives no height

# Runs. Lines of separate runs can still end up in one flow; a run over two columns cannot be split.
_NEXT_TOP = 2.2  # font sizes from the top of a line to the top of the next: up to double spacing
_NEXT_GAP = 0.8  # font sizes between them
_SAME_SIZE = 0.2  # of the font size, by which that of neighbouring lines may differ
_PLAIN_STEP = 10.0  # points: a usual font size, for tables, which have none
_OVERLAP = 0.2  # of the lesser height, by which lines of one column may overlap: boxes extend beyond ascenders
_IN_ROW = 0.5  # of the font size, or of a lower run's height: runs that overlap more are side by side


def columns(items: list[Item], level: LevelRules, code: bool) -> list[list[Item]]:
    """Return the items of a page as flows: each is a column, or the text above, below or between columns.

    `level` are the page's horizontal rules; `code` says whether monospaced text is code.
    """
    if _is_column(items):
        return [items]
    joined = _joined(_with_whole_code(items) if code else items, _CUT)
    whole = with_level_tables(joined, with_tables(joined, level, code), level, code)
    flows = _flows(runs(whole), 0)
    alone = len(flows) > 1  # in a column of text, a table has no other text next to it
    return [
        join_rows(with_tables(_items(flow), level, code) if alone and _fill(flow) else _items(flow)) for flow in flows
    ]


def _items(flow: list[ColumnRun]) -> list[Item]:
    return [item for run in flow for item in run.items]


def _is_column(items: list[Item]) -> bool:
    """Return whether each item is clearly below the previous one: a single column, as on most pages."""
    low, least = float("-inf"), 0.0
    for item in items:
        box = item.box
        height = box[3] - box[1]
        if box[1] < low - _OVERLAP * (height if height < least else least):
            return False
        low, least = box[3], height
    return True


def join_scripts(lines: list[TextLine]) -> list[TextLine]:
    """Join scripts that pdfium cut off to the lines that they touch, so that they end up in the same cell."""
    found = lines[:1]
    for line in lines[1:]:
        before = found[-1]
        apart = line.left - before.right
        touch = -_TOUCHING * before.size < apart < _NO_SPACE * line.size and _beside(before, line, _CUT)
        if touch and line.size < _SMALLER * before.size and _mark(line, before):
            _append(before, line)
        else:
            found.append(line)
    return found


def join_rows(items: list[Item]) -> list[Item]:
    """Join successive pieces on one baseline of a column, however far apart."""
    return _joined(items, _ROW)


def _joined(items: list[Item], reach: float) -> list[Item]:
    """Join successive pieces of one line, as pdfium cuts them for example at a superscript."""
    whole: list[Item] = items[:1]
    before = whole[0] if whole else None
    for item in items[1:]:
        if (
            isinstance(before, TextLine)
            and isinstance(item, TextLine)
            and item.box[0] >= before.box[2] - before.size  # as few are
            and _beside(before, item, reach)
        ):
            _append(before, item)
        else:
            whole.append(item)
            before = item
    return whole


def _beside(one: TextLine, other: TextLine, reach: float) -> bool:
    """Return whether a piece continues the line to its left, at most `reach` font sizes away."""
    if other.box[2] < one.box[2] or one.text.endswith(HYPHEN):
        return False
    if reach < _ROW and (one.ruled or _is_half_lower(one, other)):
        return False
    overlap = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    smaller = max(min(one.height, other.height), _LEAST_HEIGHT)
    if overlap <= _TOUCHING * smaller or one.furniture != other.furniture:
        return False
    # A piece much higher or lower, such as a superscript, must touch the line.
    far = reach * max(one.size, other.size) if overlap > _LEVEL * smaller else _RAISED_GAP * one.size
    return other.box[0] - one.box[2] < far


def _with_whole_code(items: list[Item]) -> list[Item]:
    """Join the pieces of each line of a listing, with as many spaces between them as it has room for."""
    found: list[Item] = []
    for is_code, some in groupby(items, key=lambda item: isinstance(item, TextLine) and item.font.mono):
        group = [*some]
        found += _whole_lines(lines_in(group)) if is_code and len(group) > 2 else group
    return found


def _whole_lines(pieces: list[TextLine]) -> list[TextLine]:
    """Return the lines of code whose pieces are whole numbers of letters apart; if they are not, they are cells."""
    lines = grouped(pieces, lambda line, piece: _beside(line[-1], piece, _ROW))
    pairs = [pair for line in lines for pair in pairwise(line)]
    apart = [(other.left - one.right) * len(other.text) / (other.right - other.left) for one, other in pairs]
    on_grid = sum(abs(letters - round(letters)) < _OFF_GRID for letters in apart)
    if len(lines) < 2 or on_grid < _ON_GRID * len(pairs):
        return pieces
    spaces = iter(apart)
    for first, *others in lines:
        for piece in others:
            _append(first, piece, " " * round(next(spaces)))
    return [line[0] for line in lines]


def _is_half_lower(one: TextLine, other: TextLine) -> bool:
    """Return whether one of two pieces of about one font size is half a line lower, as a cell of another column is."""
    if not _ALIKE * one.size < other.size < one.size / _ALIKE:
        return False
    return abs(one.box[1] + one.box[3] - other.box[1] - other.box[3]) > 2 * _HALF * one.size


def _append(one: TextLine, other: TextLine, spaces: str = " ") -> None:
    """Append a piece at the right of a line to it, or prepend it if the line is read from the right."""
    glue = "" if other.box[0] - one.box[2] < _NO_SPACE * other.size else spaces
    mark = "" if glue else _mark(other, one)
    is_mark = len(one.text) <= _MARK < len(other.text)
    if is_right_to_left(one.text + other.text):
        one.text = _from_the_right(one, other, glue)
    else:
        one.text += f"{mark}{unmarked(other.text)}{LEVEL}" if mark else glue + other.text
    one.font = one.font.both(other.font)
    one.gap = max(one.gap, other.gap, (other.box[0] - one.box[2]) / max(one.size, other.size))
    one.size = other.size if is_mark else max(one.size, other.size)
    one.box = around(one.box, other.box)
    one.last = other.last


def _from_the_right(one: TextLine, other: TextLine, glue: str) -> str:
    """Return the joined text of a piece and the piece at its right, which is read first."""
    if not glue and one.text.isdigit() and _stands_higher(one, other):
        return f"{other.text}{RAISED}{one.text}{LEVEL}"
    if other.text.isdigit() and _stands_higher(other, one):
        number = _NUMBER.match(one.text) if not glue else None  # a number is read from the left: 2023, then its mark
        at = number.end() if number else 0
        return f"{one.text[:at]}{RAISED}{other.text}{LEVEL}{glue}{one.text[at:]}"
    return f"{other.text}{glue}{one.text}"


def _mark(piece: TextLine, line: TextLine) -> str:
    """Return the mark of a piece that touches a line, RAISED or LOWERED; "" if it is neither."""
    if len(piece.text) > _LONGEST_SCRIPT or " " in piece.text or piece.size > _SMALLER * line.size:
        return ""
    if _stands_higher(piece, line):
        return "" if piece.text.isalpha() and len(piece.text) > _LONGEST_LETTERS else RAISED
    return LOWERED if piece.box[1] - line.box[1] > _LOWER * line.size else ""


def _stands_higher(piece: TextLine, line: TextLine) -> bool:
    return piece.size < _SMALLER * line.size and piece.box[3] < line.box[3] - _HIGHER * line.size


def runs(items: list[Item]) -> list[ColumnRun]:
    """Return the runs of items, in content order."""
    return [
        ColumnRun(
            run,
            place,
            *around_all([item.box for item in run]),
            run[0].size if isinstance(run[0], TextLine) else _PLAIN_STEP,
        )
        for place, run in enumerate(grouped(items, _follows))
    ]


def _follows(run: list[Item], line: Item) -> bool:
    """Return whether a line is closely below a run's last one, overlaps it, and has about the same font size."""
    above = run[-1]
    if not isinstance(above, TextLine) or not isinstance(line, TextLine):
        return False
    one, other = above.box, line.box
    if not 0 < other[1] - one[1] < _NEXT_TOP * max(line.size, above.size):
        return False
    if abs(line.size - above.size) > _SAME_SIZE * above.size:
        return False
    return other[0] < one[2] and one[0] < other[2] and other[1] - one[3] < _NEXT_GAP * line.size


def _flows(held: list[ColumnRun], depth: int) -> list[list[ColumnRun]]:
    """Return runs as flows, in reading order."""
    if not held:
        return []
    lower = sorted(held, key=lambda run: run.top)
    gutter = best_gutter(held) if depth < _MAX_DEPTH else None
    if gutter is not None:
        return [*_around(lower, gutter, depth)]
    rows = grouped(lower, _is_beside)  # runs side by side are in the order of their row
    return [[*chain.from_iterable(map(_in_order, rows))]]


def _around(held: list[ColumnRun], gutter: float, depth: int) -> Iterator[list[ColumnRun]]:
    """Yield flows from the top: runs across a gutter, and between them the runs on its two sides."""
    over = [run for run in held if side_of(run, gutter) == OVER]
    sides = [run for run in held if side_of(run, gutter) != OVER]
    sides.sort(key=lambda run: run.top + run.bottom)
    middles = [run.top + run.bottom for run in sides]
    start = 0
    group: list[ColumnRun] = []
    for run in over:
        end = bisect_left(middles, run.top + run.bottom)
        if end > start:
            yield from _flows(group, depth + 1)
            group = []
            yield from _band(sides[start:end], gutter, depth)
            start = end
        group.append(run)
    yield from _flows(group, depth + 1)
    yield from _band(sides[start:], gutter, depth)


def _band(band: list[ColumnRun], gutter: float, depth: int) -> Iterator[list[ColumnRun]]:
    leftward = is_right_to_left(" ".join(line.text for line in lines_in(_items(band))))
    for side in (leftward, not leftward):
        held = [run for run in band if (run.left + run.right > 2 * gutter) == side]
        yield from _flows(sorted(held, key=lambda run: run.place), depth + 1)


def _is_beside(row: list[ColumnRun], run: ColumnRun) -> bool:
    return run.top < max(one.bottom for one in row) - _IN_ROW * min(run.step, run.bottom - run.top)


def _in_order(row: list[ColumnRun]) -> list[ColumnRun]:
    """Return runs that are side by side: from the left if each is one line, else in content order."""
    low = all(run.bottom - run.top < 2 * run.step for run in row)
    return sorted(row, key=attrgetter("left" if low else "place"))
