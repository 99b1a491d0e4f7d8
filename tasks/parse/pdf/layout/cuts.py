"""PDF cuts: split lines at gaps between cells where the cells above and below begin, or end."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from docmill.tasks.parse.pdf.text.gaps import Gap
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

DRAWN_BULLET = "\u2022"

_LOOSE_GAP, _LOOSE_MONO_GAP = 0.55, 1.0
"""Font sizes of a gap that is no space between words unless all of its line are as wide: twice a space and more."""
_LOOSE_TIMES = 1.8  # times the usual gap of its line, if there are several
_PLAIN, _PLAIN_GAP = 2.5, 0.85  # times the usual gap, and font sizes: one alone is no space
_LEAST_GAPS = 3  # of a line, from which on one is usual


def width(gap: Gap) -> float:
    """Return how wide a gap is."""
    return gap[1] - gap[0]


def gaps_of(line: TextLine, layer: TextLayer) -> list[tuple[Gap, bool]]:
    """Return the gaps between a line's words, each with whether the page draws no space there, but most others."""
    gaps, undrawn = layer.gaps(line)
    if len(gaps) > _LEAST_GAPS and 2 * sum(undrawn) > len(gaps):  # a font for which some programs draw no spaces
        undrawn = [False] * len(gaps)
    return [*zip(gaps, undrawn, strict=True)]


def loose(line: TextLine, layer: TextLayer) -> list[tuple[Gap, bool]]:
    """Return the gaps of a line that may be between cells, each with whether its width alone makes that certain.

    They are far wider than its usual gap, or the page draws no space there.
    """
    if " " not in line.text:
        return []
    gaps = gaps_of(line, layer)
    least = (_LOOSE_MONO_GAP if line.font.mono else _LOOSE_GAP) * line.size
    known = len(gaps) >= _LEAST_GAPS
    usual = median([width(gap) for gap, _ in gaps]) if known else 0.0
    plain = max(_PLAIN * usual, _PLAIN_GAP * line.size)
    return [
        (gap, known and width(gap) > plain)
        for gap, undrawn in gaps
        if undrawn or width(gap) > max(least, _LOOSE_TIMES * usual)
    ]


def parted(line: TextLine, places: Sequence[float], layer: TextLayer) -> list[TextLine]:
    """Return a line in pieces, cut between words at each of the places, from the left.

    A bullet that is drawn as a shape is none of the page's letters, of which the pieces are made.
    """
    if not places:
        return [line]
    pieces = layer.parted(line, places)
    pieces[-1].ruled = line.ruled
    first = pieces[0]
    if first is not line and line.text.startswith(DRAWN_BULLET) and not first.text.startswith(DRAWN_BULLET):
        first.text = f"{DRAWN_BULLET} {first.text}"
        first.box = (line.box[0], *first.box[1:])
    return pieces


_NEAR = 4.0  # heights of a line: a neighbour further up or down is of another table
_NEAR_ROWS, _FAR_ROWS = 5.5, 16.0
"""The same for the gaps of rows, which may have cells of several lines; only where none is near, those further away."""
_LEVEL = -0.3
"""Share of the lower line's height, which lines side by side share: a cell in the middle of its row is off by half."""
_MOST_LINES = 6  # of one cell: so many lines back a neighbour is looked for, which bounds the work for each line
_MOST_COLUMNS = 200  # a map or a drawing has more, and each costs a look at every line
_STRAY = 1.2  # points that the edges of one column may be apart
_EXACT = 0.3  # points: words of text begin so near to the edge of a column by chance only
_GAP, _MONO_GAP = 0.4, 0.7
"""Font sizes. A gap must be wider than the spaces of a line, which in fonts of one width are as wide as letters."""
_FIGURES_GAP = 0.8  # font sizes between two figures: no space within a number, or in a row of them, is as wide
_END_GAP = 0.7
"""Font sizes of a gap in such a strip, in a line above or below all of its rows: a line of text stands there, too, and
the space beside a word in another font is half a size wide."""
_SHARED = 0.25  # font sizes that a gap and a strip share: a header that is centred may reach into its column's gap
_MOST_NEAR = 100  # gaps near a line that are looked at, which bounds the work for each line
_OUTLIER = 1.4  # times as wide as other gaps of its line: the spaces of justified text are all alike
_UNDRAWN_GAP = 0.6  # font sizes of a gap for which the page draws no space: beside code in a margin of its own is less
_FOOT = 2.0  # points by which a rule under a header may stand within the header's box

_CELL = 28  # letters of a cell beside which such gaps are looked for: lines of two columns of text have more

_PLACE = itemgetter(0)  # of an edge
_GAP_OF = itemgetter(0)  # and of a gap with whether it is drawn
_Edge = tuple[float, list[float]]  # how far across, and the heights of the pieces that begin or end there, in order
_Gap = tuple[float, float, float]  # between two pieces: the height of their middle, where it begins, where it ends


class _Edges(NamedTuple):
    """Where cells begin that have others at their left, and where those end that have others at their right."""

    left: list[_Edge]
    right: list[_Edge]


@dataclass(frozen=True, slots=True)
class _SideBySide:
    """The gaps between pieces that stand side by side, from the top, and the places of these pieces among the lines.

    Only these pieces are cut at gaps of other rows: other lines near a table are text. `cells` are those of them that
    are as short as a cell, or stand beside one that is.
    """

    gaps: list[_Gap]
    places: set[int]
    cells: set[int]


@dataclass(slots=True)
class _Strip:
    """What rows leave free between two cells, and for each of them whether it is below the line that is looked at."""

    left: float
    right: float
    below: list[bool]


def cut_as_neighbours(lines: list[TextLine], level: LevelRules, layer: TextLayer) -> list[TextLine]:
    """Return lines, cut into pieces at gaps where pieces of lines both above and below begin, or end.

    One of them is enough where the gap is wider than the line's gaps at which none do, and for a header or a last row,
    under which one of the `level` rules stands. Figures are cut wherever they stand far apart.
    """
    edges, rows = _edges(lines)
    sure = _sure_cuts(lines, rows, layer)
    sides = [([place for place, _ in side], side) for side in edges if side]
    found: list[TextLine] = []
    for index, line in enumerate(lines):
        near = _crossing(line, rows) if index in rows.places else []
        if not near and _is_whole(line, sides, index in sure):
            found.append(line)
            continue
        parts = parted(line, sure.get(index, ()), layer)
        pieces = [*chain.from_iterable(_cut(part, edges, near, level, layer) for part in parts)]
        for one, other in pairwise(pieces):  # they tell where the next row is to be cut
            insort(rows.gaps, (_middle(line), one.box[2], other.box[0]))
        found += pieces
    return found


def _is_whole(line: TextLine, sides: list[tuple[list[float], list[_Edge]]], sure: bool) -> bool:
    """Return whether a line has no edge of a column inside and is no row of figures; quick, as nearly all are whole.

    The edges are given with their places; they need not be near if the line is `sure` to be cut.
    """
    text = line.text
    if " " not in text:
        return True
    start, end = line.box[0] + line.size, line.box[2]
    for places, edges in sides:
        if bisect_right(places, start) < bisect_left(places, end) and (sure or _inside(line, edges)):
            return False
    return text[0].isalpha() or text[-1].isalpha() or any(map(str.isalpha, text))


def _crossing(line: TextLine, rows: _SideBySide) -> list[_Gap]:
    """Return the gaps of rows near a line that are over or under its words."""
    if " " not in line.text:
        return []
    left, _, right, _ = line.box
    for heights in (_NEAR_ROWS, _FAR_ROWS):
        found = [gap for gap in _near(line, rows.gaps, heights) if gap[1] < right and gap[2] > left]
        if found:
            return found
    return []


def _near(line: TextLine, gaps: list[_Gap], heights: float = _NEAR_ROWS) -> list[_Gap]:
    """Return the gaps within `heights` line heights of a line."""
    middle, reach = _middle(line), heights * max(line.box[3] - line.box[1], line.size)
    first, last = bisect_left(gaps, (middle - reach,)), bisect_left(gaps, (middle + reach,))
    return gaps[first : min(last, first + _MOST_NEAR)]


def _strips(line: TextLine, gaps: list[_Gap], least: float) -> list[_Strip]:
    """Return the strips wider than `least` that rows near a line leave free, as columns do."""
    middle, strips = _middle(line), list[_Strip]()
    for height, end, start in gaps:
        for strip in strips:
            left, right = max(strip.left, end), min(strip.right, start)
            if right - left > least:
                strip.left, strip.right = left, right
                strip.below.append(height > middle)
                break
        else:
            strips.append(_Strip(end, start, [height > middle]))
    return strips


def _between(wide: list[Gap], strips: list[_Strip], size: float, least_end: float) -> Iterator[Gap]:
    """Yield the widest of a line's gaps in each strip; at an end of the rows it is wider than `least_end`."""
    for strip in strips:
        over = [gap for gap in wide if min(gap[1], strip.right) - max(gap[0], strip.left) > _SHARED * size]
        found = max(over, key=width, default=None)
        if found is not None and (len({*strip.below}) > 1 or width(found) > least_end):
            yield found


def _edges(lines: list[TextLine]) -> tuple[_Edges, _SideBySide]:
    """Return the edges of columns, none where there are too many, and the rows that they were found in."""
    left: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    right: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    gaps: list[_Gap] = []
    places, cells = set[int](), set[int]()
    for index, other in enumerate(lines):
        # Those before are the lines of the cell to the left, or of its own cell.
        place = _neighbour(lines, index)
        if place is not None:
            one = lines[place]
            left[int(other.box[0])].append((_middle(other), other.box[0]))
            right[int(one.box[2])].append((_middle(one), one.box[2]))
            gaps.append((_middle(other), one.box[2], other.box[0]))
            places |= {place, index}
            if min(len(one.text), len(other.text)) <= _CELL:
                cells |= {place, index}
    return _Edges(_of_several(left, min), _of_several(right, max)), _SideBySide(sorted(gaps), places, cells)


def _sure_cuts(lines: list[TextLine], rows: _SideBySide, layer: TextLayer) -> dict[int, list[float]]:
    """Return where to cut lines at gaps that are far wider than their spaces, and over or under another gap of a row.

    Where no row has its cells further apart, nothing else tells of their columns. The gaps are added to those of the
    rows.
    """
    layer.ask_for_words(map(lines.__getitem__, rows.cells))
    some = {at: loose(lines[at], layer) for at in sorted(rows.cells)}
    wide = _with_heights(lines, {at: [gap for gap, _ in gaps] for at, gaps in some.items()})
    found = {at: _sure_gaps(lines[at], gaps, wide, rows) for at, gaps in some.items()}
    rows.gaps[:] = sorted([*rows.gaps, *_with_heights(lines, found)])
    return {at: [*map(_center, gaps)] for at, gaps in found.items() if gaps}


def _with_heights(lines: list[TextLine], gaps: dict[int, list[Gap]]) -> list[_Gap]:
    """Return the gaps of some lines, each with the middle of its line, from the top."""
    return sorted([(_middle(lines[at]), *gap) for at, some in gaps.items() for gap in some])


def _sure_gaps(line: TextLine, gaps: list[tuple[Gap, bool]], wide: list[_Gap], rows: _SideBySide) -> list[Gap]:
    """Return the gaps of a line that are certain alone, or agree with `wide` gaps of lines or those of rows."""
    if not gaps:  # as in most lines
        return []
    middle, least = _middle(line), _SHARED * line.size
    near = _near(line, wide), _near(line, rows.gaps)
    return [gap for gap, certain in gaps if certain or _is_agreed((middle, *gap), *near, least)]


def _is_agreed(own: _Gap, wide: list[_Gap], known: list[_Gap], least: float) -> bool:
    """Return whether a wide gap of another line is over or under a gap, or the cell behind a known one begins alike."""
    return any(_are_over(own, one, least) for one in wide) or any(_begin_alike(own, one) for one in known)


def _are_over(one: _Gap, other: _Gap, least: float) -> bool:
    """Return whether gaps of two lines share so much of their width."""
    return one[0] != other[0] and min(one[2], other[2]) - max(one[1], other[1]) > least


def _begin_alike(one: _Gap, other: _Gap) -> bool:
    """Return whether cells of two lines begin on one place, behind gaps."""
    return one[0] != other[0] and abs(one[2] - other[2]) < _STRAY


def _of_several(found: dict[int, list[tuple[float, float]]], outer: Callable[[list[float]], float]) -> list[_Edge]:
    columns = [sorted(places) for places in found.values() if len(places) > 1]
    if len(columns) > _MOST_COLUMNS:
        return []
    return sorted(
        [(outer([place for _, place in places]), [middle for middle, _ in places]) for places in columns], key=_PLACE
    )


def _neighbour(lines: list[TextLine], index: int) -> int | None:
    """Return which of the lines before one, all of them left of it or in its column, stands beside it."""
    left, top, _, bottom = lines[index].box
    for at in range(index - 1, max(index - _MOST_LINES, 0) - 1, -1):
        start, upper, end, lower = lines[at].box
        if -_STRAY < left - start < _STRAY:
            continue
        if left < end:
            return None
        if min(lower, bottom) - max(upper, top) > _LEVEL * min(lower - upper, bottom - top):
            return at
    return None


def _middle(line: TextLine) -> float:
    return (line.box[1] + line.box[3]) / 2


def _cut(line: TextLine, edges: _Edges, near: list[_Gap], level: LevelRules, layer: TextLayer) -> list[TextLine]:
    """Return a line in the pieces between the gaps that are those between cells; `near` are gaps of rows near it."""
    least = (_MONO_GAP if line.font.mono else _GAP) * line.size
    inside = _Edges(_inside(line, edges.left), _inside(line, edges.right))
    figures = not any(map(str.isalpha, line.text))
    strips = _strips(line, near, least)
    if not (inside.left or inside.right or figures or strips):
        return [line]
    gaps = gaps_of(line, layer)
    wide = _wide(line, gaps, inside.left, least)
    underlined = _is_underlined(line, level)
    between = {*_between([*map(_GAP_OF, wide)], strips, line.size, least if underlined else _END_GAP * line.size)}
    cuts = {*_cuts(line, wide, inside, between, underlined), *(_far(gaps, line.size) if figures else ())}
    return parted(line, sorted(cuts), layer)


def _wide(line: TextLine, gaps: list[tuple[Gap, bool]], edges: list[_Edge], least: float) -> list[tuple[Gap, bool]]:
    """Return the gaps that are wider than `least`, and those for which the page draws no space.

    Of narrower ones, those are behind which cells above and below the line begin exactly where its next word does.
    """
    exact = [edge for edge in edges if len(edge[1]) > 1]
    return [
        (gap, undrawn)
        for gap, undrawn in gaps
        if undrawn or width(gap) > least or (exact and _around(line, exact, gap[1], _EXACT) > 1)
    ]


def _far(gaps: list[tuple[Gap, bool]], size: float) -> Iterator[float]:
    """Yield the middles of gaps between figures that are no spaces."""
    return (_center(gap) for gap, _ in gaps if width(gap) > _FIGURES_GAP * size)


def _inside(line: TextLine, edges: list[_Edge]) -> list[_Edge]:
    """Return the edges within a line that have pieces near it, with these."""
    left, top, right, bottom = line.box
    left += line.size
    within = edges[bisect_right(edges, left, key=_PLACE) : bisect_left(edges, right, key=_PLACE)]
    if not within:
        return within
    middle, near = (top + bottom) / 2, _NEAR * max(bottom - top, line.size)
    found: list[_Edge] = []
    for place, heights in within:
        first = bisect_right(heights, middle - near)
        if first < len(heights) and heights[first] <= middle + near:  # as few are
            found.append((place, heights[first : bisect_right(heights, middle + near)]))
    return found


def _center(gap: Gap) -> float:
    return sum(gap) / 2


def _cuts(
    line: TextLine, wide: list[tuple[Gap, bool]], edges: _Edges, between: set[Gap], underlined: bool
) -> Iterator[float]:
    """Yield where to cut a line with some wide gaps, of which some are `between` columns.

    Where the page draws no space, but most others, a side is enough; a gap that is wide besides needs none.
    """
    found = [(max(_sides(line, edges, *gap), int(gap in between)), gap, undrawn) for gap, undrawn in wide]
    # The widest gap that the page fills with a space, and that has nothing beside it on any side.
    plain = max((width(gap) for sides, gap, undrawn in found if not (undrawn or sides or underlined)), default=0.0)
    for sides, gap, undrawn in found:
        least = int(width(gap) <= _UNDRAWN_GAP * line.size) if undrawn else 1 + int(width(gap) <= _OUTLIER * plain)
        if sides >= least:
            yield _center(gap)


def _sides(line: TextLine, edges: _Edges, end: float, start: float) -> int:
    """Return on how many sides of a line, above and below, there are pieces that end or start where its words do."""
    return max(_around(line, edges.right, end), _around(line, edges.left, start))


def _around(line: TextLine, edges: list[_Edge], place: float, stray: float = _STRAY) -> int:
    middle = _middle(line)
    heights = [one for edge, middles in edges if abs(edge - place) < stray for one in middles]
    return any(one < middle for one in heights) + any(one > middle for one in heights)


def _is_underlined(line: TextLine, level: LevelRules) -> bool:
    """Return whether a rule stands right under a line."""
    left, _, right, bottom = line.box
    return level.between(bottom - _FOOT, bottom + line.size, left, right)
