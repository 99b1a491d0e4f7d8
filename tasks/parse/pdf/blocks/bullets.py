"""PDF bullets: signs before list items that are drawn as shapes and not written, as browsers print them."""

from bisect import bisect_left
from collections import Counter

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.blocks.text_blocks import marker_of
from docmill.tasks.parse.pdf.text.line import TextLine

BULLET = "\u2022"
_NEAR = 2.5  # how far from the text a bullet may stand, in the size of the text
_LARGE = 0.6  # how large it may be
_MOST = 1_000_000
_INDENTS = (4.0, 80.0)  # points


def may_hold_bullets(lines: list[TextLine]) -> bool:
    """Return whether a line begins further in than the one before: else it is not worth looking for bullets."""
    least, most = _INDENTS
    before = float("inf")
    for line in lines:
        left = line.box[0]
        if least < left - before < most:
            return True
        before = left
    return False


def with_bullets(lines: list[TextLine], dots: list[Box]) -> None:
    """Write a bullet before each line that a dot stands before, with no other text between or close to its left."""
    found = _repeated(dots)
    if not found or len(found) * len(lines) > _MOST:
        return
    ordered = sorted(lines, key=lambda line: line.box[3])
    bottoms = [line.box[3] for line in ordered]
    tallest = max((line.height for line in lines), default=0.0)
    for dot in found:
        middle = (dot[1] + dot[3]) / 2
        near = ordered[bisect_left(bottoms, middle) : bisect_left(bottoms, middle + tallest)]
        beside = [line for line in near if line.box[1] < middle]
        right = min((line for line in beside if line.box[0] >= dot[2]), key=lambda line: line.box[0], default=None)
        if right is None or right.box[0] - dot[2] > _NEAR * right.size or dot[3] - dot[1] > _LARGE * right.size:
            continue
        if all(line is right or line.box[2] < dot[0] - right.size or line.box[0] > dot[2] for line in beside):
            if marker_of(right.text) is None:
                right.text = f"{BULLET} {right.text}"
            right.box = (dot[0], *right.box[1:])


def _repeated(dots: list[Box]) -> list[Box]:
    """Return the dots of those sizes of which two stand below one another: one alone is part of a drawing."""
    below = Counter((*_size(dot), round(dot[0])) for dot in dots)
    sizes = {(wide, high) for (wide, high, _), count in below.items() if count > 1}
    return [dot for dot in dots if _size(dot) in sizes]


def _size(dot: Box) -> tuple[int, int]:
    return round(2 * (dot[2] - dot[0])), round(2 * (dot[3] - dot[1]))
