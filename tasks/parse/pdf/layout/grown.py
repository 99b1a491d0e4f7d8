"""PDF grown tables: rows and names of rows that stand outside of a table's rules, aligned with what is within them.

Programs rule the body of a table and leave out the band of its header, the names of its rows, or its sum.
"""

from bisect import bisect_right
from dataclasses import dataclass
from math import ceil

from docmill.tasks.parse.pdf.layout.grid_cells import CellRows, Extent
from docmill.tasks.parse.pdf.text.hyphens import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.place import around_all
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_BESIDE = 0.35  # of a line's height, by which the name of a row may be off the middle of the row
_NAMED = 0.8  # share of the rows below the header that have a name beside them
_LEAST_NAMES = 2
_APART = 0.5  # font sizes between words over two columns: no space within a sentence is as wide
_SAME_SIZE = 0.25  # of the font size, by which the letters of a row outside may differ
_REACH = 1.3  # heights of a line, within which the next row outside stands: more is another text
_WRAPPED = 0.6  # heights of a line, within which a line above is of the same row as the one below it
_FILLED = 0.5  # share of the columns that a row outside fills; a caption fills one, a note below too
_STRAY = 4.0  # points by which text of a row may stand over the sides of its table
_MOST_ROWS = 6  # that a table grows by at either end


@dataclass(slots=True)
class _OuterRow:
    """A row outside of a table: its lines, and their texts by column."""

    lines: list[TextLine]
    cells: dict[int, list[str]]

    @property
    def extent(self) -> Extent:
        return min(line.box[1] for line in self.lines), max(line.box[3] for line in self.lines)


@dataclass(slots=True)
class Growth:
    """A table that grows: the places of its columns' sides, its rows, the lines around it, and those that it took."""

    sides: list[float]
    rows: CellRows
    around: list[TextLine]
    layer: TextLayer
    size: float

    def grow(self) -> list[TextLine]:
        """Let the table take what stands outside of it and belongs to it; return the lines that it took."""
        taken = self._take_names()
        above = self._rows(upwards=True)
        below = self._rows(upwards=False)
        for row in above:
            self._put(row, 0)
        for row in below:
            self._put(row, len(self.rows.cells))
        return taken + [line for row in above + below for line in row.lines]

    def _put(self, row: _OuterRow, at: int) -> None:
        width = len(self.sides) - 1
        self.rows.cells.insert(at, [joined(row.cells.get(column, ()), Vocabulary()) for column in range(width)])
        self.rows.extents.insert(at, row.extent)
        shift = int(not at)
        self.rows.spans[:] = [(first + shift, *rest) for first, *rest in self.rows.spans]  # type: ignore[misc]
        self.around = [line for line in self.around if line not in row.lines]

    def _take_names(self) -> list[TextLine]:
        """Take the names of rows that stand left of a table, one beside nearly each row; return them."""
        beside = [line for line in self.around if line.box[2] < self.sides[0] + _STRAY]
        names: dict[int, list[TextLine]] = {}
        for at, (top, bottom) in enumerate(self.rows.extents):
            found = [line for line in beside if _is_beside(line, (top + bottom) / 2)]
            if found:
                names[at] = found
        if len(names) < max(_LEAST_NAMES, _NAMED * (len(self.rows.extents) - 1)):
            return []
        held = [line for found in names.values() for line in found]
        first, last = self.rows.extents[0][0], self.rows.extents[-1][1]
        within = [line for line in beside if first < (line.box[1] + line.box[3]) / 2 < last]
        if len(within) > len(held) or not _are_aligned(held):
            return []
        self._add_column({at: " ".join(line.text for line in found) for at, found in names.items()}, held)
        return held

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
        while lines and len(found) < _MOST_ROWS:
            level = _next_level(lines, edge, upwards)
            row = self._row(level, edge, upwards) if level else None
            if row is None or not self._fills(row):
                break
            lines = [line for line in lines if line not in level]
            edge = row.extent[0] if upwards else row.extent[1]
            found.append(row)
        return found

    def _row(self, level: list[TextLine], edge: float, upwards: bool) -> _OuterRow | None:
        """Return a level of lines as a row, None if it stands too far away or does not fit the columns."""
        left, top, right, bottom = around_all([line.box for line in level])
        apart = edge - bottom if upwards else top - edge
        if apart > _REACH * level[0].height or not self._is_alike(level):
            return None
        if left < self.sides[0] - _STRAY or right > self.sides[-1] + _STRAY:
            return None
        cells: dict[int, list[str]] = {}
        for line in sorted(level, key=lambda one: one.box[0]):
            parts = self.layer.placed_in(line, self._column)
            if len(parts) > 1 and not self._is_apart(line):
                return None
            for column, text in parts:
                cells.setdefault(column, []).append(text)
        return _OuterRow(level, cells)

    def _column(self, x: float) -> int:
        return min(max(bisect_right(self.sides, x) - 1, 0), len(self.sides) - 2)

    def _is_apart(self, line: TextLine) -> bool:
        """Return whether the words of a line leave a wide gap at each side of a column that the line stands over."""
        near = _APART * line.size
        wide = [(start - near, end + near) for start, end in self.layer.gaps(line)[0] if end - start > near]
        crossed = [side for side in self.sides[1:-1] if line.box[0] + near < side < line.box[2] - near]
        return all(any(start < side < end for start, end in wide) for side in crossed)

    def _is_alike(self, level: list[TextLine]) -> bool:
        return all(abs(line.size - self.size) <= _SAME_SIZE * self.size for line in level)

    def _fills(self, row: _OuterRow) -> bool:
        return len(row.cells) >= max(2, ceil(_FILLED * (len(self.sides) - 1)))


def _is_beside(line: TextLine, middle: float) -> bool:
    return abs((line.box[1] + line.box[3]) / 2 - middle) < _BESIDE * line.height


def _are_aligned(lines: list[TextLine]) -> bool:
    lefts, rights = [line.box[0] for line in lines], [line.box[2] for line in lines]
    return min(max(lefts) - min(lefts), max(rights) - min(rights)) < 2 * _STRAY


def _next_level(lines: list[TextLine], edge: float, upwards: bool) -> list[TextLine]:
    """Return the lines on the level next to the edge of a table."""
    outside = [line for line in lines if (line.box[3] < edge + _STRAY if upwards else line.box[1] > edge - _STRAY)]
    if not outside:
        return []
    first = max(outside, key=lambda line: line.box[3]) if upwards else min(outside, key=lambda line: line.box[1])
    middle = (first.box[1] + first.box[3]) / 2
    return [line for line in outside if line.box[1] < middle < line.box[3]]
