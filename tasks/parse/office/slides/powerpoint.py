"""PowerPoint: each slide a section, its shapes in the order in which they are read, then its notes and comments."""

import zipfile
from collections.abc import Iterator
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.office.open_xml import core_properties
from docmill.tasks.parse.office.parts import addresses_of, linked, links_of, read_part, reference, whole
from docmill.tasks.parse.office.slides.slide_graphics import chart_of, diagram_of, table_of
from docmill.tasks.parse.office.slides.slide_shapes import Places, Shape, placeholder, places_of, shapes_of
from docmill.tasks.parse.office.slides.slide_text import lines_of, links_in, text_of
from docmill.tasks.parse.unpacking import check_container

_PRESENTATION = "ppt/presentation.xml"
_TITLES = ("title", "ctrTitle")
_FURNITURE = ("ftr", "dt", "hdr")
_HEIGHT = 6_858_000  # of a slide, in English metric units, where none is stated
_MAX_TITLE = 100


def parse_pptx(data: bytes, options: ParseOptions) -> Parsed:
    """Return a presentation's slides as sections, pages their numbers; a hidden slide's title says so."""
    with check_container(data, options.max_unpacked_bytes) as container:
        metadata = core_properties(container)
        if _PRESENTATION not in container.NameToInfo:
            raise Rejected("corrupt", f"the presentation has no part {_PRESENTATION}")
        canvas = Canvas()
        root = read_part(container, _PRESENTATION)
        size = next(root.iter("{*}sldSz"), None)
        height = whole(None if size is None else size.get("cy"), _HEIGHT)
        for number, part in enumerate(_slides(container, root), 1):
            canvas.page = number
            _Slide(container, part, height).draw(canvas, number)
    title = metadata.pop("title", "")
    return canvas.parsed("" if title.lower() in _NO_TITLES else title, metadata)


_NO_TITLES = ("powerpoint presentation", "slide 1", "powerpoint-präsentation", "présentation powerpoint")


def _slides(container: zipfile.ZipFile, root: Any) -> Iterator[str]:
    links = links_of(container, _PRESENTATION)
    for node in root.iter("{*}sldId"):
        target = links.get(reference(node), ("", ""))[1]
        if target:
            yield target


class _Slide:
    """A slide with the layout and the master that its placeholders take their places and bullets from."""

    def __init__(self, container: zipfile.ZipFile, part: str, height: int) -> None:
        self._container = container
        self._links = links_of(container, part)
        self._addresses = addresses_of(container, part)
        self._root = read_part(container, part)
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
        hidden: dict[str, Any] = {"hidden": True} if self._root.get("show") in ("0", "false") else {}
        title = next((one for one in shapes if one.role in _TITLES and _text(one)), None) or _first(shapes)
        below = Canvas()
        for shape in shapes:
            if shape is not title:
                self._draw_shape(below, shape)
        self._draw_margin(below)
        if title or below.elements:
            level = 1 if title is not None and title.role == "ctrTitle" else 2
            links = links_in(title.node, self._addresses) if title else {}
            canvas.heading(_text(title) if title else f"Slide {number}", level, **links, **hidden)
            canvas.add(below.parsed())

    def _draw_shape(self, canvas: Canvas, shape: Shape) -> None:
        if shape.kind == "frame":
            self._draw_frame(canvas, shape.node)
        elif shape.kind == "picture":
            about = next((node.get("descr") or "" for node in shape.node.iter("{*}cNvPr")), "")
            if " " in about.strip():
                canvas.paragraph(about, kind="text", role="picture")
        elif shape.role in _FURNITURE:
            canvas.paragraph(_text(shape), kind="furniture")
        elif shape.role != "sldNum":
            for body in shape.node.iterchildren("{*}txBody"):
                for line in lines_of(body, self._styles(shape)):
                    links = links_in(line.node, self._addresses)
                    if line.depth:
                        canvas.item(line.text, line.depth, line.marker, **links)
                    else:
                        canvas.paragraph(line.text, **links)

    def _styles(self, shape: Shape) -> list[Any]:
        """Return the list styles that a placeholder inherits, from layout to master."""
        found = []
        for above in self._above if shape.role else ():
            for node in above.iter("{*}sp"):
                role, number = placeholder(node)
                if role and (number == shape.number if shape.number and number else role == shape.role):
                    found.append(node.find("{*}txBody/{*}lstStyle"))
                    break
        if shape.role in ("body", "obj"):
            found += [style for above in self._above for style in above.iter("{*}bodyStyle")]
        return found

    def _draw_frame(self, canvas: Canvas, frame: Any) -> None:
        table = table_of(frame)
        if table:
            canvas.table(*table, **links_in(frame, self._addresses))
        for node in frame.iter("{*}chart", "{*}relIds"):
            kind, part = self._links.get(reference(node) or reference(node, "dm"), ("", ""))
            if kind == "chart":
                heading, rows = chart_of(read_part(self._container, part))
                canvas.paragraph(heading, role="chart")
                canvas.table(rows, role="chart")
            elif kind == "diagramData":
                for text in diagram_of(read_part(self._container, part)):
                    canvas.item(text, 1)

    def _draw_margin(self, canvas: Canvas) -> None:
        """Draw the speaker's notes and the comments."""
        for part in linked(self._links, "notesSlide"):
            for node in read_part(self._container, part).iter("{*}sp"):
                if placeholder(node)[0] == "body":
                    for line in node.iterfind("{*}txBody/{*}p"):
                        canvas.paragraph(text_of(line), role="notes")
        for part in linked(self._links, "comments"):
            for node in read_part(self._container, part).iter("{*}cm"):
                words = [one.text or "" for one in node.iter("{*}text")] or [text_of(one) for one in node.iter("{*}p")]
                canvas.paragraph("\n".join(words), kind="text", role="comment")


def _flat(shapes: list[Shape] | tuple[Shape, ...]) -> Iterator[Shape]:
    for shape in shapes:
        if shape.kind == "group":
            yield from _flat(shape.inside)
        else:
            yield shape


def _first(shapes: list[Shape]) -> Shape | None:
    """Return the first shape with text, if that is one short line."""
    texts = [shape for shape in shapes if shape.kind == "frame" or _text(shape)]
    first = next((shape for shape in texts if shape.role not in (*_FURNITURE, "sldNum")), None)
    short = (
        first is not None and first.kind == "text" and 0 < len(_text(first)) <= _MAX_TITLE and "\n" not in _text(first)
    )
    return first if short and len(texts) > 1 else None


def _text(shape: Shape) -> str:
    if shape.kind != "text":
        return ""
    return "\n".join(filter(None, (text_of(line).strip() for line in shape.node.iterfind("{*}txBody/{*}p"))))
