"""PowerPoint: each slide becomes a section with its shapes in reading order, then its notes and comments."""

import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, pairwise
from math import inf, isfinite
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Box, Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.formula_tex import FORMULA, fill_office_formulas
from docmill.tasks.parse.office.open_xml import (
    addresses_of,
    core_properties,
    linked,
    links_of,
    open_office,
    pictures_in,
    read_part,
    reference,
)
from docmill.tasks.parse.office.sheets.chart import CHARTS, chart_of
from docmill.tasks.parse.office.slides.slide_text import (
    by_rows,
    diagram_of,
    lines_of,
    links_in,
    may_be_title,
    table_of,
    text_of,
)
from docmill.tasks.parse.xml_trees import whole

_PRESENTATION = "ppt/presentation.xml"
_AUTHORS = ("ppt/commentAuthors.xml", "ppt/authors.xml")  # from older programs, from newer ones
_TITLES = ("title", "ctrTitle")
_FURNITURE = ("ftr", "dt", "hdr")
_NUMBER = "sldNum"
_NO_CONTENT = (*_FURNITURE, _NUMBER)
_POINT = 12_700  # in English Metric Units
_HEIGHT = 6_858_000  # of a slide if none is given: 7.5 inches at 914 400 English Metric Units each
_EDGE = ("dt", "ftr", "sldNum")  # date, footer and slide number, which are below all columns
_BAND = 0.05
"""Shapes whose tops differ by less than this share of the slide's height are in one row. With less, boxes that were
placed by hand beside each other are separated; with more, lines of text below each other are merged."""
_KINDS = {"sp": "text", "graphicFrame": "frame", "pic": "picture"}


class Placement(NamedTuple):
    """Maps coordinates within a group to the slide: they are scaled, then moved."""

    scale_x: float = 1.0
    scale_y: float = 1.0
    move_x: float = 0.0
    move_y: float = 0.0


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape: `kind` is "text", "frame" or "picture", `role` is its placeholder's, such as "title" or "body"."""

    kind: str
    node: Any
    role: str = ""
    number: str = ""
    top: float = 0
    left: float = 0
    right: float = inf
    bottom: float = 0
    inside: tuple["Shape", ...] = ()


Places = dict[str, Box]
"""The boxes of placeholders, with the keys "number N" and "role R"."""


def shapes_of(slide: Any, places: Places, height: float) -> list[Shape]:
    """Return a slide's shapes in reading order: its title, then columns or rows, then the shapes at its edge."""
    tree = next(slide.iter("{*}spTree"), None)
    found = [] if tree is None else list(_walk(tree, places, Placement(), height))
    first = [shape for shape in found if shape.role in _TITLES][:1]
    rest = [shape for shape in found if shape not in first]
    return first + _by_columns([one for one in rest if one.role not in _EDGE], _BAND * height) + _edge(rest)


def _edge(shapes: list[Shape]) -> list[Shape]:
    return [one for one in shapes if one.role in _EDGE]


def _by_columns(shapes: list[Shape], band: float) -> list[Shape]:
    """Return shapes column by column, each by rows, if each column was drawn before the next; otherwise all by rows.

    Boxes in a grid may be meant to be read by columns or by rows; their order in the file decides.
    """
    before, behind = _reaches(shapes), _reaches(shapes[::-1])[::-1]
    cuts = [at for at in range(1, len(shapes)) if _are_beside(before[at - 1], behind[at], band)]
    pieces = (shapes[first:last] for first, last in pairwise([0, *cuts, len(shapes)]))
    return [one for piece in pieces for one in by_rows(piece, band)]


def _reaches(shapes: list[Shape]) -> list[Box]:
    """Return the bounding box of the shapes up to each one."""
    first = accumulate((one.left for one in shapes), min), accumulate((one.top for one in shapes), min)
    last = accumulate((one.right for one in shapes), max), accumulate((one.bottom for one in shapes), max)
    return list(zip(*first, *last, strict=True))


def _are_beside(one: Box, other: Box, band: float) -> bool:
    """Return whether the first of two groups of shapes is left of the other and neither is above the other."""
    (_, top, right, bottom), (left, other_top, _, other_bottom) = one, other
    return right <= left + band and other_top < bottom and top < other_bottom


def placeholder(node: Any) -> tuple[str, str]:
    """Return a placeholder's role and number; both are empty for other shapes."""
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
            # Variants of the same shapes for newer and older programs: the first variant with a known shape is used.
            options = [*node.iterchildren("{*}Choice"), *node.iterchildren("{*}Fallback")]
            yield from next(filter(None, (list(_walk(one, places, placement, height)) for one in options)), [])
        elif name == "grpSp":
            inner = list(_walk(node, places, _inside(node, placement), height))
            yield from _group(node, by_rows(inner, _BAND * height))
        elif name in _KINDS:
            yield _shape(node, _KINDS[name], places, placement)


def _group(node: Any, inner: list[Shape]) -> Iterator[Shape]:
    """Yield a group's shapes as if they were at the group's top left corner."""
    if inner:
        top, left = min(one.top for one in inner), min(one.left for one in inner)
        right, bottom = max(one.right for one in inner), max(one.bottom for one in inner)
        yield Shape("group", node, top=top, left=left, right=right, bottom=bottom, inside=tuple(inner))


def _shape(node: Any, kind: str, places: Places, placement: Placement) -> Shape:
    """Return a shape at its own position, or at the one that its placeholder inherits."""
    role, number = placeholder(node)
    box = _place(node) or places.get(f"number {number}") or places.get(f"role {role}") or (0, 0, inf, 0)
    left, right = (side * placement.scale_x + placement.move_x for side in box[::2])
    top, bottom = (side * placement.scale_y + placement.move_y for side in box[1::2])
    return Shape(kind, node, role, number, top, left, right, bottom)


def _place(node: Any) -> Box | None:
    """Return a shape's own box, or None if it has none."""
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


def parse_pptx(data: bytes, options: ParseOptions) -> Parsed:
    """Return a presentation's slides as sections; pages are slide numbers, and hidden slides are marked as hidden."""
    with open_office(data, options.max_unpacked_bytes) as container:
        metadata = core_properties(container)
        if _PRESENTATION not in container.NameToInfo:
            raise Rejected("corrupt", f"the presentation has no part {_PRESENTATION}")
        canvas = Canvas()
        root = read_part(container, _PRESENTATION)
        size = next(root.iter("{*}sldSz"), None)
        height = whole(None if size is None else size.get("cy"), _HEIGHT)
        inherited = cache(partial(_inherited, container))  # most slides use one of a few layouts
        authors = cache(partial(_authors, container))
        for number, part in enumerate(_slides(container, root), 1):
            canvas.page = number
            _SlideParts(container, part, height, inherited, authors).draw(canvas, number)
    return canvas.parsed(metadata.pop("title", ""), metadata)


def _slides(container: zipfile.ZipFile, root: Any) -> Iterator[str]:
    """Yield the paths of the slides in presentation order, which may differ from the order of their names."""
    links = links_of(container, _PRESENTATION)
    for node in root.iter("{*}sldId"):
        target = links.get(reference(node), ("", ""))[1]
        if target:
            yield target


class _Inherited(NamedTuple):
    """The roots of a layout and its master, and the positions of their placeholders."""

    roots: tuple[Any, ...]
    places: Places


def _inherited(container: zipfile.ZipFile, layout: str) -> _Inherited:
    masters = linked(links_of(container, layout), "slideMaster")[:1]
    roots = tuple(read_part(container, one) for one in (layout, *masters))
    places: Places = {}
    for one in roots:
        places = places_of(one) | places
    return _Inherited(roots, places)


class _SlideParts:
    """A slide with the layout and master from which its placeholders inherit positions and bullets."""

    def __init__(
        self,
        container: zipfile.ZipFile,
        part: str,
        height: int,
        inherited: Callable[[str], _Inherited],
        authors: Callable[[], Mapping[str, str]],
    ) -> None:
        self._container = container
        self._authors = authors
        self._load = pictures_in(container)
        self._links = links_of(container, part)
        self._addresses = addresses_of(container, part)
        self._root = _with_formulas(read_part(container, part))
        layout = linked(self._links, "slideLayout")[:1]
        above = inherited(layout[0]) if layout else _Inherited((), {})
        self._above = above.roots
        self._shapes = shapes_of(self._root, above.places, height)

    def draw(self, canvas: Canvas, number: int) -> None:
        """Draw the slide; if it has no title, a short text at its beginning becomes the title, or else its number."""
        shapes = list(_flat(self._shapes))
        title = _title(shapes)
        below = Canvas()  # shows whether there is anything to put a heading above
        for shape in shapes:
            if shape is not title:
                self._draw_shape(below, shape)
        self._draw_notes(below)
        self._draw_comments(below)
        if title or below.blocks:
            self._draw_heading(canvas, title, number)
            canvas.add(below.parsed())

    def _draw_heading(self, canvas: Canvas, title: Shape | None, number: int) -> None:
        hidden: dict[str, Any] = {"hidden": True} if self._root.get("show") in ("0", "false") else {}
        if title is None:
            canvas.heading(f"Slide {number}", 2, **hidden)
            return
        level = 1 if title.role == "ctrTitle" else 2
        canvas.heading(_text(title), level, links=links_in(title.node, self._addresses), **hidden)

    def _draw_shape(self, canvas: Canvas, shape: Shape) -> None:
        if shape.kind == "frame":
            self._draw_frame(canvas, shape.node)
        elif shape.kind == "picture":
            self._draw_picture(canvas, shape)
        elif shape.role in _FURNITURE:
            canvas.paragraph(_text(shape), kind="furniture")
        elif shape.role != _NUMBER:
            self._draw_text(canvas, shape)

    def _draw_picture(self, canvas: Canvas, shape: Shape) -> None:
        """Draw a picture, or its description if it cannot be drawn; a description without a space is a file name."""
        about = next((node.get("descr") or "" for node in shape.node.iter("{*}cNvPr")), "").strip()
        shown = next((reference(node, "embed") for node in shape.node.iter("{*}blip")), "")
        words = about if " " in about else ""
        data = self._load(f"/{self._links[shown][1]}") if shown in self._links else None
        if (data is None or not canvas.figure(data, words, box=_in_points(shape))) and words:
            canvas.paragraph(words, kind="text", role="picture")

    def _draw_text(self, canvas: Canvas, shape: Shape) -> None:
        for body in shape.node.iterchildren("{*}txBody"):
            for line in lines_of(body, self._styles(shape)):
                links = links_in(line.node, self._addresses)
                canvas.block(line.text, item=line.depth, marker=line.marker, links=links)

    def _styles(self, shape: Shape) -> list[Any]:
        """Return the list styles that a placeholder inherits, from layout to master."""
        if not shape.role:
            return []
        matches = (_placeholder_of(above, shape) for above in self._above)
        found = [node.find("{*}txBody/{*}lstStyle") for node in matches if node is not None]
        if shape.role in ("body", "obj"):
            found += [style for above in self._above for style in above.iter("{*}bodyStyle")]
        return found

    def _draw_frame(self, canvas: Canvas, frame: Any) -> None:
        table = table_of(frame)
        if table:
            canvas.table(*table, links=links_in(frame, self._addresses))
        for node in frame.iter("{*}chart", "{*}relIds"):
            # A chart is referenced by the attribute r:id, a diagram's data by r:dm.
            kind, part = self._links.get(reference(node) or reference(node, "dm"), ("", ""))
            if kind in CHARTS:
                chart = chart_of(read_part(self._container, part))
                canvas.paragraph(chart.title, role="chart")
                canvas.table(chart.rows, role="chart")
            elif kind == "diagramData":
                for text in diagram_of(read_part(self._container, part)):
                    canvas.item(text, 1)

    def _draw_notes(self, canvas: Canvas) -> None:
        roots = (_with_formulas(read_part(self._container, part)) for part in linked(self._links, "notesSlide"))
        for node in (node for root in roots for node in root.iter("{*}sp") if placeholder(node)[0] == "body"):
            for line in node.iterfind("{*}txBody/{*}p"):
                canvas.paragraph(text_of(line), role="notes")

    def _draw_comments(self, canvas: Canvas) -> None:
        """Draw the comments and replies with their authors."""
        for part in linked(self._links, "comments"):
            for node in read_part(self._container, part).iter("{*}cm", "{*}reply"):
                canvas.paragraph(_said_in(node, self._authors()), kind="text", role="comment")


def _said_in(comment: Any, authors: Mapping[str, str]) -> str:
    """Return a comment's author and text; newer programs write paragraphs, older ones a single text."""
    words = [one.text or "" for one in comment.iterfind("{*}text")]
    text = "\n".join([*words, *map(text_of, comment.iterfind("{*}txBody/{*}p"))])
    author = authors.get(comment.get("authorId") or "") if text else ""
    return f"{author}: {text}" if author else text


def _authors(container: zipfile.ZipFile) -> dict[str, str]:
    """Return the names of comment authors by their ids."""
    roots = [read_part(container, name) for name in _AUTHORS if name in container.NameToInfo]
    found = (one for root in roots for one in root.iter("{*}cmAuthor", "{*}author"))
    return {one.get("id") or "": one.get("name") or "" for one in found}


def _with_formulas(slide: Any) -> Any:
    """Return a slide whose formulas are replaced by lines of text."""
    fill_office_formulas(slide.iter(FORMULA))
    return slide


def _in_points(shape: Shape) -> Box | None:
    """Return a shape's box on its slide in points, or None if it has none."""
    box = (shape.left, shape.top, shape.right, shape.bottom)
    left, top, right, bottom = (round(side / _POINT, 1) if isfinite(side) else 0.0 for side in box)
    return (left, top, right, bottom) if right > left and bottom > top else None


def _placeholder_of(above: Any, shape: Shape) -> Any:
    """Return the layout's or master's placeholder that a shape fills, or None."""
    return next((node for node in above.iter("{*}sp") if _fills(shape, *placeholder(node))), None)


def _fills(shape: Shape, role: str, number: str) -> bool:
    """Return whether a shape fills a placeholder: by number if both have one, otherwise by role."""
    if not role:
        return False
    return number == shape.number if shape.number and number else role == shape.role


def _flat(shapes: list[Shape] | tuple[Shape, ...]) -> Iterator[Shape]:
    for shape in shapes:
        if shape.kind == "group":
            yield from _flat(shape.inside)
        else:
            yield shape


def _title(shapes: list[Shape]) -> Shape | None:
    """Return the title placeholder, or else a short text at the beginning."""
    stated = (shape for shape in shapes if shape.role in _TITLES and _text(shape))
    return next(stated, None) or _first(shapes)


def _first(shapes: list[Shape]) -> Shape | None:
    """Return the first shape with text if it is one short line and not the slide's only text."""
    filled = list(filter(_has_content, shapes))
    first = next((shape for shape in filled if shape.role not in _NO_CONTENT), None)
    short = first is not None and may_be_title(_text(first))  # a frame has no text
    return first if short and len(filled) > 1 else None


def _has_content(shape: Shape) -> bool:
    return shape.kind == "frame" or bool(_text(shape))


def _text(shape: Shape) -> str:
    if shape.kind != "text":
        return ""
    return "\n".join(filter(None, (text_of(line).strip() for line in shape.node.iterfind("{*}txBody/{*}p"))))
