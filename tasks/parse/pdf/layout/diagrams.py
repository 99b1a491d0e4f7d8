"""PDF diagrams: separate boxes with a few words each, with lines between them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from docmill.tasks.parse.pdf.layout.grid import Grid, grid_of, leader, places_of_cells
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import PageRules, Rule

_LEAST_BOXES = 5  # separate boxes: the diagrams examined have at least six; a form has at most four blocks
_OUTSIDE = 0.4  # share of letters outside boxes: labels of lines make up a third, the text of forms more
_AROUND = 0.3  # share of the area around boxes: at least two fifths in diagrams, a fifth in tables with omitted cells
_JOINED = 1  # pieces of connecting lines per box: business cards have none


def may_be_diagram(rules: PageRules) -> bool:
    """Return whether a page has enough rules for the sides of a diagram's boxes."""
    return min(len(rules.level), len(rules.upright)) >= 2 * _LEAST_BOXES


def is_diagram(level: list[Rule], upright: list[Rule], lines: Sequence[TextLine]) -> bool:
    """Return whether rules draw separate boxes with lines between them.

    The space around such boxes is a cell that is not a rectangle. Nearly all cells of a table are rectangles and touch.
    """
    grid = grid_of(level, upright)
    if not grid:
        return False
    around = {*_odd_cells(grid)}
    if _area(grid, around) < _AROUND * _area(grid, {*range(1 + max(map(max, grid.owner)))}):
        return False
    letters = _letters(grid, lines)
    boxes = {*letters} - around - {-1}
    if sum(letters[cell] for cell in boxes) < (1 - _OUTSIDE) * letters.total():
        return False
    pairs = [*_neighbours(grid)]
    islands = _islands([(one, other) for one, other, _ in pairs if {one, other} <= boxes], boxes)
    return len(islands) >= _LEAST_BOXES and _between(pairs, boxes, around) >= _JOINED * len(islands)


def is_full_grid(level: list[Rule], upright: list[Rule], lines: Sequence[TextLine]) -> bool:
    """Return whether rules belong to a table: most letters within them are in cells."""
    grid = grid_of(level, upright)
    letters = _letters(grid, lines) if grid else Counter[int]()
    return len(letters) > _LEAST_BOXES and 2 * letters[-1] < letters.total()


def _letters(grid: Grid, lines: Sequence[TextLine]) -> Counter[int]:
    """Return the number of letters in each cell; -1 counts lines that are not within a single cell."""
    letters = Counter[int]()
    for line in lines:
        first, last = (grid.cell(x, line.middle) for x in (line.left, line.right))
        letters[first if first == last else -1] += len(line.text)
    return letters


def _between(pairs: Sequence[tuple[int, int, bool]], boxes: set[int], around: set[int]) -> int:
    """Return how many pieces of rules are not a side of a box."""
    free = [{one, other} for one, other, walled in pairs if walled and one not in boxes and other not in boxes]
    return sum(bool(cells & around) for cells in free)


def _odd_cells(grid: Grid) -> Iterator[int]:
    """Yield the cells that are not rectangles."""
    units = Counter(number for row in grid.owner for number in row)
    for number, (rows, columns) in places_of_cells(grid).items():
        if units[number] != len(rows) * len(columns):
            yield number


def _area(grid: Grid, cells: set[int]) -> float:
    """Return the total area of cells."""
    wide = [right - left for left, right in pairwise(grid.xs)]
    high = [bottom - top for top, bottom in pairwise(grid.ys)]
    return sum(
        side * sum(width for width, cell in zip(wide, row, strict=True) if cell in cells)
        for side, row in zip(high, grid.owner, strict=True)
    )


def _neighbours(grid: Grid) -> Iterator[tuple[int, int, bool]]:
    """Yield the cells of each two adjacent units, and whether a rule separates the units."""
    for row, numbers in enumerate(grid.owner):
        for column, (one, other) in enumerate(pairwise(numbers)):
            yield one, other, grid.beside[column + 1][row]
    for row, (upper, lower) in enumerate(pairwise(grid.owner)):
        for column, (one, other) in enumerate(zip(upper, lower, strict=True)):
            yield one, other, grid.below[row + 1][column]


def _islands(pairs: Sequence[tuple[int, int]], boxes: set[int]) -> set[int]:
    """Return one box for each group of touching boxes."""
    leaders = [*range(1 + max(boxes, default=0))]
    for one, other in pairs:
        leaders[leader(other, leaders)] = leader(one, leaders)
    return {leader(box, leaders) for box in boxes}
