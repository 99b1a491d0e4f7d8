"""PDF columns: a page's lines in the order in which people read them.

Lines that follow one another down the page, in the order of its content, make a run. Runs are parted
by the gutters between columns; what reaches over a gutter parts the columns above from those below.
Within a column the content's order stands where it leads down the page.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, starmap
from operator import ne
from statistics import median

from docmill.tasks.parse.pdf.layout.aligned import with_tables
from docmill.tasks.parse.pdf.layout.grid import Item, Table
from docmill.tasks.parse.pdf.text.letters import HYPHEN, LOWERED, RAISED
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.place import around
from docmill.tasks.parse.pdf.text.rules import LevelRules

_MAX_DEPTH = 10
_CUT, _ROW = 1.0, 1000.0  # how far apart pieces of a line may be, in its size
_CANDIDATES = 8
_OUTDENT = 15  # in steps of 3 points
_MIN_GUTTER = 5.0
_SLACK = 3.0
_SWITCHES = 0.5
_FULL = 0.6
_MIN_LETTERS = 12
_SIDES = _LEFT, _RIGHT, _OVER = range(3)  # of a gutter


@dataclass(slots=True)
class Run:
    """Items of one column that stand below one another; `place` counts runs in the order of the content."""

    items: list[Item]
    place: int
    left: float
    top: float
    right: float
    bottom: float
    step: float

    def add(self, item: Item) -> None:
        """Put one more item, which is lower, at the end."""
        self.items.append(item)
        left, _, right, bottom = item.box
        if left < self.left:
            self.left = left
        if right > self.right:
            self.right = right
        if bottom > self.bottom:
            self.bottom = bottom


def columns(items: list[Item], level: LevelRules) -> list[list[Item]]:
    """Return the items of a page in flows: each is a column, or what stands above, below or between columns.

    `level` are the page's level rules.
    """
    if _is_column(items):
        return [items]
    flows = [
        [item for run in flow for item in run.items] for flow in _flows(runs(with_tables(join_cut(items), level)), 0)
    ]
    return [join_rows(flow) for flow in flows]


def _is_column(items: list[Item]) -> bool:
    """Return whether items, in their order, stand clearly below one another: one column, as most pages are."""
    low, least = float("-inf"), 0.0
    for item in items:
        box = item.box
        height = box[3] - box[1]
        if box[1] < low - 0.2 * (height if height < least else least):
            return False
        low, least = box[3], height
    return True


def join_cut(items: list[Item]) -> list[Item]:
    """Join successive pieces that pdfium cut from one line, a superscript for instance."""
    return _joined(items, _CUT)


def join_rows(items: list[Item]) -> list[Item]:
    """Join successive pieces that stand on one baseline of one column, however far apart."""
    return _joined(items, _ROW)


def _joined(items: list[Item], reach: float) -> list[Item]:
    whole: list[Item] = items[:1]
    before = whole[0] if whole else None
    for item in items[1:]:
        if isinstance(before, TextLine) and isinstance(item, TextLine) and _beside(before, item, reach):
            _append(before, item)
        else:
            whole.append(item)
            before = item
    return whole


def _beside(one: TextLine, other: TextLine, reach: float) -> bool:
    if one.ruled and reach < _ROW:
        return False
    if other.box[0] < one.box[2] - one.size or other.box[2] < one.box[2] or one.text.endswith(HYPHEN):
        return False
    overlap = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    if overlap <= 0:
        return False
    smaller = max(min(one.height, other.height), 0.1)
    # What stands much higher or lower, a superscript, must touch.
    far = reach * max(one.size, other.size) if overlap > 0.5 * smaller else 0.3 * one.size
    return overlap > 0.25 * smaller and other.box[0] - one.box[2] < far and one.furniture == other.furniture


def _append(one: TextLine, other: TextLine) -> None:
    glue = "" if other.box[0] - one.box[2] < 0.15 * other.size else " "
    text = other.text
    if not glue and text.isdigit() and other.size < 0.85 * one.size and other.box[3] < one.box[3] - 0.1 * one.size:
        text = f"{RAISED}{text}{LOWERED}"
    one.text += glue + text
    one.font = one.font.both(other.font)
    one.size = max(one.size, other.size)
    one.box = around(one.box, other.box)
    one.last = other.last


def runs(items: list[Item]) -> list[Run]:
    """Return the runs of items, in the order of the content."""
    found: list[Run] = []
    before: Item | None = None
    for item in items:
        if (
            before is not None
            and isinstance(item, TextLine)
            and isinstance(before, TextLine)
            and _follows(before, item)
        ):
            found[-1].add(item)
        else:
            step = item.size if isinstance(item, TextLine) else 10.0
            found.append(Run([item], len(found), *item.box, step))
        before = item
    return found


def _follows(above: TextLine, line: TextLine) -> bool:
    one, other = above.box, line.box
    if not 0 < other[1] - one[1] < 2.2 * max(line.size, above.size):
        return False
    if abs(line.size - above.size) > 0.2 * above.size:
        return False
    return other[0] < one[2] and one[0] < other[2] and other[1] - one[3] < 0.8 * line.size


def _flows(held: list[Run], depth: int) -> list[list[Run]]:
    """Return runs in flows, in the order of reading."""
    if len(held) < 2 or _is_stacked(held):
        return [held]
    lower = sorted(held, key=lambda run: run.top)
    if _is_stacked(lower):
        return [lower]
    gutter = _gutter(held) if depth < _MAX_DEPTH else None
    if gutter is None:
        return [_by_rows(lower)]
    return list(_around(lower, gutter, depth))


def _is_stacked(held: list[Run]) -> bool:
    before = held[0]
    for run in held[1:]:
        if run.top < before.bottom - 0.4 * min(run.step, before.step):
            return False
        before = run
    return True


def _around(held: list[Run], gutter: float, depth: int) -> Iterator[list[Run]]:
    """Yield the flows on both sides of a gutter, between those runs that reach over it, from the top."""
    over = [run for run in held if _side(run, gutter) == _OVER]
    sides = [run for run in held if _side(run, gutter) != _OVER]
    sides.sort(key=lambda run: run.top + run.bottom)
    middles = [run.top + run.bottom for run in sides]
    start = 0
    group: list[Run] = []
    for run in over:
        end = bisect_left(middles, run.top + run.bottom)
        if end > start:
            yield from _flows(group, depth + 1) if group else ()
            group = []
            yield from _band(sides[start:end], gutter, depth)
            start = end
        group.append(run)
    yield from _flows(group, depth + 1) if group else ()
    yield from _band(sides[start:], gutter, depth)


def _band(band: list[Run], gutter: float, depth: int) -> Iterator[list[Run]]:
    for side in (False, True):
        held = [run for run in band if (run.left + run.right > 2 * gutter) == side]
        if held:
            yield from _flows(sorted(held, key=lambda run: run.place), depth + 1)


def _gutter(held: list[Run]) -> float | None:
    """Return where the best gutter ends that parts runs in columns of text, if there is one."""
    weights: Counter[int] = Counter()
    for run in held:
        weights[round(run.left / 3)] += len(run.items)
    first = min(weights)
    chosen = {start for start, lines in weights.most_common(_CANDIDATES) if start > first and lines > 1}
    outdented = {max(first + 1, min(other for other in weights if start - _OUTDENT <= other)) for start in chosen}
    best, found = 0.0, None
    for start in sorted(chosen | (outdented & {*weights})):  # a heading may begin left of what stands below it
        near = [run.left for run in held if abs(round(run.left / 3) - start) <= 1]
        gutter = min(near)
        score = _score(held, gutter)
        if score > best * 1.05:
            best, found = score, gutter
    return found


def _score(held: list[Run], gutter: float) -> float:
    """Return how many points of height text has on both sides of a gutter, less what reaches over it; 0 is none."""
    written = [_side(run, gutter) for run in held]
    left, right, over = ([run for run, at in zip(held, written, strict=True) if at == side] for side in _SIDES)
    if not left or not right or gutter - max([run.right for run in left]) < _MIN_GUTTER:
        return 0.0
    top = max(min([run.top for run in left]), min([run.top for run in right]))
    bottom = min(max([run.bottom for run in left]), max([run.bottom for run in right]))
    if bottom - top < 1.5 * max(held[0].step, 5.0):
        return 0.0
    score = min(_height(left, top, bottom), _height(right, top, bottom)) - _height(over, top, bottom)
    switches = sum(starmap(ne, pairwise([side for side in written if side != _OVER])))
    return score if score > 0 and _are_columns(left, right, switches) else 0.0


def _side(run: Run, gutter: float) -> int:
    if run.left >= gutter - _SLACK:
        return _RIGHT
    return _OVER if run.right > gutter + _SLACK else _LEFT


def _height(some: list[Run], top: float, bottom: float) -> float:
    """Return how much of the height between two places runs have, all of them together."""
    inside = [run for run in some if run.bottom > top and run.top < bottom]
    return sum([min(run.bottom, bottom) - max(run.top, top) for run in inside])


def _are_columns(left: list[Run], right: list[Run], switches: int) -> bool:
    """Return whether the text on two sides is read side by side: written so, or filling both columns."""
    fewer = min(_count(left), _count(right))
    if fewer < 2:
        return False
    if switches <= max(1, _SWITCHES * fewer):  # written row by row it would be about twice as many as lines
        return True
    return _fills(left) and _fills(right)


def _count(some: list[Run]) -> int:
    return sum(len(item.cells) if isinstance(item, Table) else 1 for run in some for item in run.items)


def _lines(some: list[Run]) -> list[TextLine]:
    return [item for run in some for item in run.items if isinstance(item, TextLine)]


def _fills(some: list[Run]) -> bool:
    lines = _lines(some)
    width = max(run.right for run in some) - min(run.left for run in some)
    return (
        len(lines) > 3
        and median(line.box[2] - line.box[0] for line in lines) >= _FULL * width
        and median(len(line.text) for line in lines) >= _MIN_LETTERS
    )


def _by_rows(lower: list[Run]) -> list[Run]:
    """Return runs from the top; those side by side from the left where they are rows, else as the content has them."""
    rows: list[list[Run]] = []
    bottom = float("-inf")
    for run in lower:
        if rows and run.top < bottom - 0.5 * min(run.step, run.bottom - run.top):
            rows[-1].append(run)
            bottom = max(bottom, run.bottom)
        else:
            rows.append([run])
            bottom = run.bottom
    ordered: list[Run] = []
    for row in rows:
        low = all(run.bottom - run.top < 2 * run.step for run in row)
        ordered += sorted(row, key=(lambda run: run.left) if low else (lambda run: run.place))
    return ordered
