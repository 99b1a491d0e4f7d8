"""PDF cuts: lines split at gaps between cells that nearby rows leave free, too."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import median

from docmill.tasks.parse.pdf.text.gaps import Gap
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_NEAR_ROWS, _NEAR_TALL_ROWS = 5.5, 8.5
"""Line heights: gaps of rows further up or down belong to another table. A line beside another is in a row, which may
be tall; alone it may be text, which a far gap would cut."""
_MOST_LINES = 6  # of one cell: how many lines back to look for a neighbour, which bounds the work for each line
_SAME_EDGE = 1.2  # points by which the edges of one column may differ
_EXACT = 0.3  # points between edges of a column at a narrow gap: other words begin this close only by chance
_GAP = 0.4  # font sizes: a gap between cells must be wider than the spaces in a line
_FIGURES_GAP = 0.8  # font sizes between two figures: spaces within a number or between numbers in text are narrower
_END_GAP = 0.7
"""Font sizes of a gap in a strip, for a line above or below all of the strip's rows: it may be a line of text, in which
the space next to a word in another font is half a font size wide."""
_SHARED = 0.25  # font sizes of overlap between a gap and a strip: a centred header may reach into its column's gap
_UNDRAWN_GAP = 0.6  # font sizes of a gap without a drawn space: beside code with a margin of its own it is narrower
_MOST_NEAR = 100  # gaps to examine near a line, which bounds the work for each line
_HEADER_ROWS = 3.5  # line heights between the lines of a header, and to the first row below them
_LEAST_STRIPS = 2  # in which a header has gaps: a line of text may have a gap in one

_LOOSE, _LOOSE_TIMES = 0.55, 1.8  # font sizes, and multiple of its line's usual gap: a wider gap is not a space

_RowGap = tuple[float, float, float]  # a gap between two cells: the cells' vertical middle, its left and its right


def parted(line: TextLine, places: Sequence[float], layer: TextLayer) -> list[TextLine]:
    """Return the pieces of a line, cut between words at each of the places, from the left."""
    if not places:
        return [line]
    pieces = layer.parted(line, places)
    pieces[-1].ruled = line.ruled
    return pieces


@dataclass(slots=True)
class _Strip:
    """The strip that the gaps of several rows share; `gaps` run from the top."""

    left: float
    right: float
    gaps: list[_RowGap]

    def sides(self, height: float) -> int:
        """Return 2 if it has rows both above and below a height, else 1."""
        return len({gap[0] > height for gap in self.gaps})

    def sides_alike(self, height: float, gap: Gap, off_end: float, off_start: float) -> int:
        """Return on how many sides of a height, above and below, cells of rows end or begin this close to a gap."""
        return max(
            len({row > height for row, end, _ in self.gaps if abs(end - gap[0]) < off_end}),
            len({row > height for row, _, start in self.gaps if abs(start - gap[1]) < off_start}),
        )


def cut_as_neighbours(lines: list[TextLine], layer: TextLayer) -> list[TextLine]:
    """Return lines, with rows cut at the gaps that nearby rows leave free, too, and between figures."""
    gaps, places = _gaps_of_rows(lines, layer)
    found: list[list[TextLine]] = []
    for index, line in enumerate(lines):
        found.append([line])
        if " " not in line.text:
            continue
        near, figures = _crossing(line, gaps, index in places), not any(map(str.isalpha, line.text))
        if near or figures:
            found[-1] = parted(line, _cuts(line, near, index in places, figures, layer), layer)
            _insert(gaps, found[-1])
    _cut_headers(found, gaps, places, layer)
    return [*chain.from_iterable(found)]


def _cut_headers(found: list[list[TextLine]], gaps: list[_RowGap], places: set[int], layer: TextLayer) -> None:
    """Cut uncut lines above rows, from the row next to them up to the first line of the header."""
    for index in reversed(range(len(found) if gaps else 0)):
        line = found[index][0]
        if len(found[index]) == 1 and index not in places and " " in line.text and not line.font.mono:
            found[index] = parted(line, [sum(gap) / 2 for gap in sorted(_of_header(line, gaps, layer))], layer)
            _insert(gaps, found[index])


def _insert(gaps: list[_RowGap], pieces: list[TextLine]) -> None:
    """Insert the gaps between the pieces of a line; they show where to cut the next row."""
    for one, other in pairwise(pieces):
        insort(gaps, (one.middle, one.right, other.left))


def _gaps_of_rows(lines: list[TextLine], layer: TextLayer) -> tuple[list[_RowGap], set[int]]:
    """Return the gaps between lines side by side, from the top, and the indexes of these lines."""
    gaps: list[_RowGap] = []
    places = set[int]()
    for index, other in enumerate(lines):
        # The lines before it belong to the cell to its left, or to its own cell.
        place = _neighbour(lines, index)
        if place is not None:
            gaps.append((other.middle, lines[place].right, other.left))
            places |= {place, index}
    layer.ask_for_words(map(lines.__getitem__, places))
    for at in places:
        wide = {*_loose(lines[at], layer), *layer.undrawn_gaps(lines[at])}
        gaps += [(lines[at].middle, *gap) for gap in wide]
    return sorted(gaps), places


def _loose(line: TextLine, layer: TextLayer) -> list[Gap]:
    """Return the gaps that are far wider than usual in their line, so not spaces between words.

    One as wide as a letter is high need only be far wider than the tightest: with two gaps, half of them are not usual.
    """
    widths = [*map(_width, layer.gaps(line))] if " " in line.text else []
    if not widths:
        return []
    usual = min(median(widths), max(min(widths), line.size / _LOOSE_TIMES))
    least = max(_LOOSE * line.size, _LOOSE_TIMES * usual)
    return [gap for gap in layer.gaps(line) if _width(gap) > least]


def _neighbour(lines: list[TextLine], index: int) -> int | None:
    """Return the index of the line left of this one on its level, among the lines before it; None if there is none."""
    left, top, _, bottom = lines[index].box
    for at in range(index - 1, max(index - _MOST_LINES, 0) - 1, -1):
        start, upper, end, lower = lines[at].box
        if -_SAME_EDGE < left - start < _SAME_EDGE:
            continue
        if left < end:
            return None
        if upper < bottom and top < lower:
            return at
    return None


def _crossing(line: TextLine, gaps: list[_RowGap], beside: bool) -> list[_RowGap]:
    """Return the gaps of the nearest rows above or below the words of a line, which may be `beside` another."""
    found: list[_RowGap] = []
    for heights in (_NEAR_ROWS, _NEAR_TALL_ROWS)[: 1 + beside]:
        reach = heights * max(line.height, line.size)
        found = found or _over(line, _between_heights(gaps, line.middle - reach, line.middle + reach))
    return found


def _over(line: TextLine, gaps: list[_RowGap]) -> list[_RowGap]:
    """Return the gaps of other rows within the width of a line."""
    (left, _, right, _), middle = line.box, line.middle
    return [gap for gap in gaps if gap[1] < right and gap[2] > left and gap[0] != middle]


def _between_heights(gaps: list[_RowGap], upper: float, lower: float) -> list[_RowGap]:
    first = bisect_left(gaps, (upper,))
    return gaps[first : min(bisect_left(gaps, (lower,), first), first + _MOST_NEAR)]


def _cuts(line: TextLine, near: list[_RowGap], beside: bool, figures: bool, layer: TextLayer) -> list[float]:
    """Return where to cut a line: at gaps that rows leave free, or between figures.

    A line with no other `beside` it is a row only if its cells begin or end where the cells above and below do.
    """
    gaps, undrawn = layer.gaps(line), layer.undrawn_gaps(line)
    least = _GAP * line.size
    wide, strips = [gap for gap in gaps if gap in undrawn or _width(gap) > least], _strips(near, least)
    between = {*_between(wide, strips, line)}
    exact = {*_exact(line, gaps, wide, strips)}
    cut = {*exact, *_unspaced(undrawn, between, near, beside, line.size)}
    if beside:
        cut.update(_outliers([gap for gap in gaps if gap not in undrawn], between, exact))
    if figures:
        cut.update(gap for gap in gaps if _width(gap) > _FIGURES_GAP * line.size)
    return [sum(gap) / 2 for gap in sorted(cut)]


def _of_header(line: TextLine, rows: list[_RowGap], layer: TextLayer) -> set[Gap]:
    """Return the gaps of a header line: it has a gap in each strip that it crosses, at least one of them loose."""
    crossed = _crossed(line, rows)
    gaps = layer.gaps(line) if len(crossed) >= _LEAST_STRIPS else []
    if len(gaps) < _LEAST_STRIPS:
        return set()
    tightest = min(map(_width, gaps))
    least = max(_LOOSE * line.size, min(_LOOSE_TIMES * tightest, _FIGURES_GAP * line.size))
    found = [gap for strip in crossed for gap in _gap_in(strip, line, gaps, least)]
    is_header = len(found) == len(crossed) and len({*found}) >= _LEAST_STRIPS
    return {*found} if is_header and max(map(_width, found)) > least else set()


def _crossed(line: TextLine, rows: list[_RowGap]) -> list[_Strip]:
    """Return the strips within a line's width that the rows closely below leave free, if there are several."""
    below = _between_heights(rows, line.middle + _SHARED * line.size, line.middle + _HEADER_ROWS * line.height)
    if len(_over(line, below)) < _LEAST_STRIPS:
        return []
    strips = _strips(below, _GAP * line.size)
    return [strip for strip in strips if line.left < strip.left and strip.right < line.right]


def _gap_in(strip: _Strip, line: TextLine, gaps: list[Gap], least: float) -> Iterator[Gap]:
    """Yield the gap that overlaps a strip most, if it is wider than `least` or aligned with cells of its rows."""
    shared, gap = max((min(gap[1], strip.right) - max(gap[0], strip.left), gap) for gap in gaps)
    is_loose = shared > _SHARED * line.size and _width(gap) > least
    if is_loose or strip.sides_alike(line.middle, gap, _EXACT, _EXACT):
        yield gap


def _outliers(gaps: list[Gap], between: set[Gap], exact: set[Gap]) -> list[Gap]:
    """Return the gaps in strips that are wider than all spaces of their line."""
    plain = max((_width(gap) for gap in gaps if gap not in between | exact), default=0.0)
    return [gap for gap in between if _width(gap) > plain]


def _unspaced(gaps: set[Gap], between: set[Gap], near: list[_RowGap], beside: bool, size: float) -> Iterator[Gap]:
    """Yield the gaps without a drawn space in strips or before aligned cells, if the line is a row or they are wide."""
    for gap in gaps:
        is_aligned = gap in between or sum(abs(start - gap[1]) < _EXACT for _, _, start in near) > 1
        if is_aligned and (beside or _width(gap) > _UNDRAWN_GAP * size):
            yield gap


def _exact(line: TextLine, gaps: list[Gap], wide: list[Gap], strips: list[_Strip]) -> Iterator[Gap]:
    """Yield the gaps at which cells both above and below end, or both begin."""
    around = [strip for strip in strips if strip.sides(line.middle) > 1]
    for gap in gaps if around else ():
        off = (_SAME_EDGE, _SAME_EDGE) if gap in wide else (0.0, _EXACT)
        if any(strip.sides_alike(line.middle, gap, *off) > 1 for strip in around):
            yield gap


def _strips(gaps: list[_RowGap], least: float) -> list[_Strip]:
    """Return the strips wider than `least` that rows leave free, as between columns."""
    strips = list[_Strip]()
    for gap in gaps:
        for strip in strips:
            left, right = max(strip.left, gap[1]), min(strip.right, gap[2])
            if right - left > least:
                strip.left, strip.right = left, right
                strip.gaps.append(gap)
                break
        else:
            strips.append(_Strip(*gap[1:], [gap]))
    return strips


def _between(wide: list[Gap], strips: list[_Strip], line: TextLine) -> Iterator[Gap]:
    """Yield the widest of a line's gaps in each strip; above or below all rows of a strip, it must be wider."""
    for strip in strips:
        over = [gap for gap in wide if min(gap[1], strip.right) - max(gap[0], strip.left) > _SHARED * line.size]
        found = max(over, key=_width, default=None)
        if found is not None and (strip.sides(line.middle) > 1 or _width(found) > _END_GAP * line.size):
            yield found


def _width(gap: Gap) -> float:
    return gap[1] - gap[0]
