"""Table header: which rows of an HTML table name its columns, and one row that says what they say."""

from itertools import takewhile
from typing import Any

Drawn = list[tuple[Any, list[Any]]]
"""The rows of a table, each with its cells."""
REPEATED = 80  # characters of a cell up to which it is repeated in each row that it spans: names, and no passages
_MOST_HEADER_ROWS = 4  # more are rows of data whose cells are all of the kind of a header
_LEAST_ROWS = 2  # a header needs a row below it
_BOLD = frozenset(("b", "strong"))
_MAX_SPAN = 100
"""Maximum columns or rows of one cell.

Pages state thousands to mean "all of them", which would be drawn one by one; a cell that really is wider is cut here,
and those after it are in the wrong columns.
"""
_MAX_DIGITS = 5
"""Digits of a span. More are noise, and Python refuses to parse numbers of thousands of digits."""


def marked_rows(drawn: Drawn) -> int:
    """Return how many rows a header has: by its elements, by cells that span rows and columns, or by bold letters."""
    headed = bool(drawn) and drawn[0][0].getparent().tag == "thead"
    marked = sum(1 for _ in takewhile(lambda one: _is_header(*one, headed), drawn))
    if 0 < marked < len(drawn) and marked <= _MOST_HEADER_ROWS:
        return marked
    return min(marked, 1) if marked or len(drawn) < _LEAST_ROWS else _unmarked_rows(drawn)


def _unmarked_rows(drawn: Drawn) -> int:
    """Return how many rows a header has that no element marks."""
    first, second = drawn[0][1], drawn[1][1]
    sizes = [(span(cell, "rowspan"), span(cell, "colspan")) for cell in first]
    return spanned_rows(sizes, len(drawn)) or int(_is_bold(first) and not _is_bold(second))


def spanned_rows(sizes: list[tuple[int, int]], rows: int) -> int:
    """Return how deep a header is, by how many rows and columns each cell of the first row spans; 0 if it is none.

    Each cell of it spans columns, or else as many rows as all others.
    """
    deep = max((over_rows for over_rows, _ in sizes), default=0)
    groups = [over_columns for over_rows, over_columns in sizes if over_rows == 1]
    if not groups or min(groups) == 1 or not 1 < deep < min(rows, _MOST_HEADER_ROWS):
        return 0
    return deep if all(over_rows in (1, deep) for over_rows, _ in sizes) else 0


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


def one_header(rows: list[list[str]], header_rows: int) -> list[list[str]]:
    """Return rows whose first names the columns: rows of header are joined by columns, each text once."""
    if not 1 < header_rows < len(rows):
        return rows
    width = max(map(len, rows[:header_rows]))
    names = (dict.fromkeys(row[column] for row in rows[:header_rows] if column < len(row)) for column in range(width))
    return [[" ".join(filter(None, parts)) for parts in names], *rows[header_rows:]]


def named_once(rows: list[list[str]]) -> list[list[str]]:
    """Return rows whose header does not name a column again that no other row uses."""
    for column in range(len(rows[0]) - 1 if len(rows) > 1 else 0, 0, -1):
        if rows[0][column] == rows[0][column - 1] and not any("".join(row[column : column + 1]) for row in rows[1:]):
            rows[0][column] = ""
    return rows


def header_rows(rows: list[list[str]]) -> int:
    """Return 1 if the first row looks like a header: every cell filled, none with a digit."""
    first = rows[0] if rows else []
    return int(bool(first) and all(cell and not any(map(str.isdigit, cell)) for cell in first))


def span(cell: Any, name: str) -> int:
    """Return how many rows or columns a cell spans."""
    stated = cell.get(name)
    if stated is None:
        return 1
    value = stated.strip()
    if not value.isascii() or not value.isdigit() or len(value) > _MAX_DIGITS:
        return 1
    return max(1, min(int(value), _MAX_SPAN))
