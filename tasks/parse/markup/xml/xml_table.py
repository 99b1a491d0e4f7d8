"""XML tables as HTML: those of OASIS (CALS), as in DocBook and DITA, of TEI, and of HTML itself."""

from typing import Any

from lxml import etree

from docmill.tasks.parse.markup.xml.xml_nodes import name_of, words_of
from docmill.tasks.parse.trees import whole

_ROWS = ("row", "strow", "sthead")
_CELLS = ("entry", "stentry", "cell")
_HEADS = ("thead", "sthead")
_CAPTIONS = ("title", "head", "caption")


def html_table(node: Any) -> Any:
    """Return a table as the `table` element of an HTML tree, or None if it has no known rows."""
    if next(node.iter("{*}tr"), None) is not None:
        written = etree.tostring(node, with_tail=False)
        return etree.fromstring(written, etree.HTMLParser(no_network=True, huge_tree=True)).find(".//table")
    rows = [one for one in node.iter() if name_of(one).lower() in _ROWS]
    if not rows:
        return None
    table = etree.Element("table")
    _add_caption(table, node)
    columns = [one.get("colname") or "" for one in node.iter() if name_of(one) == "colspec"]
    for row in rows:
        _add_row(table, row, columns)
    return table


def _add_caption(table: Any, node: Any) -> None:
    title = next((one for one in node if name_of(one).lower() in _CAPTIONS), None)
    if title is not None:
        etree.SubElement(table, "caption").text = words_of(title)


def _add_row(table: Any, row: Any, columns: list[str]) -> None:
    tag = "th" if _is_header(row) else "td"
    line = etree.SubElement(table, "tr")
    for cell in row:
        if name_of(cell).lower() in _CELLS:
            made = etree.SubElement(line, tag, rowspan=_rowspan(cell))
            made.text = words_of(cell)
            colspan = _colspan(cell, columns)
            if colspan:
                made.set("colspan", colspan)


def _is_header(row: Any) -> bool:
    inside = name_of(row).lower() in _HEADS or name_of(row.getparent()).lower() in _HEADS
    return inside or row.get("role") == "label"  # in TEI


def _colspan(cell: Any, columns: list[str]) -> str:
    """Return a cell's column span: CALS names the first and the last column, TEI gives the number."""
    first, last = cell.get("namest"), cell.get("nameend")
    if first in columns and last in columns:
        return str(columns.index(last) - columns.index(first) + 1)
    return cell.get("cols") or ""


def _rowspan(cell: Any) -> str:
    """Return a cell's row span: CALS gives the additional rows, TEI the total."""
    more = whole(cell.get("morerows"), -1)
    return cell.get("rows") or "1" if more < 0 else str(more + 1)
