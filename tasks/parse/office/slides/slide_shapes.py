"""The shapes of a slide: what each is, where it stands, and in which order they are read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

_TITLES = ("title", "ctrTitle")
_BAND = 0.05  # of the slide's height: shapes whose tops differ by less stand in one row


class Placement(NamedTuple):
    """How coordinates inside of a group become the slide's: scaled, then moved."""

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
    inside: tuple["Shape", ...] = ()


Places = dict[str, tuple[float, float]]


def shapes_of(slide: Any, places: Places, height: float) -> list[Shape]:
    """Return a slide's shapes in reading order: its title first, then by rows from above, left to right."""
    tree = next(slide.iter("{*}spTree"), None)
    found = [] if tree is None else list(_walk(tree, places, Placement(), height))
    titles = [shape for shape in found if shape.role in _TITLES]
    return titles[:1] + _ordered([shape for shape in found if shape not in titles[:1]], height)


def placeholder(node: Any) -> tuple[str, str]:
    """Return the role of a placeholder and its number; both are empty for a shape that is none."""
    stated = next(node.iter("{*}ph"), None)
    return ("", "") if stated is None else (stated.get("type") or "body", stated.get("idx") or "")


def places_of(layout: Any) -> Places:
    """Return where the placeholders of a layout or master stand, by number and by role."""
    found: Places = {}
    for node in layout.iter("{*}sp"):
        role, number = placeholder(node)
        place = _place(node)
        if role and place:
            found.setdefault(f"role {role}", place[:2])
            if number:
                found.setdefault(f"number {number}", place[:2])
    return found


def _walk(tree: Any, places: Places, placement: Placement, height: float) -> Iterator[Shape]:
    for node in tree:
        name = str(node.tag).rpartition("}")[2]
        if name == "AlternateContent":
            options = [*node.iterchildren("{*}Choice"), *node.iterchildren("{*}Fallback")]
            yield from next(filter(None, (list(_walk(one, places, placement, height)) for one in options)), [])
        elif name == "grpSp":
            inner = tuple(_ordered(list(_walk(node, places, _inside(node, placement), height)), height))
            if inner:
                yield Shape("group", node, "", "", min(one.top for one in inner), min(one.left for one in inner), inner)
        elif name in ("sp", "graphicFrame", "pic"):
            role, number = placeholder(node)
            own = _place(node)
            left, top = own[:2] if own else places.get(f"number {number}") or places.get(f"role {role}") or (0, 0)
            kind = {"sp": "text", "graphicFrame": "frame", "pic": "picture"}[name]
            top, left = top * placement.scale_y + placement.move_y, left * placement.scale_x + placement.move_x
            yield Shape(kind, node, role, number, top, left)


def _place(node: Any) -> tuple[float, float, float, float] | None:
    """Return left, top, width and height of a shape that states them."""
    box = next((one for one in node.iter("{*}xfrm") if one.find("{*}off") is not None), None)
    return None if box is None else (*_pair(box.find("{*}off"), "x", "y"), *_pair(box.find("{*}ext"), "cx", "cy"))


def _pair(node: Any, one: str, other: str) -> tuple[float, float]:
    try:
        return (0, 0) if node is None else (float(node.get(one) or 0), float(node.get(other) or 0))
    except ValueError:
        return 0, 0


def _inside(group: Any, outer: Placement) -> Placement:
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


def _ordered(shapes: list[Shape], height: float) -> list[Shape]:
    rows: list[list[Shape]] = []
    for shape in sorted(shapes, key=lambda one: one.top):
        if rows and shape.top - rows[-1][0].top < _BAND * height:
            rows[-1].append(shape)
        else:
            rows.append([shape])
    return [shape for row in rows for shape in sorted(row, key=lambda one: one.left)]
