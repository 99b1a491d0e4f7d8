"""PDF aligned tables: tables without vertical rules, found as rows of short cells in clear columns."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, pairwise

from docmill.tasks.parse.pdf.layout.cell_columns import (
    Row,
    Span,
    are_doubtful,
    columns_of,
    fitting_rows,
    in_cells,
    lines_of,
    place_of,
    repeats_header,
    rest_of_row,
    widened,
    with_header,
)
from docmill.tasks.parse.pdf.layout.grid_cells import header_rows
from docmill.tasks.parse.pdf.layout.growth import with_headers
from docmill.tasks.parse.pdf.layout.level_rows import STRAY, gap, is_parted, middle, rows_of
from docmill.tasks.parse.pdf.layout.page_table import Item, PageTable
from docmill.tasks.parse.pdf.text.characters import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules

# How many whole rows make a table. With fewer, a date beside an address becomes one; with more, small tables stay text.
_MIN_ROWS = 3
_MIN_HEADED = 2  # where a rule below the first row, or its bold letters, say that it is a header
_EXACT = 0.5  # points between the beginnings of the cells of two rows: chance brings three words no closer
_MIN_PAIRS = 4  # two columns are also made by forms, lists and contents
_MIN_SHARE = 0.6
"""Share of the rows that have two cells or more. With less, most of the rows are lines of text."""

_FAR = 1.9
"""Font sizes between two rows, twice that where a rule stands there. More joins two tables, less splits one."""
_WIDER = 1.6
"""How much wider than between the rows above a gap may be: beyond it another table begins."""
_FAR_WIDER = 3.0  # the same where a rule stands in it, above a sum or above the next table, and in none of the others
_LEAST_GAP = 0.5  # of a line's height: tighter rows do not make the next gap a wide one
_SAME_SIZE = 0.05  # of the font size: more is another font
_CELL_SIZE = 0.25  # of the font size: rows that differ more, a title and its text, are no rows of one table
_HEADER_SIZE = 0.4  # the same of a bold header, which may be set in small capitals
_LEADING = 0.3  # heights of a line between the lines of one name of a column
_LEAST_BANDS = 3  # rows that rules part: fewer rules are those around a header and a sum
_TRIES = 3  # beginnings, and ends, that are tried for each run of rows: a caption may stand above, a note below
_MOST_SINGLE = 2  # rows of one cell in succession; three are a paragraph below the table


def with_tables(items: list[Item], rules: LevelRules, code: bool, before: PageTable | None = None) -> list[Item]:
    """Return items in their order, with each run of rows that is surely a table as one item.

    `rules` are the page's horizontal rules. If letters of one width are `code`, what they align is part of a listing.
    `before` is the table at the end of the page before, which the first rows may go on.
    """
    rows = rows_of(items, rules)
    start, more = _more_of(before, rows, rules) if before else (0, list[Item]())
    out: list[Item] = []
    if not more and _are_single(items, rows):
        return items
    while start < len(rows):
        if len(rows[start]) < 2:  # as nearly all are: no table begins there
            some, start = rows[start], start + 1
        else:
            some, start = _next_items(rows, start, code, rules)
        out += some
    return more + with_headers(out, rules)


def _are_single(items: list[Item], rows: list[list[Item]]) -> bool:
    """Return whether so few items stand beside another that these are no table, and there is none among them."""
    return len(items) - len(rows) < _MIN_HEADED and not any(isinstance(item, PageTable) for item in items)


def _more_of(before: PageTable, rows: list[list[Item]], rules: LevelRules) -> tuple[int, list[Item]]:
    """Return how many rows go on the table of the page before, and these as a table; 0 and none if none do."""
    if repeats_header(rows[0], before):
        return _more_below_header(before, rows, rules)
    start = next((at for at, row in enumerate(rows[: _MOST_SINGLE + 1]) if len(row) > 1), 0)  # the rest of a row first
    if any(_is_heading(row, rows[start]) for row in rows[:start]):
        return 0, []
    cut = fitting_rows(rows[: _end(rows, start, rules)], before.columns)
    table = _more(before.columns, cut, rules)
    return (0, []) if table is None else (len(cut), [table])


def _more_below_header(before: PageTable, rows: list[list[Item]], rules: LevelRules) -> tuple[int, list[Item]]:
    """As `_more_of`, where the page repeats the header."""
    columns = with_header(before, in_cells(rows[0]))
    rest = rest_of_row(rows[1:], columns)
    start = 1 + len(rest)
    end = _end(rows, start, rules) if start < len(rows) else start
    below = fitting_rows(rows[start:end], columns, headed=True)
    table = _more(columns, [in_cells(rest), *below] if rest else below, rules)
    if table is None:
        return 0, []
    table.cells.insert(0, before.cells[0])
    table.cut = bool(rest)
    return start + len(below), [table]


def _more(columns: list[Span], cut: list[Row], rules: LevelRules) -> PageTable | None:
    spans = widened(columns, cut)
    cells = _cells(cut, spans, rules) if cut else None
    return None if cells is None else _made(cells, cut, spans)


def _made(cells: list[list[str]], cut: list[Row], spans: list[Span]) -> PageTable:
    lines = lines_of(cut)
    box = around_all([line.box for line in lines])
    return PageTable(cells, header_rows(cells), box, lines[0].page, columns=spans)


def _next_items(rows: list[list[Item]], start: int, code: bool, rules: LevelRules) -> tuple[list[Item], int]:
    """Return the items from a row on, up to and with the table found there, and the row after them.

    Letters of one width are `code`, or those of a typewriter.
    """
    end = _end(rows, start, rules)
    for first, last in _tries(rows, start, end):
        some = rows[first:last]
        table = _table(some, rules) if len(some) >= _MIN_HEADED and not (code and _is_mono(some)) else None
        if table is not None:
            return [*chain(*rows[start:first]), table], last
    end = max(end, start + 1)
    return [*chain(*rows[start:end])], end


def _is_mono(rows: list[list[Item]]) -> bool:
    return all(isinstance(item, TextLine) and item.font.mono for row in rows for item in row)


def _tries(rows: list[list[Item]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where a table may begin and end: its run's first rows may stand above it, its last rows below."""
    ends = [place for place in range(end - 1, start, -1) if len(rows[place]) == 1 < len(rows[place - 1])]
    for last in [end, *ends[: _TRIES - 1]]:
        for first in range(start, min(last, start + _TRIES)):
            yield first, last


def _end(rows: list[list[Item]], start: int, rules: LevelRules) -> int:
    """Return the end of the run of rows that begins here; it begins with at least two cells, else it is empty."""
    if len(rows[start]) < 2:
        return start
    last, widest = start + 1, 0.0
    for place in range(start + 1, len(rows)):
        above, row = rows[place - 1], rows[place]
        if not _is_next(above, row, rows[last - 1], rules):
            break
        if place > start + 1:  # a header, too, stands further from its rows
            apart, parted = gap(above, row), is_parted(above, row, rules)
            if apart > (_FAR_WIDER if parted else _WIDER) * widest > 0:
                break
            widest = widest if parted else max(apart, widest, _LEAST_GAP * (row[0].box[3] - row[0].box[1]))
        if len(row) > 1:
            last = place + 1
        elif place + 1 - last > _MOST_SINGLE:
            break
    return last


def _is_next(above: list[Item], row: list[Item], cells: list[Item], rules: LevelRules) -> bool:
    """Return whether a row may go on the table of the row above it; `cells` is the last row of several cells."""
    return _is_below(above, row, rules) and not _is_heading(row, cells)


def _are_bold(row: list[Item]) -> bool:
    return all(isinstance(item, TextLine) and item.font.bold for item in row)


def _is_heading(row: list[Item], cells: list[Item]) -> bool:
    """Return whether a row is one piece in the first column, or left of it, in another font than the cells above it."""
    one, other = row[0], cells[0]
    if len(row) > 1 or not isinstance(one, TextLine) or not isinstance(other, TextLine):
        return False
    alike = one.font == other.font and abs(one.size - other.size) < _SAME_SIZE * one.size
    return one.box[0] < max(other.box[0] + STRAY, other.box[2]) and not alike


def _is_below(above: list[Item], row: list[Item], rules: LevelRules) -> bool:
    """Return whether a row is closely below another, in a font of about its size."""
    one, other = above[0], row[0]
    if not isinstance(one, TextLine) or not isinstance(other, TextLine):
        return False
    most = _HEADER_SIZE if len(above) > 1 < len(row) and _are_bold(above) else _CELL_SIZE
    if abs(one.size - other.size) > most * one.size or _top(row) <= _top(above):
        return False
    apart = gap(above, row)
    if apart < _FAR * other.size:
        return True
    return apart < 2 * _FAR * other.size and is_parted(above, row, rules)


def _top(row: list[Item]) -> float:
    return min(item.box[1] for item in row)


def _table(rows: list[list[Item]], rules: LevelRules) -> PageTable | None:
    """Return the table in these rows, or None unless that is sure."""
    cut = [in_cells(row) for row in rows]
    spans = columns_of(cut)
    if len(spans) < 2:
        return None
    ruled, headed = _is_ruled(cut, spans, rules), _is_set_apart(cut, len(spans))
    few = ruled or headed or _are_a_pair(cut, len(spans))
    enough = _are_enough(Counter(map(len, cut)), len(spans), _least_rows(len(spans), few))
    if not enough or are_doubtful(cut, spans, ruled or headed, _are_banded(cut, spans, rules)):
        return None
    cells = _cells(cut, spans, rules)
    return None if cells is None else _made(cells, cut, spans)


def _is_ruled(cut: list[Row], spans: list[Span], rules: LevelRules) -> bool:
    """Return whether a rule, or the end of a fill, below all of the first row, a header, parts it from the second.

    Where the header leaves out some columns, that is below all of the table, and the second row is no header.
    """
    first, second, *more = cut
    if len(first) < 2:
        return False
    lines = lines_of([first])
    left, top, right, _ = around_all([line.box for line in lines])
    if len(first) < len(spans):
        left, right = spans[0][0], spans[-1][1]
        if more and rules.parts(middle(second[0][0]), middle(more[0][0][0]), left, right):
            return False
    where = (top + middle(lines[0])) / 2, middle(second[0][0]), left, right
    return rules.parts(*where)


def _are_banded(cut: list[Row], spans: list[Span], rules: LevelRules) -> bool:
    """Return whether rules, or the edges of fills, as wide as the table part most of the rows of several cells."""
    rows = [row for row in cut if len(row) > 1]
    heights = [middle(row[0][0]) for row in rows]
    parted = sum(rules.parts(upper, lower, spans[0][0], spans[-1][1]) for upper, lower in pairwise(heights))
    return parted >= _LEAST_BANDS and parted >= _MIN_SHARE * (len(rows) - 1)


def _is_set_apart(cut: list[Row], width: int) -> bool:
    """Return whether the first row is bold, or slanted, and the second is not; one of more columns may be empty."""
    if len(cut[0]) < max(width - 1, 2):
        return False
    return any(_are_all(cut[0], style) and not _are_all(cut[1], style) for style in ("bold", "italic"))


def _are_all(row: Row, style: str) -> bool:
    return all(getattr(line.font, style) for cell in row for line in cell)


def _are_a_pair(cut: list[Row], width: int) -> bool:
    """Return whether two rows stand alone and all of their cells, in three columns or more, begin exactly alike."""
    if len(cut) > _MIN_HEADED or width < _MIN_ROWS or any(len(row) < width for row in cut):
        return False
    return all(abs(one[0].box[0] - other[0].box[0]) < _EXACT for one, other in zip(*cut, strict=True))


def _least_rows(width: int, few: bool) -> int:
    """Return the minimum number of complete rows: fewer if other signs say that they are a table."""
    if few:
        return _MIN_HEADED
    return _MIN_ROWS if width > 2 else _MIN_PAIRS


def _are_enough(counts: Counter[int], width: int, least: int) -> bool:
    """Return whether enough rows are whole, and enough of all have several cells."""
    full = counts[width] + (counts[width - 1] if width > 2 else 0)  # one cell may stand beside several rows
    rows = counts.total()
    return full >= least and rows - counts[1] >= _MIN_SHARE * rows


def _cells(cut: list[Row], spans: list[Span], rules: LevelRules) -> list[list[str]] | None:
    """Return the texts of cells by row and column, None where a cell stands in no column."""
    rows: list[defaultdict[int, list[str]]] = []
    for at, row in enumerate(cut):
        places = [place_of(cell, spans) for cell in row]
        if -1 in places:
            return None
        if not at or not _is_more(cut[at - 1], row, places[0], rules):
            rows.append(defaultdict(list))
        for cell, place in zip(row, places, strict=True):
            rows[-1][place] += [line.text for line in cell]
    return [_texts(row, len(spans)) for row in rows]


def _is_more(above: Row, row: Row, column: int, rules: LevelRules) -> bool:
    """Return whether a row is the next line of a cell above: alone, and further right or within a sentence."""
    if len(row) > 1 or is_parted([*chain.from_iterable(above)], [*row[0]], rules):
        return False
    if _are_all(above, "bold") and not _are_all(row, "bold"):  # the rest of a row below a header on a new page
        return False
    return column > 0 or row[0][0].text[:1].islower()


def _texts(row: dict[int, list[str]], width: int) -> list[str]:
    return [joined(row.get(column, ()), Vocabulary()) for column in range(width)]
