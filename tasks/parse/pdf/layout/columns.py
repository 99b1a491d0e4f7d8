"""PDF columns: lines cut at the gaps between cells, where the columns of rows stand, and what goes on a table."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, takewhile

from docmill.tasks.parse.pdf.layout.rows import LAYOUT, Cell, PageTable, Row, Span, is_value, span_of
from docmill.tasks.parse.pdf.text.gaps import Gap
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around, merged_spans, spans_over
from docmill.tasks.parse.pdf.text.right_to_left import is_right_to_left
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

DRAWN_BULLET = "\u2022"

_NEAR_ROWS, _FAR_ROWS = 5.5, 16.0
"""Heights of a line: the gaps of rows further up or down are of another table. Only where none is near, those further
away: cells of several lines stand between."""
_LEVEL = -0.3
"""Share of the lower line's height, which lines side by side share: a cell in the middle of its row is off by half."""
_MOST_LINES = 6  # of one cell: so many lines back a neighbour is looked for, which bounds the work for each line
_SAME_EDGE = 1.2  # points that the edges of one column may be apart
_EXACT = 0.3  # the same for words behind a narrower gap, which begin so near to the edge of a column by chance only
_GAP, _MONO_GAP = 0.4, 0.7
"""Font sizes. A gap must be wider than the spaces of a line, which in fonts of one width are as wide as letters."""
_FIGURES_GAP = 0.8  # font sizes between two figures: no space within a number, or in a row of them, is as wide
_END_GAP = 0.7
"""Font sizes of a gap in such a strip, in a line above or below all of its rows: a line of text stands there, too, and
the space beside a word in another font is half a size wide."""
_SHARED = 0.25  # font sizes that a gap and a strip share: a header that is centred may reach into its column's gap
_MOST_NEAR = 100  # gaps near a line that are looked at, which bounds the work for each line
_OUTLIER = 1.4  # times as wide as other gaps of its line: the spaces of justified text are all alike
_UNDRAWN_GAP = 0.6  # font sizes of a gap for which the page draws no space: beside code in a margin of its own is less
_LEAST_GAPS = 3  # of a line: with more, one for which the page draws no space tells something

_Gaps = list[tuple[Gap, bool]]  # of a line, each with whether the page draws no space there
_RowGap = tuple[float, float, float]  # between two cells: the height of their middle, where it begins, where it ends


def parted(line: TextLine, places: Sequence[float], layer: TextLayer) -> list[TextLine]:
    """Return a line in pieces, cut between words at each of the places, from the left.

    A bullet that is drawn as a shape is none of the page's letters, of which the pieces are made.
    """
    if not places:
        return [line]
    pieces = layer.parted(line, places)
    pieces[-1].ruled = line.ruled
    first = pieces[0]
    if first is not line and line.text.startswith(DRAWN_BULLET) and not first.text.startswith(DRAWN_BULLET):
        first.text = f"{DRAWN_BULLET} {first.text}"
        first.box = (line.box[0], *first.box[1:])
    return pieces


@dataclass(slots=True)
class _Strip:
    """What the gaps of some rows have in common, from the top."""

    left: float
    right: float
    gaps: list[_RowGap]

    def sides(self, height: float) -> int:
        """Return on how many sides of a height, above and below, its rows are."""
        return len({gap[0] > height for gap in self.gaps})

    def sides_alike(self, height: float, gap: Gap, stray: float) -> int:
        """Return on how many sides rows have a cell that ends, or one that begins, where a gap does."""
        return max(
            len({row > height for row, end, _ in self.gaps if abs(end - gap[0]) < stray}),
            len({row > height for row, _, start in self.gaps if abs(start - gap[1]) < stray}),
        )


def cut_as_neighbours(lines: list[TextLine], layer: TextLayer) -> list[TextLine]:
    """Return lines, those of rows cut at the gaps that rows near them leave free, too, and between figures."""
    gaps, places = _gaps_of_rows(lines)
    found: list[TextLine] = []
    for index, line in enumerate(lines):
        near = _crossing(line, gaps)
        beside = index in places
        figures = not any(map(str.isalpha, line.text))
        may_be_row = " " in line.text and (near or beside or figures)
        pieces = parted(line, _cuts(line, near, beside, figures, layer), layer) if may_be_row else [line]
        for one, other in pairwise(pieces):  # they tell where the next row is to be cut
            insort(gaps, (line.middle, one.right, other.left))
        found += pieces
    return found


def _gaps_of_rows(lines: list[TextLine]) -> tuple[list[_RowGap], set[int]]:
    """Return the gaps between lines side by side, from the top, and the places of these lines: others are text."""
    gaps: list[_RowGap] = []
    places = set[int]()
    for index, other in enumerate(lines):
        # Those before are the lines of the cell to the left, or of its own cell.
        place = _neighbour(lines, index)
        if place is not None:
            gaps.append((other.middle, lines[place].right, other.left))
            places |= {place, index}
    return sorted(gaps), places


def _neighbour(lines: list[TextLine], index: int) -> int | None:
    """Return which of the lines before one, all of them left of it or in its column, stands beside it."""
    left, top, _, bottom = lines[index].box
    for at in range(index - 1, max(index - _MOST_LINES, 0) - 1, -1):
        start, upper, end, lower = lines[at].box
        if -_SAME_EDGE < left - start < _SAME_EDGE:
            continue
        if left < end:
            return None
        if min(lower, bottom) - max(upper, top) > _LEVEL * min(lower - upper, bottom - top):
            return at
    return None


def _crossing(line: TextLine, gaps: list[_RowGap]) -> list[_RowGap]:
    """Return the gaps of rows near a line that are over or under its words."""
    if " " not in line.text:
        return []
    for heights in (_NEAR_ROWS, _FAR_ROWS):
        reach = heights * max(line.height, line.size)
        first, last = bisect_left(gaps, (line.middle - reach,)), bisect_left(gaps, (line.middle + reach,))
        near = gaps[first : min(last, first + _MOST_NEAR)]
        found = [gap for gap in near if gap[1] < line.right and gap[2] > line.left]
        if found:
            return found
    return []


def _cuts(line: TextLine, near: list[_RowGap], beside: bool, figures: bool, layer: TextLayer) -> list[float]:
    """Return where a line is to be cut: at gaps that rows leave free, that no space is drawn in, or between figures.

    A line that stands `beside` none is a row only if its cells begin, or end, where those above and below do.
    """
    gaps = _gaps_of(line, layer)
    least = (_MONO_GAP if line.font.mono else _GAP) * line.size
    wide = [gap for gap, undrawn in gaps if undrawn or _width(gap) > least]
    strips = _strips(near, least)
    exact = {*_exact(line, gaps, wide, strips)}
    between = {*_between(wide, strips, line)}
    cut = {*exact, *_undrawn(gaps, between, beside, line.size)}
    if beside:
        cut.update(_outliers(gaps, between, exact))
    if figures:
        cut.update(gap for gap, _ in gaps if _width(gap) > _FIGURES_GAP * line.size)
    return [sum(gap) / 2 for gap in sorted(cut)]


def _outliers(gaps: _Gaps, between: set[Gap], exact: set[Gap]) -> Iterator[Gap]:
    """Yield the gaps in strips that are wider than the spaces of their line."""
    plain = max((_width(gap) for gap, undrawn in gaps if not undrawn and gap not in between | exact), default=0.0)
    return (gap for gap in between if _width(gap) > _OUTLIER * plain)


def _undrawn(gaps: _Gaps, between: set[Gap], beside: bool, size: float) -> Iterator[Gap]:
    """Yield the gaps for which the page draws no space, and two of three other signs speak."""
    for gap, undrawn in gaps:
        if undrawn and beside + (gap in between) + (_width(gap) > _UNDRAWN_GAP * size) > 1:
            yield gap


def _exact(line: TextLine, gaps: _Gaps, wide: list[Gap], strips: list[_Strip]) -> Iterator[Gap]:
    """Yield the gaps at which cells both above and below end, or begin."""
    for gap, _ in gaps:
        stray = _SAME_EDGE if gap in wide else _EXACT
        if any(strip.sides_alike(line.middle, gap, stray) > 1 for strip in strips):
            yield gap


def _gaps_of(line: TextLine, layer: TextLayer) -> _Gaps:
    """Return the gaps between a line's words, each with whether the page draws no space there, but most others."""
    gaps, undrawn = layer.gaps(line)
    if len(gaps) > _LEAST_GAPS and 2 * sum(undrawn) > len(gaps):  # a font for which some programs draw no spaces
        undrawn = [False] * len(gaps)
    # Words that are read from the right have none between one and the next.
    return [both for both in zip(gaps, undrawn, strict=True) if _width(both[0]) > 0]


def _strips(gaps: list[_RowGap], least: float) -> list[_Strip]:
    """Return the strips wider than `least` that rows leave free, as columns do."""
    strips = list[_Strip]()
    for gap in gaps:
        for strip in strips:
            left, right = max(strip.left, gap[1]), min(strip.right, gap[2])
            if right - left > least:
                strip.left, strip.right = left, right
                strip.gaps.append(gap)
                break
        else:
            strips.append(_Strip(*gap[1:], [gap]))
    return strips


def _between(wide: list[Gap], strips: list[_Strip], line: TextLine) -> Iterator[Gap]:
    """Yield the widest of a line's gaps in each strip; at an end of the rows it is wider than elsewhere."""
    for strip in strips:
        over = [gap for gap in wide if min(gap[1], strip.right) - max(gap[0], strip.left) > _SHARED * line.size]
        found = max(over, key=_width, default=None)
        if found is not None and (strip.sides(line.middle) > 1 or _width(found) > _END_GAP * line.size):
            yield found


def _width(gap: Gap) -> float:
    return gap[1] - gap[0]


Column = list[Cell]

# Letters in a cell, on average and at most. Longer cells are columns of running text; lower bounds lose descriptions.
_SHORT = 28, 160
_SENTENCES = 200, 600  # where a header, or cells of several lines, say that it is a table

_ALIGNED = 2.5
"""Points, times the number of columns, by which cells of a column may miss its left, its right and its middle.

Less loses tables whose cells are indented or rounded; more takes lines of text with wide spaces for rows.
"""
_MOST_PARTED = 0.75
"""Share of the rows with one piece at most in each column. In the others, the words of a cell stand far apart, as those
of justified text do in a narrow column; with less, lines of such text are rows."""
_MOST_WORDS = 2  # of one figure: "$ 71.15"; a line of more holds the figures of several columns
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


def columns_of_figures(levels: list[list[TextLine]]) -> tuple[list[Span], int]:
    """Return the columns of levels of figures and of the words beside them, and how many of words are at their left.

    No columns if there are too few of figures.
    """
    rows = [at for at, level in enumerate(levels) if has_figures(level)]
    seeds = [levels[at] for at in rows]
    figures = merged_spans(line.box[::2] for line in filter(_is_figure, chain.from_iterable(seeds)))
    sure = [span for span in figures if _is_of_figures(span, seeds)]
    if len(sure) < LAYOUT.figures:
        return [], 0
    lines = [*chain.from_iterable(levels[rows[0] : rows[-1] + 1])]
    names = _of_words(lines, (float("-inf"), sure[0][0]), len(seeds))
    beside = _of_words(lines, (figures[-1][1], float("inf")), len(seeds))
    return [*names, *figures[figures.index(sure[0]) :], *beside], len(names)


def has_figures(level: list[TextLine]) -> bool:
    """Return whether several figures stand on a level; a line may hold those of several columns."""
    words = [len(line.text.split()) for line in level if is_value(line.text)]
    return sum(count if count > _MOST_WORDS else 1 for count in words) >= LAYOUT.figures


def _is_figure(line: TextLine) -> bool:
    return is_value(line.text) and len(line.text.split()) <= _MOST_WORDS


def _is_of_figures(span: Span, levels: list[list[TextLine]]) -> bool:
    """Return whether most levels have something in a column, and few of them words."""
    held = [[line for line in level if spans_over(line.box[::2], [span])] for level in levels]
    words = sum(not all(is_value(line.text) for line in lines) for lines in held)
    return 2 * sum(map(bool, held)) > len(held) and words < LAYOUT.mixed * len(held)


def _of_words(lines: list[TextLine], sides: Span, rows: int) -> list[Span]:
    """Return the columns of words between two sides, beside the figures of some rows; a text beside these is none."""
    words = [line for line in lines if sides[0] <= line.left and line.right <= sides[1]]
    spans = merged_spans(line.box[::2] for line in words)
    nearest = reversed(spans) if sides[1] < float("inf") else spans
    return sorted(takewhile(lambda span: _are_names(words, span, rows), nearest))


def _are_names(words: list[TextLine], span: Span, rows: int) -> bool:
    """Return whether enough words stand in a column, and few letters in each."""
    own = [sum(map(str.isalnum, line.text)) for line in words if spans_over(line.box[::2], [span])]
    return len(own) >= LAYOUT.named * rows and sum(own) <= LAYOUT.name_letters * len(own)


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
    if _are_long(columns, _SHORT) and not (banded or _may_hold_text(rows, columns, headed)):
        return True
    held = _in_one(columns, spans) if banded else columns
    return any(_stands_askew(rows, column, headed, len(spans)) for column in held[1:])


def _in_one(columns: list[Column], spans: list[Span]) -> list[Column]:
    """Return columns without cells that stand over several, which are no lines of text where rules part the rows."""
    return [[cell for cell in column if len(places_over(cell, spans)) == 1] for column in columns]


def _may_hold_text(rows: list[Row], columns: list[Column], headed: bool) -> bool:
    """Return whether cells may hold sentences: below a header, or in cells of several lines beside names."""
    if _are_long(columns, _SENTENCES):
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


def _are_marked(columns: list[Column]) -> bool:
    """Return whether the first of two columns holds numbers of clauses, signs of items or names of speakers."""
    if len(columns) > 2:
        return False
    marks = sum(_is_mark(" ".join(line.text for line in cell)) for cell in columns[0])
    return 2 * marks > len(columns[0])


def _is_mark(text: str) -> bool:
    return not any(map(str.isalpha, text)) or text.endswith(":") or (len(text) <= _MARK and text.endswith((".", ")")))


def _letters(cell: Cell) -> int:
    return sum(len(line.text) for line in cell)


def place_of(cell: Cell, spans: list[Span]) -> int:
    """Return the column that a cell stands in, the first of several, -1 for none."""
    over = places_over(cell, spans)
    return over[0] if over else -1


def places_over(cell: Cell, spans: list[Span]) -> list[int]:
    """Return the columns that a cell stands in."""
    return spans_over(span_of(cell), spans)


def within(spans: list[Span], start: float, end: float) -> list[int]:
    """Return the places of the spans that begin behind `start` and end before `end`."""
    return [at for at, (first, last) in enumerate(spans) if start < first and last < end]


def lines_of(rows: list[Row]) -> list[TextLine]:
    """Return the lines of rows of cells."""
    return [*chain.from_iterable(chain.from_iterable(rows))]


_LOWER_START = "([{\"'\u201e\u201c\u2018\u00ab\u2013\u2014-,;.:%&/+"
"""Signs, besides small letters, that the rest of a cell may begin with; a new cell begins with a letter or a figure."""


def append_table(table: PageTable, more: PageTable, between: Sequence[TextLine] = ()) -> bool:
    """Append a table to the one before it; return whether it goes on it, at the top of the next page or below a gap.

    It does if its columns are the same, and below a gap if it names none itself. Its header stands once, and a row that
    the end of the page cuts is one. Lines `between` the two are a row, if each stands in one column.
    """
    if not _goes_on(table, more, bool(between)) or not _are_alike(table.columns, more.columns):
        return False
    places = [spans_over((line.left, line.right), table.columns) for line in between]
    if any(len(place) != 1 for place in places):
        return False
    if between:
        table.cells.append([""] * len(table.columns))
    for line, (place,) in zip(between, places, strict=True):
        table.cells[-1][place] = f"{table.cells[-1][place]} {line.text}".strip()
    _append_rows(table, more)
    return True


def _goes_on(table: PageTable, more: PageTable, between: bool) -> bool:
    below = more.page == table.end_page and more.header_rows == 0 and more.box[1] >= table.bottom
    return below or (more.page == table.end_page + 1 and not between)


def _append_rows(table: PageTable, more: PageTable) -> None:
    header = table.cells[: table.header_rows]
    repeated = len(header) if header == more.cells[: len(header)] else 0
    rows = more.cells[repeated:]
    shift = len(table.cells) - repeated
    if rows and not _is_right_to_left(rows[0]) and _is_rest(table.cells[-1], rows[0]):
        table.cells[-1] = [f"{one} {other}".strip() for one, other in zip(table.cells[-1], rows.pop(0), strict=True)]
        shift -= 1
    table.cells += rows
    table.spans += [(row + shift, *rest) for row, *rest in more.spans if row >= repeated]  # type: ignore[misc]
    if more.page == table.page:
        table.box = around(table.box, more.box)
    table.end_page, table.bottom = more.page, more.box[3]


def _is_right_to_left(row: list[str]) -> bool:
    return is_right_to_left(" ".join(row))


def _are_alike(one: list[Span], other: list[Span]) -> bool:
    """Return whether columns are the same: each overlaps its counterpart and no other."""
    if not one or len(one) != len(other):
        return False
    return all(spans_over(span, other) == [place] for place, span in enumerate(one))


def _is_rest(above: list[str], row: list[str]) -> bool:
    """Return whether a row goes on the one above it: beside its name, within sentences that have begun there.

    What the end of the page left no room for stands below what is empty there.
    """
    filled = [(one, other) for one, other in zip(above, row, strict=True) if other]
    if row[0] or not filled:
        return False
    return all(not one or other[0].islower() or other[0] in _LOWER_START for one, other in filled)
