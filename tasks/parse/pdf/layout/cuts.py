"""PDF cuts: split lines at the gaps between cells that the rows near them leave free, too."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import median

from docmill.tasks.parse.pdf.text.gaps import Gap
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_NEAR_ROWS = 5.5  # heights of a line: the gaps of rows further up or down are of another table
_LEVEL = -0.3
"""Share of the lower line's height, which lines side by side share: a cell in the middle of its row is off by half."""
_MOST_LINES = 6  # of one cell: so many lines back a neighbour is looked for, which bounds the work for each line
_SAME_EDGE = 1.2  # points that the edges of one column may be apart
_EXACT = 0.3  # points between edges of a column behind a narrow gap: words begin so near to it by chance only
_GAP = 0.4  # font sizes: a gap must be wider than the spaces of a line
_FIGURES_GAP = 0.8  # font sizes between two figures: no space within a number, or in a row of them, is as wide
_END_GAP = 0.7
"""Font sizes of a gap in such a strip, in a line above or below all of its rows: a line of text stands there, too, and
the space beside a word in another font is half a size wide."""
_SHARED = 0.25  # font sizes that a gap and a strip share: a header that is centred may reach into its column's gap
_MOST_NEAR = 100  # gaps near a line that are looked at, which bounds the work for each line
_OUTLIER = 1.4  # times as wide as other gaps of its line: the spaces of justified text are all alike
_HEADER_ROWS = 3.5  # heights of a line between the lines of a header, and to the first row below them
_LEAST_STRIPS = 2  # of rows, in which a header has gaps: in one of them a line of text has one, too

_LOOSE, _LOOSE_TIMES = 0.55, 1.8  # font sizes, and times the usual gap of its line, of one that is no space

_RowGap = tuple[float, float, float]  # between two cells: the height of their middle, where it begins, where it ends


def parted(line: TextLine, places: Sequence[float], layer: TextLayer) -> list[TextLine]:
    """Return a line in pieces, cut between words at each of the places, from the left."""
    if not places:
        return [line]
    pieces = layer.parted(line, places)
    pieces[-1].ruled = line.ruled
    return pieces


@dataclass(slots=True)
class _Strip:
    """What the gaps of some rows have in common, from the top."""

    left: float
    right: float
    gaps: list[_RowGap]

    def sides(self, height: float) -> int:
        """Return on how many sides of a height, above and below, its rows are."""
        return len({gap[0] > height for gap in self.gaps})

    def sides_alike(self, height: float, gap: Gap, off_end: float, off_start: float) -> int:
        """Return on how many sides rows have a cell that ends, or one that begins, so near to where a gap does."""
        return max(
            len({row > height for row, end, _ in self.gaps if abs(end - gap[0]) < off_end}),
            len({row > height for row, _, start in self.gaps if abs(start - gap[1]) < off_start}),
        )


def cut_as_neighbours(lines: list[TextLine], layer: TextLayer) -> list[TextLine]:
    """Return lines, those of rows cut at the gaps that rows near them leave free, too, and between figures."""
    gaps, places = _gaps_of_rows(lines, layer)
    found: list[list[TextLine]] = []
    for index, line in enumerate(lines):
        near = _crossing(line, gaps)
        beside = index in places
        figures = not any(map(str.isalpha, line.text))
        may_be_row = " " in line.text and (near or beside or figures)
        found.append(parted(line, _cuts(line, near, beside, figures, layer), layer) if may_be_row else [line])
        _insert(gaps, found[-1])
    _cut_headers(found, gaps, places, layer)
    return [*chain.from_iterable(found)]


def _cut_headers(found: list[list[TextLine]], gaps: list[_RowGap], places: set[int], layer: TextLayer) -> None:
    """Cut the lines that are whole and stand above rows, from the rows up to the first line of their header."""
    for index in reversed(range(len(found) if gaps else 0)):
        line = found[index][0]
        if len(found[index]) == 1 and index not in places and " " in line.text and not line.font.mono:
            found[index] = parted(line, [sum(gap) / 2 for gap in sorted(_of_header(line, gaps, layer))], layer)
            _insert(gaps, found[index])


def _insert(gaps: list[_RowGap], pieces: list[TextLine]) -> None:
    """Insert the gaps between pieces of a line, which tell where the next row is to be cut."""
    for one, other in pairwise(pieces):
        insort(gaps, (one.middle, one.right, other.left))


def _gaps_of_rows(lines: list[TextLine], layer: TextLayer) -> tuple[list[_RowGap], set[int]]:
    """Return the gaps between lines side by side, from the top, and the places of these lines: others are text."""
    gaps: list[_RowGap] = []
    places = set[int]()
    for index, other in enumerate(lines):
        # Those before are the lines of the cell to the left, or of its own cell.
        place = _neighbour(lines, index)
        if place is not None:
            gaps.append((other.middle, lines[place].right, other.left))
            places |= {place, index}
    layer.ask_for_words(map(lines.__getitem__, places))
    for at in places:
        gaps += [(lines[at].middle, *gap) for gap in _loose(lines[at], layer)]
    return sorted(gaps), places


def _loose(line: TextLine, layer: TextLayer) -> list[Gap]:
    """Return the gaps of a line that are far wider than its usual one: no spaces between words."""
    gaps = layer.gaps(line) if " " in line.text else []
    least = max(_LOOSE * line.size, _LOOSE_TIMES * median(map(_width, gaps)) if gaps else 0.0)
    return [gap for gap in gaps if _width(gap) > least]


def _neighbour(lines: list[TextLine], index: int) -> int | None:
    """Return which of the lines before one, all of them left of it or in its column, stands beside it."""
    left, top, _, bottom = lines[index].box
    for at in range(index - 1, max(index - _MOST_LINES, 0) - 1, -1):
        start, upper, end, lower = lines[at].box
        if -_SAME_EDGE < left - start < _SAME_EDGE:
            continue
        if left < end:
            return None
        if min(lower, bottom) - max(upper, top) > _LEVEL * min(lower - upper, bottom - top):
            return at
    return None


def _crossing(line: TextLine, gaps: list[_RowGap]) -> list[_RowGap]:
    """Return the gaps of rows near a line that are over or under its words."""
    if " " not in line.text:
        return []
    (left, _, right, _), middle = line.box, line.middle
    reach = _NEAR_ROWS * max(line.height, line.size)
    first, last = bisect_left(gaps, (middle - reach,)), bisect_left(gaps, (middle + reach,))
    near = gaps[first : min(last, first + _MOST_NEAR)]
    return [gap for gap in near if gap[1] < right and gap[2] > left and gap[0] != middle]


def _cuts(line: TextLine, near: list[_RowGap], beside: bool, figures: bool, layer: TextLayer) -> list[float]:
    """Return where a line is to be cut: at gaps that rows leave free, or between figures.

    A line that stands `beside` none is a row only if its cells begin, or end, where those above and below do.
    """
    gaps = layer.gaps(line)
    least = _GAP * line.size
    wide, strips = [gap for gap in gaps if _width(gap) > least], _strips(near, least)
    cut = {*_exact(line, gaps, wide, strips)}
    if beside:
        cut.update(_outliers(gaps, {*_between(wide, strips, line)}, cut))
    if figures:
        cut.update(gap for gap in gaps if _width(gap) > _FIGURES_GAP * line.size)
    return [sum(gap) / 2 for gap in sorted(cut)]


def _of_header(line: TextLine, rows: list[_RowGap], layer: TextLayer) -> set[Gap]:
    """Return the gaps of a line above rows that has one, and somewhere a loose one, in all strips that it crosses."""
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
    """Return the strips within a line that the rows closely below it leave free."""
    first = bisect_left(rows, (line.middle + _SHARED * line.size,))
    last = bisect_left(rows, (line.middle + _HEADER_ROWS * line.height,))
    strips = _strips(rows[first : min(last, first + _MOST_NEAR)], _GAP * line.size)
    return [strip for strip in strips if line.left < strip.left and strip.right < line.right]


def _gap_in(strip: _Strip, line: TextLine, gaps: list[Gap], least: float) -> Iterator[Gap]:
    """Yield the gap of a line that shares most with a strip, if it is so wide, or cells begin or end there."""
    shared, gap = max((min(gap[1], strip.right) - max(gap[0], strip.left), gap) for gap in gaps)
    is_loose = shared > _SHARED * line.size and _width(gap) > least
    if is_loose or strip.sides_alike(line.middle, gap, _EXACT, _EXACT):
        yield gap


def _outliers(gaps: list[Gap], between: set[Gap], exact: set[Gap]) -> list[Gap]:
    """Return the gaps in strips that are wider than the spaces of their line."""
    plain = max((_width(gap) for gap in gaps if gap not in between | exact), default=0.0)
    return [gap for gap in between if _width(gap) > _OUTLIER * plain]


def _exact(line: TextLine, gaps: list[Gap], wide: list[Gap], strips: list[_Strip]) -> Iterator[Gap]:
    """Yield the gaps at which cells both above and below end, or begin."""
    around = [strip for strip in strips if strip.sides(line.middle) > 1]
    for gap in gaps if around else ():
        off = (_SAME_EDGE, _SAME_EDGE) if gap in wide else (0.0, _EXACT)
        if any(strip.sides_alike(line.middle, gap, *off) > 1 for strip in around):
            yield gap


def _strips(gaps: list[_RowGap], least: float) -> list[_Strip]:
    """Return the strips wider than `least` that rows leave free, as columns do."""
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
    """Yield the widest of a line's gaps in each strip; at an end of the rows it is wider than elsewhere."""
    for strip in strips:
        over = [gap for gap in wide if min(gap[1], strip.right) - max(gap[0], strip.left) > _SHARED * line.size]
        found = max(over, key=_width, default=None)
        if found is not None and (strip.sides(line.middle) > 1 or _width(found) > _END_GAP * line.size):
            yield found


def _width(gap: Gap) -> float:
    return gap[1] - gap[0]
