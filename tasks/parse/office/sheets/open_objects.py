"""Open objects: the objects in OpenDocument shapes: charts, in the form of `chart_of`, and other documents.

Source: OpenDocument 1.3, part 3, 11 "Charts"; programs store a chart's points in it as a table.
"""

from collections.abc import Iterator
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.sheets.chart import MOST_CELLS, Chart
from docmill.tasks.parse.pictures.addresses import Loader
from docmill.tasks.parse.xml_trees import words_in, xml_tree

_OF = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_CHART, _TABLE, _DRAW, _TEXT = (_OF % name for name in ("chart", "table", "drawing", "text"))
_HREF = "{http://www.w3.org/1999/xlink}href"
OBJECT = _DRAW + "object"
"""The frame element that contains another document, or names its folder."""
BOXES = [_DRAW + word for word in ("text-box", "custom-shape", "rect", "ellipse", "circle", "polygon", "caption")]
"""The shapes that contain paragraphs."""
_REPEATED = _TABLE + "number-columns-repeated"
_FEW_TIMES = frozenset(map(str, range(1, 100)))  # more are the empty end of a table
_NO_NUMBER = ("NaN", "1.#NAN")  # LibreOffice writes these for points without a value


def embedded(held: Any, load: Loader) -> Any:
    """Return the root of the document that an object contains or names; None if there is none, or it is damaged."""
    within = next(held.iterchildren("{*}document", "{*}math"), None)
    if within is not None:
        return within
    try:
        return xml_tree(load(f"{held.get(_HREF, '').rstrip('/')}/content.xml") or b"")
    except etree.XMLSyntaxError:
        return None


def open_charts(holder: Any, load: Loader) -> Iterator[Chart]:
    """Yield the charts of the objects below a node; `load` returns a container member by path."""
    for held in holder.iter(OBJECT):
        root = embedded(held, load)
        chart = None if root is None else next(root.iter(_CHART + "chart"), None)
        if chart is not None:
            yield _chart(chart)


def _chart(node: Any) -> Chart:
    title, above = _words(node), ""
    for axis in node.iter(_CHART + "axis"):
        if axis.get(_CHART + "dimension") == "x":
            above = _words(axis)
        elif words := _words(axis):
            title = f"{title} ({words})".strip()
    rows = [*_rows(node.find(_TABLE + "table"))]
    if rows:
        rows[0][0] = rows[0][0] or above
    return Chart(title, rows)


def _words(titled: Any) -> str:
    title = titled.find(_CHART + "title")
    return "" if title is None else words_in(title)


def _rows(table: Any) -> Iterator[list[str]]:
    """Yield the column names, then the points of each category; empty rows are left out."""
    left = MOST_CELLS
    for row in () if table is None else table_rows(table):
        cells = ["" if words in _NO_NUMBER else words for words in row[: max(left, 0)]]
        left -= len(cells)
        if any(cells):
            yield cells


def table_rows(table: Any) -> Iterator[list[str]]:
    """Yield the texts of the cells of a table, row by row."""
    for row in table.iter(_TABLE + "table-row"):
        cells: list[str] = []
        for cell in row.iterchildren(_TABLE + "table-cell", _TABLE + "covered-table-cell"):
            words = all_words(cell)
            cells += [words] if words else [""] * _times(cell.get(_REPEATED))
        yield cells


def _times(stated: str | None) -> int:
    """Return how often an empty cell is repeated; a repeated cell with text, whose count may be any, counts once."""
    return int(stated) if stated in _FEW_TIMES else 1


def all_words(shape: Any) -> str:
    """Return the text of all paragraphs within a node, on one line."""
    lines = [line_words(line) for line in shape.iter(_TEXT + "p", _TEXT + "h")]
    return " ".join(filter(None, lines))


def line_words(line: Any) -> str:
    """Return the text of a paragraph, in which spaces, tabs and line breaks are elements."""
    parts = [line.text or ""]
    for node in line.iterdescendants():
        if node.tag in (_TEXT + "s", _TEXT + "tab", _TEXT + "line-break"):
            parts.append(" ")
        elif isinstance(node.tag, str):
            parts.append(node.text or "")
        parts.append(node.tail or "")
    return " ".join("".join(parts).split())
