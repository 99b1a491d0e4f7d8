"""PDF plots: charts and diagrams, recognised by their curves, boxes or captions, and the words in them.

Diagrams are separate boxes with a few words each, with lines between them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.caption_labels import is_caption, names_table
from docmill.tasks.parse.pdf.layout.grid import Grid, grid_of, is_within, leader, places_of_cells
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all
from docmill.tasks.parse.pdf.text.ruling_lines import PageRules, Rule

_CELL = 7.0
"""Points of the cells for joining parts of a drawing: parts less than two cells apart, such as an axis and its legend,
are one. Larger cells join drawings of two columns; smaller ones tear a drawing apart."""
_LEAST_DRAWN = 40.0  # points of a drawing's height and width: smaller ones are rules, with or without ticks
_LABEL = 60  # characters: a longer text in or next to a drawing is not a label
_MOST_CELLS = 200  # along a side of the page; larger pages get larger cells
_LEAST_CURVES, _LEAST_SEGMENTS = 3, 20
"""Of a plot: fewer are a line of a form, an arrow or a round corner. One curve drawn by points has enough segments."""
_LEAST_LABELS = 2  # lines in a plot: a text next to a sign or in a frame is one line
_LABELS, _MEAN = 500, 20  # most characters of all labels of a chart, and of one on average: more are text in a frame
_CURVED = 0.25  # share of a plot's width that its curves span: a logo at the end of a rule spans less
_PART = 0.5  # share of the page: a larger drawing is the page's background
_EDGE, _SMALL = 0.12, 0.04
"""A drawing in this share of the page at its top or bottom, of less than this share of its area, is a letterhead."""
_REACH = 14.0  # points from a plot to labels outside it, such as those of an axis
_OUTER = 30  # maximum characters of such a label
_FAR = 60.0  # points from a drawing to its caption: room for three lines of labels
_STEP, _ALIGNED = 1.5, 2.0
"""Line heights to the next line of a paragraph, and points between the left edges of both."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart or diagram: its box, in points from the page's top left, and the lines of its labels."""

    box: Box
    labels: list[TextLine]

    @property
    def words(self) -> str:
        """Return the labels as one text."""
        return "; ".join(line.text for line in self.labels)


def plots(lines: Sequence[TextLine], rules: PageRules, size: tuple[float, float]) -> list[Plot]:
    """Return the plots of a page of this width and height; none if it has no other text. No line is in two plots."""
    captions = [line.box for line in lines if is_named(line)]
    if not captions and not _may_hold_plots(rules):
        return []
    found = list[Plot]()
    free = list(lines)
    for box, limits in _drawings(rules, size, lines, captions):
        labels = _labels(free, box)
        if _are_labels(labels, *limits):
            found.append(Plot(around_all([box, *(line.box for line in labels)]), labels))
            free = _without(free, labels)
    return found if free else []


def is_named(line: TextLine) -> bool:
    """Return whether a line is or begins the caption of a figure."""
    return is_caption(line.text) and not names_table(line.text)


def _may_hold_plots(rules: PageRules) -> bool:
    # A diagram has rules for the sides of its boxes.
    diagram = min(len(rules.level), len(rules.upright)) >= 2 * _LEAST_BOXES
    return diagram or _are_many([count for _, count in rules.curves])


def _are_many(counts: Sequence[int]) -> bool:
    return len(counts) >= _LEAST_CURVES or max(counts, default=0) >= _LEAST_SEGMENTS


def _drawings(
    rules: PageRules, size: tuple[float, float], lines: Sequence[TextLine], captions: Sequence[Box]
) -> Iterator[tuple[Box, tuple[int, float]]]:
    """Yield the boxes of drawings that are diagrams or have a caption or enough curves.

    Each comes with the minimum number of its labels and the maximum of their characters.
    """
    boxes = [_on_page(box, size) for box in _drawn(rules)]
    for members in _grouped(boxes, *size):
        box = around_all([boxes[at] for at in members])
        inside = _inside(rules, lines, box)
        if is_diagram(*inside):
            yield box, (_LEAST_LABELS, float("inf"))
        elif not _may_be_plot(box, *size):
            continue
        elif _is_named(box, captions) and not is_full_grid(*inside):
            yield box, (0, _LABELS)
        elif _is_curved(box, [(boxes[at], rules.curves[at][1]) for at in members if at < len(rules.curves)]):
            yield box, (_LEAST_LABELS, _LABELS)


def _is_named(box: Box, captions: Sequence[Box]) -> bool:
    """Return whether a caption is closely above or below a drawing."""
    over = [one for one in captions if one[0] < box[2] and box[0] < one[2]]
    return any(max(one[1] - box[3], box[1] - one[3]) < _FAR for one in over)


def _inside(rules: PageRules, lines: Sequence[TextLine], box: Box) -> tuple[list[Rule], list[Rule], list[TextLine]]:
    """Return the horizontal rules, the vertical rules and the lines within a drawing."""
    level = [rule for rule in rules.level if is_within((rule[1], rule[0], rule[2], rule[0]), box)]
    upright = [rule for rule in rules.upright if is_within((rule[0], rule[1], rule[0], rule[2]), box)]
    return level, upright, [line for line in lines if is_within(line.box, box)]


def _drawn(rules: PageRules) -> Iterator[Box]:
    """Yield the boxes of all curves, then of all rules on a page."""
    for curve, _ in rules.curves:
        yield curve
    for y, start, end in (*rules.level, *rules.edges):
        yield start, y, end, y
    for x, start, end in rules.upright:
        yield x, start, x, end


def _is_curved(box: Box, curves: Sequence[tuple[Box, int]]) -> bool:
    """Return whether a drawing has enough curves, given with their segments, across enough of its width."""
    if not _are_many([count for _, count in curves]):
        return False
    left, _, right, _ = around_all([curve for curve, _ in curves])
    return right - left >= _CURVED * (box[2] - box[0])


def _on_page(box: Box, size: tuple[float, float]) -> Box:
    (left, top, right, bottom), (width, height) = box, size
    return (min(max(left, 0), width), min(max(top, 0), height), min(max(right, 0), width), min(max(bottom, 0), height))


def _may_be_plot(box: Box, width: float, height: float) -> bool:
    left, top, right, bottom = box
    low = min(right - left, bottom - top) < _LEAST_DRAWN
    large = (right - left) * (bottom - top) >= _PART * width * height
    return not low and not large and not is_letterhead(box, width, height)


def is_letterhead(box: Box, width: float, height: float) -> bool:
    """Return whether a small box is at the top or the bottom of a page of this size."""
    left, top, right, bottom = box
    at_edge = bottom < _EDGE * height or top > (1 - _EDGE) * height
    return at_edge and (right - left) * (bottom - top) < _SMALL * width * height


def _labels(lines: Sequence[TextLine], box: Box) -> list[TextLine]:
    """Return the labels of a drawing: the lines in it and short lines next to it."""
    near, others = list[TextLine](), list[TextLine]()
    for line in lines:
        side = near if is_within(line.box, box) or _is_near(line, box) else others
        side.append(line)
    return [line for line in near if is_within(line.box, box) or not _is_of_paragraph(line, others)]


def _is_near(line: TextLine, box: Box) -> bool:
    """Return whether a line next to a drawing is short and no caption; figures of an axis may extend further."""
    left, top, right, bottom = line.box
    if len(line.text) > _OUTER or is_caption(line.text):
        return False
    if any(map(str.isalpha, line.text)):
        return is_within(line.box, (box[0] - _REACH, box[1] - _REACH, box[2] + _REACH, box[3] + _REACH))
    return max(box[0] - right, left - box[2], box[1] - bottom, top - box[3]) < _REACH


def _are_labels(labels: Sequence[TextLine], least: int, most: float) -> bool:
    """Return whether lines are labels: enough of them, and too short for running text."""
    lengths = [len(line.text) for line in labels]
    short = sum(lengths) <= min(_MEAN * len(labels), most) and max(lengths, default=0) <= _LABEL
    return short and len(labels) >= least


def _is_of_paragraph(line: TextLine, others: Sequence[TextLine]) -> bool:
    """Return whether a line is the next one below or above another, and begins where that begins."""
    near = (other for other in others if abs(other.middle - line.middle) < _STEP * line.height)
    return any(abs(other.left - line.left) <= _ALIGNED for other in near)


def without_plots(lines: list[TextLine], rules: PageRules, found: Sequence[Plot]) -> tuple[list[TextLine], PageRules]:
    """Return the lines and rules of a page that are not part of a plot."""
    if not found:
        return lines, rules
    boxes = [plot.box for plot in found]
    level, edges = _level_outside(rules.level, boxes), _level_outside(rules.edges, boxes)
    upright = [rule for rule in rules.upright if not _is_drawn((rule[0], (rule[1] + rule[2]) / 2), boxes)]
    labels = [line for plot in found for line in plot.labels]
    return _without(lines, labels), PageRules(level, upright, rules.dots, edges)


def _without(lines: list[TextLine], labels: Sequence[TextLine]) -> list[TextLine]:
    """Return lines without some of them."""
    gone = {*map(id, labels)}  # comparing the lines by value is slow
    return [line for line in lines if id(line) not in gone]


def _level_outside(rules: Sequence[Rule], boxes: Sequence[Box]) -> list[Rule]:
    return [rule for rule in rules if not _is_drawn(((rule[1] + rule[2]) / 2, rule[0]), boxes)]


def _is_drawn(middle: tuple[float, float], boxes: Sequence[Box]) -> bool:
    return any(is_within((*middle, *middle), box) for box in boxes)


def _grouped(boxes: Sequence[Box], width: float, height: float) -> list[list[int]]:
    """Return the indexes of the boxes in each group; boxes less than two cells of the page apart are in one group."""
    cell = max(_CELL, width / _MOST_CELLS, height / _MOST_CELLS)
    rows = defaultdict[int, list[tuple[int, int, int]]](list)
    for at, (left, top, right, bottom) in enumerate(boxes):
        span = int(left / cell), int(right / cell) + 2, at
        for row in range(int(top / cell), int(bottom / cell) + 3):
            rows[row].append(span)
    leaders = [*range(len(boxes))]
    for spans in rows.values():
        _join(sorted(spans), leaders)
    groups = defaultdict[int, list[int]](list)
    for at in range(len(boxes)):
        groups[leader(at, leaders)].append(at)
    return [*groups.values()]


def _join(spans: Sequence[tuple[int, int, int]], leaders: list[int]) -> None:
    """Join the groups of overlapping spans in a row; a span is its left, its right and the index of its box, sorted."""
    first, until = 0, -1
    for left, right, at in spans:
        if left <= until:
            leaders[leader(at, leaders)] = first
        first, until = leader(at, leaders), max(until, right)


_LEAST_BOXES = 5  # separate boxes: the diagrams examined have at least six; a form has at most four blocks
_OUTSIDE = 0.4  # share of letters outside boxes: labels of lines make up a third, the text of forms more
_AROUND = 0.3  # share of the area around boxes: at least two fifths in diagrams, a fifth in tables with omitted cells
_JOINED = 1  # pieces of connecting lines per box: business cards have none


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
