"""HTML tables: which of them hold data, and their cells."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from lxml import etree

from docmill.tasks.parse.canvas import even
from docmill.tasks.parse.formulas.scripts import with_fractions

_PAGE = etree.XPath("boolean(.//h1 | .//h2 | .//h3 | .//form)")
_INNER = etree.XPath("boolean(.//table)")
_BLOCKS = etree.XPath("boolean(.//ul | .//ol | .//pre | .//blockquote)")
_DATA = etree.XPath("boolean(.//th | ./thead | ./caption) and not(@role = 'presentation' or @role = 'none')")
_PARTS = ("p", "div", "li", "ul", "ol", "dl", "dt", "dd", "pre", "blockquote", "h4", "h5", "h6", "hr")
_MAX_SPAN = 100
"""Maximum columns or rows of one cell.

Pages state thousands to mean "all of them", which would be drawn one by one; a cell that really is wider is cut here,
and those after it are in the wrong columns.
"""
_MAX_DIGITS = 5
"""Digits of a span. More are noise, and Python refuses to parse numbers of thousands of digits."""
_PARTED = {"li": "; ", "tr": "; "}  # what parts an item, or an inner row, from the next; cells have a comma
_EVEN_ROWS = 3  # rows of as many cells that a table without a header has, if there are lists or tables in it
_SHORT_CELL = 300  # characters of each of its cells: a page of columns has longer ones
_LONG_CELL = 1_500
"""Characters of a cell from which a table is a page layout.

With less, tables of long remarks are torn apart; with more, a page of two columns is drawn as one row, its paragraphs
run together.
"""


def is_data_table(table: Any) -> bool:
    """Return whether a table has rows and columns of short texts and is not a page layout.

    A table with a header or a caption may have lists and code in its cells, and small tables; so may one of several
    rows of as many cells, if all of them are short.
    """
    cells = [[*row.iterchildren("td", "th")] for row in own_rows(table)]
    widths = [len(row) for row in cells]
    # One row or one column is no table: pages use them to draw boxes.
    if len(widths) < 2 or max(widths) < 2 or _PAGE(table):
        return False
    return max(len("".join(cell.itertext())) for row in cells for cell in row) < _longest(table, widths)


def _longest(table: Any, widths: list[int]) -> int:
    """Return how long the cells of a table of such rows may be."""
    if _DATA(table) or not (_INNER(table) or _BLOCKS(table)):
        return _LONG_CELL
    return _SHORT_CELL if len(widths) >= _EVEN_ROWS and len(set(widths)) == 1 else 0


def own_rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table without those of tables inside it."""
    return (row for row in table.iter("tr") if next(row.iterancestors("table"), table) is table)


def table_rows(table: Any, line_break: str) -> tuple[list[list[str]], int, str]:
    """Return a table's rows, how many of them are its header, and its caption.

    A cell over several columns is followed by empty ones; one over several rows is repeated.
    """
    _set_apart(table)
    drawn = [(row, cells) for row in own_rows(table) if (cells := list(row.iterchildren("td", "th")))]
    headers = sum(1 for _ in takewhile(lambda one: _is_header(*one), drawn))
    pending: dict[int, tuple[int, str]] = {}
    rows = [_row(cells, pending, line_break) for _, cells in drawn]
    caption = table.find("caption")
    text = "" if caption is None else "".join(caption.itertext()).replace(line_break, " ")
    return rows, headers or header_rows(even(rows)), text


def _set_apart(table: Any) -> None:
    """Put spaces around the blocks in a table's cells, whose words would touch, and replace pictures by words."""
    for block in table.iter(*_PARTS):
        block.text, block.tail = " " + (block.text or ""), " " + (block.tail or "")
    # What is counted up in a cell, or a row of a table in it, stays apart from the next.
    for one in [*table.iter("li"), *_inner(table)]:
        if one.getnext() is not None:
            one.tail = _PARTED.get(one.tag, ", ") + (one.tail or "").lstrip()
    for picture in table.iter("img"):
        picture.tail = _shown(picture) + (picture.tail or "")


def _inner(table: Any) -> list[Any]:
    """Return the rows and cells of the tables inside a table."""
    return [one for one in table.iter("tr", "td", "th") if next(one.iterancestors("table"), table) is not table]


def _is_header(row: Any, cells: list[Any]) -> bool:
    return row.getparent().tag == "thead" or all(cell.tag == "th" for cell in cells)


def _shown(picture: Any) -> str:
    """Return the alternative text of a picture if it has several words, or if its cell has no other text."""
    said = " ".join((picture.get("alt") or "").split())
    cell = next(picture.iterancestors("td", "th"), None)
    is_all = cell is None or not "".join(cell.itertext()).strip()
    return f" {said} " if " " in said or is_all else " "


def _row(cells: list[Any], pending: dict[int, tuple[int, str]], line_break: str) -> list[str]:
    """Return the texts of a row; `pending` has, by column, how many rows a cell above still spans, and its text."""
    row: list[str] = []
    for cell in cells:
        _carry(row, pending)
        text = with_fractions(" ".join("".join(cell.itertext()).replace(line_break, " ").split()))
        below = _span(cell, "rowspan") - 1
        for column in range(_span(cell, "colspan")):
            shown = "" if column else text
            if below:
                pending[len(row)] = (below, shown)
            row.append(shown)
    _carry(row, pending)
    return row


def _carry(row: list[str], pending: dict[int, tuple[int, str]]) -> None:
    """Add to a row the cells from above that span its next columns."""
    while len(row) in pending:
        left, text = pending.pop(len(row))
        if left > 1:
            pending[len(row)] = (left - 1, text)
        row.append(text)


def _span(cell: Any, name: str) -> int:
    stated = cell.get(name)
    if stated is None:
        return 1
    value = stated.strip()
    if not value.isascii() or not value.isdigit() or len(value) > _MAX_DIGITS:
        return 1
    return max(1, min(int(value), _MAX_SPAN))


def header_rows(rows: list[list[str]]) -> int:
    """Return 1 if the first row looks like a header: every cell filled, none with a digit."""
    first = rows[0] if rows else []
    return int(bool(first) and all(cell and not any(map(str.isdigit, cell)) for cell in first))
