"""Table rows: cells that span rows and columns, and which rows at the top name the columns, if this is not stated."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice, pairwise, takewhile
from typing import TypeVar

Rows = Sequence[Sequence[str]]

REPEATED = 80  # maximum characters of a cell that is repeated in each row that it spans: names, but not passages
MOST_HEADER_ROWS = 4  # more rows are data whose cells all look like those of a header
_LEAST_ROWS = 2  # a header needs a row below it
_SAMPLE = 20  # rows that are searched for figures
_LEAST_NAMES = 2  # of a row below groups; a single name is a value
_LEAST_TITLED = 3  # names below a title: of two, the first is often the name of a value and not of a column
_FIGURES = 0.5  # share of the named columns with figures below: with less, the row may be data
_YEARS = range(1800, 2200)
"""Numbers that may name columns. A wider range treats amounts as years; a narrower one excludes history or plans."""
_YEAR = re.compile(r"(\d{4})(?: ?[-\u2013/] ?(?:\d\d){1,2})?")  # 2023, or a financial year: 2023-24
_NUMBER = re.compile(r"[$\u20ac\u00a3]?[-+\u2212(]?[$\u20ac\u00a3]?\.?\d(?:.*\d)?\.?\)?(?: ?[$\u20ac\u00a3])?|.*%")
MOST_SPANNED = 100
"""Maximum columns or rows of one cell. Files write thousands to mean "all of them", which would be drawn one by one; a
cell that really is wider is cut here, and the cells after it are in the wrong columns."""

Cell = TypeVar("Cell")


def is_number(text: str) -> bool:
    """Return whether a cell is a number, an amount, a date in digits or a percentage."""
    return _NUMBER.fullmatch(text) is not None


def is_year(text: str) -> bool:
    """Return whether a number may name a column."""
    year = _YEAR.fullmatch(text)
    return year is not None and int(year[1]) in _YEARS


def header_depth(rows: Rows, stated: int | None = None) -> int:
    """Return how many rows name the columns: the stated number, or 1 if the first row looks like names.

    It is more if the rows above the last one name groups of its columns, which formats often do not state.
    """
    if stated in (None, 1) and (depth := _groups_above(rows)):
        return depth
    if stated is None:
        return int(len(rows) >= _LEAST_ROWS and _are_names(rows[0]))
    return stated


def titles_above(rows: Rows, stated: int | None = None) -> int:
    """Return how many rows are titles of a table, above the names of its columns.

    A title spans all columns: it is in every cell of a stated header row, or alone in a row above names.
    """
    if stated:
        return sum(1 for _ in takewhile(_is_title, pairwise(rows[: stated + 1])))
    count = sum(1 for _ in takewhile(lambda row: row[0] and not any(row[1:]), rows[:MOST_HEADER_ROWS]))
    below = rows[count:]
    depth = header_depth(below) if count and len(below) >= _LEAST_ROWS else 0
    return count if sum(map(bool, column_names(below, depth))) >= _LEAST_TITLED else 0


def _is_title(pair: tuple[Sequence[str], Sequence[str]]) -> bool:
    """Return whether a header row has the same text in all columns, and differs from the row below it."""
    row, below = pair
    return len(row) > 1 and len(set(row)) == 1 and row != below


def column_names(rows: Rows, depth: int) -> list[str]:
    """Return the names of a table's columns, each joined from all header rows."""
    return one_header(rows[: depth + 1], depth)[0] if rows and depth else []


def _are_names(row: Sequence[str]) -> bool:
    """Return whether a row names columns: it has two or more texts and no numbers except years."""
    filled = list(filter(None, row))
    numbers = list(filter(is_number, filled))
    if numbers:
        named = len(numbers) < len(filled) or not row[0]  # a text beside the years, or a blank above the names
        return named and all(map(is_year, numbers))
    return len(filled) > 1 or len(row) < 2


def _groups_above(rows: Rows) -> int:
    """Return the number of rows of a header whose last row names columns and whose other rows name groups of them.

    All columns have names, except perhaps the first. Either the last row is blank below each name that is above one
    column only, or there are figures below it.
    """
    heads = (rows[:depth] for depth in range(_LEAST_ROWS, min(MOST_HEADER_ROWS, len(rows) - 1) + 1))
    for head in takewhile(_may_name, heads):
        if all(map(any, islice(zip(*head, strict=True), 1, None))) and _spans(head[-2], head[-1]):
            named = [column for column, name in enumerate(head[-1]) if name]
            sure = _completes(head[-2], head[-1]) or _have_figures(rows[len(head) : _SAMPLE], named)
            return len(head) if len(named) >= _LEAST_NAMES and sure else 0
    return 0


def _may_name(head: Rows) -> bool:
    """Return whether rows have equal width and no figures, and each row except the last spans names below it."""
    even = len({*map(len, head)}) == 1 and not any(map(_is_figure, chain(*head)))
    return even and all(_spans(*pair, most=1) for pair in pairwise(head))


def _is_figure(text: str) -> bool:
    return is_number(text) and not is_year(text)


def _spans(first: Sequence[str], second: Sequence[str], most: int = 0) -> bool:
    """Return whether a name in the first row is above several names of the second, at most `most` of them blank."""
    pairs = zip(pairwise(first), pairwise(second), strict=True)
    above = (two for (left, right), two in pairs if left and right in ("", left))
    return any(one != other and (one, other).count("") <= most for one, other in above)


def _completes(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the second row is blank below each name that is above one column, and there are such names."""
    pairs = zip(("", *first), first, (*first[1:], None), second, strict=False)
    below = [under for before, name, after, under in pairs if name and before != name and after not in ("", name)]
    return bool(below) and not any(below)


def _have_figures(rows: Rows, columns: Sequence[int]) -> bool:
    """Return whether most of the columns have figures in most of their filled cells."""
    cells = [[row[column] for row in rows if column < len(row) and row[column]] for column in columns]
    return sum(2 * sum(map(is_number, one)) > len(one) for one in cells) > _FIGURES * len(columns)


def spanned_rows(sizes: list[tuple[int, int]], rows: int) -> int:
    """Return the depth of a header from the rows and columns that each cell of the first row spans; 0 if none.

    Each cell of it spans either columns, or as many rows as all the others.
    """
    deep = max((over_rows for over_rows, _ in sizes), default=0)
    groups = [over_columns for over_rows, over_columns in sizes if over_rows == 1]
    if not groups or min(groups) == 1 or not 1 < deep < min(rows, MOST_HEADER_ROWS):
        return 0
    return deep if all(over_rows in (1, deep) for over_rows, _ in sizes) else 0


def one_header(rows: Rows, depth: int) -> list[list[str]]:
    """Return rows whose first row names the columns: header rows are joined column by column, each text once."""
    drawn = [list(row) for row in rows]
    if not 1 < depth < len(drawn):
        return _named_once(drawn) if depth == 1 else drawn
    head = drawn[:depth]
    for above in range(depth - 2, -1, -1):
        head[above] = _filled(head[above], head[above + 1])
    width = max(map(len, head))
    names = (dict.fromkeys(row[column] for row in head if column < len(row)) for column in range(width))
    return _named_once([[" ".join(filter(None, parts)) for parts in names], *drawn[depth:]])


def _filled(groups: list[str], below: list[str]) -> list[str]:
    """Return group names, each repeated in the blanks to its right below which a column has a name."""
    filled = list(groups)
    for column in range(1, min(len(groups), len(below))):
        if not filled[column] and below[column]:
            filled[column] = filled[column - 1] if below[column - 1] not in ("", groups[column - 1]) else ""
    return filled


def _named_once(rows: list[list[str]]) -> list[list[str]]:
    """Return rows whose header does not repeat a name for a column that no other row uses."""
    for column in range(len(rows[0]) - 1 if len(rows) > 1 else 0, 0, -1):
        if rows[0][column] == rows[0][column - 1] and not any("".join(row[column : column + 1]) for row in rows[1:]):
            rows[0][column] = ""
    return rows


def spread(
    rows: Iterable[Sequence[tuple[Cell, int, int]]],
    headers: int,
    blank: Cell,
    repeated: Callable[[Cell], Cell] = lambda cell: cell,
) -> list[list[Cell]]:
    """Return rows of cells; each cell is given with the number of rows and columns that it spans.

    A cell that spans columns is followed by blank cells, but in the first `headers` rows it is repeated in all of them.
    A cell that spans rows is in each of them; below the first, it is what `repeated` returns.
    """
    drawn, pending = list[list[Cell]](), dict[int, tuple[int, Cell]]()
    for number, cells in enumerate(rows):
        row = list[Cell]()
        for cell, over_rows, over_columns in cells:
            _carry(row, pending)
            for column in range(min(over_columns, MOST_SPANNED)):
                shown = blank if column and number >= headers else cell
                if over_rows > 1:
                    pending[len(row)] = (min(over_rows, MOST_SPANNED) - 1, repeated(shown))
                row.append(shown)
        _carry(row, pending)
        drawn.append(row)
    return drawn


def _carry(row: list[Cell], pending: dict[int, tuple[int, Cell]]) -> None:
    """Add to a row the cells from above that span its next columns; `pending` has the remaining rows by column."""
    while len(row) in pending:
        left, cell = pending.pop(len(row))
        if left > 1:
            pending[len(row)] = (left - 1, cell)
        row.append(cell)
