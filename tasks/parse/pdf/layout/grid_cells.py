"""PDF grid cells: the rows that the cells of a grid make, and those that stand outside of a table and belong to it.

Rules part rows, but not all: a rule may stand below every third row, or none within the body of a table. Rows within
the cells of one band are told by their lines: they break beside figures, or though there is room, in several columns.
Programs leave out the band of a header or of a sum, and print the head of the first rows between these and the header:
a table grows to what is aligned with its columns.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise

from docmill.tasks.parse.pdf.layout.rows import LAYOUT, CellSpan, PageTable, are_level, had_room, is_value, levels_of
from docmill.tasks.parse.pdf.text.characters import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine, texts_to_join
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all, spans_over
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

Extent = tuple[float, float]  # where a row begins and ends, in points from the top


_YEAR = range(1800, 2200)
"""Figures that are years: a header may be made of these, and of no other figures."""
_RANGE = ("-", "\u2013")  # behind the first figure of a range, whose last is on the next line
_YEAR_DIGITS = 4  # without a comma or point: "1,900" is an amount


Pieces = list[TextLine]


@dataclass(slots=True)
class Cell:
    """A cell of a grid: its rows and columns from the first to the last, its sides, what stands in it."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    left: float
    top: float
    right: float
    bottom: float
    pieces: Pieces


@dataclass(slots=True)
class CellRows:
    """The rows of a table: its cells by row and column, those that span several, and where each row stands."""

    cells: list[list[str]]
    spans: list[CellSpan]
    extents: list[Extent]


def rows_of_cells(cells: list[Cell]) -> CellRows:
    """Return the rows and columns of cells that hold text."""
    held = [cell for cell in cells if cell.pieces]
    columns = sorted({cell.columns[0] for cell in held})
    rows = [*_rows(held)]
    bands = [band for band, _ in rows]
    table = CellRows([[""] * len(columns) for _ in rows], [], [extent for _, extent in rows])
    for cell in held:
        _place(table, cell, bands, columns)
    return table


def _rows(cells: list[Cell]) -> Iterator[tuple[int, Extent]]:
    """Yield the rows of cells: the number of the band that each is in, and where it stands."""
    for band in sorted({cell.rows[0] for cell in cells}):
        for extent in _extents(band, cells):
            yield band, extent


def _place(table: CellRows, cell: Cell, bands: list[int], columns: list[int]) -> None:
    """Put what a cell holds into the rows that it stands in: line by line where these are its lines' levels."""
    within = _places(bands, cell.rows)
    column, *more = _places(columns, cell.columns)
    wide = 1 + len(more)
    is_tall = cell.rows[0] < cell.rows[1] or (len(within) > 1 and _is_label(cell))
    held = _by_rows(cell.pieces, within, table.extents, max(2.0, LAYOUT.beside_tall * len(within)) if is_tall else 1.0)
    tall = len(within) if is_tall and len(held) == 1 else 1
    for row, pieces in held.items():
        table.cells[row][column] = joined(texts_to_join(pieces), Vocabulary())
        if tall * wide > 1:
            table.spans.append((row, column, tall, wide))


def _places(numbers: list[int], ends: tuple[int, int]) -> list[int]:
    """Return the places of the numbers from the first to the last."""
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
    """Return where the rows of a band between rules stand: one, or as many as its lines make."""
    begun = [cell for cell in cells if cell.rows[0] == band]
    own = [cell for cell in begun if cell.rows[1] == band]
    groups = _groups(own) if own else [_all_of(begun)]
    return [(min(one.box[1] for one in group), max(one.box[3] for one in group)) for group in groups]


def _all_of(cells: list[Cell]) -> Pieces:
    return [*chain.from_iterable(cell.pieces for cell in cells)]


def _groups(cells: list[Cell]) -> list[Pieces]:
    """Return the pieces of the cells of a band by row."""
    if max(len(cell.pieces) for cell in cells) == 1:  # as in most bands
        return [_all_of(cells)]
    levels = levels_of(chain.from_iterable(cell.pieces for cell in cells if not _is_label(cell)))
    return levels if len(levels) > 1 and _are_rows(cells) else [_all_of(cells)]


def _is_label(cell: Cell) -> bool:
    """Return whether a cell holds words on one line, which name all rows of its band if there are several."""
    return len(levels_of(cell.pieces)) == 1 and not any(is_value(piece.text) for piece in cell.pieces)


def _are_rows(cells: list[Cell]) -> bool:
    """Return whether the lines in the cells of a band are rows: in several columns they break though there is room."""
    lines = [(cell, _lines(cell)) for cell in cells]
    several = [(cell, found) for cell, found in lines if len(found) > 1]
    breaks = [*_breaks(several, _figures(lines))]
    if len(several) < 2 or sum(breaks) < LAYOUT.breaks * len(breaks):
        return False
    return _hold_figures(several)


_Lines = list[tuple[Cell, Pieces]]


def _lines(cell: Cell) -> Pieces:
    """Return the lines of a cell; those of one over several columns are one."""
    levels = levels_of(cell.pieces)
    return [_whole(level) for level in (levels if cell.columns[0] == cell.columns[1] else levels[:1])]


def _figures(lines: _Lines) -> Pieces:
    return [piece for _, found in lines for piece in found if is_value(piece.text)]


def _hold_figures(lines: _Lines) -> bool:
    """Return whether a cell holds nothing but figures."""
    return any(all(is_value(line.text) for line in found) for _, found in lines)


def _breaks(several: _Lines, values: Pieces) -> Iterator[bool]:
    """Yield for each line of a cell below another whether it is none of that: beside a figure, or with room above."""
    for cell, found in several:
        for one, other in pairwise(found):
            yield any(are_level(other, value) for value in values) or had_room(one, other, cell.right - cell.left)


def _whole(level: Pieces) -> TextLine:
    """Return the pieces of one cell on one level as one."""
    if len(level) == 1:
        return level[0]
    level = sorted(level, key=lambda one: one.left)
    return replace(level[0], text=" ".join(one.text for one in level), box=around_all([one.box for one in level]))


def header_rows(cells: list[list[str]]) -> int:
    """Return 0 if a table's first row has figures in half of the columns of figures or more, else 1.

    If there are no such columns, that is half of the row. Years, and numbers that count on, may name columns.
    """
    names = [cells[0][at] for at in _telling(cells)]
    figures = [*filter(_is_figure, names)]
    counted = len(figures) < sum(map(bool, cells[0])) and _count_on(figures)
    return int(counted or 2 * len(figures) < max(len(names), 1))


def _telling(cells: list[list[str]]) -> list[int]:
    """Return the columns of figures among those that the first row of a table fills, or all of these."""
    filled = [at for at, cell in enumerate(cells[0]) if cell]
    return [at for at in filled if _has_figures(cells, at)] or filled


def _has_figures(cells: list[list[str]], column: int) -> bool:
    """Return whether most cells of a column below its first are figures."""
    below = [row[column] for row in cells[1:] if row[column]]
    return 2 * sum(map(_is_figure, below)) > len(below)


def _count_on(figures: list[str]) -> bool:
    """Return whether figures are numbers of columns: each is one more than the one before."""
    whole = len(figures) > 1 and all(map(str.isdecimal, figures))
    return whole and all(int(other) - int(one) == 1 for one, other in pairwise(figures))


def _is_figure(text: str) -> bool:
    if text[:1].isalpha() or text[-1:].isalpha():  # as most cells
        return False
    if text[1:].endswith(_RANGE):
        return False
    plain = text.strip(" $€£%()+-–").replace(",", "").replace(".", "").replace(" ", "")
    return plain.isdecimal() and not (len(text) == _YEAR_DIGITS and int(plain) in _YEAR)


_TWO = 2  # columns
_MOST_HEADER_LINES = 3  # of a header, which bounds the work
_MOST_ROWS = 6  # that a table grows by at either end


@dataclass(slots=True)
class _OuterRow:
    """A row outside of a table: its lines, and their texts by column."""

    lines: list[TextLine]
    cells: dict[int, list[str]]

    @property
    def extent(self) -> Extent:
        return min(line.box[1] for line in self.lines), max(line.box[3] for line in self.lines)


Parts = Callable[[TextLine], list[tuple[int, str]] | None]
"""What parts a line between columns: the column of each text; None where the line runs over several."""


def parts_by_letters(line: TextLine, sides: list[float], layer: TextLayer) -> list[tuple[int, str]] | None:
    """Return the parts of a line by column, None unless its words leave a wide gap at each side that it stands over."""
    found = layer.placed_in(line, lambda x: min(max(bisect_right(sides, x) - 1, 0), len(sides) - 2))
    near = LAYOUT.apart * line.size
    wide = [(start - near, end + near) for start, end in layer.gaps(line) if end - start > near]
    crossed = [side for side in sides[1:-1] if line.box[0] + near < side < line.box[2] - near]
    return found if all(any(start < side < end for start, end in wide) for side in crossed) else None


@dataclass(slots=True)
class Growth:
    """A table that grows: the places of its columns' sides, its rows, the lines around it, and those that it took."""

    sides: list[float]
    rows: CellRows
    around: list[TextLine]
    parts: Parts
    size: float
    columns: list[tuple[float, float]] = field(default_factory=list)
    rules: LevelRules = field(default_factory=LevelRules)
    known: int = 0  # rows of its header, if it is known to have several

    @property
    def header(self) -> int:
        """Return how many rows are its header."""
        return max(self.known, header_rows(self.rows.cells))

    def grow(self) -> list[TextLine]:
        """Let the table take what stands outside of it and belongs to it; return the lines that it took."""
        return [*self._take_header(), *self._take_below()]

    def _take_header(self) -> Iterator[TextLine]:
        """Let the table take the rows above it; yield their lines."""
        for _ in range(_MOST_ROWS):
            lines = self._take_above()
            yield from lines
            if not lines:
                break

    def _take_above(self) -> list[TextLine]:
        level, edge = self._next(upwards=True)
        if header_rows(self.rows.cells) and self._begins_names(level, edge):
            return self._begin(level)
        row = self._row(level, edge, upwards=True)
        return self._put_above([row] if row else self._headed(level, edge))

    def _put_above(self, rows: list[_OuterRow]) -> list[TextLine]:
        for row in rows:
            self._put(row, 0)
        return [line for row in rows for line in row.lines]

    def _take_below(self) -> Iterator[TextLine]:
        """Let the table take the rows below it; yield their lines."""
        for _ in range(_MOST_ROWS):
            row = self._row(*self._next(upwards=False), upwards=False)
            if row is None:
                break
            self._put(row, len(self.rows.cells))
            yield from row.lines

    def _next(self, upwards: bool) -> tuple[list[TextLine], float]:
        """Return the lines of the row next to the table, and the edge of the table there."""
        edge = self.rows.extents[0][0] if upwards else self.rows.extents[-1][1]
        return _next_level(self.around, edge, upwards), edge

    def _headed(self, level: list[TextLine], edge: float) -> list[_OuterRow]:
        """Return the head of the first rows of a table without a header, and the header above it, if this is one."""
        if not self._is_head(level, edge):
            return []
        head = _OuterRow(level, {0: [level[0].text]})
        top, _ = head.extent
        header = self._row(_next_level([one for one in self.around if one not in level], top, True), top, upwards=True)
        return [] if header is None or self._is_of_figures(header) else [head, header]

    def _is_head(self, level: list[TextLine], edge: float) -> bool:
        """Return whether a level is one line in the first column, near the rows of a table without a header."""
        if len(level) != 1 or not self._is_alike(level) or header_rows(self.rows.cells):
            return False
        near = edge - level[0].box[3] <= LAYOUT.reach * level[0].height
        return near and [column for column, _ in self.parts(level[0]) or ()] == [0]

    def _begin(self, level: list[TextLine]) -> list[TextLine]:
        """Put lines into the names of columns that they begin; return them."""
        names = self.rows.cells[0]
        for line in level:
            column = self._over(line)[0]
            names[column] = joined([line.text, names[column]], Vocabulary())
        self.rows.extents[0] = min(line.box[1] for line in level), self.rows.extents[0][1]
        self._leave(level)
        return level

    def _leave(self, lines: list[TextLine]) -> None:
        """Take lines out of those around the table; columns reach as far as those that stand in one each."""
        self.around = [line for line in self.around if line not in lines]
        for line in lines if self.columns else ():
            column, *more = self._over(line) or [0, 0]
            if not more:
                left, right = self.columns[column]
                self.columns[column] = min(left, line.box[0]), max(right, line.box[2])

    def _over(self, line: TextLine) -> list[int]:
        return spans_over(line.box[::2], self.spans)

    def _begins_names(self, level: list[TextLine], edge: float) -> bool:
        """Return whether each line of a level is as close above a name of one column as lines of one text are."""
        if not level or self._is_ruled_off(level[0], edge) or not self._is_alike(level):
            return False
        over = [self._over(line) for line in level]
        close = edge - max(line.box[3] for line in level) < LAYOUT.leading * level[0].height
        return close and over != [[0]] and all(map(self._is_name, over))

    def _is_name(self, columns: list[int]) -> bool:
        """Return whether columns are one that has a name."""
        return len(columns) == 1 and bool(self.rows.cells[0][columns[0]])

    def _put(self, row: _OuterRow, at: int) -> None:
        """Insert a row before another."""
        width = len(self.sides) - 1
        self.rows.cells.insert(at, [joined(row.cells.get(column, ()), Vocabulary()) for column in range(width)])
        self.rows.extents.insert(at, row.extent)
        shift = int(not at)
        self.rows.spans[:] = [(first + shift, *rest) for first, *rest in self.rows.spans]  # type: ignore[misc]
        self._leave(row.lines)

    def _may_head(self) -> bool:
        """Return whether a row above may be a header: with two columns, which text has too, there must be none yet."""
        return len(self.sides) > _TWO + 1 or not header_rows(self.rows.cells)

    def _is_of_figures(self, row: _OuterRow) -> bool:
        """Return whether a row has a figure where the table has them."""
        return any(
            any(map(is_value, texts)) and sum(is_value(cells[column]) for cells in self.rows.cells if cells[column]) > 1
            for column, texts in row.cells.items()
        )

    def _row(self, level: list[TextLine], edge: float, upwards: bool) -> _OuterRow | None:
        """Return a level of lines as a row, None if it stands too far away or does not fit the columns."""
        if not level or not self._is_alike(level) or not self._is_within(level):
            return None
        cells: dict[int, list[str]] = {}
        for line in level:
            parts = self.parts(line)
            if parts is None:
                return None
            for column, text in parts:
                cells.setdefault(column, []).append(text)
        row = _OuterRow(level, cells)
        apart = edge - row.extent[1] if upwards else row.extent[0] - edge
        if not self._is_near(row, apart):
            return None
        return row if (self._may_head() if upwards else self._is_of_figures(row)) else None

    def _is_near(self, row: _OuterRow, apart: float) -> bool:
        """Return whether a row fills enough columns, and most of them if it stands further away."""
        filled = len(row.cells) / (len(self.sides) - 1)
        reach = LAYOUT.reach * row.lines[0].height
        return (
            len(row.cells) > 1 and filled >= LAYOUT.filled and apart <= (2 * reach if filled >= LAYOUT.full else reach)
        )

    def _is_ruled_off(self, line: TextLine, edge: float) -> bool:
        """Return whether a rule as wide as the table parts it from a line above."""
        return self.rules.between((line.box[1] + line.box[3]) / 2, edge + 1, self.spans[0][0], self.spans[-1][1])

    @property
    def spans(self) -> list[tuple[float, float]]:
        """Return where the columns begin and end: what the table gives, else the places of its rules."""
        return self.columns or [*pairwise(self.sides)]

    def _is_within(self, level: list[TextLine]) -> bool:
        """Return whether the middles of all lines stand within the sides of a table; a header may reach over them."""
        left, right = self.sides[0] - LAYOUT.stray, self.sides[-1] + LAYOUT.stray
        return all(left < (line.box[0] + line.box[2]) / 2 < right for line in level)

    def _is_alike(self, level: list[TextLine]) -> bool:
        return all(abs(line.size - self.size) <= LAYOUT.other_size * self.size for line in level)


def _next_level(lines: list[TextLine], edge: float, upwards: bool) -> list[TextLine]:
    """Return the lines of the row next to the edge of a table: those level with the next one, and with one another."""
    outside = [
        line for line in lines if (line.box[3] < edge + LAYOUT.stray if upwards else line.box[1] > edge - LAYOUT.stray)
    ]
    if not outside:
        return []
    row = [max(outside, key=lambda line: line.box[3]) if upwards else min(outside, key=lambda line: line.box[1])]
    for _ in range(_MOST_HEADER_LINES):
        row = _level_with(row, outside)
    return sorted(row, key=lambda line: (line.box[1], line.box[0]))


def _level_with(row: list[TextLine], lines: list[TextLine]) -> list[TextLine]:
    """Return the lines that share some of their height with a row."""
    top, bottom = min(line.box[1] for line in row), max(line.box[3] for line in row)
    return [line for line in lines if _shared(line, top, bottom) > LAYOUT.shared * line.height]


def _shared(line: TextLine, top: float, bottom: float) -> float:
    """Return how much of its height a line shares with a row."""
    _, upper, _, lower = line.box
    return (lower if lower < bottom else bottom) - (upper if upper > top else top)


def parts_by_columns(line: TextLine, columns: list[tuple[float, float]]) -> list[tuple[int, str]] | None:
    """Return the texts of a line by column: one for each of as many figures; None if it fits no column."""
    over, words = spans_over(line.box[::2], columns), line.text.split()
    if len(over) > 1 and len(words) == len(over) and all(map(is_value, words)):
        return [*zip(over, words, strict=True)]
    return [(over[0], line.text)] if over else None


def sides_of(columns: list[tuple[float, float]]) -> list[float]:
    """Return the places between columns, and their outer sides."""
    inner = [(one[1] + other[0]) / 2 for one, other in pairwise(columns)]
    return [columns[0][0], *inner, columns[-1][1]]


def grown(table: PageTable, lines: list[TextLine], rules: LevelRules, size: float) -> tuple[PageTable, list[TextLine]]:
    """Return a table grown to the lines around it, and those that it took; `size` is that of its letters."""
    columns, extents = [*table.columns], [(table.box[1], table.box[3])] * len(table.cells)
    rows = CellRows([[*row] for row in table.cells], [*table.spans], extents)
    parts = partial(parts_by_columns, columns=columns)
    growth = Growth(sides_of(columns), rows, lines, parts, size, columns, rules, table.header_rows)
    taken = growth.grow()
    box = around_all([table.box, *(line.box for line in taken)])
    changed = {"cells": rows.cells, "spans": rows.spans, "columns": columns, "header_rows": growth.header, "box": box}
    return replace(table, **changed), taken  # type: ignore[arg-type]
