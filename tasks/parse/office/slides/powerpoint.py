"""PowerPoint: each slide is a section of its shapes in reading order, then its notes and comments."""

import zipfile
from collections.abc import Iterator
from math import isfinite
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Box, Canvas
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.formulas.formula_tex import FORMULA, fill_office_formulas
from docmill.tasks.parse.office.open_xml import (
    addresses_of,
    check_container,
    core_properties,
    linked,
    links_of,
    pictures_in,
    read_part,
    reference,
    with_usual_names,
)
from docmill.tasks.parse.office.sheets.chart import CHARTS, chart_of
from docmill.tasks.parse.office.slides.slide_shapes import Places, Shape, placeholder, places_of, shapes_of
from docmill.tasks.parse.office.slides.slide_text import diagram_of, lines_of, links_in, may_be_title, table_of, text_of
from docmill.tasks.parse.trees import whole

_PRESENTATION = "ppt/presentation.xml"
_TITLES = ("title", "ctrTitle")
_FURNITURE = ("ftr", "dt", "hdr")
_NUMBER = "sldNum"
_NO_CONTENT = (*_FURNITURE, _NUMBER)
_POINT = 12_700  # English metric units
_HEIGHT = 6_858_000  # of a slide where none is stated: 7.5 inches of 914 400 English metric units


def parse_pptx(data: bytes, options: ParseOptions) -> Parsed:
    """Return a presentation's slides as sections; pages are slide numbers, and hidden slides have the attribute."""
    with check_container(with_usual_names(data), options.max_unpacked_bytes) as container:
        metadata = core_properties(container)
        if _PRESENTATION not in container.NameToInfo:
            raise Rejected("corrupt", f"the presentation has no part {_PRESENTATION}")
        canvas = Canvas()
        root = read_part(container, _PRESENTATION)
        size = next(root.iter("{*}sldSz"), None)
        height = whole(None if size is None else size.get("cy"), _HEIGHT)
        for number, part in enumerate(_slides(container, root), 1):
            canvas.page = number
            _SlideParts(container, part, height).draw(canvas, number)
    return canvas.parsed(metadata.pop("title", ""), metadata)


def _slides(container: zipfile.ZipFile, root: Any) -> Iterator[str]:
    """Yield the paths of the slides in presentation order, which may differ from that of their names."""
    links = links_of(container, _PRESENTATION)
    for node in root.iter("{*}sldId"):
        target = links.get(reference(node), ("", ""))[1]
        if target:
            yield target


class _SlideParts:
    """A slide, with the layout and master from which its placeholders inherit positions and bullets."""

    def __init__(self, container: zipfile.ZipFile, part: str, height: int) -> None:
        self._container = container
        self._load = pictures_in(container)
        self._links = links_of(container, part)
        self._addresses = addresses_of(container, part)
        self._root = _with_formulas(read_part(container, part))
        layouts = linked(self._links, "slideLayout")[:1]
        masters = [master for layout in layouts for master in linked(links_of(container, layout), "slideMaster")]
        self._above = [read_part(container, one) for one in (*layouts, *masters[:1])]
        places: Places = {}
        for one in self._above:
            places = places_of(one) | places
        self._shapes = shapes_of(self._root, places, height)

    def draw(self, canvas: Canvas, number: int) -> None:
        """Draw the slide; one without a title is named by a short text at its beginning, else by its number."""
        shapes = list(_flat(self._shapes))
        title = _title(shapes)
        below = Canvas()  # which tells whether there is anything to put a heading above
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
        """Draw a picture, else its description; one without a space is a file name."""
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
                if line.depth:
                    canvas.item(line.text, line.depth, line.marker, links=links)
                else:
                    canvas.paragraph(line.text, links=links)

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
            # A chart is referred to by the attribute r:id, a diagram's data by r:dm.
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
        """Draw the comments, whose text is an element of its own, or paragraphs in those of newer programs."""
        for part in linked(self._links, "comments"):
            for node in read_part(self._container, part).iter("{*}cm"):
                words = [one.text or "" for one in node.iter("{*}text")] or [text_of(one) for one in node.iter("{*}p")]
                canvas.paragraph("\n".join(words), kind="text", role="comment")


def _with_formulas(slide: Any) -> Any:
    """Return a slide whose formulas are lines of text."""
    fill_office_formulas(slide.iter(FORMULA))
    return slide


def _in_points(shape: Shape) -> Box | None:
    """Return the box of a shape on its slide, or None if it states none."""
    box = (shape.left, shape.top, shape.right, shape.bottom)
    left, top, right, bottom = (round(side / _POINT, 1) if isfinite(side) else 0.0 for side in box)
    return (left, top, right, bottom) if right > left and bottom > top else None


def _placeholder_of(above: Any, shape: Shape) -> Any:
    """Return the placeholder of a layout or master that a shape fills, or None."""
    return next((node for node in above.iter("{*}sp") if _fills(shape, *placeholder(node))), None)


def _fills(shape: Shape, role: str, number: str) -> bool:
    """Return whether a shape fills a placeholder: by their numbers if both have one, else by their roles."""
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
    """Return the title placeholder, else a short text at the beginning."""
    stated = (shape for shape in shapes if shape.role in _TITLES and _text(shape))
    return next(stated, None) or _first(shapes)


def _first(shapes: list[Shape]) -> Shape | None:
    """Return the first shape with text, if it is one short line and not the slide's only text."""
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
