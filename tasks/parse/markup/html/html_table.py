"""HTML tables: which of them hold data, and their cells."""

from typing import Any

from lxml import etree

from docmill.tasks.parse.canvas import even

_LAYOUT = etree.XPath("boolean(.//table | .//h1 | .//h2 | .//h3 | .//form)")
_BLOCKS = etree.XPath("boolean(.//ul | .//ol | .//pre | .//blockquote)")
_DATA = etree.XPath("boolean(.//th | ./thead | ./caption) and not(@role = 'presentation' or @role = 'none')")
_PARTS = ("p", "div", "li", "ul", "ol", "dl", "dt", "dd", "pre", "blockquote", "h4", "h5", "h6", "hr")
_MAX_SPAN = 100
_LONG_CELL = 1_500


def is_data_table(table: Any) -> bool:
    """Return whether a table has rows and columns of short texts, rather than laying out a page.

    One with a header or a caption may have lists and code in its cells.
    """
    if _LAYOUT(table) or (_BLOCKS(table) and not _DATA(table)):
        return False
    rows = [sum(1 for _ in row.iterchildren("td", "th")) for row in table.iter("tr")]
    if len(rows) < 2 or max(rows) < 2:
        return False
    return all(len("".join(cell.itertext())) < _LONG_CELL for cell in table.iter("td", "th"))


def table_rows(table: Any, line_break: str) -> tuple[list[list[str]], int, str]:
    """Return a table's rows, how many of them are its header, and its caption.

    A cell over several columns is followed by empty ones; one over several rows is repeated.
    """
    for block in table.iter(*_PARTS):
        block.text, block.tail = " " + (block.text or ""), " " + (block.tail or "")
    for picture in table.iter("img"):
        picture.tail = _shown(picture) + (picture.tail or "")
    rows: list[list[str]] = []
    headers = 0
    pending: dict[int, tuple[int, str]] = {}
    for row in table.iter("tr"):
        cells = list(row.iterchildren("td", "th"))
        if not cells:
            continue
        if len(rows) == headers and (row.getparent().tag == "thead" or all(cell.tag == "th" for cell in cells)):
            headers += 1
        rows.append(_row(cells, pending, line_break))
    caption = table.find("caption")
    text = "" if caption is None else "".join(caption.itertext()).replace(line_break, " ")
    return rows, headers or header_rows(even(rows)), text


def _shown(picture: Any) -> str:
    """Return what is said instead of a picture: sentences, and a word where it is all that its cell says."""
    said = " ".join((picture.get("alt") or "").split())
    cell = next(picture.iterancestors("td", "th"), None)
    return f" {said} " if " " in said or cell is None or not "".join(cell.itertext()).strip() else " "


def _row(cells: list[Any], pending: dict[int, tuple[int, str]], line_break: str) -> list[str]:
    row: list[str] = []

    def carry() -> None:
        while len(row) in pending:
            left, text = pending.pop(len(row))
            if left > 1:
                pending[len(row)] = (left - 1, text)
            row.append(text)

    for cell in cells:
        carry()
        text = " ".join("".join(cell.itertext()).replace(line_break, " ").split())
        below = _span(cell, "rowspan") - 1
        for column in range(_span(cell, "colspan")):
            shown = "" if column else text
            if below:
                pending[len(row)] = (below, shown)
            row.append(shown)
    carry()
    return row


def _span(cell: Any, name: str) -> int:
    stated = cell.get(name)
    if stated is None:
        return 1
    value = stated.strip()
    return max(1, min(int(value), _MAX_SPAN)) if value.isascii() and value.isdigit() and len(value) < 6 else 1


def header_rows(rows: list[list[str]]) -> int:
    """Return 1 when the first row reads like a header: every cell filled, none with a digit."""
    first = rows[0] if rows else []
    return int(bool(first) and all(cell and not any(map(str.isdigit, cell)) for cell in first))
