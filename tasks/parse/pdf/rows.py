"""PDF rows: tables without rules, taken for tables only where rows of short cells stand in clear columns."""

from collections import Counter
from itertools import chain, pairwise

from tasks.parse.canvas import Box
from tasks.parse.pdf.grid import Item, Table, header_rows
from tasks.parse.pdf.page import Line
from tasks.parse.pdf.words import Words, joined

Row = list[Line]
Span = tuple[float, float]

_MIN_ROWS = 3
_MIN_PAIRS = 4  # two columns are also made by forms, lists and contents: more rows are wanted
_MIN_SHARE = 0.6
_MEAN_LETTERS = 28
_MAX_LETTERS = 160
_ALIGNED = 2.5
_FAR = 1.9
_TRIES = 3


def with_tables(items: list[Item]) -> list[Item]:
    """Return items in their order, runs of rows that surely are a table as one."""
    rows = _rows(items)
    if len(items) - len(rows) < _MIN_ROWS:
        return items
    out: list[Item] = []
    start = 0
    while start < len(rows):
        end = _end(rows, start)
        # Its first rows may be above a table.
        for first in range(start, max(start + 1, min(end - _MIN_ROWS, start + _TRIES))):
            table = _table(rows[first:end]) if end - first >= _MIN_ROWS else None
            if table is not None:
                out += [*chain(*rows[start:first]), table]
                break
        else:
            end = max(end, start + 1)
            out += chain(*rows[start:end])
        start = end
    return out


def _is_beside(one: Item, other: Item) -> bool:
    if not isinstance(one, Line) or not isinstance(other, Line) or other.box[0] < one.box[2]:
        return False
    overlap = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    return overlap > 0.5 * min(one.height, other.height)


def _rows(items: list[Item]) -> list[list[Item]]:
    rows = [items[:1]]
    for before, item in pairwise(items):
        if _is_beside(before, item):
            rows[-1].append(item)
        else:
            rows.append([item])
    return rows


def _end(rows: list[list[Item]], start: int) -> int:
    """Return where the run of rows ends that begins here with at least two cells."""
    if len(rows[start]) < 2:
        return start
    end, last = start + 1, start + 1
    while end < len(rows) and _is_below(rows[end - 1], rows[end]):
        end += 1
        if len(rows[end - 1]) > 1:
            last = end
        elif end - last > 2:
            break
    return last


def _is_below(above: list[Item], row: list[Item]) -> bool:
    one, other = above[0], row[0]
    if not isinstance(one, Line) or not isinstance(other, Line) or abs(one.size - other.size) > 0.25 * one.size:
        return False
    return other.box[1] - one.box[1] > 0 and other.box[1] - one.box[3] < _FAR * other.size


def _table(rows: list[list[Item]]) -> Table | None:
    """Return the table that rows are, None unless that is sure."""
    lines: list[Row] = [[item for item in row if isinstance(item, Line)] for row in rows]
    counts = Counter(len(row) for row in lines if len(row) > 1)
    width, full = max(counts.items(), key=lambda found: (found[1], found[0]))
    if full < (_MIN_ROWS if width > 2 else _MIN_PAIRS) or sum(counts.values()) < _MIN_SHARE * len(lines):
        return None
    whole = [row for row in lines if len(row) == width]
    spans = [_span([row[column] for row in whole]) for column in range(width)]
    if any(left[1] >= right[0] for left, right in pairwise(spans)) or not _is_sure(whole):
        return None
    cells = _cells(lines, spans)
    if cells is None:
        return None
    box = _box([line for row in lines for line in row])
    return Table(cells, header_rows(cells), box, lines[0][0].page)


def _is_sure(rows: list[Row]) -> bool:
    columns = [list(column) for column in zip(*rows, strict=True)]
    for column in columns[1:]:
        lefts, rights = [line.box[0] for line in column], [line.box[2] for line in column]
        middles = [(left + right) / 2 for left, right in zip(lefts, rights, strict=True)]
        if min(max(side) - min(side) for side in (lefts, rights, middles)) > _ALIGNED * len(columns):
            return False
    letters = [len(line.text) for row in rows for line in row]
    if sum(letters) > _MEAN_LETTERS * len(letters) or max(letters) > _MAX_LETTERS:
        return False
    # A list of contents has titles and page numbers.
    return len(columns) > 2 or not _is_contents(*columns)


def _is_contents(titles: Row, numbers: Row) -> bool:
    named = any(any(map(str.isalpha, line.text)) for line in titles)
    return named and all(line.text.strip(". ").isdecimal() for line in numbers)


def _cells(lines: list[Row], spans: list[Span]) -> list[list[str]] | None:
    rows: list[list[list[str]]] = []
    for line in lines:
        places = [_column(piece, spans) for piece in line]
        if -1 in places:
            return None
        if rows and len(line) == 1 and (places[0] > 0 or line[0].text[:1].islower()):
            rows[-1][places[0]].append(line[0].text)
            continue
        rows.append([[] for _ in spans])
        for piece, place in zip(line, places, strict=True):
            rows[-1][place].append(piece.text)
    return [[joined(cell, Words()) for cell in row] for row in rows]


def _column(piece: Line, spans: list[Span]) -> int:
    """Return the column that a piece stands in, the first of several, -1 for none."""
    over = [number for number, (left, right) in enumerate(spans) if piece.box[0] < right and piece.box[2] > left]
    return over[0] if over else -1


def _span(lines: Row) -> Span:
    return min(line.box[0] for line in lines), max(line.box[2] for line in lines)


def _box(lines: Row) -> Box:
    sides = list(zip(*(line.box for line in lines), strict=True))
    return (min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3]))
