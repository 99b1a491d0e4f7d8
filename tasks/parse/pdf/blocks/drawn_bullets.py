"""PDF drawn bullets: signs before list items that are drawn as shapes, as browsers print them."""

from bisect import bisect_left
from collections import Counter
from itertools import pairwise

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.blocks.text_blocks import marker_of
from docmill.tasks.parse.pdf.layout.parted import BULLET
from docmill.tasks.parse.pdf.text.line import TextLine

_NEAR = 2.5  # font sizes: a dot further from the text is part of a drawing
_LARGE = 0.6  # of the font size: larger dots are boxes or pictures
_MOST = 1_000_000  # pairs of a dot and a line: beyond it, the page is a drawing
_INDENTS = (4.0, 80.0)
"""Points by which an item is indented. Less is a line set askew, more is another column or cell."""
_FINENESS = 2  # steps in a point in which the sizes of dots are compared: exact sizes of one bullet differ by rounding


def may_hold_bullets(lines: list[TextLine]) -> bool:
    """Return whether a line is indented, by the lines around it or by all; else no search for bullets is needed."""
    lefts = [line.box[0] for line in lines]
    outer = min(lefts, default=0.0)
    least, most = _INDENTS
    steps = (abs(left - before) for before, left in pairwise(lefts))
    return any(least < step < most for step in steps) or any(least < left - outer < most for left in lefts)


def with_bullets(lines: list[TextLine], dots: list[Box]) -> None:
    """Write a bullet before each line that has a dot before it, unless other text stands beside the dot."""
    found = _repeated(dots)
    if not found or len(found) * len(lines) > _MOST:
        return
    ordered = sorted(lines, key=lambda line: line.box[3])
    bottoms = [line.box[3] for line in ordered]
    tallest = max((line.height for line in lines), default=0.0)
    for dot in found:
        beside = _beside(dot, ordered, bottoms, tallest)
        item = _first_right(dot, beside)
        if item is not None and not any(_is_between(line, dot, item) for line in beside):
            _write(item, dot)


def _beside(dot: Box, ordered: list[TextLine], bottoms: list[float], tallest: float) -> list[TextLine]:
    """Return the lines that the middle of a dot stands beside, of lines in the order of their bottoms."""
    middle = (dot[1] + dot[3]) / 2
    first, end = bisect_left(bottoms, middle), bisect_left(bottoms, middle + tallest)
    return [line for line in ordered[first:end] if line.box[1] < middle]


def _first_right(dot: Box, beside: list[TextLine]) -> TextLine | None:
    """Return the first line to the right of a dot, None unless it is near and large enough for its item."""
    right = min((line for line in beside if line.box[0] >= dot[2]), key=lambda line: line.box[0], default=None)
    if right is None or right.box[0] - dot[2] > _NEAR * right.size:
        return None
    return right if dot[3] - dot[1] <= _LARGE * right.size else None


def _is_between(line: TextLine, dot: Box, item: TextLine) -> bool:
    """Return whether another line stands on the dot of an item or close to its left, as it does within text."""
    return line is not item and dot[0] - item.size <= line.box[2] and line.box[0] <= dot[2]


def _write(item: TextLine, dot: Box) -> None:
    if marker_of(item.text) is None:
        item.text = f"{BULLET} {item.text}"
    item.box = (dot[0], *item.box[1:])


def _repeated(dots: list[Box]) -> list[Box]:
    """Return the dots of which two of one size stand below one another: one alone is part of a drawing."""
    below = Counter((*_size(dot), round(dot[0])) for dot in dots)
    sizes = {(wide, high) for (wide, high, _), count in below.items() if count > 1}
    return [dot for dot in dots if _size(dot) in sizes]


def _size(dot: Box) -> tuple[int, int]:
    return round(_FINENESS * (dot[2] - dot[0])), round(_FINENESS * (dot[3] - dot[1]))
