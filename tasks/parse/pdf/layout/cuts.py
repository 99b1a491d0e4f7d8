"""PDF cuts: lines that run over a narrow gap between cells, cut where the cells above and below begin."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.rules import LevelRules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_NEAR = 4.0  # lines
_MOST_LINES = 6
_MOST_COLUMNS = 200
_STRAY = 1.2  # points that beginnings of one column may be apart
_GAP, _MONO_GAP = 0.4, 0.8  # of the size: wider than a space


def cut_as_neighbours(lines: list[TextLine], level: LevelRules, layer: TextLayer) -> list[TextLine]:
    """Return lines, those in pieces that hold a gap where pieces of lines both above and below them begin.

    Below is enough for a header, under which one of the `level` rules stands.
    """
    columns = _columns(lines)
    if not columns:
        return lines
    return [piece for line in lines for piece in _cut(line, [*_places(line, columns, level)], layer)]


def _columns(lines: list[TextLine]) -> list[tuple[float, list[float]]]:
    """Return where pieces begin that stand to the right of others: across, and how far down each."""
    found: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for index, other in enumerate(lines):
        left, top, _, bottom = other.box
        for one in reversed(lines[max(index - _MOST_LINES, 0) : index]):  # those of the cell before
            if left < one.box[2]:
                break
            if min(one.box[3], bottom) - max(one.box[1], top) > 0.5 * min(one.height, bottom - top):
                found[int(left)].append(((top + bottom) / 2, left))
                break
    columns = [sorted(places) for places in found.values() if len(places) > 1]
    if len(columns) > _MOST_COLUMNS:  # a map or a drawing
        return []
    return [(min(left for _, left in places), [middle for middle, _ in places]) for places in columns]


def _places(line: TextLine, columns: list[tuple[float, list[float]]], level: LevelRules) -> Iterator[float]:
    """Yield where a line may be cut."""
    left, top, right, bottom = line.box
    middle, near = (top + bottom) / 2, _NEAR * (bottom - top)
    for place, middles in columns:
        if left + line.size < place < right:
            above, below = bisect_left(middles, middle), bisect_right(middles, middle)
            if below == len(middles) or middles[below] - middle > near:
                continue
            if (above and middle - middles[above - 1] < near) or _is_header(line, level):
                yield place


def _is_header(line: TextLine, level: LevelRules) -> bool:
    left, _, right, bottom = line.box
    return level.between(bottom - 2, bottom + line.size, left, right)


def _cut(line: TextLine, places: list[float], layer: TextLayer) -> list[TextLine]:
    if not places:
        return [line]
    gap = (_MONO_GAP if line.font.mono else _GAP) * line.size
    cuts = [
        (before[2] + after[0]) / 2
        for (_, before), (_, after) in pairwise(layer.words(line))
        if after[0] - before[2] > gap and any(abs(after[0] - place) < _STRAY for place in places)
    ]
    return layer.parted(line, cuts) if cuts else [line]
