"""PDF cell columns: cut lines at the gaps between columns, find columns, and decide whether their rows are a table."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, takewhile
from statistics import median
from unicodedata import category

from docmill.tasks.parse.pdf.layout.rows import (
    LAYOUT,
    Cell,
    PlacedRow,
    Row,
    Span,
    is_value,
    span_of,
)
from docmill.tasks.parse.pdf.text.gaps import Gap
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import merged_spans, spans_over
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_NEAR_ROWS = 5.5  # line heights: gaps of rows further up or down belong to another table
_MOST_LINES = 6  # of one cell: how many lines back to look for a neighbour, which bounds the work for each line
_SAME_EDGE = 1.2  # points by which the edges of one column may differ
_EXACT = 0.3  # points between edges of a column at a narrow gap: other words begin this close only by chance
_GAP = 0.4  # font sizes: a gap between cells must be wider than the spaces in a line
_FIGURES_GAP = 0.8  # font sizes between two figures: spaces within a number or between numbers in text are narrower
_END_GAP = 0.7
"""Font sizes of a gap in a strip, for a line above or below all of the strip's rows: it may be a line of text, in which
the space next to a word in another font is half a font size wide."""
_SHARED = 0.25  # font sizes of overlap between a gap and a strip: a centred header may reach into its column's gap
_UNDRAWN_GAP = 0.6  # font sizes of a gap without a drawn space: beside code with a margin of its own it is narrower
_MOST_NEAR = 100  # gaps to examine near a line, which bounds the work for each line
_HEADER_ROWS = 3.5  # line heights between the lines of a header, and to the first row below them
_LEAST_STRIPS = 2  # in which a header has gaps: a line of text may have a gap in one

_LOOSE, _LOOSE_TIMES = 0.55, 1.8  # font sizes, and multiple of its line's usual gap: a wider gap is not a space

_RowGap = tuple[float, float, float]  # a gap between two cells: the cells' vertical middle, its left and its right


def parted(line: TextLine, places: Sequence[float], layer: TextLayer) -> list[TextLine]:
    """Return the pieces of a line, cut between words at each of the places, from the left."""
    if not places:
        return [line]
    pieces = layer.parted(line, places)
    pieces[-1].ruled = line.ruled
    return pieces


@dataclass(slots=True)
class _Strip:
    """The strip that the gaps of several rows share; `gaps` run from the top."""

    left: float
    right: float
    gaps: list[_RowGap]

    def sides(self, height: float) -> int:
        """Return 2 if it has rows both above and below a height, else 1."""
        return len({gap[0] > height for gap in self.gaps})

    def sides_alike(self, height: float, gap: Gap, off_end: float, off_start: float) -> int:
        """Return on how many sides of a height, above and below, cells of rows end or begin this close to a gap."""
        return max(
            len({row > height for row, end, _ in self.gaps if abs(end - gap[0]) < off_end}),
            len({row > height for row, _, start in self.gaps if abs(start - gap[1]) < off_start}),
        )


def cut_as_neighbours(lines: list[TextLine], layer: TextLayer) -> list[TextLine]:
    """Return lines, with rows cut at the gaps that nearby rows leave free, too, and between figures."""
    gaps, places = _gaps_of_rows(lines, layer)
    found: list[list[TextLine]] = []
    for index, line in enumerate(lines):
        found.append([line])
        if " " not in line.text:
            continue
        near, figures = _crossing(line, gaps), not any(map(str.isalpha, line.text))
        if near or figures:
            found[-1] = parted(line, _cuts(line, near, index in places, figures, layer), layer)
            _insert(gaps, found[-1])
    _cut_headers(found, gaps, places, layer)
    return [*chain.from_iterable(found)]


def _cut_headers(found: list[list[TextLine]], gaps: list[_RowGap], places: set[int], layer: TextLayer) -> None:
    """Cut uncut lines above rows, from the row next to them up to the first line of the header."""
    for index in reversed(range(len(found) if gaps else 0)):
        line = found[index][0]
        if len(found[index]) == 1 and index not in places and " " in line.text and not line.font.mono:
            found[index] = parted(line, [sum(gap) / 2 for gap in sorted(_of_header(line, gaps, layer))], layer)
            _insert(gaps, found[index])


def _insert(gaps: list[_RowGap], pieces: list[TextLine]) -> None:
    """Insert the gaps between the pieces of a line; they show where to cut the next row."""
    for one, other in pairwise(pieces):
        insort(gaps, (one.middle, one.right, other.left))


def _gaps_of_rows(lines: list[TextLine], layer: TextLayer) -> tuple[list[_RowGap], set[int]]:
    """Return the gaps between lines side by side, from the top, and the indexes of these lines."""
    gaps: list[_RowGap] = []
    places = set[int]()
    for index, other in enumerate(lines):
        # The lines before it belong to the cell to its left, or to its own cell.
        place = _neighbour(lines, index)
        if place is not None:
            gaps.append((other.middle, lines[place].right, other.left))
            places |= {place, index}
    layer.ask_for_words(map(lines.__getitem__, places))
    for at in places:
        wide = {*_loose(lines[at], layer), *layer.undrawn_gaps(lines[at])}
        gaps += [(lines[at].middle, *gap) for gap in wide]
    return sorted(gaps), places


def _loose(line: TextLine, layer: TextLayer) -> list[Gap]:
    """Return the gaps that are far wider than usual in their line, so not spaces between words."""
    gaps = layer.gaps(line) if " " in line.text else []
    least = max(_LOOSE * line.size, _LOOSE_TIMES * median(map(_width, gaps)) if gaps else 0.0)
    return [gap for gap in gaps if _width(gap) > least]


def _neighbour(lines: list[TextLine], index: int) -> int | None:
    """Return the index of the line left of this one on its level, among the lines before it; None if there is none."""
    left, top, _, bottom = lines[index].box
    for at in range(index - 1, max(index - _MOST_LINES, 0) - 1, -1):
        start, upper, end, lower = lines[at].box
        if -_SAME_EDGE < left - start < _SAME_EDGE:
            continue
        if left < end:
            return None
        if upper < bottom and top < lower:
            return at
    return None


def _crossing(line: TextLine, gaps: list[_RowGap]) -> list[_RowGap]:
    """Return the gaps of nearby rows that are above or below the words of a line."""
    reach = _NEAR_ROWS * max(line.height, line.size)
    return _over(line, _between_heights(gaps, line.middle - reach, line.middle + reach))


def _over(line: TextLine, gaps: list[_RowGap]) -> list[_RowGap]:
    """Return the gaps of other rows within the width of a line."""
    (left, _, right, _), middle = line.box, line.middle
    return [gap for gap in gaps if gap[1] < right and gap[2] > left and gap[0] != middle]


def _between_heights(gaps: list[_RowGap], upper: float, lower: float) -> list[_RowGap]:
    first = bisect_left(gaps, (upper,))
    return gaps[first : min(bisect_left(gaps, (lower,), first), first + _MOST_NEAR)]


def _cuts(line: TextLine, near: list[_RowGap], beside: bool, figures: bool, layer: TextLayer) -> list[float]:
    """Return where to cut a line: at gaps that rows leave free, or between figures.

    A line with no other `beside` it is a row only if its cells begin or end where the cells above and below do.
    """
    gaps, undrawn = layer.gaps(line), layer.undrawn_gaps(line)
    least = _GAP * line.size
    wide, strips = [gap for gap in gaps if gap in undrawn or _width(gap) > least], _strips(near, least)
    between = {*_between(wide, strips, line)}
    exact = {*_exact(line, gaps, wide, strips)}
    cut = {*exact, *_unspaced(undrawn, between, near, beside, line.size)}
    if beside:
        cut.update(_outliers([gap for gap in gaps if gap not in undrawn], between, exact))
    if figures:
        cut.update(gap for gap in gaps if _width(gap) > _FIGURES_GAP * line.size)
    return [sum(gap) / 2 for gap in sorted(cut)]


def _of_header(line: TextLine, rows: list[_RowGap], layer: TextLayer) -> set[Gap]:
    """Return the gaps of a header line: it has a gap in each strip that it crosses, at least one of them loose."""
    crossed = _crossed(line, rows)
    gaps = layer.gaps(line) if len(crossed) >= _LEAST_STRIPS else []
    if len(gaps) < _LEAST_STRIPS:
        return set()
    tightest = min(map(_width, gaps))
    least = max(_LOOSE * line.size, min(_LOOSE_TIMES * tightest, _FIGURES_GAP * line.size))
    found = [gap for strip in crossed for gap in _gap_in(strip, line, gaps, least)]
    is_header = len(found) == len(crossed) and len({*found}) >= _LEAST_STRIPS
    return {*found} if is_header and max(map(_width, found)) > least else set()


def _crossed(line: TextLine, rows: list[_RowGap]) -> list[_Strip]:
    """Return the strips within a line's width that the rows closely below leave free, if there are several."""
    below = _between_heights(rows, line.middle + _SHARED * line.size, line.middle + _HEADER_ROWS * line.height)
    if len(_over(line, below)) < _LEAST_STRIPS:
        return []
    strips = _strips(below, _GAP * line.size)
    return [strip for strip in strips if line.left < strip.left and strip.right < line.right]


def _gap_in(strip: _Strip, line: TextLine, gaps: list[Gap], least: float) -> Iterator[Gap]:
    """Yield the gap that overlaps a strip most, if it is wider than `least` or aligned with cells of its rows."""
    shared, gap = max((min(gap[1], strip.right) - max(gap[0], strip.left), gap) for gap in gaps)
    is_loose = shared > _SHARED * line.size and _width(gap) > least
    if is_loose or strip.sides_alike(line.middle, gap, _EXACT, _EXACT):
        yield gap


def _outliers(gaps: list[Gap], between: set[Gap], exact: set[Gap]) -> list[Gap]:
    """Return the gaps in strips that are wider than all spaces of their line."""
    plain = max((_width(gap) for gap in gaps if gap not in between | exact), default=0.0)
    return [gap for gap in between if _width(gap) > plain]


def _unspaced(gaps: set[Gap], between: set[Gap], near: list[_RowGap], beside: bool, size: float) -> Iterator[Gap]:
    """Yield the gaps without a drawn space in strips or before aligned cells, if the line is a row or they are wide."""
    for gap in gaps:
        is_aligned = gap in between or sum(abs(start - gap[1]) < _EXACT for _, _, start in near) > 1
        if is_aligned and (beside or _width(gap) > _UNDRAWN_GAP * size):
            yield gap


def _exact(line: TextLine, gaps: list[Gap], wide: list[Gap], strips: list[_Strip]) -> Iterator[Gap]:
    """Yield the gaps at which cells both above and below end, or both begin."""
    around = [strip for strip in strips if strip.sides(line.middle) > 1]
    for gap in gaps if around else ():
        off = (_SAME_EDGE, _SAME_EDGE) if gap in wide else (0.0, _EXACT)
        if any(strip.sides_alike(line.middle, gap, *off) > 1 for strip in around):
            yield gap


def _strips(gaps: list[_RowGap], least: float) -> list[_Strip]:
    """Return the strips wider than `least` that rows leave free, as between columns."""
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
    """Yield the widest of a line's gaps in each strip; above or below all rows of a strip, it must be wider."""
    for strip in strips:
        over = [gap for gap in wide if min(gap[1], strip.right) - max(gap[0], strip.left) > _SHARED * line.size]
        found = max(over, key=_width, default=None)
        if found is not None and (strip.sides(line.middle) > 1 or _width(found) > _END_GAP * line.size):
            yield found


def _width(gap: Gap) -> float:
    return gap[1] - gap[0]


Column = list[Cell]

# Letters in a cell, on average and at most. Longer cells are columns of prose; lower bounds lose descriptions.
_SHORT = 28, 160
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


def columns_of(rows: list[Row]) -> list[Span]:
    """Return the spans of the columns of rows, from the left; none if the rows do not fit each other.

    If the cells of all rows leave gaps, the columns are between these gaps; a few cells may come in pieces. Otherwise
    some cells may span several columns, and the columns are those of the rows with the most frequent number of cells.
    """
    several = [row for row in rows if len(row) > 1]
    spans = _whole(merged_spans(span_of(cell) for row in several for cell in row), several)
    if len(spans) > 1 and sum(_are_parted(row, spans) for row in several) >= _MOST_PARTED * len(several):
        return spans
    return _usual_columns(several)


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
    if _begin_with_text(columns) or _are_long(columns, _SENTENCES):
        return False
    # Columns of text that are written line by line have no cells of several lines.
    return headed or any(len(cell) > 1 for row in rows for cell in row.values())


def placed_in(row: Row, spans: list[Span]) -> PlacedRow:
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
    marks = sum(_is_item_sign(text) or (long and _is_name_of_text(text)) for text in texts)
    return 2 * marks > len(texts)


def _is_item_sign(text: str) -> bool:
    return len(text) <= _MARK and (text.endswith((".", ")")) or not any(map(str.isalnum, text)))


def _is_name_of_text(text: str) -> bool:
    return text.endswith(":") or not any(map(str.isalpha, text))


def _letters(cell: Cell) -> int:
    return sum(len(line.text) for line in cell)


def place_of(cell: Cell, spans: list[Span]) -> int:
    """Return the column that a cell is in, the first of several, -1 for none."""
    return next(iter(spans_over(span_of(cell), spans)), -1)


def lines_of(row: PlacedRow) -> list[TextLine]:
    """Return the lines of a row of cells."""
    return [*chain.from_iterable(row.values())]
