"""PDF cell columns: find the columns of rows of cells, and decide whether the rows are a table."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise, takewhile
from statistics import median
from unicodedata import category

from docmill.tasks.parse.pdf.layout.rows import LAYOUT, Cell, PlacedRow, Row, Span, is_value, span_of
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import merged_spans, spans_over

Column = list[Cell]

# Letters in a cell, on average and at most. Longer cells are columns of prose; lower bounds lose descriptions.
_SHORT = 28, 160
_MIN_UNEVEN = 3  # rows with cells of different heights that begin on one level; chance brings two
_OFF_LEVEL = 0.2  # font sizes by which levels of cells may differ; half a line is more
_SENTENCES = 200, 600  # if a header, or cells of several lines, show that it is a table

_ALIGNED = 2.5
"""Points, times the number of columns, by which cells of a column may be out of alignment.

Less loses tables with indented or rounded cells; more mistakes lines of text with wide spaces for rows.
"""
_NAME, _LEAST_NAMES = 14, 2  # letters of a figure or a name, and columns of these next to one of text
_MOST_PARTED = 0.75
"""Minimum share of rows with at most one piece in each column. In other rows, the words of a cell are far apart, as in
justified text in a narrow column; a lower share makes lines of such text rows."""
_MOST_WORDS = 2  # of one figure: "$ 71.15"; a line with more has the figures of several columns
_MARK = 6  # letters of the number of a clause: "(viii)"


def columns_of(rows: list[Row]) -> tuple[list[Span], list[PlacedRow]]:
    """Return the spans of the columns of rows, from the left, and the rows in them; no spans if they fit no columns.

    If the cells of all rows leave gaps, the columns are between these gaps; a few cells may come in pieces. Otherwise
    some cells may span several columns, and the columns are those of the rows with the most frequent number of cells.
    """
    several = [row for row in rows if len(row) > 1]
    spans = _whole(merged_spans(span_of(cell) for row in several for cell in row), several)
    if len(spans) < 2 or sum(_are_parted(row, spans) for row in several) < _MOST_PARTED * len(several):
        spans = _usual_columns(several)
    return spans, [_placed_in(row, spans) for row in rows]


def columns_of_figures(levels: list[list[TextLine]]) -> tuple[list[Span], bool]:
    """Return the columns of figures and of the words next to them, and whether these words are names of rows.

    There are no columns if too few are of figures.
    """
    rows = [at for at, level in enumerate(levels) if has_figures(level)]
    seeds = [levels[at] for at in rows]
    figures = merged_spans(chain.from_iterable(map(_spans_of_figures, seeds)))
    sure = _sure(figures, seeds)
    if len(sure) < LAYOUT.figures:
        return [], False
    lines = [*chain.from_iterable(levels[rows[0] : rows[-1] + 1])]
    names = _of_words(lines, (float("-inf"), sure[0][0]), len(seeds))
    beside = _of_words(lines, (figures[-1][1], float("inf")), len(seeds))
    if not names + beside:  # a date or a number may precede the names
        names = _of_words(lines, (sure[0][1], sure[1][0]), len(seeds))
    others = [span for span in figures if span >= sure[0] and not spans_over(span, names)]
    return sorted([*names, *others, *beside]), bool(names)


def _spans_of_figures(level: list[TextLine]) -> Iterator[Span]:
    """Yield the spans of the figures of a level, including currency signs before them."""
    signs: list[float] = []
    for line in sorted(level, key=lambda one: one.left):
        if _is_currency(line):
            signs.append(line.left)
        elif _is_figure(line):
            yield min([line.left, *signs]), line.right
            signs = []


def _is_currency(line: TextLine) -> bool:
    return all(map("Sc".__eq__, map(category, line.text)))


def has_figures(level: list[TextLine]) -> bool:
    """Return whether a level has several figures; one line may contain those of several columns."""
    words = [len(line.text.split()) for line in level if is_value(line.text)]
    return sum(count if count > _MOST_WORDS else 1 for count in words) >= LAYOUT.figures


def _is_figure(line: TextLine) -> bool:
    return is_value(line.text) and len(line.text.split()) <= _MOST_WORDS


def _sure(figures: list[Span], levels: list[list[TextLine]]) -> list[Span]:
    """Return the columns in which most levels have text, and few of them words."""
    held, words = [0] * len(figures), [0] * len(figures)
    for level in levels:
        over = [(place, is_value(line.text)) for line in level for place in spans_over(line.box[::2], figures)]
        for place in {place for place, _ in over}:
            held[place] += 1
            words[place] += (place, False) in over
    least, most = len(levels) / 2, LAYOUT.mixed * len(levels)
    return [span for at, span in enumerate(figures) if held[at] > least and words[at] < most]


def _of_words(lines: list[TextLine], sides: Span, rows: int) -> list[Span]:
    """Return the columns of row names between two sides, next to the figures of rows; running text there is not one."""
    words = [line for line in lines if sides[0] <= line.left and line.right <= sides[1] and not _is_currency(line)]
    spans = merged_spans(line.box[::2] for line in words)
    nearest = reversed(spans) if sides[1] < float("inf") else spans
    return sorted(takewhile(lambda span: _are_names(words, span, rows), nearest))


def _are_names(words: list[TextLine], span: Span, rows: int) -> bool:
    """Return whether a column has enough lines of words for names of rows, with few letters in each."""
    own = [sum(map(str.isalnum, line.text)) for line in words if spans_over(line.box[::2], [span])]
    return len(own) >= LAYOUT.named * rows and sum(own) <= LAYOUT.name_letters * len(own)


def _usual_columns(rows: list[Row]) -> list[Span]:
    """Return the columns of the rows with the most frequent number of cells that has clear columns; else none."""
    counts = Counter(map(len, rows))
    for width in sorted(counts, key=lambda width: (counts[width], width), reverse=True):
        columns = zip(*[row for row in rows if len(row) == width], strict=True)
        spans = [span_of([*chain.from_iterable(column)]) for column in columns]
        if counts[width] > 1 and all(left[1] < right[0] for left, right in pairwise(spans)):
            return spans
    return []


def _whole(spans: list[Span], rows: list[Row]) -> list[Span]:
    """Return columns; two are joined if the header is in one and all cells below it are in the next.

    This happens when the header is aligned left and the cells below it right.
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


def are_doubtful(rows: list[PlacedRow], width: int, headed: bool, banded: bool) -> bool:
    """Return whether there are signs against a table of this many columns.

    It may have a header, and its rows may be `banded` by rules. Rows of one cell may belong to the row above.
    """
    several = [row for row in rows if len(row) > 1]
    columns = _columns(several, width)
    long = _are_long(columns, _SHORT)
    if not banded and _are_marked(columns, long):
        return True
    if long and not banded and not _may_hold_text(several, columns, headed):
        return True
    first = rows[0] if headed or len(rows[0]) < width else {}
    return any(_stand_askew(column, first.get(at), width) for at, column in enumerate(columns[1:], 1))


def _columns(rows: list[PlacedRow], width: int) -> list[Column]:
    """Return the cells of each column, from the top."""
    return [[row[place] for row in rows if place in row] for place in range(width)]


def _may_hold_text(rows: list[PlacedRow], columns: list[Column], headed: bool) -> bool:
    """Return whether cells may contain sentences: below a header, or in cells of several lines next to names."""
    if _are_level(rows):
        return not _are_long(columns, _SENTENCES)
    if _begin_with_text(columns) or _are_long(columns, _SENTENCES):
        return False
    # Columns of text that are written line by line have no cells of several lines.
    return headed or any(len(cell) > 1 for row in rows for cell in row.values())


def _are_level(rows: list[PlacedRow]) -> bool:
    """Return whether the cells of all rows with cells of different heights begin on one level, or have one middle."""
    uneven = [row for row in rows if len({*map(len, row.values())}) > 1]
    if len(uneven) < _MIN_UNEVEN:
        return False
    return any(all(_apart(row, last) < _OFF_LEVEL for row in uneven) for last in (0, -1))


def _apart(row: PlacedRow, last: int) -> float:
    """Return how far apart the middles of cells are, from the first line to the `last`, in font sizes."""
    cells = list(row.values())
    middles = [(cell[0].box[1] + cell[last].box[3]) / 2 for cell in cells]
    return (max(middles) - min(middles)) / cells[0][0].size


def _placed_in(row: Row, spans: list[Span]) -> PlacedRow:
    """Return the cells of a row by column; pieces in one column are one cell. Column -1 has those in no column."""
    cells: PlacedRow = {}
    for cell in row:
        place = place_of(cell, spans)
        cells[place] = cells.get(place, []) + cell
    return cells


def _stand_askew(column: Column, first: Cell | None, width: int) -> bool:
    """Return whether cells share neither their left edges, their right edges nor their middles.

    A header, which may be the `first` cell, may be aligned differently, and may span several columns.
    """
    below = column[1:] if len(column) > 2 and column[0] is first else column
    return bool(below) and _stray(below) > _ALIGNED * width


def _stray(column: Column) -> float:
    spans = [span_of(cell) for cell in column]
    sides = [left for left, _ in spans], [right for _, right in spans], [(left + right) / 2 for left, right in spans]
    return min(max(side) - min(side) for side in sides)


def _are_long(columns: list[Column], bounds: tuple[int, int]) -> bool:
    """Return whether cells contain as much text as columns of prose."""
    letters = [_letters(cell) for column in columns for cell in column]
    mean, most = bounds
    return sum(letters) > mean * len(letters) or max(letters) > most


def _begin_with_text(columns: list[Column]) -> bool:
    """Return whether the first column is text, as in columns of text below a rule, and not names of rows.

    With enough columns of figures or names next to it, it is not.
    """
    first, *others = (median(map(_letters, column)) for column in columns)
    return first > _SHORT[0] and sum(letters <= _NAME for letters in others) < _LEAST_NAMES


def _are_marked(columns: list[Column], long: bool) -> bool:
    """Return whether the first of two columns has list marks, or names of clauses or speakers next to text."""
    if len(columns) > 2:
        return False
    texts = [" ".join(line.text for line in cell) for cell in columns[0]]
    return 2 * sum(_is_marked(text, long) for text in texts) > len(texts)


def _is_marked(text: str, long: bool) -> bool:
    if len(text) <= _MARK and (text.endswith((".", ")")) or not any(map(str.isalnum, text))):
        return True
    return long and (text.endswith(":") or not any(map(str.isalpha, text)))


def _letters(cell: Cell) -> int:
    return sum(len(line.text) for line in cell)


def place_of(cell: Cell, spans: list[Span]) -> int:
    """Return the column that a cell is in, the first of several, -1 for none."""
    return next(iter(spans_over(span_of(cell), spans)), -1)
