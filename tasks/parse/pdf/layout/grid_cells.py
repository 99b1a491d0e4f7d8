"""PDF grid cells: what stands in the cells of a grid, in the rows that its rules and the levels of its lines make.

Rules part rows, but not all: a rule may stand below every third row, or none within the body of a table. Rows within
the cells of one band are told by their lines: they break beside figures, or though there is room, in several columns.

Programs rule the body of a table and leave out the band of its header, the names of its rows, or its sum: a table grows
to rows and names of rows outside of its rules that are aligned with what is within them.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise

from docmill.tasks.parse.pdf.layout.page_table import LAYOUT, Span, had_room
from docmill.tasks.parse.pdf.text.characters import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

Extent = tuple[float, float]  # where a row begins and ends, in points from the top


_YEAR = range(1800, 2200)
"""Figures that are years: a header may be made of these, and of no other figures."""
_YEAR_DIGITS = 4  # without a comma or point: "1,900" is an amount


@dataclass(slots=True)
class CellPiece:
    """A part of a line in one cell: its text, its sides in points, and the size of its letters."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float

    @property
    def middle(self) -> float:
        """Return the height halfway down."""
        return (self.top + self.bottom) / 2

    @property
    def is_value(self) -> bool:
        """Return whether it is a figure or a sign that stands for one."""
        return is_value(self.text)


def is_value(text: str) -> bool:
    """Return whether a text is a figure or a sign that stands for one, and no word."""
    if text[:1].isalpha() and text[-1:].isalpha() and len(text) > 1:  # as most words, and no figure with its unit
        return False
    letters = sum(map(str.isalpha, text))
    return letters <= 1 or 2 * letters < sum(map(str.isdigit, text))


Pieces = list[CellPiece]


@dataclass(slots=True)
class Cell:
    """A cell of a grid: its rows and columns from the first to the last, its sides, what stands in it."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    left: float
    right: float
    pieces: Pieces


@dataclass(slots=True)
class CellRows:
    """The rows of a table: its cells by row and column, those that span several, and where each row stands."""

    cells: list[list[str]]
    spans: list[Span]
    extents: list[Extent]


def levels_of(pieces: Iterable[CellPiece]) -> list[Pieces]:
    """Return pieces by the level that they stand on, from the top."""
    levels: list[Pieces] = []
    for piece in sorted(pieces, key=lambda one: one.middle):
        if levels and _are_level(levels[-1][0], piece):
            levels[-1].append(piece)
        else:
            levels.append([piece])
    return levels


def _are_level(one: CellPiece, other: CellPiece) -> bool:
    return abs(other.middle - one.middle) < LAYOUT.level * min(one.bottom - one.top, other.bottom - other.top)


def rows_of_cells(cells: list[Cell], keep: set[int]) -> CellRows:
    """Return the rows and columns of cells that hold text; those of the columns to `keep` though they hold none."""
    held = [cell for cell in cells if cell.pieces]
    columns = sorted({cell.columns[0] for cell in held} | keep)
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
        table.cells[row][column] = joined([one.text for one in pieces], Vocabulary())
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
    return [(min(one.top for one in group), max(one.bottom for one in group)) for group in groups]


def _all_of(cells: list[Cell]) -> Pieces:
    return [*chain.from_iterable(cell.pieces for cell in cells)]


def _groups(cells: list[Cell]) -> list[Pieces]:
    """Return the pieces of the cells of a band by row."""
    if max(len(cell.pieces) for cell in cells) == 1:  # as in most bands
        return [_all_of(cells)]
    levels = levels_of(chain.from_iterable(cell.pieces for cell in cells if not _is_label(cell)))
    return _joined_levels(levels, cells) if len(levels) > 1 and _are_rows(cells) else [_all_of(cells)]


def _is_label(cell: Cell) -> bool:
    """Return whether a cell holds words on one line, which name all rows of its band if there are several."""
    return len(levels_of(cell.pieces)) == 1 and not any(piece.is_value for piece in cell.pieces)


def _are_rows(cells: list[Cell]) -> bool:
    """Return whether the lines in the cells of a band are rows: in several columns they break though there is room."""
    lines = [(cell, _lines(cell)) for cell in cells]
    several = [(cell, found) for cell, found in lines if len(found) > 1]
    breaks = [*_breaks(several, _figures(lines))]
    if len(several) < 2 or sum(breaks) < LAYOUT.breaks * len(breaks):
        return False
    return _has_figures(several) or _are_even(lines)


_Lines = list[tuple[Cell, Pieces]]


def _lines(cell: Cell) -> Pieces:
    """Return the lines of a cell; those of one over several columns are one."""
    levels = levels_of(cell.pieces)
    return [_whole(level) for level in (levels if cell.columns[0] == cell.columns[1] else levels[:1])]


def _figures(lines: _Lines) -> Pieces:
    return [piece for _, found in lines for piece in found if piece.is_value]


def _has_figures(lines: _Lines) -> bool:
    """Return whether a cell holds nothing but figures."""
    return any(all(line.is_value for line in found) for _, found in lines)


def _breaks(several: _Lines, values: Pieces) -> Iterator[bool]:
    """Yield for each line of a cell below another whether it is none of that: beside a figure, or with room above."""
    for cell, found in several:
        for one, other in pairwise(found):
            yield any(_are_level(other, value) for value in values) or had_room(one, other, cell.right - cell.left)


def _are_even(lines: _Lines) -> bool:
    """Return whether all cells have as many lines, and so many that these are no name and what it means."""
    return len({len(found) for _, found in lines}) == 1 and len(lines[0][1]) >= LAYOUT.even_lines


def _whole(level: Pieces) -> CellPiece:
    """Return the pieces of one cell on one level as one."""
    if len(level) == 1:
        return level[0]
    level = sorted(level, key=lambda one: one.left)
    return CellPiece(
        " ".join(one.text for one in level),
        level[0].left,
        min(one.top for one in level),
        max(one.right for one in level),
        max(one.bottom for one in level),
        level[0].size,
    )


def _joined_levels(levels: list[Pieces], cells: list[Cell]) -> list[Pieces]:
    """Return levels, those that only go on a name above them as part of its row."""
    groups: list[Pieces] = []
    for level in levels:
        if groups and _goes_on(groups[-1], level, cells):
            groups[-1] = groups[-1] + level
        else:
            groups.append(level)
    return groups


def _goes_on(above: Pieces, level: Pieces, cells: list[Cell]) -> bool:
    """Return whether all that stands on a level are words that had no room in the line above them."""
    return all(not piece.is_value and _is_wrapped(above, piece, cells) for piece in level)


def _is_wrapped(above: Pieces, piece: CellPiece, cells: list[Cell]) -> bool:
    cell = next(one for one in cells if piece in one.pieces)
    upper = [one for one in above if one in cell.pieces]
    if not upper:
        return False
    return piece.text[:1].islower() or not had_room(upper[-1], piece, cell.right - cell.left)


def header_rows(cells: list[list[str]]) -> int:
    """Return 0 if most cells of a table's first row are figures other than years, else 1."""
    first = [cell for cell in cells[0] if cell]
    figures = sum(_is_figure(cell) for cell in first)
    return int(2 * figures <= len(first))


def _is_figure(text: str) -> bool:
    plain = text.strip(" $€£%()+-–").replace(",", "").replace(".", "").replace(" ", "")
    return plain.isdecimal() and not (len(text) == _YEAR_DIGITS and int(plain) in _YEAR)


_TWO = 2  # columns
_MOST_HEADER_LINES = 3  # of a header, which bounds the work
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
    for _ in range(_MOST_HEADER_LINES):
        row = [line for line in outside if _is_in_row(line, row)]
    return sorted(row, key=lambda line: (line.box[1], line.box[0]))


def _is_in_row(line: TextLine, row: list[TextLine]) -> bool:
    """Return whether a line shares some of its height with a row."""
    top, bottom = min(one.box[1] for one in row), max(one.box[3] for one in row)
    return min(bottom, line.box[3]) - max(top, line.box[1]) > LAYOUT.shared * line.height
