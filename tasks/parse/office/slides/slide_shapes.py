"""Slide shapes: the kind, position and reading order of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import Any, NamedTuple, Protocol, TypeVar

_TITLES = ("title", "ctrTitle")
_EDGE = ("dt", "ftr", "sldNum")  # date, footer and number, which stand below all columns
_BAND = 0.05
"""Shapes whose tops differ by less, as a share of the slide's height, are in one row. With less, boxes that were placed
by hand beside each other are separated; with more, lines of text below each other join."""
_KINDS = {"sp": "text", "graphicFrame": "frame", "pic": "picture"}


class Placement(NamedTuple):
    """Maps coordinates within a group to the slide: scaled, then moved."""

    scale_x: float = 1.0
    scale_y: float = 1.0
    move_x: float = 0.0
    move_y: float = 0.0


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape; `kind` is "text", "frame", "picture", `role` that of its placeholder, such as "title" or "body"."""

    kind: str
    node: Any
    role: str = ""
    number: str = ""
    top: float = 0
    left: float = 0
    right: float = inf
    bottom: float = 0
    inside: tuple["Shape", ...] = ()


Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Places = dict[str, Box]
"""The boxes of placeholders, by "number N" and "role R"."""


class Placed(Protocol):
    """Anything with a position on a slide."""

    @property
    def top(self) -> float: ...
    @property
    def left(self) -> float: ...


_Placed = TypeVar("_Placed", bound=Placed)


def shapes_of(slide: Any, places: Places, height: float) -> list[Shape]:
    """Return a slide's shapes in reading order: its title first, then columns or rows, and what is at its edge."""
    tree = next(slide.iter("{*}spTree"), None)
    found = [] if tree is None else list(_walk(tree, places, Placement(), height))
    first = [shape for shape in found if shape.role in _TITLES][:1]
    rest = [shape for shape in found if shape not in first]
    return first + _by_columns([one for one in rest if one.role not in _EDGE], _BAND * height) + _edge(rest)


def _edge(shapes: list[Shape]) -> list[Shape]:
    return [one for one in shapes if one.role in _EDGE]


def _by_columns(shapes: list[Shape], band: float) -> list[Shape]:
    """Return shapes by columns, each by rows, where each column was drawn before the next; else all by rows.

    Boxes in a grid may be meant by columns or by rows; the order in which they stand in the file tells which.
    """
    before, behind = _reaches(shapes), _reaches(shapes[::-1])[::-1]
    cuts = [at for at in range(1, len(shapes)) if _are_beside(before[at - 1], behind[at], band)]
    pieces = (shapes[first:last] for first, last in pairwise([0, *cuts, len(shapes)]))
    return [one for piece in pieces for one in by_rows(piece, band)]


def _reaches(shapes: list[Shape]) -> list[Box]:
    """Return the box around shapes up to each."""
    first = accumulate((one.left for one in shapes), min), accumulate((one.top for one in shapes), min)
    last = accumulate((one.right for one in shapes), max), accumulate((one.bottom for one in shapes), max)
    return list(zip(*first, *last, strict=True))


def _are_beside(one: Box, other: Box, band: float) -> bool:
    """Return whether the first of two groups of shapes is left of the other, and neither is above it."""
    (_, top, right, bottom), (left, other_top, _, other_bottom) = one, other
    return right <= left + band and other_top < bottom and top < other_bottom


def by_rows(shapes: list[_Placed], band: float) -> list[_Placed]:
    """Return shapes by rows from top to bottom, left to right; a row holds those less than `band` below its first."""
    rows: list[list[_Placed]] = []
    for shape in sorted(shapes, key=lambda one: one.top):
        if rows and shape.top - rows[-1][0].top < band:
            rows[-1].append(shape)
        else:
            rows.append([shape])
    return [shape for row in rows for shape in sorted(row, key=lambda one: one.left)]


def placeholder(node: Any) -> tuple[str, str]:
    """Return a placeholder's role and number; both are empty for any other shape."""
    stated = next(node.iter("{*}ph"), None)
    return ("", "") if stated is None else (stated.get("type") or "body", stated.get("idx") or "")


def places_of(layout: Any) -> Places:
    """Return the positions of a layout's or master's placeholders, by number and by role."""
    found: Places = {}
    for node in layout.iter("{*}sp"):
        role, number = placeholder(node)
        place = _place(node)
        if role and place:
            found.setdefault(f"role {role}", place)
            if number:
                found.setdefault(f"number {number}", place)
    return found


def _walk(tree: Any, places: Places, placement: Placement, height: float) -> Iterator[Shape]:
    for node in tree:
        name = str(node.tag).rpartition("}")[2]
        if name == "AlternateContent":
            # Variants of the same shapes for newer and older programs: take the first variant with a known shape.
            options = [*node.iterchildren("{*}Choice"), *node.iterchildren("{*}Fallback")]
            yield from next(filter(None, (list(_walk(one, places, placement, height)) for one in options)), [])
        elif name == "grpSp":
            inner = list(_walk(node, places, _inside(node, placement), height))
            yield from _group(node, by_rows(inner, _BAND * height))
        elif name in _KINDS:
            yield _shape(node, _KINDS[name], places, placement)


def _group(node: Any, inner: list[Shape]) -> Iterator[Shape]:
    """Yield a group's shapes as if at the group's top left corner."""
    if inner:
        top, left = min(one.top for one in inner), min(one.left for one in inner)
        right, bottom = max(one.right for one in inner), max(one.bottom for one in inner)
        yield Shape("group", node, top=top, left=left, right=right, bottom=bottom, inside=tuple(inner))


def _shape(node: Any, kind: str, places: Places, placement: Placement) -> Shape:
    """Return a shape at its own position, else at the one inherited by its placeholder."""
    role, number = placeholder(node)
    box = _place(node) or places.get(f"number {number}") or places.get(f"role {role}") or (0, 0, inf, 0)
    left, right = (side * placement.scale_x + placement.move_x for side in box[::2])
    top, bottom = (side * placement.scale_y + placement.move_y for side in box[1::2])
    return Shape(kind, node, role, number, top, left, right, bottom)


def _place(node: Any) -> Box | None:
    """Return the box of a shape that states it."""
    box = next((one for one in node.iter("{*}xfrm") if one.find("{*}off") is not None), None)
    if box is None:
        return None
    left, top = _pair(box.find("{*}off"), "x", "y")
    width, height = _pair(box.find("{*}ext"), "cx", "cy")
    return left, top, left + width, top + height


def _pair(node: Any, one: str, other: str) -> tuple[float, float]:
    try:
        return (0, 0) if node is None else (float(node.get(one) or 0), float(node.get(other) or 0))
    except ValueError:
        return 0, 0


def _inside(group: Any, outer: Placement) -> Placement:
    """Return the map from coordinates within a group to the slide: from its child frame to its frame, then outwards."""
    box = group.find("{*}grpSpPr/{*}xfrm")
    if box is None:
        return outer
    left, top = _pair(box.find("{*}off"), "x", "y")
    width, height = _pair(box.find("{*}ext"), "cx", "cy")
    inner_left, inner_top = _pair(box.find("{*}chOff"), "x", "y")
    inner_width, inner_height = _pair(box.find("{*}chExt"), "cx", "cy")
    scale_x = width / inner_width if width and inner_width else 1.0
    scale_y = height / inner_height if height and inner_height else 1.0
    return Placement(
        outer.scale_x * scale_x,
        outer.scale_y * scale_y,
        outer.move_x + outer.scale_x * (left - inner_left * scale_x),
        outer.move_y + outer.scale_y * (top - inner_top * scale_y),
    )
