"""PDF gaps: which lines hold a space so wide that what stands on its two sides is not one text."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from statistics import median
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import calls, numbers_from
from docmill.tasks.parse.pdf.text.place import Place, placed

GAP = 1.2  # of the size; wider ones part a line
_TIGHT_GAP = 1.0  # between what is drawn, which is narrower than what it takes up
_LEVEL_GAP, _NO_ACCENT = 1.5, 0.4
_LEVELS = 3  # points that cells of a row may be higher or lower
_ON_LEVEL = 100
_LOOSE = 1.25
_MOST_ADVANCE = 0.55
_LONG = 20
_FEW = 4
_TALL = 1.9


def gapped(lines: list[TextLine], text_page: Any, place: Place) -> list[int]:
    """Return which lines of a page may hold a wide gap, in order; `text_page` is a reference to its text in pdfium."""
    return sorted({*_loose(lines), *_tall(lines), *_between_texts(lines, text_page, place)})


def _tall(lines: list[TextLine]) -> list[int]:
    """Return which lines are so high that they hold two, which pdfium takes for one where text is drawn very small."""
    return [index for index, line in enumerate(lines) if line.box[3] - line.box[1] > _TALL * line.size]


def _loose(lines: list[TextLine]) -> list[int]:
    """Return which lines advance so much further than usual that they may hold a gap."""
    advances = [(line.box[2] - line.box[0]) / (line.size * len(line.text)) for line in lines]
    long = [advance for advance, line in zip(advances, lines, strict=True) if len(line.text) > _LONG]
    most = _LOOSE * (min(median(long), _MOST_ADVANCE) if long else _MOST_ADVANCE)
    loose = [index for index, advance in enumerate(advances) if advance > most]
    return [index for index in loose if len(lines[index].text) > _FEW and " " in lines[index].text]


def _between_texts(lines: list[TextLine], text_page: Any, place: Place) -> Iterator[int]:
    """Yield which lines hold a gap between two of pdfium's pieces of text that is wide for their size."""
    count = calls()["FPDFText_CountRects"](text_page, 0, -1)
    least = 0.99 * _TIGHT_GAP * min((line.size for line in lines), default=0.0)
    gaps = _gaps(text_page, place, count, least) if count > len(lines) else ()
    level: defaultdict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines if gaps else ()):
        level[int((line.box[1] + line.box[3]) / 2)].append(index)
    for left, top, right, bottom in gaps:
        middle = int((top + bottom) / 2)
        for near in range(middle - _LEVELS, middle + _LEVELS + 1):
            least, high = (_TIGHT_GAP, 0.0) if abs(near - middle) < 2 else (_LEVEL_GAP, _NO_ACCENT)
            for index in level.get(near, ())[:_ON_LEVEL]:
                line = lines[index]
                wide = right - left > least * line.size and bottom - top >= high * line.size
                if wide and line.box[0] < left < line.box[2]:
                    yield index


def _gaps(text_page: Any, place: Place, count: int, least: float) -> list[Box]:
    """Return the boxes between pieces of text on one baseline that stand wide, and `least` points, apart."""
    sides = numbers_from("FPDFText_GetRect", range(count), text_page)
    upright = place[0] > 0 and not place[1] and not place[2]
    if upright:
        least /= place[0]
    else:
        each = iter(sides)
        sides = [*chain.from_iterable(placed([*zip(each, each, each, each, strict=True)], place))]
    found: list[Box] = []
    for index, (left, right) in enumerate(zip(sides[4::4], sides[2::4], strict=False)):
        if left - right > least:
            at = 4 * index
            one, other = sides[at : at + 4], sides[at + 4 : at + 8]
            if _is_gap(one, other):
                found.append((right, one[1], left, one[3]))
    return placed(found, place) if upright else found


def _is_gap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two boxes, the other to the right, stand on one baseline and further apart than they are high.

    So do cells of one row of which one has more lines; they stand higher or lower, and much further apart.
    """
    tops, bottoms = (one[1], other[1]), (one[3], other[3])
    high = min(abs(one[3] - one[1]), abs(other[3] - other[1]))
    shared = min(bottoms) - max(tops) if one[1] < one[3] else min(tops) - max(bottoms)
    apart = other[0] - one[2]
    return apart > high and (shared > 0.4 * high or (shared > -0.25 * high and apart > 3 * high))
