"""PDF cuts: split lines at narrow gaps between cells where the cells above and below begin."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_NEAR = 4.0  # heights of a line: a neighbour further up or down is of another table
_LEVEL = -0.3
"""Share of the lower line's height, which lines side by side share: a cell in the middle of its row is off by half."""
_MOST_LINES = 6  # of one cell: so many lines back a neighbour is looked for, which bounds the work for each line
_MOST_COLUMNS = 200  # a map or a drawing has more, and each costs a look at every line
_STRAY = 1.2  # points that beginnings of one column may be apart
_GAP, _MONO_GAP = 0.4, 0.8
"""Font sizes. A gap must be wider than the spaces of a line, which in fonts of one width are as wide as letters."""
_FOOT = 2.0  # points by which a rule under a header may stand within the header's box


def cut_as_neighbours(lines: list[TextLine], level: LevelRules, layer: TextLayer) -> list[TextLine]:
    """Return lines, cut into pieces at gaps where pieces of lines both above and below begin.

    One of them is enough for a header or a last row, under which one of the `level` rules stands.
    """
    columns = _columns(lines)
    if not columns:
        return lines
    return [piece for line in lines for piece in _cut(line, [*_places(line, columns, level)], layer)]


def _columns(lines: list[TextLine]) -> list[tuple[float, list[float]]]:
    """Return the columns that begin right of others: how far across, and the heights of their pieces in order."""
    found: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for index, other in enumerate(lines):
        before = reversed(lines[max(index - _MOST_LINES, 0) : index])  # those of the cell to the left
        if _has_neighbour(other, before):
            left, top, _, bottom = other.box
            found[int(left)].append(((top + bottom) / 2, left))
    columns = [sorted(places) for places in found.values() if len(places) > 1]
    if len(columns) > _MOST_COLUMNS:
        return []
    return [(min(left for _, left in places), [middle for middle, _ in places]) for places in columns]


def _has_neighbour(line: TextLine, before: Iterable[TextLine]) -> bool:
    """Return whether one of the lines before, all of them left of it, stands beside a line."""
    left, top, _, bottom = line.box
    for one in before:
        if left < one.box[2]:
            return False
        if min(one.box[3], bottom) - max(one.box[1], top) > _LEVEL * min(one.height, bottom - top):
            return True
    return False


def _places(line: TextLine, columns: list[tuple[float, list[float]]], level: LevelRules) -> Iterator[float]:
    """Yield where a line may be cut."""
    left, top, right, bottom = line.box
    middle, near = (top + bottom) / 2, _NEAR * (bottom - top)
    needed = 1 if _is_underlined(line, level) else 2
    for place, middles in columns:
        if left + line.size < place < right and _neighbours(middles, middle, near) >= needed:
            yield place


def _neighbours(middles: list[float], middle: float, near: float) -> int:
    """Return on how many sides, above and below, there is a piece near a height."""
    above, below = bisect_left(middles, middle), bisect_right(middles, middle)
    is_above = above > 0 and middle - middles[above - 1] < near
    return is_above + (below < len(middles) and middles[below] - middle <= near)


def _is_underlined(line: TextLine, level: LevelRules) -> bool:
    """Return whether a rule stands right under a line."""
    left, _, right, bottom = line.box
    return level.between(bottom - _FOOT, bottom + line.size, left, right)


def _cut(line: TextLine, places: list[float], layer: TextLayer) -> list[TextLine]:
    """Return a line in the pieces between the gaps that end at one of some places."""
    if not places:
        return [line]
    gap = (_MONO_GAP if line.font.mono else _GAP) * line.size
    cuts = [
        (before[2] + after[0]) / 2
        for (_, before), (_, after) in pairwise(layer.words(line))
        if after[0] - before[2] > gap and any(abs(after[0] - place) < _STRAY for place in places)
    ]
    return layer.parted(line, cuts) if cuts else [line]
