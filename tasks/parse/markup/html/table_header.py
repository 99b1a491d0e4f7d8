"""Table header: which rows of an HTML table are marked as the names of its columns."""

from itertools import takewhile
from typing import Any

from docmill.tasks.parse.tables.header_rows import MOST_HEADER_ROWS, spanned_rows
from docmill.tasks.parse.trees import whole

Drawn = list[tuple[Any, list[Any]]]
"""The rows of a table, each with its cells."""
_LEAST_ROWS = 2  # a header needs a row below it
_BOLD = frozenset(("b", "strong"))
_MAX_SPAN = 100
"""Maximum columns or rows of one cell.

Pages state thousands to mean "all of them", which would be drawn one by one; a cell that really is wider is cut here,
and those after it are in the wrong columns.
"""
_MAX_DIGITS = 5  # of a span; more are noise


def marked_rows(drawn: Drawn) -> int:
    """Return how many rows a header has: by its elements, by cells that span rows and columns, or by bold letters."""
    headed = bool(drawn) and drawn[0][0].getparent().tag == "thead"
    marked = sum(1 for _ in takewhile(lambda one: _is_header(*one, headed), drawn))
    if 0 < marked < len(drawn) and marked <= MOST_HEADER_ROWS:
        return marked
    return min(marked, 1) if marked or len(drawn) < _LEAST_ROWS else _unmarked_rows(drawn)


def _unmarked_rows(drawn: Drawn) -> int:
    """Return how many rows a header has that no element marks."""
    first, second = drawn[0][1], drawn[1][1]
    sizes = [(span(cell, "rowspan"), span(cell, "colspan")) for cell in first]
    return spanned_rows(sizes, len(drawn)) or int(_is_bold(first) and not _is_bold(second))


def _is_header(row: Any, cells: list[Any], headed: bool) -> bool:
    """Return whether a row names columns; below a `thead`, a row of `th` is the title of a group of rows."""
    if headed or row.getparent().tag == "thead":
        return bool(row.getparent().tag == "thead")
    if all(cell.tag == "th" for cell in cells):
        return True
    # The corner above the names of rows is often an empty cell.
    return cells[-1].tag == "th" and all(cell.tag == "th" or not "".join(cell.itertext()).strip() for cell in cells)


def _is_bold(cells: list[Any]) -> bool:
    """Return whether cells have text, and all of it is bold."""
    texts = [("".join(cell.itertext()).split(), _bold_words(cell)) for cell in cells]
    return len(texts) > 1 and any(words for words, _ in texts) and all(words == bold for words, bold in texts)


def _bold_words(cell: Any) -> list[str]:
    bold = (one for one in cell.iter(*_BOLD) if next(one.iterancestors(*_BOLD), None) is None)
    return " ".join("".join(one.itertext()) for one in bold).split()


def is_title(drawn: Drawn) -> bool:
    """Return whether a first row is a single cell of header over columns that the rows below it have."""
    cells = drawn[0][1]
    wide = len(cells) == 1 and cells[0].tag == "th" and span(cells[0], "colspan") > 1
    return wide and span(cells[0], "colspan") >= _width(drawn[1][1])


def _width(cells: list[Any]) -> int:
    return sum(span(cell, "colspan") for cell in cells)


def names_rows(drawn: Drawn) -> bool:
    """Return whether the header of a table is its first column."""
    return all(cells[0].tag == "th" and any(cell.tag == "td" for cell in cells) for _, cells in drawn)


def span(cell: Any, name: str) -> int:
    """Return how many rows or columns a cell spans."""
    return max(1, min(whole(cell.get(name), 1, _MAX_DIGITS), _MAX_SPAN))
