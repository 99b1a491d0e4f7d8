"""PDF cell columns: where the columns of rows of cells stand, and whether they are those of a table."""

from collections import Counter
from itertools import chain, pairwise
from statistics import median

from docmill.tasks.parse.pdf.layout.page_table import Item
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import merged_spans

Cell = list[TextLine]  # one below the other
Row = list[Cell]
Column = list[Cell]
Span = tuple[float, float]

# Letters in a cell, on average and at most. Longer cells are columns of running text; lower bounds lose descriptions.
_SHORT = 28, 160
_SENTENCES = 200, 600  # where a header, or cells of several lines, say that it is a table

_ALIGNED = 2.5
"""Points, times the number of columns, by which cells of a column may miss its left, its right and its middle.

Less loses tables whose cells are indented or rounded; more takes lines of text with wide spaces for rows.
"""
_NAME, _LEAST_NAMES = 14, 2  # letters of a figure or a name, and columns of these beside one of text
_MOST_PARTED = 0.75
"""Share of the rows with one piece at most in each column. In the others, the words of a cell stand far apart, as those
of justified text do in a narrow column; with less, lines of such text are rows."""
_MARK = 6  # letters of the number of a clause: "(viii)"
_MIN_TALLER = 2
"""Rows with a cell of several lines that the page's content keeps together: what columns of text, written line by line,
have none of."""


def columns_of(rows: list[Row]) -> list[Span]:
    """Return where the columns of rows begin and end, from the left; no columns where rows do not fit each other.

    Where the cells of all rows leave gaps between them, these are the columns, though a few cells may come in pieces;
    else those of the rows that have most often the same number of cells, for some may span several columns.
    """
    several = [row for row in rows if len(row) > 1]
    spans = _whole(merged_spans(span_of(cell) for row in several for cell in row), several)
    if len(spans) > 1 and sum(_are_parted(row, spans) for row in several) >= _MOST_PARTED * len(several):
        return spans
    return _usual_columns(several) if several else []


def _usual_columns(rows: list[Row]) -> list[Span]:
    """Return the columns of rows of one number of cells, the most frequent that has columns; none if none has."""
    counts = Counter(map(len, rows))
    for width in sorted(counts, key=lambda width: (counts[width], width), reverse=True):
        columns = zip(*[row for row in rows if len(row) == width], strict=True)
        spans = [span_of([*chain.from_iterable(column)]) for column in columns]
        if counts[width] > 1 and all(left[1] < right[0] for left, right in pairwise(spans)):
            return spans
    return []


def _whole(spans: list[Span], rows: list[Row]) -> list[Span]:
    """Return columns, those joined of which the header stands in one and all cells below it in the next.

    So it is where a header begins at the left and the cells below it end at the right.
    """
    if len(spans) < 2:
        return spans
    filled = [{place_of(cell, spans) for cell in row} for row in rows]
    within = [{row for row, places in enumerate(filled) if place in places} for place in range(len(spans))]
    whole = spans[:1]
    for place, span in enumerate(spans[1:], 1):
        if {0} in within[place - 1 : place + 1] and not within[place - 1] & within[place]:
            whole[-1] = (whole[-1][0], span[1])
        else:
            whole.append(span)
    return whole


def _are_parted(row: Row, spans: list[Span]) -> bool:
    places = [place_of(cell, spans) for cell in row]
    return len({*places}) == len(places)


def are_doubtful(rows: list[Row], spans: list[Span], headed: bool, banded: bool) -> bool:
    """Return whether something says that columns, below a header or not, in rows that are `banded`, are no table's."""
    columns = _columns(rows, spans)
    if _are_contents(columns) or (_are_long(columns, _SHORT) and not (banded or _may_hold_text(rows, columns, headed))):
        return True
    held = _in_one(columns, spans) if banded else columns
    return any(_stands_askew(rows, column, headed, len(spans)) for column in held[1:])


def _in_one(columns: list[Column], spans: list[Span]) -> list[Column]:
    """Return columns without cells that stand over several, which are no lines of text where rules part the rows."""
    return [[cell for cell in column if len(places_over(cell, spans)) == 1] for column in columns]


def _may_hold_text(rows: list[Row], columns: list[Column], headed: bool) -> bool:
    """Return whether cells may hold sentences: below a header, or in cells of several lines beside names."""
    if _begin_with_text(columns) or _are_long(columns, _SENTENCES):
        return False
    return headed or (_has_taller_cells(rows) and not _are_marked(columns))


def _columns(rows: list[Row], spans: list[Span]) -> list[Column]:
    """Return the cells of each column, from the top; those of rows of one cell may belong to the row above."""
    columns: list[Column] = [[] for _ in spans]
    for row in rows:
        for place, cell in _placed(row, spans).items() if len(row) > 1 else ():
            columns[place].append(cell)
    return columns


def _placed(row: Row, spans: list[Span]) -> dict[int, Cell]:
    """Return the cells of a row by their columns; pieces in one column are one cell."""
    cells: dict[int, Cell] = {}
    for cell in row:
        place = place_of(cell, spans)
        if place >= 0:
            cells[place] = cells.get(place, []) + cell
    return cells


def _stands_askew(rows: list[Row], column: Column, headed: bool, width: int) -> bool:
    """Return whether cells align at neither their left ends, their right ends nor their middles.

    A header may stand otherwise than the cells below it, and span several columns if these are several.
    """
    if not column:
        return False
    loose = headed or (len(rows[0]) < width and len(column) > 2)
    below = column[1:] if loose and len(column) > 1 and column[0] in rows[0] else column
    return _stray(below) > _ALIGNED * width


def _stray(column: Column) -> float:
    spans = [span_of(cell) for cell in column]
    sides = [left for left, _ in spans], [right for _, right in spans], [(left + right) / 2 for left, right in spans]
    return min(max(side) - min(side) for side in sides)


def _has_taller_cells(rows: list[Row]) -> bool:
    """Return whether the cells of several rows have several lines each of which stands below the one before."""
    return sum(len(row) > 1 and any(len(cell) > 1 for cell in row) for row in rows) >= _MIN_TALLER


def _are_long(columns: list[Column], bounds: tuple[int, int]) -> bool:
    """Return whether cells hold as much text as columns of prose do."""
    letters = [_letters(cell) for column in columns for cell in column]
    mean, most = bounds
    return sum(letters) > mean * len(letters) or max(letters) > most


def _begin_with_text(columns: list[Column]) -> bool:
    """Return whether the first column holds text, as columns of text below a rule do, and no names of rows.

    Columns of figures or names beside it are none of text.
    """
    first, *others = (median(map(_letters, column)) for column in columns)
    return first > _SHORT[0] and sum(letters <= _NAME for letters in others) < _LEAST_NAMES


def _are_marked(columns: list[Column]) -> bool:
    """Return whether the first of two columns holds numbers of clauses, signs of items or names of speakers."""
    if len(columns) > 2:
        return False
    marks = sum(_is_mark(" ".join(line.text for line in cell)) for cell in columns[0])
    return 2 * marks > len(columns[0])


def _is_mark(text: str) -> bool:
    return not any(map(str.isalpha, text)) or text.endswith(":") or (len(text) <= _MARK and text.endswith((".", ")")))


def _are_contents(columns: list[Column]) -> bool:
    """Return whether these are the two columns of a table of contents: titles, and only page numbers."""
    if len(columns) > 2:
        return False
    titles, numbers = columns
    named = any(any(map(str.isalpha, line.text)) for cell in titles for line in cell)
    return named and all(line.text.strip(". ").isdecimal() for cell in numbers for line in cell)


def _letters(cell: Cell) -> int:
    return sum(len(line.text) for line in cell)


def in_cells(row: list[Item]) -> Row:
    """Return a row's lines in cells: a line that begins left of the end of the one before stands below it."""
    cells: Row = []
    for line in row:
        if not isinstance(line, TextLine):
            continue
        if cells and line.box[0] < cells[-1][-1].box[2]:
            cells[-1].append(line)
        else:
            cells.append([line])
    return cells


def place_of(cell: Cell, spans: list[Span]) -> int:
    """Return the column that a cell stands in, the first of several, -1 for none."""
    over = places_over(cell, spans)
    return over[0] if over else -1


def places_over(cell: Cell, spans: list[Span]) -> list[int]:
    """Return the columns that a cell stands in."""
    first, last = span_of(cell)
    return [number for number, (left, right) in enumerate(spans) if first < right and last > left]


def within(spans: list[Span], start: float, end: float) -> list[int]:
    """Return the places of the spans that begin behind `start` and end before `end`."""
    return [at for at, (first, last) in enumerate(spans) if start < first and last < end]


def span_of(lines: list[TextLine]) -> Span:
    """Return where lines begin on the left and end on the right."""
    if len(lines) == 1:  # as nearly all cells
        left, _, right, _ = lines[0].box
        return left, right
    return min(line.box[0] for line in lines), max(line.box[2] for line in lines)


def lines_of(rows: list[Row]) -> list[TextLine]:
    """Return the lines of rows of cells."""
    return [*chain.from_iterable(chain.from_iterable(rows))]
