"""PDF tables without upright rules: taken for tables only where rows of short cells stand in clear columns."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise
from statistics import median

from docmill.tasks.parse.pdf.layout.grid import Item, Table, header_rows
from docmill.tasks.parse.pdf.layout.level_rows import STRAY, gap, is_parted, middle, rows_of
from docmill.tasks.parse.pdf.text.hyphens import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.place import around_all
from docmill.tasks.parse.pdf.text.rules import LevelRules

Cell = list[TextLine]  # one below the other
Row = list[Cell]
Span = tuple[float, float]

_MIN_ROWS = 3
_MIN_RULED = 2  # where a rule stands under the first
_MIN_PAIRS = 4  # two columns are also made by forms, lists and contents: more rows are wanted
_MIN_SHARE = 0.6
_MEAN_LETTERS = 28
_MAX_LETTERS = 160
_MEAN_HEADED, _MAX_HEADED = 200, 600
_ALIGNED = 2.5
_FAR = 1.9
_HIGH = 0.5
_WIDER = 1.6  # than between the rows above
_TRIES = 3


def with_tables(items: list[Item], rules: LevelRules) -> list[Item]:
    """Return items in their order, runs of rows that surely are a table as one; `rules` are the page's."""
    rows = rows_of(items, rules)
    least = _MIN_RULED if rules else _MIN_ROWS
    if len(items) - len(rows) < least:
        return items
    out: list[Item] = []
    start = 0
    while start < len(rows):
        end = _end(rows, start, rules)
        for first, last in _tries(rows, start, end):
            table = _table(rows[first:last], rules) if last - first >= least else None
            if table is not None:
                out += [*chain(*rows[start:first]), table]
                end = last
                break
        else:
            end = max(end, start + 1)
            out += chain(*rows[start:end])
        start = end
    return out


def _tries(rows: list[list[Item]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where a table may begin and end among rows: the first may be above it, others below one of its ends."""
    ends = [place for place in range(end - 1, start, -1) if len(rows[place]) == 1 < len(rows[place - 1])]
    for last in [end, *ends[: _TRIES - 1]]:
        for first in range(start, min(last, start + _TRIES)):
            yield first, last


def _end(rows: list[list[Item]], start: int, rules: LevelRules) -> int:
    """Return where the run of rows ends that begins here with at least two cells."""
    if len(rows[start]) < 2:
        return start
    end, last, widest = start + 1, start + 1, 0.0
    while end < len(rows) and _is_below(rows[end - 1], rows[end], rules) and not _is_heading(rows[end], rows[last - 1]):
        apart = gap(rows[end - 1], rows[end])
        if end > start + 1 and not is_parted(rows[end - 1], rows[end], rules):  # nor below the header
            if apart > _WIDER * widest > 0:
                break
            widest = max(apart, widest, _HIGH * (rows[end][0].box[3] - rows[end][0].box[1]))
        end += 1
        if len(rows[end - 1]) > 1:
            last = end
        elif end - last > 2:
            break
    return last


def _is_heading(row: list[Item], cells: list[Item]) -> bool:
    """Return whether a row is one piece from the left in another font than the cells above it."""
    one, other = row[0], cells[0]
    if len(row) > 1 or not isinstance(one, TextLine) or not isinstance(other, TextLine):
        return False
    alike = one.font == other.font and abs(one.size - other.size) < 0.05 * one.size
    return one.box[0] < other.box[0] + STRAY and not alike


def _is_below(above: list[Item], row: list[Item], rules: LevelRules) -> bool:
    one, other = above[0], row[0]
    if not isinstance(one, TextLine) or not isinstance(other, TextLine) or abs(one.size - other.size) > 0.25 * one.size:
        return False
    top, apart = min(item.box[1] for item in row), gap(above, row)
    if top <= min(item.box[1] for item in above):
        return False
    if apart < _FAR * other.size:
        return True
    return apart < 2 * _FAR * other.size and is_parted(above, row, rules)


def _table(rows: list[list[Item]], rules: LevelRules) -> Table | None:
    """Return the table that rows are, None unless that is sure."""
    cut = [_in_cells(row) for row in rows]
    counts = Counter(len(row) for row in cut if len(row) > 1)
    width, full = max(counts.items(), key=lambda found: (found[1], found[0]))
    full += counts[width - 1] if width > 2 else 0  # where one cell stands beside several rows
    header = cut[0] if len(cut[0]) == width else None
    ruled = header is not None and _is_ruled(header, cut[1], rules)
    headed = header is not None and _is_bold(header) and not _is_bold(cut[1])
    least = _MIN_RULED if ruled else _MIN_ROWS if width > 2 or headed else _MIN_PAIRS
    if full < least or sum(counts.values()) < _MIN_SHARE * len(cut):
        return None
    whole = [row for row in cut if len(row) == width]
    spans = [_span([line for row in whole for line in row[column]]) for column in range(width)]
    if any(left[1] >= right[0] for left, right in pairwise(spans)) or not _is_sure(whole, ruled or headed):
        return None
    cells = _cells(cut, _with_sides(spans, cut))
    if cells is None:
        return None
    lines = [line for row in cut for cell in row for line in cell]
    return Table(cells, header_rows(cells), around_all([line.box for line in lines]), lines[0].page)


def _is_ruled(first: Row, second: Row, rules: LevelRules) -> bool:
    """Return whether a rule parts the first row, all of it, from the second."""
    lines = [line for cell in first for line in cell]
    left, top, right, _ = around_all([line.box for line in lines])
    return rules.between((top + middle(lines[0])) / 2, middle(second[0][0]), left, right)


def _in_cells(row: list[Item]) -> Row:
    cells: Row = []
    for line in row:
        if not isinstance(line, TextLine):
            continue
        if cells and line.box[0] < cells[-1][-1].box[2]:
            cells[-1].append(line)
        else:
            cells.append([line])
    return cells


def _is_bold(row: Row) -> bool:
    return all(line.font.bold for cell in row for line in cell)


def _is_sure(rows: list[Row], headed: bool) -> bool:
    columns = [list(column) for column in zip(*rows, strict=True)]
    for column in columns[1:]:
        lefts, rights = zip(*map(_span, column), strict=True)
        middles = [(left + right) / 2 for left, right in zip(lefts, rights, strict=True)]
        if min(max(side) - min(side) for side in (lefts, rights, middles)) > _ALIGNED * len(columns):
            return False
    letters = [[sum(len(line.text) for line in cell) for cell in column] for column in columns]
    mean, most = (_MEAN_HEADED, _MAX_HEADED) if headed else (_MEAN_LETTERS, _MAX_LETTERS)
    if sum(map(sum, letters)) > mean * len(rows) * len(columns) or max(map(max, letters)) > most:
        return False
    if headed and median(letters[0]) > _MEAN_LETTERS:
        return False  # columns of text below a rule
    # A list of contents has titles and page numbers.
    return len(columns) > 2 or not _is_contents(*columns)


def _is_contents(titles: list[Cell], numbers: list[Cell]) -> bool:
    named = any(any(map(str.isalpha, line.text)) for cell in titles for line in cell)
    return named and all(line.text.strip(". ").isdecimal() for cell in numbers for line in cell)


def _with_sides(spans: list[Span], cut: list[Row]) -> list[Span]:
    """Return columns and, left and right of them, those of the cells that only some of the rows have."""
    left = [_span(row[0]) for row in cut if len(row) > 1 and _span(row[0])[1] <= spans[0][0]]
    right = [_span(row[-1]) for row in cut if len(row) > 1 and _span(row[-1])[0] >= spans[-1][1]]
    sides = [[_around(some)] if some else [] for some in (left, right)]
    return sides[0] + spans + sides[1]


def _around(spans: list[Span]) -> Span:
    return min(start for start, _ in spans), max(end for _, end in spans)


def _cells(cut: list[Row], spans: list[Span]) -> list[list[str]] | None:
    rows: list[list[list[str]]] = []
    for row in cut:
        places = [_column(cell, spans) for cell in row]
        if -1 in places:
            return None
        if not (rows and len(row) == 1 and (places[0] > 0 or row[0][0].text[:1].islower())):
            rows.append([[] for _ in spans])
        for cell, place in zip(row, places, strict=True):
            rows[-1][place] += [line.text for line in cell]
    return [[joined(cell, Vocabulary()) for cell in row] for row in rows]


def _column(cell: Cell, spans: list[Span]) -> int:
    """Return the column that a cell stands in, the first of several, -1 for none."""
    first, last = _span(cell)
    over = [number for number, (left, right) in enumerate(spans) if first < right and last > left]
    return over[0] if over else -1


def _span(lines: list[TextLine]) -> Span:
    return min(line.box[0] for line in lines), max(line.box[2] for line in lines)
