"""OpenDocument presentations and drawings: each page is a section of its shapes, then its notes."""

from collections.abc import Iterator
from typing import Any

from lxml import etree

from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Box, Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.formula_tex import fill_mathml
from docmill.tasks.parse.office.flat_document import open_container
from docmill.tasks.parse.office.open_xml import member, pictures_in
from docmill.tasks.parse.office.properties import open_document_properties
from docmill.tasks.parse.office.sheets.open_objects import (
    OBJECT,
    all_words,
    embedded,
    line_words,
    open_charts,
    table_rows,
)
from docmill.tasks.parse.office.slides.slide_text import may_be_title
from docmill.tasks.parse.pictures.addresses import Loader
from docmill.tasks.parse.xml_trees import words_in, xml_tree

_OF = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_DRAW, _TEXT, _TABLE, _SHOW, _OFFICE, _SVG = (
    _OF % name for name in ("drawing", "text", "table", "presentation", "office", "svg-compatible")
)
_CLASS, _NAME = _SHOW + "class", _DRAW + "name"
_HREF = "{http://www.w3.org/1999/xlink}href"
_FURNITURE = ("header", "footer", "date-time", "page-number")
_NO_TEXT = ("notes", "page", "handout")  # other placeholders: pictures of the slide
_UNITS = {"cm": 28.35, "mm": 2.835, "in": 72.0, "pt": 1.0}
_ROW = 20.0  # points: shapes whose tops differ by less are in one row, which is read from the left
_MAX_DEPTH = 10  # of lists within one another, and of groups of shapes


def parse_odp(data: bytes, options: ParseOptions) -> Parsed:
    """Return a presentation's slides, or a drawing's pages, as sections; pages are their numbers."""
    with open_container(data, options.max_unpacked_bytes) as container:
        metadata = open_document_properties(container)
        root = xml_tree(member(container, "content.xml"))
        canvas, load = Canvas(), pictures_in(container)
        is_drawing = root.find(f"{_OFFICE}body/{_OFFICE}drawing") is not None
        for number, page in enumerate(root.iter(_DRAW + "page"), 1):
            canvas.page = number
            _draw_page(canvas, page, "Page" if is_drawing else "Slide", load)
    return canvas.parsed(metadata.pop("title", "") or canvas.first_heading(), metadata)


def _draw_page(canvas: Canvas, page: Any, called: str, load: Loader) -> None:
    shapes = sorted(_shapes(page, 0), key=_place)
    title = _title(shapes) if called == "Slide" else None
    below = Canvas()
    for shape in shapes:
        if shape is not title:
            _draw_shape(below, shape, load)
    for line in page.iterfind(f"{_SHOW}notes//{_TEXT}p"):
        below.paragraph(line_words(line), role="notes")
    if title is not None:
        canvas.heading(all_words(title), 1 if canvas.page == 1 else 2)
    elif below.blocks:
        canvas.heading(_name(page, f"{called} {canvas.page}"), 2)
    canvas.add(below.parsed())


def _name(page: Any, otherwise: str) -> str:
    """Return a page's name if a person gave it; programs give names of one word."""
    name = page.get(_NAME) or ""
    return name if " " in name else otherwise


def _shapes(parent: Any, depth: int) -> Iterator[Any]:
    """Yield the shapes of a page, including those in groups."""
    for shape in parent:
        if shape.tag == _DRAW + "g" and depth < _MAX_DEPTH:
            yield from _shapes(shape, depth + 1)
        elif isinstance(shape.tag, str) and shape.tag.startswith(_DRAW):
            yield shape


def _place(shape: Any) -> tuple[bool, float, float]:
    """Return the sort key of a shape in reading order: titles first, then by rows from the top."""
    x, y = (_points(shape.get(_SVG + name) or shape.get(_SVG + name + "1") or "") for name in ("x", "y"))
    return shape.get(_CLASS) != "title", y // _ROW, x


def _points(length: str) -> float:
    number, unit = length[:-2], length[-2:]
    try:
        return float(number) * _UNITS.get(unit, 0.0)
    except ValueError:
        return 0.0


def _title(shapes: list[Any]) -> Any:
    """Return the title of a slide, else a short first text, or None."""
    filled = [shape for shape in shapes if all_words(shape)]
    stated = next((shape for shape in filled if shape.get(_CLASS) == "title"), None)
    if stated is not None or len(filled) < 2:
        return stated
    first = filled[0]
    return first if may_be_title(all_words(first)) and first.find(f".//{_TABLE}table") is None else None


def _draw_shape(canvas: Canvas, shape: Any, load: Loader) -> None:
    kind = shape.get(_CLASS) or ""
    if kind in _NO_TEXT:
        return
    if kind in _FURNITURE:
        canvas.paragraph(all_words(shape), kind="furniture")
        return
    if _draw_object(canvas, shape, load):
        return
    for table in shape.iter(_TABLE + "table"):
        canvas.table([*table_rows(table)])
    if shape.find(f".//{_TABLE}table") is None:
        for box in (shape, *shape.iterchildren(_DRAW + "text-box")):
            _draw_text(canvas, box, 0)
    _draw_picture(canvas, shape, load)


def _draw_object(canvas: Canvas, shape: Any, load: Loader) -> bool:
    """Draw the charts or the formula that a shape contains as embedded documents; return whether there are any."""
    charts = [*open_charts(shape, load)]
    for chart in charts:
        canvas.paragraph(chart.title, role="chart")
        canvas.table(chart.rows, role="chart")
    held = shape.find(OBJECT)
    root = None if charts or held is None else embedded(held, load)
    if root is not None and etree.QName(root).localname == "math":
        fill_mathml([root])
        canvas.paragraph(root.text or "")
        return True
    return bool(charts)


def _draw_text(canvas: Canvas, parent: Any, depth: int) -> None:
    for node in parent:
        if node.tag == _TEXT + "list" and depth < _MAX_DEPTH:
            for item in node:
                _draw_text(canvas, item, depth + 1)
        elif node.tag in (_TEXT + "p", _TEXT + "h"):
            canvas.block(line_words(node), item=depth)


def _draw_picture(canvas: Canvas, shape: Any, load: Loader) -> None:
    """Draw a picture, or its description; a single word would be a file name."""
    about = shape.find(_SVG + "desc")
    words = "" if about is None else words_in(about)
    words = words if " " in words else ""
    image = shape.find(_DRAW + "image")
    data = None if image is None else load(image.get(_HREF) or "")
    if (data is None or not canvas.figure(data, words, box=_box(shape))) and words:
        canvas.paragraph(words, kind="text", role="picture")


def _box(shape: Any) -> Box | None:
    """Return the box of a shape on its page in points, or None if it states none."""
    left, top, width, height = (_points(shape.get(_SVG + name) or "") for name in ("x", "y", "width", "height"))
    return (left, top, left + width, top + height) if width > 0 and height > 0 else None
