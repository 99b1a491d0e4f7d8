"""PDF growth: add the header, rows and row names around the known part of a table.

Programs draw rules for a table's body but not for its header, the names of its rows or its sum. They also print a head
between the header and the first rows. So a table grows to include text that is aligned with its columns.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise

from docmill.tasks.parse.pdf.layout.grid_cells import header_rows
from docmill.tasks.parse.pdf.layout.rows import LAYOUT, Extent, Item, PageTable, is_value, lines_in, tables_in
from docmill.tasks.parse.pdf.text.line import TextLine, joined
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all, spans_over
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_BRACKETS = {("(", ")"), ("[", "]")}
_MOST_HEADER_LINES = 3  # of a header, which bounds the work
_MOST_ROWS = 6  # by which a table grows at each end


@dataclass(slots=True)
class _OuterRow:
    """A row outside a table: its lines, their texts by column, and the last column of each text over several."""

    lines: list[TextLine]
    cells: dict[int, list[str]]
    over: dict[int, int] = field(default_factory=dict)

    @property
    def extent(self) -> Extent:
        return min(line.box[1] for line in self.lines), max(line.box[3] for line in self.lines)


def _parts_by_letters(line: TextLine, sides: list[float], layer: TextLayer) -> list[tuple[int, str]] | None:
    """Return the parts of a line by column; None unless it has a wide gap at each column side that it crosses."""
    found = layer.placed_in(line, lambda x: min(max(bisect_right(sides, x) - 1, 0), len(sides) - 2))
    near = LAYOUT.apart * line.size
    wide = [(start - near, end + near) for start, end in layer.gaps(line) if end - start > near]
    crossed = [side for side in sides[1:-1] if line.box[0] + near < side < line.box[2] - near]
    return found if all(any(start < side < end for start, end in wide) for side in crossed) else None


@dataclass(slots=True)
class _Growth:
    """A growing table, the positions of its columns' sides, and the lines around it that it may take.

    `layer` is the page's text if the sides are rules, so that they cut lines.
    """

    table: PageTable
    around: list[TextLine]
    rules: LevelRules
    layer: TextLayer | None
    sides: list[float] = field(init=False)
    groups: int = 0  # number of rows taken whose names each span several columns

    def __post_init__(self) -> None:
        self.sides = sides_of(self.table.columns)

    def grow(self, whole: bool) -> list[TextLine]:
        """Take the lines around the table that belong to it, only its header if it is `whole`; return them."""
        taken = [*(self._take_names() if self.layer else ()), *self._take_header(whole)]
        taken += () if whole else self._take_below()
        if taken or not self.table.header_rows:
            below = header_rows(self.table.cells[self.groups :])
            self.table.header_rows = self.groups + max(self.table.header_rows, below)
        return taken

    def _take_header(self, whole: bool) -> Iterator[TextLine]:
        """Take the rows above the table, and names over several columns above these; yield their lines.

        A `whole` table that has a header gets no further rows, only names.
        """
        for _ in range(_MOST_ROWS):
            lines = self._take_above(whole)
            yield from lines
            if not lines or self.groups:
                break

    def _take_above(self, whole: bool) -> list[TextLine]:
        level, edge = self._next(upwards=True)
        if not level or not self._is_alike(level):
            return []
        named = header_rows(self.table.cells) > 0
        if named:
            names = self._names_of_columns(level, edge)
            self.groups = len(names)
            if names:
                return self._put_above(names)
            if self._begins_names(level, edge):
                return self._begin(level)
            if whole:
                return []
        row = self._row(level, edge, upwards=True)
        if row:
            return self._put_above([row])
        return [] if named else self._put_above(self._headed(level, edge))

    def _put_above(self, rows: list[_OuterRow]) -> list[TextLine]:
        for row in rows:
            self._put(row, 0)
        return [line for row in rows for line in row.lines]

    def _take_below(self) -> Iterator[TextLine]:
        """Take the rows below the table; yield their lines."""
        for _ in range(_MOST_ROWS):
            row = self._row(*self._next(upwards=False), upwards=False)
            if row is None:
                break
            self._put(row, len(self.table.cells))
            yield from row.lines

    def _next(self, upwards: bool) -> tuple[list[TextLine], float]:
        """Return the lines of the row next to the table, and the table's edge on that side."""
        edge = self.table.extents[0][0] if upwards else self.table.extents[-1][1]
        return _next_level(self.around, edge, upwards), edge

    def _headed(self, level: list[TextLine], edge: float) -> list[_OuterRow]:
        """Return the head above the first rows of a table without a header, and the header above that; [] if none."""
        if not self._is_head(level, edge):
            return []
        head = _OuterRow(level, {0: [level[0].text]})
        top, _ = head.extent
        header = self._row(_next_level([one for one in self.around if one not in level], top, True), top, upwards=True)
        return [] if header is None or self._is_of_figures(header) else [head, header]

    def _is_head(self, level: list[TextLine], edge: float) -> bool:
        """Return whether a level is a single line in the first column, close to the table."""
        near = len(level) == 1 and edge - level[0].box[3] <= LAYOUT.reach * level[0].height
        return near and [column for column, _ in self._parts(level[0]) or ()] == [0]

    def _begin(self, level: list[TextLine]) -> list[TextLine]:
        """Put lines at the beginning of the column names below them; return the lines."""
        names = self.table.cells[0]
        for line in level:
            column = self._over(line)[0]
            names[column] = joined([line.text, names[column]])
        self.table.extents[0] = min(line.box[1] for line in level), self.table.extents[0][1]
        self._leave(level)
        return level

    def _leave(self, lines: list[TextLine]) -> None:
        """Remove lines from those around the table, and widen columns to the lines that are in just one column."""
        self.around = [line for line in self.around if line not in lines]
        columns = self.table.columns
        for line in () if self.layer else lines:
            column, *more = self._over(line) or [0, 0]
            if not more:
                left, right = columns[column]
                columns[column] = min(left, line.box[0]), max(right, line.box[2])

    def _over(self, line: TextLine) -> list[int]:
        return spans_over(line.box[::2], self.table.columns)

    def _parts(self, line: TextLine) -> list[tuple[int, str]] | None:
        """Return the column and the text of each part of a line; None if the line runs across several columns."""
        if self.layer:
            return _parts_by_letters(line, self.sides, self.layer)
        return _parts_by_sides(line, self.table.columns)

    def _begins_names(self, level: list[TextLine], edge: float) -> bool:
        """Return whether each line of a level is above the name of one column, as close as lines of one text."""
        over = [self._over(line) for line in level]
        close = edge - max(line.box[3] for line in level) < LAYOUT.leading * level[0].height
        return close and over != [[0]] and all(len(one) == 1 and self.table.cells[0][one[0]] for one in over)

    def _put(self, row: _OuterRow, at: int) -> None:
        """Insert a row at an index."""
        width = len(self.sides) - 1
        self.table.cells.insert(at, [joined(row.cells.get(column, ())) for column in range(width)])
        self.table.extents.insert(at, row.extent)
        shift = int(not at)
        self.table.spans[:] = [(first + shift, *rest) for first, *rest in self.table.spans]  # type: ignore[misc]
        self.table.spans += [(at, first, 1, last - first + 1) for first, last in row.over.items()]
        self._leave(row.lines)

    def _take_names(self) -> list[TextLine]:
        """Take the row names left of the table if nearly each row has one; return their lines."""
        beside = [line for line in self.around if self._is_left(line)]
        names = {at: _beside(beside, extent) for at, extent in enumerate(self.table.extents)}
        held = [*chain.from_iterable(names.values())]
        named = sum(map(bool, names.values()))
        if named < max(LAYOUT.figures, LAYOUT.rows_named * (len(names) - 1)) or len(held) < len(beside):
            return []
        self._add_column({at: " ".join(line.text for line in found) for at, found in names.items()}, held)
        return held

    def _is_left(self, line: TextLine) -> bool:
        """Return whether a line is left of the table, between its first and last rows."""
        level = self.table.extents[0][0] < (line.box[1] + line.box[3]) / 2 < self.table.extents[-1][1]
        return level and line.box[2] < self.sides[0] + LAYOUT.stray

    def _add_column(self, names: dict[int, str], held: list[TextLine]) -> None:
        left = min(line.box[0] for line in held)
        self.table.columns.insert(0, (left, self.sides[0]))
        self.sides.insert(0, left)
        self.table.cells[:] = [[names.get(at, ""), *row] for at, row in enumerate(self.table.cells)]
        self.table.spans[:] = [(row, column + 1, *size) for row, column, *size in self.table.spans]  # type: ignore[misc]
        self.around = [line for line in self.around if line not in held]

    def _is_of_figures(self, row: _OuterRow) -> bool:
        """Return whether a row has a figure in a column of figures."""
        return any(
            any(map(is_value, texts)) and sum(is_value(cells[at]) for cells in self.table.cells if cells[at]) > 1
            for at, texts in row.cells.items()
        )

    def _row(self, level: list[TextLine], edge: float, upwards: bool) -> _OuterRow | None:
        """Return a level of lines as a row; None if it is too far away or does not fit the columns."""
        if not level or not self._is_alike(level) or not self._is_within(level):
            return None
        cells: dict[int, list[str]] = {}
        for line in level:
            parts = self._parts(line)
            if parts is None:
                return None
            for column, text in parts:
                cells.setdefault(column, []).append(text)
        row = _OuterRow(level, cells)
        apart = edge - row.extent[1] if upwards else row.extent[0] - edge
        if not self._is_near(row, apart):
            return None
        return row if upwards or self._is_of_figures(row) else None

    def _is_near(self, row: _OuterRow, apart: float) -> bool:
        """Return whether a row is near and fills enough columns; it must fill most of them if it is further away."""
        filled = len(row.cells) / (len(self.sides) - 1)
        reach = LAYOUT.reach * row.lines[0].height
        return (
            len(row.cells) > 1 and filled >= LAYOUT.filled and apart <= (2 * reach if filled >= LAYOUT.full else reach)
        )

    def _names_of_columns(self, level: list[TextLine], edge: float) -> list[_OuterRow]:
        """Return the level as a row if it is closely above the header and each line names several columns; else []."""
        text = level[0].text
        if not self._is_within(level) or (text[0], text[-1]) in _BRACKETS:  # a remark on the whole table, as its unit
            return []
        row = self._over_columns(sorted(level, key=lambda line: line.box[0]))
        is_close = edge - row.extent[1] < LAYOUT.close * level[0].height
        is_over = len(row.over) == len(level) and all(0 < first < last for first, last in row.over.items())
        return [row] if is_close and is_over and not self._is_below_group(row) else []

    def _is_below_group(self, row: _OuterRow) -> bool:
        """Return whether a rule directly above the row spans its first name, not the table; a group name is above."""
        top, bottom = row.extent
        first, last = next(iter(row.over.items()))
        above = partial(self.rules.between, 2 * top - bottom, top + 1)
        columns = self.table.columns
        return above(columns[first][0], columns[last][1]) and not above(columns[0][0], columns[-1][1])

    def _over_columns(self, level: list[TextLine]) -> _OuterRow:
        """Return lines, sorted from the left, as a row, each in the columns that it spans."""
        row, last = _OuterRow(level, {}), 0
        for line, right in zip(level, [*(line.box[0] for line in level[1:]), float("inf")], strict=True):
            first, last = self._centred(line, last + 1, right)
            row.cells[first], row.over[first] = [line.text], last
        return row

    def _centred(self, line: TextLine, start: int, end: float) -> tuple[int, int]:
        """Return the first and last column of the widest range that a line is centred on; (0, 0) if there is none.

        The range begins at column `start` or later and ends before `end`, where the next such line begins.
        """
        count = len(self.sides) - 1
        found = [
            (first, last)
            for first in range(start, count)
            for last in range(first, count)
            if self.table.columns[last][1] < end
            and self.sides[first] <= line.box[0] + LAYOUT.stray
            and line.box[2] - LAYOUT.stray <= self.sides[last + 1]
            and self._off(line, first, last) < LAYOUT.off_centre * line.size
        ]
        return max(found, key=lambda ends: ends[1] - ends[0], default=(0, 0))

    def _off(self, line: TextLine, first: int, last: int) -> float:
        """Return how far a line is off the middle of a range of columns."""
        return abs(self.table.columns[first][0] + self.table.columns[last][1] - line.box[0] - line.box[2]) / 2

    def _is_within(self, level: list[TextLine]) -> bool:
        """Return whether the middles of all lines are within the table's sides; a header may extend beyond them."""
        left, right = self.sides[0] - LAYOUT.stray, self.sides[-1] + LAYOUT.stray
        return all(left < (line.box[0] + line.box[2]) / 2 < right for line in level)

    def _is_alike(self, level: list[TextLine]) -> bool:
        return all(abs(line.size - self.table.size) <= LAYOUT.other_size * self.table.size for line in level)


def _beside(lines: list[TextLine], extent: Extent) -> list[TextLine]:
    """Return the lines at the vertical middle of a row."""
    return [line for line in lines if abs(line.box[1] + line.box[3] - sum(extent)) < 2 * LAYOUT.off_row * line.height]


def _next_level(lines: list[TextLine], edge: float, upwards: bool) -> list[TextLine]:
    """Return the lines of the row next to a table's edge: the nearest line and those level with it or each other."""
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
    """Return the lines that overlap a row vertically."""
    top, bottom = min(line.box[1] for line in row), max(line.box[3] for line in row)
    return [line for line in lines if _shared(line, top, bottom) > LAYOUT.shared * line.height]


def _shared(line: TextLine, top: float, bottom: float) -> float:
    """Return the vertical overlap of a line with a row, in points."""
    _, upper, _, lower = line.box
    return (lower if lower < bottom else bottom) - (upper if upper > top else top)


def _parts_by_sides(line: TextLine, columns: list[tuple[float, float]]) -> list[tuple[int, str]] | None:
    """Return the texts of a line by column; None if it runs across several columns.

    Text between columns, such as the name of figures in the middle of their cell, is in the nearest column.
    """
    parts, sides = parts_by_columns(line, columns), sides_of(columns)
    at = (line.left + line.right) / 2
    if parts is None and sides[0] < at < sides[-1]:
        return [(bisect_right(sides, at) - 1, line.text)]
    several = parts is not None and len(parts) < len(spans_over(line.box[::2], columns)) - 1
    return None if several else parts


def parts_by_columns(line: TextLine, columns: list[tuple[float, float]]) -> list[tuple[int, str]] | None:
    """Return the texts of a line by column; one figure each if it has as many as columns; None if it fits no column."""
    over, words = spans_over(line.box[::2], columns), line.text.split()
    if len(over) > 1 and len(words) == len(over) and all(map(is_value, words)):
        return [*zip(over, words, strict=True)]
    return [(over[0], line.text)] if over else None


def sides_of(columns: list[tuple[float, float]]) -> list[float]:
    """Return the positions between columns, and their outer sides."""
    inner = [(one[1] + other[0]) / 2 for one, other in pairwise(columns)]
    return [columns[0][0], *inner, columns[-1][1]]


def with_headers(items: list[Item], rules: LevelRules) -> list[Item]:
    """Return items with the header added to each table with known columns; `rules` are the page's horizontal ones."""
    for table in [table for table in tables_in(items) if table.columns]:
        taken = {*map(id, grow(table, lines_in(items), rules, whole=True))}
        items = [item for item in items if id(item) not in taken]
    return items


def grow(
    table: PageTable, lines: list[TextLine], rules: LevelRules, layer: TextLayer | None = None, whole: bool = False
) -> list[TextLine]:
    """Add lines around a table to it, and return them; a `whole` table takes only its header.

    `layer` is the page's text if the table's columns are bounded by rules.
    """
    taken = _Growth(table, lines, rules, layer).grow(whole)
    table.box = around_all([table.box, *(line.box for line in taken)])
    table.bottom = table.box[3]
    return taken
