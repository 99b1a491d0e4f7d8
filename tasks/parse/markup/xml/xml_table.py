"""Tables of XML as HTML has them: those of OASIS (CALS), as DocBook and DITA use, of TEI, and of HTML itself."""

from typing import Any

from lxml import etree

from docmill.tasks.parse.markup.xml.xml_nodes import name_of, words_of

_ROWS = ("row", "strow", "sthead")
_CELLS = ("entry", "stentry", "cell")
_HEADS = ("thead", "sthead")


def html_table(node: Any) -> Any:
    """Return a table as the `table` element of an HTML tree, or None where it has no row that is known."""
    if next(node.iter("{*}tr"), None) is not None:
        written = etree.tostring(node, with_tail=False)
        return etree.fromstring(written, etree.HTMLParser(no_network=True, huge_tree=True)).find(".//table")
    rows = [one for one in node.iter() if name_of(one).lower() in _ROWS]
    if not rows:
        return None
    table = etree.Element("table")
    title = next((one for one in node if name_of(one).lower() in ("title", "head", "caption")), None)
    if title is not None:
        etree.SubElement(table, "caption").text = words_of(title)
    columns = [one.get("colname") or "" for one in node.iter() if name_of(one) == "colspec"]
    for row in rows:
        _add_row(table, row, columns)
    return table


def _add_row(table: Any, row: Any, columns: list[str]) -> None:
    header = any(name_of(one).lower() in _HEADS for one in (row, row.getparent())) or row.get("role") == "label"
    line = etree.SubElement(table, "tr")
    for cell in row:
        if name_of(cell).lower() not in _CELLS:
            continue
        made = etree.SubElement(line, "th" if header else "td")
        first, last = cell.get("namest"), cell.get("nameend")
        if first in columns and last in columns:
            made.set("colspan", str(columns.index(last) - columns.index(first) + 1))
        elif cell.get("cols"):
            made.set("colspan", cell.get("cols"))
        below = cell.get("morerows") or ""
        made.set("rowspan", str(int(below) + 1) if below.isdigit() and len(below) < 6 else cell.get("rows") or "1")
        made.text = words_of(cell)
