"""PDF grids: tables whose cells are bounded by rules."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise, starmap

import numpy as np
import numpy.typing as npt

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.layout.cuts import parted
from docmill.tasks.parse.pdf.layout.grid_cells import Cell, form_of, is_form, table_of
from docmill.tasks.parse.pdf.layout.growth import grow
from docmill.tasks.parse.pdf.layout.rows import Item, PageTable, lines_in, replaced
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import grouped
from docmill.tasks.parse.pdf.text.right_to_left import may_be_right_to_left
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules, PageRules, Rule
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

TOUCH = 3.0
"""Points within which rules touch or share a position. Less misses carelessly drawn corners; more joins thin rows."""
Rules = tuple[list[Rule], list[Rule]]
Walls = list[list[bool]]


def steps(places: list[float]) -> list[float]:
    """Return the sorted places, with places that touch merged into one."""
    return [group[0] for group in grouped(sorted(places), lambda group, place: place - group[0] <= TOUCH)]


# Bounds on the work for one page.
_MAX_UNITS = 10_000  # of a grid: drawings and maps have thousands of crossing rules
_MAX_GRIDS = 50  # each needs a pass over all lines

_MIN_FILLED = 0.25
"""Share of cells that must contain text: the grid behind a chart has less. A higher share loses tables to fill in."""
_LEAST_FILLED = 3  # cells with text: two are a box and its caption

_LONG_CELL, _MEAN_CELL = 1_500, 300
"""Maximum letters in one cell, and on average: a grid with longer texts is the layout of a whole page."""

_EDGE = 1.0  # points by which text may overlap a rule: the box of a letter is a little larger than its ink
_SAME_LEVEL = 1.6
"""Points between the middles of lines on one level: in some fonts a line's box is only as high as its letters. Lines of
a column are several times as far apart."""
_LEVEL = 0.5  # of a line's height: pieces whose bottom edges are closer are side by side
_MOST_PAIRS = 0.2
"""Maximum share of lines that share a cell with the next piece on their level. If more do, some columns have no rules
and were missed."""

_ROUNDING = 0.01  # points: the grid's places are sums, so a rule's place may differ by a rounding error


@dataclass(slots=True)
class Grid:
    """Rows and columns between rules; `owner[row][column]` is the number of the cell that a unit belongs to.

    `beside[at][row]` says whether there is a rule at `xs[at]` next to a row, `below[at][column]` the same for `ys[at]`.
    """

    xs: list[float]
    ys: list[float]
    owner: list[list[int]]
    beside: Walls
    below: Walls

    @property
    def box(self) -> Box:
        """Return the box of the outer rules."""
        return (self.xs[0], self.ys[0], self.xs[-1], self.ys[-1])

    def cell(self, x: float, y: float) -> int:
        """Return the number of the cell at a point, -1 outside the grid."""
        column, row = bisect_right(self.xs, x) - 1, bisect_right(self.ys, y) - 1
        inside = 0 <= column < len(self.xs) - 1 and 0 <= row < len(self.ys) - 1
        return self.owner[row][column] if inside else -1


def may_hold_table(lines: list[TextLine]) -> bool:
    """Return whether two pairs of lines are on one level; otherwise there is no need to search for rules.

    Lines with right-to-left letters always qualify: figures next to them are in another font, at another height.
    """
    middles = sorted([line.box[1] + line.box[3] for line in lines])
    level = sum([other - one < 2 * _SAME_LEVEL for one, other in pairwise(middles)])
    return level > 1 or any(may_be_right_to_left(line.text) for line in lines)


def ruled_tables(lines: list[TextLine], rules: PageRules, layer: TextLayer) -> list[Item]:
    """Return a page's lines, with each ruled table in place of its first line."""
    items: list[Item] = [*_parted(lines, rules, layer)] if rules.upright else [*lines]
    for grid in grids(rules)[:_MAX_GRIDS]:
        items = _with_table(items, grid, layer)
    return items


def _parted(lines: list[TextLine], rules: PageRules, layer: TextLayer) -> Iterator[TextLine]:
    """Yield lines, cut into pieces at the vertical rules that cross them."""
    places = [x for x, _, _ in rules.upright]
    for line in lines:
        left, top, right, bottom = line.box
        first = bisect_right(places, left)
        if first == len(places) or places[first] >= right:
            yield line
            continue
        middle = (top + bottom) / 2
        crossed = [x for x, start, end in rules.upright[first:] if x < right and start < middle < end]
        yield from parted(line, crossed, layer) if crossed else (line,)


def _with_table(items: list[Item], grid: Grid, layer: TextLayer) -> list[Item]:
    """Return items with the lines in a grid replaced by one table; unchanged if the grid is not a table."""
    inside, around = list[TextLine](), list[TextLine]()
    for line in lines_in(items):
        side = inside if is_within(line.box, grid.box) else around
        side.append(line)
    table = _table(inside, grid, layer) if inside else None
    if table is None:
        return items
    taken = () if table.form else grow(table, around, LevelRules(), layer)
    return replaced(items, [*inside, *taken], table, inside[0])


def _table(lines: list[TextLine], grid: Grid, layer: TextLayer) -> PageTable | None:
    """Return the table or the form that the lines in a grid form; None if it is neither."""
    held: defaultdict[int, list[TextLine]] = defaultdict(list)
    for line in lines:
        _fill(held, line, grid, layer)
    cells = _cells(grid, held)
    table = table_of(cells, grid.xs, grid.box, lines[0].page)
    if not _is_table(table.cells, cells):
        return None
    if is_form(cells, len(grid.xs) - 1):
        return form_of(cells, grid.box, lines[0].page)
    return None if _is_half_ruled(lines, grid) else table


def is_within(inner: Box, outer: Box) -> bool:
    """Return whether the middle of a box is within another box."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def _fill(held: defaultdict[int, list[TextLine]], line: TextLine, grid: Grid, layer: TextLayer) -> None:
    """Add a line to its cell; if it spans several, split it by the positions of its letters."""
    y = line.middle
    first, last = grid.cell(line.left + _EDGE, y), grid.cell(line.right - _EDGE, y)
    if first == last:
        held[first].append(line)
        return
    for cell, text in layer.placed_in(line, lambda x: grid.cell(x, y)):
        held[cell].append(replace(line, text=text))


def _cells(grid: Grid, held: Mapping[int, list[TextLine]]) -> list[Cell]:
    """Return the cells of a grid, each with its pieces."""
    cells = []
    for number, (rows, columns) in places_of_cells(grid).items():
        left, top, right, bottom = min(columns), min(rows), max(columns), max(rows)
        box = (grid.xs[left], grid.ys[top], grid.xs[right + 1], grid.ys[bottom + 1])
        cells.append(Cell((top, bottom), (left, right), box, held.get(number, [])))
    return cells


def places_of_cells(grid: Grid) -> dict[int, tuple[set[int], set[int]]]:
    """Return the rows and columns of each cell, in the order of the cells' first units."""
    places: dict[int, tuple[set[int], set[int]]] = {}
    for row, numbers in enumerate(grid.owner):
        for column, number in enumerate(numbers):
            rows, columns = places.setdefault(number, (set(), set()))
            rows.add(row)
            columns.add(column)
    return places


def _is_table(texts: list[list[str]], cells: list[Cell]) -> bool:
    """Return whether cells are a table: text in several rows and columns, in enough cells, and not too long in any."""
    lengths = [sum(len(piece.text) for piece in cell.pieces) for cell in cells if cell.pieces]
    if len(lengths) < max(_LEAST_FILLED, _MIN_FILLED * len(cells)) or min(len(texts), len(texts[0])) < 2:
        return False
    return max(lengths) <= _LONG_CELL and sum(lengths) <= _MEAN_CELL * len(lengths)


def _is_half_ruled(lines: list[TextLine], grid: Grid) -> bool:
    """Return whether many cells contain pieces side by side, which means that only some columns are ruled."""
    pairs = 0
    for one, other in pairwise(lines):
        beside = other.box[0] > one.box[2] and abs(other.box[3] - one.box[3]) < _LEVEL * one.height
        y = (one.box[1] + one.box[3]) / 2
        pairs += beside and grid.cell(one.box[2] - _EDGE, y) == grid.cell(other.box[0] + _EDGE, y)
    return pairs > 1 and pairs > _MOST_PAIRS * len(lines)


def grids(rules: PageRules) -> list[Grid]:
    """Return the grids that a page's rules form, each with at least two rows and two columns."""
    return [*filter(None, starmap(grid_of, _components(rules)))]


def grid_of(level: list[Rule], upright: list[Rule]) -> Grid | None:
    """Return the grid that rules form; None if it has only one row or column, or too many cells."""
    xs, ys = steps(_places(upright, level)), steps(_places(level, upright))
    if len(xs) <= 2 or len(ys) <= 2 or (len(xs) - 1) * (len(ys) - 1) > _MAX_UNITS:
        return None
    beside, below = _walls(xs, ys, upright), _walls(ys, xs, level)
    return Grid(xs, ys, _owners(beside, below), beside, below)


def _places(rules: list[Rule], across: list[Rule]) -> list[float]:
    """Return the positions of rules and of the ends of crossing rules: a table's outer rules may be missing."""
    return [where for where, _, _ in rules] + [end for rule in across for end in rule[1:]]


def _components(rules: PageRules) -> list[Rules]:
    """Return groups of rules that touch, each with at least two horizontal and two vertical rules."""
    if len(rules.level) < 2 or len(rules.upright) < 2:
        return []
    level, upright = np.array(rules.level), np.array(rules.upright)
    y, left, right = (side[:, None] for side in level.T)
    x, top, bottom = upright.T
    touch = (x > left - TOUCH) & (x < right + TOUCH) & (y > top - TOUCH) & (y < bottom + TOUCH)
    groups: list[Rules] = []
    seen = np.zeros(len(level), bool)
    for first in np.flatnonzero(touch.any(1)):
        if seen[first]:
            continue
        rows, columns = _group(touch, int(first))
        seen |= rows
        inside = [rules.level[i] for i in np.flatnonzero(rows)], [rules.upright[i] for i in np.flatnonzero(columns)]
        if len(inside[0]) > 1 and len(inside[1]) > 1:
            groups.append(inside)
    return groups


def _group(touch: npt.NDArray[np.bool_], first: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which horizontal and which vertical rules are in the group of a horizontal rule.

    `touch` is a boolean matrix: horizontal rules (rows) by vertical ones (columns).
    """
    rows, columns = (np.zeros(count, bool) for count in touch.shape)
    rows[first], size = True, 0
    while size != (size := int(rows.sum())):  # until a round adds none
        columns |= touch[rows].any(0)
        rows |= touch[:, columns].any(1)
    return rows, columns


def _owners(beside: Walls, below: Walls) -> list[list[int]]:
    """Return the cell number of each unit between neighbouring rules.

    Units without a rule between them belong to one cell, so they are joined with a union-find.
    """
    width, height = len(beside) - 1, len(below) - 1
    leaders = [*range(width * height)]
    for row in range(height):
        for column in range(width):
            here = row * width + column
            if column + 1 < width and not beside[column + 1][row]:
                leaders[leader(here + 1, leaders)] = leader(here, leaders)
            if row + 1 < height and not below[row + 1][column]:
                leaders[leader(here + width, leaders)] = leader(here, leaders)
    numbers: dict[int, int] = {}
    return [
        [numbers.setdefault(leader(row * width + column, leaders), len(numbers)) for column in range(width)]
        for row in range(height)
    ]


def leader(at: int, leaders: list[int]) -> int:
    """Return the root of a member's group in a union-find, shortening the paths in `leaders` on the way."""
    while leaders[at] != at:
        leaders[at] = at = leaders[leaders[at]]
    return at


def _walls(places: list[float], steps: list[float], rules: list[Rule]) -> Walls:
    """Return for each place whether a rule at that place covers the middle of each step."""
    walls = [[False] * (len(steps) - 1) for _ in places]
    for where, start, end in rules:
        index = max(bisect_right(places, where + _ROUNDING) - 1, 0)
        wall = walls[index]
        first = bisect_right(steps, start - TOUCH)
        for step in range(max(first - 1, 0), len(steps) - 1):
            middle = (steps[step] + steps[step + 1]) / 2
            if middle > end:
                break
            wall[step] |= start <= middle
    return walls
