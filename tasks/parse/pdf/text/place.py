"""PDF places: convert boxes in a page's own coordinates to points from its top left, and join what overlaps."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import isfinite

from docmill.tasks.parse.canvas import Box

Place = tuple[float, float, float, float, float, float]  # the affine map (a, b, c, d, e, f)

FAR = 1e5  # points: seven times the longest page that Acrobat makes; anything further off is a mistake or an attack
_SIDES = 4  # of a box: left, top, right, bottom


def placed(boxes: list[Box], place: Place) -> list[Box]:
    """Return boxes, whose sides come in any order, as (left, top, right, bottom) on the page.

    Their numbers are within `FAR`, as `near` makes them.
    """
    a, b, c, d, e, f = place
    if b or c or not _is_ordinary(place):
        return [_placed(box, place) for box in boxes]
    found = []
    for one, two, other_one, other_two in boxes:
        left, top, right, bottom = one * a + e, two * d + f, other_one * a + e, other_two * d + f
        if left > right:
            left, right = right, left
        found.append((left, top, right, bottom) if top < bottom else (left, bottom, right, top))
    return found


def around_pairs(sides: list[float], place: Place) -> list[Box]:
    """Return the boxes on the page around every two; their sides are (left, top, right, bottom), one after another.

    Hot: nearly all pages are neither turned nor mirrored, and for them one pass does it.
    """
    a, _, _, d, e, f = place
    each = iter(sides)
    if not is_upright(place):
        boxes = [*zip(each, each, each, each, strict=True)]
        return [*map(around, placed(boxes[::2], place), placed(boxes[1::2], place))]
    pairs = zip(*[each] * (2 * _SIDES), strict=True)
    return [
        (
            (left if left < other_left else other_left) * a + e,
            (top if top > other_top else other_top) * d + f,
            (right if right > other_right else other_right) * a + e,
            (bottom if bottom < other_bottom else other_bottom) * d + f,
        )
        for left, top, right, bottom, other_left, other_top, other_right, other_bottom in pairs
    ]


def around_each(sides: list[float], place: Place) -> list[Box]:
    """Return the boxes on the page of `around_pairs` for boxes that stand alone, each its own pair."""
    a, _, _, d, e, f = place
    each = iter(sides)
    boxes = zip(each, each, each, each, strict=True)
    if not is_upright(place):
        return placed([*boxes], place)
    return [(left * a + e, top * d + f, right * a + e, bottom * d + f) for left, top, right, bottom in boxes]


def placed_sides(sides: Sequence[float], place: Place) -> list[float]:
    """Return the sides of boxes, one box after another, on the page."""
    each = iter(sides)
    return [*chain.from_iterable(placed([*zip(each, each, each, each, strict=True)], place))]


def around(one: Box, other: Box) -> Box:
    """Return the smallest box around two."""
    (left, top, right, bottom), (other_left, other_top, other_right, other_bottom) = one, other
    return (min(left, other_left), min(top, other_top), max(right, other_right), max(bottom, other_bottom))


def around_all(boxes: list[Box]) -> Box:
    """Return the smallest box around one or more."""
    if len(boxes) == 1:
        return boxes[0]
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def tenths(points: float) -> float:
    """Return a length to a tenth of a point."""
    return round(10 * points) / 10  # several times faster than round(points, 1), which goes by decimal digits


@lru_cache(maxsize=8)  # hot: asked several times for each page, and most pages have the place of the one before
def is_upright(place: Place) -> bool:
    """Return whether a page is neither turned nor mirrored: its x goes to the right, its y up."""
    a, b, c, d, *_ = place
    return a >= 0 and d <= 0 and not b and not c and _is_ordinary(place)


def _is_ordinary(place: Place) -> bool:
    return max(place) < FAR and min(place) > -FAR and isfinite(sum(place))


def _placed(box: Box, place: Place) -> Box:
    a, b, c, d, e, f = place
    x = [near(box[side] * a + box[side + 1] * c + e) for side in (0, 2)]
    y = [near(box[side] * b + box[side + 1] * d + f) for side in (0, 2)]
    return (min(x), min(y), max(x), max(y))


def near(number: float) -> float:
    """Return the nearest number within `FAR`; 0 for one that is infinite or not a number."""
    return max(-FAR, min(number, FAR)) if isfinite(number) else 0.0


def merged_spans(spans: Iterable[tuple[float, ...]]) -> list[tuple[float, float]]:
    """Return spans from left to right, with those that overlap as one."""
    found: list[tuple[float, float]] = []
    for left, right in sorted(spans):
        if found and left < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], right))
        else:
            found.append((left, right))
    return found
