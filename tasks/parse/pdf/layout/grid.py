"""PDF grids: ruled tables, as the cells between a page's rules and the text that stands in each."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.hyphens import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.rules import PageRules, Rule
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_TOUCH = 3.0
_MAX_UNITS = 10_000
_MAX_GRIDS = 50
_MIN_FILLED = 0.25
_LONG_CELL = 1_500  # longer texts are what a page is laid out with
_MEAN_CELL = 300
_YEAR = range(1800, 2200)


@dataclass(slots=True)
class Table:
    """A table of a page: its rows of cells, how many of them are its header, and its box."""

    cells: list[list[str]]
    header_rows: int
    box: Box
    page: int
    furniture: bool = False


Item = TextLine | Table


@dataclass(slots=True)
class Grid:
    """Rows and columns between rules; `owner[row][column]` is the number of the cell that a unit is part of."""

    xs: list[float]
    ys: list[float]
    owner: list[list[int]]

    @property
    def box(self) -> Box:
        """Return the outer rules."""
        return (self.xs[0], self.ys[0], self.xs[-1], self.ys[-1])

    def cell(self, x: float, y: float) -> int:
        """Return the cell at a point, -1 outside."""
        column, row = bisect_right(self.xs, x) - 1, bisect_right(self.ys, y) - 1
        inside = 0 <= column < len(self.xs) - 1 and 0 <= row < len(self.ys) - 1
        return self.owner[row][column] if inside else -1


def may_hold_table(lines: list[TextLine]) -> bool:
    """Return whether two pairs of lines stand on one baseline: else it is not worth looking for rules."""
    heights = [round(line.box[3]) for line in lines]
    return len(heights) - len(set(heights)) > 1


def ruled_tables(lines: list[TextLine], rules: PageRules, layer: TextLayer) -> list[Item]:
    """Return a page's lines with each ruled table in the place of the first of its lines."""
    items: list[Item] = [*_parted(lines, rules, layer)] if rules.upright else [*lines]
    for grid in grids(rules)[:_MAX_GRIDS]:
        items = _with_table(items, grid, layer)
    return items


def _parted(lines: list[TextLine], rules: PageRules, layer: TextLayer) -> Iterator[TextLine]:
    """Yield lines, those with upright rules in them in the pieces between these."""
    places = [x for x, _, _ in rules.upright]
    for line in lines:
        left, top, right, bottom = line.box
        first = bisect_right(places, left)
        if first == len(places) or places[first] >= right:
            yield line
            continue
        middle = (top + bottom) / 2
        crossed = [x for x, start, end in rules.upright[first:] if x < right and start < middle < end]
        yield from layer.parted(line, crossed) if crossed else (line,)


def _with_table(items: list[Item], grid: Grid, layer: TextLayer) -> list[Item]:
    left, top, right, bottom = grid.box
    texts: defaultdict[int, list[str]] = defaultdict(list)
    rest: list[Item] = []
    inside: list[TextLine] = []
    place = -1
    for item in items:
        x, y = (item.box[0] + item.box[2]) / 2, (item.box[1] + item.box[3]) / 2
        if isinstance(item, Table) or not (left - 1 < x < right + 1 and top - 1 < y < bottom + 1):
            rest.append(item)
            continue
        place = len(rest) if place < 0 else place
        inside.append(item)
        _fill(texts, item, grid, layer)
    cells = _rows(grid, texts)
    if not _is_table(cells, grid, texts) or _is_half_ruled(inside, grid):
        return items
    box = (round(left, 1), round(top, 1), round(right, 1), round(bottom, 1))
    return [*rest[:place], Table(cells, header_rows(cells), box, inside[0].page), *rest[place:]]


def _fill(texts: defaultdict[int, list[str]], line: TextLine, grid: Grid, layer: TextLayer) -> None:
    """Add a line's text to the cell that it stands in, word by word where it reaches over several."""
    y = (line.box[1] + line.box[3]) / 2
    first, last = grid.cell(line.box[0] + 1, y), grid.cell(line.box[2] - 1, y)
    if first == last:
        texts[first].append(line.text)
        return
    held: list[str] = []
    cell = -1
    for text, box in layer.words(line):
        now = grid.cell((box[0] + box[2]) / 2, y)
        if held and now != cell:
            texts[cell].append(" ".join(held))
            held = []
        held.append(text)
        cell = now
    texts[cell].append(" ".join(held))


def _rows(grid: Grid, texts: defaultdict[int, list[str]]) -> list[list[str]]:
    """Return the cells' texts by row; one over several rows is repeated, one over several columns followed by ""."""
    joint = {number: joined(held, Vocabulary()) for number, held in texts.items()}
    return [
        ["" if column and row[column - 1] == number else joint.get(number, "") for column, number in enumerate(row)]
        for row in grid.owner
    ]


def _is_table(cells: list[list[str]], grid: Grid, texts: defaultdict[int, list[str]]) -> bool:
    count = 1 + max(map(max, grid.owner))
    filled = {number for number, held in texts.items() if number >= 0 and any(held)}
    rows = sum(any(row) for row in cells)
    columns = sum(any(row[column] for row in cells) for column in range(len(cells[0])))
    if rows < 2 or columns < 2 or len(filled) < 3 or len(filled) < _MIN_FILLED * count:
        return False
    lengths = [sum(map(len, texts[number])) for number in filled]
    return max(lengths) <= _LONG_CELL and sum(lengths) <= _MEAN_CELL * len(lengths)


def _is_half_ruled(lines: list[TextLine], grid: Grid) -> bool:
    """Return whether many cells hold pieces that stand side by side: only some of the columns are ruled."""
    pairs = 0
    for one, other in pairwise(lines):
        beside = other.box[0] > one.box[2] and abs(other.box[3] - one.box[3]) < 0.5 * one.height
        y = (one.box[1] + one.box[3]) / 2
        pairs += beside and grid.cell(one.box[2] - 1, y) == grid.cell(other.box[0] + 1, y)
    return pairs > 1 and pairs > 0.2 * len(lines)


def header_rows(cells: list[list[str]]) -> int:
    """Return 0 when most of a table's first row are figures, years aside, else 1."""
    first = [cell for cell in cells[0] if cell]
    figures = sum(_is_figure(cell) for cell in first)
    return int(2 * figures <= len(first))


def _is_figure(text: str) -> bool:
    plain = text.strip(" $€£%()+-–").replace(",", "").replace(".", "").replace(" ", "")
    return plain.isdecimal() and not (len(text) == 4 and int(plain) in _YEAR)


def grids(rules: PageRules) -> list[Grid]:
    """Return the grids that a page's rules make, each of at least two rows and two columns."""
    found = []
    for level, upright in _components(rules):
        xs = _steps([*(rule[0] for rule in upright), *(side for rule in level for side in rule[1:])])
        ys = _steps([*(rule[0] for rule in level), *(side for rule in upright for side in rule[1:])])
        units = (len(xs) - 1) * (len(ys) - 1)
        if len(xs) > 2 and len(ys) > 2 and units <= _MAX_UNITS:
            found.append(Grid(xs, ys, _owners(xs, ys, level, upright)))
    return found


def _components(rules: PageRules) -> list[tuple[list[Rule], list[Rule]]]:
    """Return the rules in groups that touch one another."""
    if len(rules.level) < 2 or len(rules.upright) < 2:
        return []
    level, upright = np.array(rules.level), np.array(rules.upright)
    y, left, right = (side[:, None] for side in level.T)
    x, top, bottom = upright.T
    touch = (x > left - _TOUCH) & (x < right + _TOUCH) & (y > top - _TOUCH) & (y < bottom + _TOUCH)
    groups: list[tuple[list[Rule], list[Rule]]] = []
    seen = np.zeros(len(level), bool)
    for first in np.flatnonzero(touch.any(1)):
        if seen[first]:
            continue
        rows, columns = np.zeros(len(level), bool), np.zeros(len(upright), bool)
        rows[first], size = True, 0
        while size != (size := int(rows.sum())):
            columns |= touch[rows].any(0)
            rows |= touch[:, columns].any(1)
        seen |= rows
        inside = [rules.level[i] for i in np.flatnonzero(rows)], [rules.upright[i] for i in np.flatnonzero(columns)]
        if len(inside[0]) > 1 and len(inside[1]) > 1:
            groups.append(inside)
    return groups


def _steps(places: list[float]) -> list[float]:
    """Return places in order, those closer than rules can stand as one."""
    steps: list[float] = []
    for place in sorted(places):
        if not steps or place - steps[-1] > _TOUCH:
            steps.append(place)
    return steps


def _owners(xs: list[float], ys: list[float], level: list[Rule], upright: list[Rule]) -> list[list[int]]:
    """Return for each unit between neighbouring rules the cell that it is part of: no rule parts it from its others."""
    width, height = len(xs) - 1, len(ys) - 1
    parent = list(range(width * height))

    def root(unit: int) -> int:
        while parent[unit] != unit:
            parent[unit] = unit = parent[parent[unit]]
        return unit

    beside, below = _walls(xs, ys, upright), _walls(ys, xs, level)
    for row in range(height):
        for column in range(width):
            here = row * width + column
            if column + 1 < width and not beside[column + 1][row]:
                parent[root(here + 1)] = root(here)
            if row + 1 < height and not below[row + 1][column]:
                parent[root(here + width)] = root(here)
    numbers: dict[int, int] = {}
    return [
        [numbers.setdefault(root(row * width + column), len(numbers)) for column in range(width)]
        for row in range(height)
    ]


def _walls(places: list[float], steps: list[float], rules: list[Rule]) -> list[list[bool]]:
    """Return for each place whether a rule stands there beside the middle of each step."""
    walls = [[False] * (len(steps) - 1) for _ in places]
    for where, start, end in rules:
        index = max(bisect_right(places, where + 0.01) - 1, 0)
        wall = walls[index]
        first = bisect_right(steps, start - _TOUCH)
        for step in range(max(first - 1, 0), len(steps) - 1):
            middle = (steps[step] + steps[step + 1]) / 2
            if middle > end:
                break
            wall[step] |= start <= middle
    return walls
