"""PDF grown tables: rows and names of rows that stand outside of a table's rules, aligned with what is within them.

Programs rule the body of a table and leave out the band of its header, the names of its rows, or its sum.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain, pairwise

from docmill.tasks.parse.pdf.tables.grid_cells import CellRows, Extent, header_rows, is_value
from docmill.tasks.parse.pdf.tables.thresholds import LAYOUT
from docmill.tasks.parse.pdf.text.hyphens import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_TWO = 2  # columns
_MOST_LINES = 3  # of a header, which bounds the work
_MOST_ROWS = 6  # that a table grows by at either end


@dataclass(slots=True)
class _OuterRow:
    """A row outside of a table: its lines, their texts by column, and the last column of those over several."""

    lines: list[TextLine]
    cells: dict[int, list[str]]
    over: dict[int, int] = field(default_factory=dict)

    def is_over_several(self) -> bool:
        """Return whether each line stands over several columns, none of them the first."""
        return all(0 < first < last for first, last in self.over.items())

    @property
    def extent(self) -> Extent:
        return min(line.box[1] for line in self.lines), max(line.box[3] for line in self.lines)


Parts = Callable[[TextLine], list[tuple[int, str]] | None]
"""What parts a line between columns: the column of each text; None where the line runs over several."""


def parts_by_letters(line: TextLine, sides: list[float], layer: TextLayer) -> list[tuple[int, str]] | None:
    """Return the parts of a line by column, None unless its words leave a wide gap at each side that it stands over."""
    found = layer.placed_in(line, lambda x: min(max(bisect_right(sides, x) - 1, 0), len(sides) - 2))
    near = LAYOUT.apart * line.size
    wide = [(start - near, end + near) for start, end in layer.gaps(line)[0] if end - start > near]
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

    def grow(self, names: bool = True) -> list[TextLine]:
        """Let the table take what stands outside of it and belongs to it; return the lines that it took."""
        taken = self._take_names() if names else []
        above = self._rows(upwards=True)
        below = self._rows(upwards=False)
        for row in above:
            self._put(row, 0)
        for row in below:
            self._put(row, len(self.rows.cells))
        return taken + [line for row in above + below for line in row.lines]

    def _put(self, row: _OuterRow, at: int) -> None:
        """Insert a row before another."""
        width = len(self.sides) - 1
        self.rows.cells.insert(at, [joined(row.cells.get(column, ()), Vocabulary()) for column in range(width)])
        self.rows.extents.insert(at, row.extent)
        shift = int(not at)
        self.rows.spans[:] = [(first + shift, *rest) for first, *rest in self.rows.spans]  # type: ignore[misc]
        self.rows.spans += [(at, first, 1, last - first + 1) for first, last in row.over.items()]
        self.around = [line for line in self.around if line not in row.lines]

    def _take_names(self) -> list[TextLine]:
        """Take the names of rows that stand left of a table, one beside nearly each row; return them."""
        beside = [line for line in self.around if self._is_left(line)]
        names = {at: _beside(beside, extent) for at, extent in enumerate(self.rows.extents)}
        held = [*chain.from_iterable(names.values())]
        named = sum(map(bool, names.values()))
        if (
            named < max(LAYOUT.figures, LAYOUT.rows_named * (len(names) - 1))
            or len(held) < len(beside)
            or not _are_aligned(held)
        ):
            return []
        self._add_column({at: " ".join(line.text for line in found) for at, found in names.items()}, held)
        return held

    def _is_left(self, line: TextLine) -> bool:
        """Return whether a line stands left of the table, between its first row and the last."""
        level = self.rows.extents[0][0] < (line.box[1] + line.box[3]) / 2 < self.rows.extents[-1][1]
        return level and line.box[2] < self.sides[0] + LAYOUT.stray

    def _add_column(self, names: dict[int, str], held: list[TextLine]) -> None:
        self.sides.insert(0, min(line.box[0] for line in held))
        self.rows.cells[:] = [[names.get(at, ""), *row] for at, row in enumerate(self.rows.cells)]
        self.rows.spans[:] = [(row, column + 1, *size) for row, column, *size in self.rows.spans]  # type: ignore[misc]
        self.around = [line for line in self.around if line not in held]

    def _rows(self, upwards: bool) -> list[_OuterRow]:
        """Return the rows above a table, from the lowest, or below it, from the highest."""
        found: list[_OuterRow] = []
        edge = self.rows.extents[0][0] if upwards else self.rows.extents[-1][1]
        lines = [*self.around]
        while len(found) < _MOST_ROWS:
            level = _next_level(lines, edge, upwards)
            row = self._row(level, edge, upwards) if level else None
            if row is None:
                break
            lines = [line for line in lines if line not in level]
            edge = row.extent[0] if upwards else row.extent[1]
            found.append(row)
        if upwards and (found or header_rows(self.rows.cells)):
            found += self._names_of_columns(_next_level(lines, edge, upwards), edge)
        return found

    def _may_head(self, row: _OuterRow) -> bool:
        """Return whether a row may be a header: with two columns, which text has too, there must be none yet."""
        return len(self.sides) > _TWO + 1 or not header_rows(self.rows.cells) or self._is_of_figures(row)

    def _is_of_figures(self, row: _OuterRow) -> bool:
        """Return whether a row has a figure where the table has them."""
        return any(
            any(map(is_value, texts)) and sum(is_value(cells[column]) for cells in self.rows.cells if cells[column]) > 1
            for column, texts in row.cells.items()
        )

    def _row(self, level: list[TextLine], edge: float, upwards: bool) -> _OuterRow | None:
        """Return a level of lines as a row, None if it stands too far away or does not fit the columns."""
        if not self._is_alike(level) or not self._is_within(level):
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
        return row if (self._may_head(row) if upwards else self._is_of_figures(row)) else None

    def _is_near(self, row: _OuterRow, apart: float) -> bool:
        """Return whether a row fills enough columns, and most of them if it stands further away."""
        filled = len(row.cells) / (len(self.sides) - 1)
        reach = LAYOUT.reach * row.lines[0].height
        return (
            len(row.cells) > 1 and filled >= LAYOUT.filled and apart <= (2 * reach if filled >= LAYOUT.full else reach)
        )

    def _names_of_columns(self, level: list[TextLine], edge: float) -> list[_OuterRow]:
        """Return the row of names that stand each over several columns, closely above the header, if it is one."""
        if not level or not self._is_alike(level) or not self._is_within(level):
            return []
        row = _OuterRow(level, {})
        for line in level:
            first, last = self._centred(line)
            row.cells[first] = [line.text]
            row.over[first] = last
        is_close = edge - row.extent[1] < LAYOUT.close * level[0].height
        return [row] if is_close and len(row.over) == len(level) and row.is_over_several() else []

    def _centred(self, line: TextLine) -> tuple[int, int]:
        """Return the first and the last of the most columns in whose middle a line stands; (0, 0) if in none."""
        middle = (line.box[0] + line.box[2]) / 2
        count = len(self.sides) - 1
        found = [
            (first, last)
            for first in range(1, count)
            for last in range(first, count)
            if self.sides[first] <= line.box[0] + LAYOUT.stray
            and line.box[2] - LAYOUT.stray <= self.sides[last + 1]
            and abs(self._middle_of(first, last) - middle) < LAYOUT.off_centre * line.size
        ]
        return max(found, key=lambda ends: ends[1] - ends[0], default=(0, 0))

    def _middle_of(self, first: int, last: int) -> float:
        return (self.spans[first][0] + self.spans[last][1]) / 2

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


def _beside(lines: list[TextLine], extent: Extent) -> list[TextLine]:
    """Return the lines in the middle of a row."""
    return [line for line in lines if abs(line.box[1] + line.box[3] - sum(extent)) < 2 * LAYOUT.off_row * line.height]


def _are_aligned(lines: list[TextLine]) -> bool:
    lefts, rights = [line.box[0] for line in lines], [line.box[2] for line in lines]
    return min(max(lefts) - min(lefts), max(rights) - min(rights)) < 2 * LAYOUT.stray


def _next_level(lines: list[TextLine], edge: float, upwards: bool) -> list[TextLine]:
    """Return the lines of the row next to the edge of a table: those level with the next one, and with one another."""
    outside = [
        line for line in lines if (line.box[3] < edge + LAYOUT.stray if upwards else line.box[1] > edge - LAYOUT.stray)
    ]
    side = (lambda line: -line.box[3]) if upwards else (lambda line: line.box[1])
    row = sorted(outside, key=side)[:1]
    for _ in range(_MOST_LINES):
        row = [line for line in outside if _is_level(line, row)]
    return sorted(row, key=lambda line: (line.box[1], line.box[0]))


def _is_level(line: TextLine, row: list[TextLine]) -> bool:
    """Return whether a line shares some of its height with a row."""
    top, bottom = min(one.box[1] for one in row), max(one.box[3] for one in row)
    return min(bottom, line.box[3]) - max(top, line.box[1]) > LAYOUT.shared * line.height
