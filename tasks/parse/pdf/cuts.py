"""PDF cuts: lines that run over a narrow gap between cells, cut where the cells above and below begin."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tasks.parse.pdf.line import Line
from tasks.parse.pdf.page import TextLayer

_NEAR = 4.0  # lines
_STRAY = 1.2  # points that beginnings of one column may be apart
_GAP, _MONO_GAP = 0.4, 0.8  # of the size: wider than a space


def cut_as_neighbours(lines: list[Line], layer: TextLayer) -> list[Line]:
    """Return lines, those in pieces that hold a gap where pieces of lines both above and below them begin."""
    columns = _columns(lines)
    if not columns:
        return lines
    return [piece for line in lines for piece in _cut(line, [*_places(line, columns)], layer)]


def _columns(lines: list[Line]) -> dict[int, list[tuple[float, float]]]:
    """Return where pieces begin that stand to the right of others, across and down, by whole points across."""
    found: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for one, other in pairwise(lines):
        left, top, _, bottom = other.box
        overlap = min(one.box[3], bottom) - max(one.box[1], top)
        if left >= one.box[2] and overlap > 0.5 * min(one.height, bottom - top):
            found[int(left)].append((left, (top + bottom) / 2))
    return {left: places for left, places in found.items() if len(places) > 1}


def _places(line: Line, columns: dict[int, list[tuple[float, float]]]) -> Iterator[float]:
    """Yield where a line may be cut."""
    left, top, right, bottom = line.box
    middle, near = (top + bottom) / 2, _NEAR * line.height
    for whole, places in columns.items():
        if left + line.size < whole < right:
            beside = [x for x, y in places if abs(y - middle) < near]
            if (
                beside
                and any(0 < y - middle < near for _, y in places)
                and any(0 < middle - y < near for _, y in places)
            ):
                yield min(beside)


def _cut(line: Line, places: list[float], layer: TextLayer) -> list[Line]:
    if not places:
        return [line]
    gap = (_MONO_GAP if line.font.mono else _GAP) * line.size
    cuts = [
        (before[2] + after[0]) / 2
        for (_, before), (_, after) in pairwise(layer.words(line))
        if after[0] - before[2] > gap and any(abs(after[0] - place) < _STRAY for place in places)
    ]
    return layer.parted(line, cuts) if cuts else [line]
