"""HTML tables: which tables contain data, their cells, and which rows are marked as column names."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from lxml import etree

from docmill.tasks.parse.passes.table_rows import MOST_HEADER_ROWS, MOST_SPANNED, REPEATED, spanned_rows, spread
from docmill.tasks.parse.superscripts import with_fractions
from docmill.tasks.parse.xml_trees import whole

_PAGE = etree.XPath("boolean(.//h1 | .//h2 | .//h3 | .//form)")
_INNER = etree.XPath("boolean(.//table)")
_BLOCKS = etree.XPath("boolean(.//ul | .//ol | .//pre | .//blockquote)")
_DATA = etree.XPath("boolean(.//th | ./thead | ./caption) and not(@role = 'presentation' or @role = 'none')")
_ROLES = etree.XPath("descendant::*[@role][@role = 'table' or @role = 'grid'][not(self::table)][.//*[@role = 'row']]")
_NAMELESS = ("div", "span", "section", "ul", "li", "p", "a")
_BY_ROLE = {
    **dict.fromkeys(("table", "grid"), "table"),
    "row": "tr",
    **dict.fromkeys(("cell", "gridcell"), "td"),
    **dict.fromkeys(("columnheader", "rowheader"), "th"),
}
_PARTS = ("p", "div", "li", "ul", "ol", "dl", "dt", "dd", "pre", "blockquote", "h4", "h5", "h6", "hr")
_PARTED = {"li": "; ", "tr": "; "}  # separators after an item or an inner row; cells have a comma
_EVEN_ROWS = 3  # rows of equal width that a table without a header must have if it contains lists or tables
_SHORT_CELL = 300  # characters of each of its cells: a page laid out in columns has longer ones
_LONG_CELL = 1_500
"""Characters of a cell above which a table is a page layout. With less, tables of long remarks would be torn apart;
with more, a page of two columns would become one row with its paragraphs run together."""
Drawn = list[tuple[Any, list[Any]]]
"""The rows of a table, each with its cells."""
_LEAST_ROWS = 2  # a header needs a row below it
_BOLD = frozenset(("b", "strong"))
_MAX_DIGITS = 5  # of a span; more are noise


def name_tables(root: Any) -> None:
    """Rename the elements of tables that are tables only by their roles."""
    for table in _ROLES(root):
        for node in table.iter(*_NAMELESS):
            node.tag = _BY_ROLE.get(node.get("role") or "", node.tag)


def is_data_table(table: Any) -> bool:
    """Return whether a table has rows and columns of short texts and is not a page layout.

    A table with a header or a caption may have lists, code and small tables in its cells; so may a table with several
    rows of equal width, if all cells are short.
    """
    cells = [[*row.iterchildren("td", "th")] for row in own_rows(table)]
    widths = [len(row) for row in cells]
    # A single row or column is not a table: pages use them to draw boxes.
    if len(widths) < 2 or max(widths) < 2 or _PAGE(table):
        return False
    return max(len("".join(cell.itertext())) for row in cells for cell in row) < _longest(table, widths)


def _longest(table: Any, widths: list[int]) -> int:
    """Return how long the cells of a table with such rows may be."""
    if _DATA(table) or not (_INNER(table) or _BLOCKS(table)):
        return _LONG_CELL
    return _SHORT_CELL if len(widths) >= _EVEN_ROWS and len(set(widths)) == 1 else 0


def own_rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table, without those of tables inside it."""
    return (row for row in table.iter("tr") if next(row.iterancestors("table"), table) is table)


def _as_shown(table: Any) -> list[Any]:
    """Return the rows of a table in the order in which browsers show them: its head first, its foot last."""
    groups = {part: next(table.iterchildren(part), None) for part in ("thead", "tfoot")}
    places = {groups["thead"]: 0, groups["tfoot"]: 2}
    return sorted(own_rows(table), key=lambda row: places.get(row.getparent(), 1))


def table_rows(table: Any, line_break: str) -> tuple[list[list[str]], int | None, str]:
    """Return a table's rows, the number of header rows, None if unknown, and its caption.

    A cell over several columns is followed by empty cells; a cell over several rows is repeated unless it is long.
    """
    _set_apart(table)
    drawn = [(row, cells) for row in _as_shown(table) if (cells := list(row.iterchildren("td", "th")))]
    caption = table.find("caption")
    said = [] if caption is None else ["".join(caption.itertext())]
    while len(drawn) > 1 and is_title(drawn):
        said.append("".join(drawn.pop(0)[1][0].itertext()))
    headers = marked_rows(drawn)
    sized = ([_sized(cell, line_break) for cell in cells] for _, cells in drawn)
    rows = spread(sized, headers, "", lambda text: text if len(text) <= REPEATED else "")
    return rows, headers or (0 if names_rows(drawn) else None), "\n".join(said).replace(line_break, " ")


def _sized(cell: Any, line_break: str) -> tuple[str, int, int]:
    """Return the text of a cell, and how many rows and columns it spans."""
    text = " ".join("".join(cell.itertext()).replace(line_break, " ").split())
    return with_fractions(text).replace(" ; ", "; "), span(cell, "rowspan"), span(cell, "colspan")


def _set_apart(table: Any) -> None:
    """Put spaces around blocks in cells, whose words would otherwise touch, and replace pictures by words."""
    for block in table.iter(*_PARTS):
        block.text, block.tail = " " + (block.text or ""), " " + (block.tail or "")
    _part_entries(table)
    _part_paragraphs(table)
    for picture in table.iter("img"):
        picture.tail = _shown(picture) + (picture.tail or "")


def _part_entries(table: Any) -> None:
    """Put separators between the entries in a cell: items, and the cells of an inner table."""
    for one in [*table.iter("li"), *_inner(table)]:
        if one.getnext() is not None:
            one.tail = _PARTED.get(one.tag, ", ") + (one.tail or "").lstrip()
    for first in (inner[0] for inner in table.iter("ul", "ol") if len(inner) and inner.getparent().tag == "li"):
        first.text = f"; {(first.text or '').lstrip()}"


def _part_paragraphs(table: Any) -> None:
    """Put a separator between paragraphs of a cell that have no punctuation at their ends."""
    for paragraph in table.iter("p"):
        if (after := paragraph.getnext()) is not None and after.tag == "p" and _is_open(paragraph):
            paragraph.tail = f"; {(paragraph.tail or '').lstrip()}"


def _is_open(paragraph: Any) -> bool:
    """Return whether a paragraph ends like an entry, without a sign that separates it from the next."""
    text = "".join(paragraph.itertext()).rstrip()
    return text[-1:].isalnum() or text.endswith(")")


def _inner(table: Any) -> list[Any]:
    """Return the rows and cells of the tables inside a table."""
    if not _INNER(table):  # as for nearly all tables
        return []
    return [one for one in table.iter("tr", "td", "th") if next(one.iterancestors("table"), table) is not table]


def _shown(picture: Any) -> str:
    """Return the alternative text of a picture if it has several words, or if its cell has no other text."""
    said = " ".join((picture.get("alt") or "").split())
    cell = next(picture.iterancestors("td", "th"), None)
    is_all = cell is None or not "".join(cell.itertext()).strip()
    return f" {said} " if " " in said or is_all else " "


def marked_rows(drawn: Drawn) -> int:
    """Return the number of header rows, judged by elements, by cells that span rows and columns, or by bold text."""
    headed = bool(drawn) and drawn[0][0].getparent().tag == "thead"
    marked = sum(1 for _ in takewhile(lambda one: _is_header(*one, headed), drawn))
    if 0 < marked < len(drawn) and marked <= MOST_HEADER_ROWS:
        return marked
    return min(marked, 1) if marked or len(drawn) < _LEAST_ROWS else _unmarked_rows(drawn)


def _unmarked_rows(drawn: Drawn) -> int:
    """Return the number of header rows if no element marks them."""
    first, second = drawn[0][1], drawn[1][1]
    sizes = [(span(cell, "rowspan"), span(cell, "colspan")) for cell in first]
    return spanned_rows(sizes, len(drawn)) or int(_is_bold(first) and not _is_bold(second))


def _is_header(row: Any, cells: list[Any], headed: bool) -> bool:
    """Return whether a row names columns; below a `thead`, a row of `th` is the title of a group of rows."""
    if headed or row.getparent().tag == "thead":
        return bool(row.getparent().tag == "thead")
    if all(cell.tag == "th" for cell in cells):
        return True
    # The corner above row names is often an empty cell.
    return cells[-1].tag == "th" and all(cell.tag == "th" or not "".join(cell.itertext()).strip() for cell in cells)


def _is_bold(cells: list[Any]) -> bool:
    """Return whether cells have text, all of which is bold."""
    texts = [("".join(cell.itertext()).split(), _bold_words(cell)) for cell in cells]
    return len(texts) > 1 and any(words for words, _ in texts) and all(words == bold for words, bold in texts)


def _bold_words(cell: Any) -> list[str]:
    bold = (one for one in cell.iter(*_BOLD) if next(one.iterancestors(*_BOLD), None) is None)
    return " ".join("".join(one.itertext()) for one in bold).split()


def is_title(drawn: Drawn) -> bool:
    """Return whether the first row is a single header cell over the columns of the rows below."""
    cells = drawn[0][1]
    wide = len(cells) == 1 and cells[0].tag == "th" and span(cells[0], "colspan") > 1
    return wide and span(cells[0], "colspan") >= _width(drawn[1][1])


def _width(cells: list[Any]) -> int:
    return sum(span(cell, "colspan") for cell in cells)


def names_rows(drawn: Drawn) -> bool:
    """Return whether a table's header is its first column."""
    return all(cells[0].tag == "th" and any(cell.tag == "td" for cell in cells) for _, cells in drawn)


def span(cell: Any, name: str) -> int:
    """Return how many rows or columns a cell spans."""
    return max(1, min(whole(cell.get(name), 1, _MAX_DIGITS), MOST_SPANNED))
