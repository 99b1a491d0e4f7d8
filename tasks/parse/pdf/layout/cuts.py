"""PDF cuts: split lines at narrow gaps between cells where the cells above and below begin, or end."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import itemgetter

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_NEAR = 4.0  # heights of a line: a neighbour further up or down is of another table
_LEVEL = -0.3
"""Share of the lower line's height, which lines side by side share: a cell in the middle of its row is off by half."""
_MOST_LINES = 6  # of one cell: so many lines back a neighbour is looked for, which bounds the work for each line
_MOST_COLUMNS = 200  # a map or a drawing has more, and each costs a look at every line
_STRAY = 1.2  # points that the edges of one column may be apart
_GAP, _MONO_GAP = 0.4, 0.8
"""Font sizes. A gap must be wider than the spaces of a line, which in fonts of one width are as wide as letters."""
_FIGURES_GAP = 0.8  # font sizes between two figures: no space within a number, or in a row of them, is as wide
_OUTLIER = 1.4  # times as wide as other gaps of its line: the spaces of justified text are all alike
_FOOT = 2.0  # points by which a rule under a header may stand within the header's box

_PLACE = itemgetter(0)  # of an edge
_Edge = tuple[float, list[float]]  # how far across, and the heights of the pieces that begin or end there, in order


@dataclass(frozen=True, slots=True)
class _Edges:
    """Where cells begin that have others at their left, and where those end that have others at their right."""

    left: list[_Edge]
    right: list[_Edge]


def cut_as_neighbours(lines: list[TextLine], level: LevelRules, layer: TextLayer) -> list[TextLine]:
    """Return lines, cut into pieces at gaps where pieces of lines both above and below begin, or end.

    One of them is enough where the gap is wider than the line's gaps at which none do, and for a header or a last row,
    under which one of the `level` rules stands. Figures are cut wherever they stand far apart.
    """
    edges = _edges(lines)
    sides = [[place for place, _ in side] for side in (edges.left, edges.right) if side]
    pieces = ([line] if _is_whole(line, sides) else _cut(line, edges, level, layer) for line in lines)
    return [*chain.from_iterable(pieces)]


def _is_whole(line: TextLine, sides: list[list[float]]) -> bool:
    """Return whether a line has no edge of a column inside and is no row of figures; quick, as nearly all are whole."""
    text = line.text
    if " " not in text:
        return True
    start, end = line.box[0] + line.size, line.box[2]
    for places in sides:
        if bisect_right(places, start) < bisect_left(places, end):
            return False
    return text[0].isalpha() or text[-1].isalpha() or any(map(str.isalpha, text))


def _edges(lines: list[TextLine]) -> _Edges:
    """Return the edges of columns; none where there are too many."""
    left: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    right: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for index, other in enumerate(lines):
        # Those before are the lines of the cell to the left, or of its own cell.
        one = _neighbour(lines, index)
        if one is not None:
            left[int(other.box[0])].append((_middle(other), other.box[0]))
            right[int(one.box[2])].append((_middle(one), one.box[2]))
    return _Edges(_of_several(left, min), _of_several(right, max))


def _of_several(found: dict[int, list[tuple[float, float]]], outer: Callable[[list[float]], float]) -> list[_Edge]:
    columns = [sorted(places) for places in found.values() if len(places) > 1]
    if len(columns) > _MOST_COLUMNS:
        return []
    return sorted(
        [(outer([place for _, place in places]), [middle for middle, _ in places]) for places in columns], key=_PLACE
    )


def _neighbour(lines: list[TextLine], index: int) -> TextLine | None:
    """Return which of the lines before one, all of them left of it or in its column, stands beside it."""
    left, top, _, bottom = lines[index].box
    for at in range(index - 1, max(index - _MOST_LINES, 0) - 1, -1):
        start, upper, end, lower = lines[at].box
        if -_STRAY < left - start < _STRAY:
            continue
        if left < end:
            return None
        if min(lower, bottom) - max(upper, top) > _LEVEL * min(lower - upper, bottom - top):
            return lines[at]
    return None


def _middle(line: TextLine) -> float:
    return (line.box[1] + line.box[3]) / 2


def _cut(line: TextLine, edges: _Edges, level: LevelRules, layer: TextLayer) -> list[TextLine]:
    """Return a line in the pieces between the gaps that are those between cells."""
    inside = _Edges(_inside(line, edges.left), _inside(line, edges.right))
    figures = not any(map(str.isalpha, line.text))
    if not (inside.left or inside.right or figures):
        return [line]
    gaps = [(before, after) for (_, before), (_, after) in pairwise(layer.words(line))]
    cuts = {*_cuts(line, gaps, inside, _is_underlined(line, level)), *(_far(gaps, line.size) if figures else ())}
    return layer.parted(line, sorted(cuts)) if cuts else [line]


def _far(gaps: list[tuple[Box, Box]], size: float) -> Iterator[float]:
    """Yield the middles of gaps between figures that are no spaces."""
    return ((one[2] + other[0]) / 2 for one, other in gaps if other[0] - one[2] > _FIGURES_GAP * size)


def _inside(line: TextLine, edges: list[_Edge]) -> list[_Edge]:
    """Return the edges within a line that have pieces near it, with these."""
    left, top, right, bottom = line.box
    left += line.size
    within = edges[bisect_right(edges, left, key=_PLACE) : bisect_left(edges, right, key=_PLACE)]
    if not within:
        return within
    middle, near = (top + bottom) / 2, _NEAR * max(bottom - top, line.size)
    some = [(at, all_[bisect_right(all_, middle - near) : bisect_right(all_, middle + near)]) for at, all_ in within]
    return [edge for edge in some if edge[1]]


def _cuts(line: TextLine, gaps: list[tuple[Box, Box]], edges: _Edges, underlined: bool) -> Iterator[float]:
    """Yield where to cut a line."""
    least = (_MONO_GAP if line.font.mono else _GAP) * line.size
    found = [(_sides(line, edges, *far), *far) for far in _wider(gaps, least)]
    plain = 0.0 if underlined else _OUTLIER * _widest(found)
    for sides, end, start in found:
        if sides > int(start - end <= plain):
            yield (end + start) / 2


def _wider(gaps: list[tuple[Box, Box]], least: float) -> Iterator[tuple[float, float]]:
    """Yield where gaps that are wide enough begin and end."""
    return ((one[2], other[0]) for one, other in gaps if other[0] - one[2] > least)


def _widest(found: list[tuple[int, float, float]]) -> float:
    """Return the width of the widest gap that has nothing beside it on any side."""
    return max((start - end for sides, end, start in found if not sides), default=0.0)


def _sides(line: TextLine, edges: _Edges, end: float, start: float) -> int:
    """Return on how many sides of a line, above and below, there are pieces that end or start where its words do."""
    return max(_around(line, edges.right, end), _around(line, edges.left, start))


def _around(line: TextLine, edges: list[_Edge], place: float) -> int:
    middle = _middle(line)
    heights = [one for edge, middles in edges if abs(edge - place) < _STRAY for one in middles]
    return any(one < middle for one in heights) + any(one > middle for one in heights)


def _is_underlined(line: TextLine, level: LevelRules) -> bool:
    """Return whether a rule stands right under a line."""
    left, _, right, bottom = line.box
    return level.between(bottom - _FOOT, bottom + line.size, left, right)
