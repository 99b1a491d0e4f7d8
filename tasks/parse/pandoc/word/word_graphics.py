"""Word graphics: convert charts and diagrams to paragraphs and tables of Word, which pandoc reads."""

import zipfile
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.open_xml import links_of, read_part, reference
from docmill.tasks.parse.office.sheets.chart import CHARTS, chart_of
from docmill.tasks.parse.office.slides.slide_graphics import diagram_of
from docmill.tasks.parse.pandoc.word.word_runs import W, paragraph_of

_BODY = "word/document.xml"


def graphics_in(container: zipfile.ZipFile) -> dict[str, list[Any]]:
    """Return the paragraphs and tables of each chart and diagram, by its id; empty for a damaged one."""
    found: dict[str, list[Any]] = {}
    for name, (kind, part) in links_of(container, _BODY).items():
        try:
            if kind in CHARTS:
                title, rows = chart_of(read_part(container, part))
                found[name] = [paragraph_of(title)] * bool(title) + [_table(rows)] * bool(rows)
            elif kind == "diagramData":
                found[name] = [paragraph_of(text) for text in diagram_of(read_part(container, part))]
        except (etree.XMLSyntaxError, ValueError, KeyError):
            continue
    return found


def draw_graphics(root: Any, graphics: dict[str, list[Any]]) -> None:
    """Insert the text of charts and diagrams below the paragraphs that anchor them."""
    for node in list(root.iter("{*}chart", "{*}relIds")) if graphics else ():
        below = next(node.iterancestors(W + "p"), None)
        for shown in graphics.pop(reference(node) or reference(node, "dm"), ()):
            if below is not None and below.getparent() is not None:
                below.addnext(shown)
                below = shown


def _table(rows: list[list[str]]) -> Any:
    table = etree.Element(W + "tbl")
    for number, cells in enumerate(rows):
        row = etree.SubElement(table, W + "tr")
        if not number:
            etree.SubElement(etree.SubElement(row, W + "trPr"), W + "tblHeader")
        for cell in cells:
            etree.SubElement(row, W + "tc").append(paragraph_of(cell))
    return table
