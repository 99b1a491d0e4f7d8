"""Word graphics: convert charts and diagrams to paragraphs and tables of Word, which pandoc reads."""

import zipfile
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.parts import links_of, read_part, reference
from docmill.tasks.parse.office.sheets.chart import CHARTS, chart_of
from docmill.tasks.parse.office.slides.slide_graphics import diagram_of

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_BODY = "word/document.xml"


def graphics_in(container: zipfile.ZipFile) -> dict[str, list[Any]]:
    """Return the paragraphs and tables of each chart and diagram, by its id; empty for a damaged one."""
    found: dict[str, list[Any]] = {}
    for name, (kind, part) in links_of(container, _BODY).items():
        try:
            if kind in CHARTS:
                title, rows = chart_of(read_part(container, part))
                found[name] = [_paragraph(title)] * bool(title) + [_table(rows)] * bool(rows)
            elif kind == "diagramData":
                found[name] = [_paragraph(text) for text in diagram_of(read_part(container, part))]
        except (etree.XMLSyntaxError, ValueError, KeyError):
            continue
    return found


def draw_graphics(root: Any, graphics: dict[str, list[Any]]) -> None:
    """Insert the text of charts and diagrams below the paragraphs that anchor them."""
    for node in list(root.iter("{*}chart", "{*}relIds")) if graphics else ():
        below = next(node.iterancestors(_W + "p"), None)
        for shown in graphics.pop(reference(node) or reference(node, "dm"), ()):
            if below is not None and below.getparent() is not None:
                below.addnext(shown)
                below = shown


def _paragraph(text: str) -> Any:
    paragraph = etree.Element(_W + "p")
    run = etree.SubElement(etree.SubElement(paragraph, _W + "r"), _W + "t")
    run.text = text
    run.set(_SPACE, "preserve")
    return paragraph


def _table(rows: list[list[str]]) -> Any:
    table = etree.Element(_W + "tbl")
    for number, cells in enumerate(rows):
        row = etree.SubElement(table, _W + "tr")
        if not number:
            etree.SubElement(etree.SubElement(row, _W + "trPr"), _W + "tblHeader")
        for cell in cells:
            etree.SubElement(row, _W + "tc").append(_paragraph(cell))
    return table
