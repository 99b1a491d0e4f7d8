"""PDF aligned tables: tables without vertical rules, found as rows of short cells in clear columns.

Rows follow the order of the page's content; where that gives no table, they are the levels of its figures. Programs
write tables by rows, by columns, or in the order in which somebody typed them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, groupby, pairwise, takewhile
from statistics import median

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.layout.cell_columns import are_doubtful, columns_of, columns_of_figures, has_figures
from docmill.tasks.parse.pdf.layout.grid_cells import header_rows
from docmill.tasks.parse.pdf.layout.growth import grow, parts_by_columns, with_headers
from docmill.tasks.parse.pdf.layout.rows import (
    LAYOUT,
    STRAY,
    Item,
    PageTable,
    PlacedRow,
    Span,
    gap,
    in_cells,
    is_parted,
    is_value,
    levels_of,
    lines_in,
    lines_of,
    replaced,
    rows_of,
    tables_in,
)
from docmill.tasks.parse.pdf.text.line import TextLine, joined, texts_to_join
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all, grouped, spans_over
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules

# Complete rows that make a table. With fewer, a date next to an address becomes one; with more, small tables stay text.
_MIN_ROWS = 3
_MANY = 4  # columns
_MIN_HEADED = 2  # if a rule below the first row, or its bold letters, show that it is a header
_MIN_PAIRS = 4  # for two columns: forms, lists and tables of contents have these, too
_MIN_SHARE = 0.6
"""Minimum share of rows with two cells or more. Below it, most rows are lines of text."""

_FAR = 3.8  # font sizes between two rows: more joins two tables, less splits one
_WIDER = 1.6
"""How much wider a gap may be than the gaps between the rows above: a wider one without a rule begins another table."""
_LEAST_GAP = 0.5  # of a line's height: below this, tight rows do not make the next gap count as wide
_SAME_SIZE = 0.05  # of the font size: a larger difference is another font
_CELL_SIZE = 0.25  # of the font size: rows that differ more, such as a title and its text, are not of one table
_HEADER_SIZE = 0.4  # the same for a bold header, which may be in smaller capital letters
_LEAST_BANDS = 3  # rows separated by rules: fewer rules are around a header and a sum
_TRIES = 3  # starts, and ends, to try for each run of rows: it may include a caption above or a note below
_MOST_HEADER_ROWS = 4  # above a rule; more are rows of data above a sum
_MOST_SINGLE = 2  # consecutive rows of one cell; three are a paragraph below the table

_Texts = tuple[float, list[str]]  # the vertical middle of a row, and its texts by column


def with_tables(items: list[Item], rules: LevelRules, code: bool) -> list[Item]:
    """Return items in their order, with each run of rows that is certainly a table as one item.

    `rules` are the page's horizontal rules. If monospaced text is `code`, its aligned rows are part of a listing.
    """
    found: list[Item] = []
    for _, group in groupby(items, key=type):
        some = [*group]
        found += tables_in(some) or _in_tables(lines_in(some), rules, code)
    return with_headers(found, rules)


def _in_tables(lines: list[TextLine], rules: LevelRules, code: bool) -> Sequence[Item]:
    """Return lines, with those of tables as one item each."""
    rows = rows_of(lines, rules)
    if len(lines) - len(rows) < _MIN_HEADED:  # too few are side by side to form a table
        return lines
    start = 0
    found: list[Item] = []
    while start < len(rows):
        if len(rows[start]) < 2:  # true of nearly all rows; no table begins here
            found += rows[start]
            start += 1
        else:
            some, start = _next_items(rows, start, code, rules)
            found += some
    return found


def _made(cells: list[list[str]], lines: list[TextLine], spans: list[Span], header: int = 0) -> PageTable:
    box = around_all([line.box for line in lines])
    extents = [(box[1], box[3])] * len(cells)
    known = header or header_rows(cells)
    return PageTable(cells, known, box, lines[0].page, columns=spans, extents=extents, size=lines[0].size)


def _headed(rows: list[_Texts], spans: list[Span], rules: LevelRules) -> int:
    """Return how many rows form a header: several above a rule as wide as the table; 0 if there is no such rule."""
    sides = spans[0][0], spans[-1][1]
    steps = pairwise([middle for middle, _ in rows[: _MOST_HEADER_ROWS + 1]])
    deep = 1 + len([*takewhile(lambda step: not rules.parts(*step, *sides), steps)])
    several = 1 < deep <= min(_MOST_HEADER_ROWS, len(rows) - 1)
    return deep if several and _are_names([texts for _, texts in rows], deep) else 0


def _are_names(cells: list[list[str]], deep: int) -> bool:
    """Return whether the first `deep` rows together name the columns; all but one leave the first column empty."""
    names = [" ".join(filter(None, column)) for column in zip(*cells[:deep], strict=True)]
    return sum(bool(row[0]) for row in cells[:deep]) < 2 and header_rows([names, *cells[deep:]]) > 0


def _next_items(rows: list[list[TextLine]], start: int, code: bool, rules: LevelRules) -> tuple[Sequence[Item], int]:
    """Return the items from a row up to and including the table found there, and the index of the row after them.

    If monospaced text is `code`, it is not a table.
    """
    end = _end(rows, start, rules)
    for first, last in _tries(rows, start, end):
        some = rows[first:last]
        table = _table(some, rules) if len(some) >= _MIN_HEADED and not (code and _is_mono(some)) else None
        if table is not None:
            return [*chain(*rows[start:first]), table], last
    return [*chain(*rows[start:end])], end


def _is_mono(rows: Sequence[Sequence[TextLine]]) -> bool:
    return all(line.font.mono for row in rows for line in row)


def _tries(rows: list[list[TextLine]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield possible starts and ends of a table: the first rows of the run may precede it, the last may follow it."""
    ends = [place for place in range(end - 1, start, -1) if 2 * len(rows[place]) <= len(rows[place - 1])]
    for last in [end, *ends[: _TRIES - 1]]:
        for first in range(start, min(last, start + _TRIES)):
            yield first, last


def _end(rows: list[list[TextLine]], start: int, rules: LevelRules) -> int:
    """Return the end of the run of rows that begins here."""
    last, widest = start + 1, 0.0
    for place in range(start + 1, len(rows)):
        above, row = rows[place - 1], rows[place]
        if not _is_below(above, row) or _is_heading(row, rows[last - 1][0]):
            break
        if place > start + 1 and not is_parted(above, row, rules):  # the gap below a header may be wider, too
            apart = gap(above, row)
            if apart > _WIDER * widest > 0:
                break
            widest = max(apart, widest, _LEAST_GAP * row[0].height)
        if len(row) > 1:
            last = place + 1
        elif place + 1 - last > _MOST_SINGLE:
            break
    return last


def _is_heading(row: list[TextLine], cell: TextLine) -> bool:
    """Return whether a row is one piece in or left of the first column, in another font than the cell above."""
    one = row[0]
    alike = one.font == cell.font and abs(one.size - cell.size) < _SAME_SIZE * one.size
    return len(row) == 1 and one.box[0] < max(cell.box[0] + STRAY, cell.box[2]) and not alike


def _is_below(above: list[TextLine], row: list[TextLine]) -> bool:
    """Return whether a row is closely below another and about the same font size."""
    one, other = above[0], row[0]
    is_header = len(above) > 1 < len(row) and all(line.font.bold for line in above)
    most = _HEADER_SIZE if is_header else _CELL_SIZE
    if abs(one.size - other.size) > most * one.size or _top(row) <= _top(above):
        return False
    return gap(above, row) < _FAR * other.size


def _top(row: list[TextLine]) -> float:
    return min(line.box[1] for line in row)


def _table(rows: list[list[TextLine]], rules: LevelRules) -> PageTable | None:
    """Return the table in these rows, None if it is doubtful."""
    cut = [in_cells(row) for row in rows]
    spans, placed = columns_of(cut)
    width = len(spans)
    if width < 2 or any(-1 in row for row in placed):
        return None
    headed = (
        _is_ruled(placed, spans, rules) or _is_set_apart(placed, width) or _names_figures(placed[0], placed[1], width)
    )
    enough = _are_enough(Counter(map(len, placed)), width, _least_rows(width, headed))
    if not enough or are_doubtful(placed, width, headed, _are_banded(placed, spans, rules)):
        return None
    found = _cells(placed, width)
    lines = [*chain.from_iterable(map(lines_of, placed))]
    return _made([texts for _, texts in found], lines, spans, _headed(found, spans, rules))


def _level_of(row: PlacedRow) -> float:
    """Return the vertical middle of a row's first line."""
    return lines_of(row)[0].middle


def _is_ruled(placed: list[PlacedRow], spans: list[Span], rules: LevelRules) -> bool:
    """Return whether a rule or the edge of a fill, as wide as the first row, separates it as a header from the second.

    If the first row omits some columns, the rule must be as wide as the table, and none such may follow the second row.
    """
    first, second, *more = placed
    if len(first) < 2:
        return False
    lines = lines_of(first)
    left, top, right, _ = around_all([line.box for line in lines])
    if len(first) < len(spans):
        left, right = spans[0][0], spans[-1][1]
        if more and rules.parts(_level_of(second), _level_of(more[0]), left, right):
            return False
    return rules.parts((top + lines[0].middle) / 2, _level_of(second), left, right)


def _are_banded(placed: list[PlacedRow], spans: list[Span], rules: LevelRules) -> bool:
    """Return whether rules or edges of fills, as wide as the table, separate most rows with several cells."""
    heights = [_level_of(row) for row in placed if len(row) > 1]
    parted = sum(rules.parts(upper, lower, spans[0][0], spans[-1][1]) for upper, lower in pairwise(heights))
    return parted >= _LEAST_BANDS and parted >= _MIN_SHARE * (len(heights) - 1)


def _is_set_apart(placed: list[PlacedRow], width: int) -> bool:
    """Return whether the first row is bold or italic and the second not; one of three or more columns may be empty."""
    if len(placed[0]) < max(width - 1, 2):
        return False
    return any(_are_all(placed[0], style) and not _are_all(placed[1], style) for style in ("bold", "italic"))


def _names_figures(first: PlacedRow, second: PlacedRow, width: int) -> bool:
    """Return whether the first row has a name in each of many columns, and the second mostly figures."""
    if width < _MANY or not len(first) == len(second) == width:
        return False
    names, cells = lines_of(first), lines_of(second)
    figures = sum(is_value(line.text) for line in cells)
    return not any(is_value(line.text) for line in names) and 2 * figures >= len(cells)


def _are_all(row: PlacedRow, style: str) -> bool:
    return all(getattr(line.font, style) for line in lines_of(row))


def _least_rows(width: int, few: bool) -> int:
    """Return the minimum number of complete rows; `few` says that other signs indicate a table."""
    if few:
        return _MIN_HEADED
    return _MIN_ROWS if width > 2 else _MIN_PAIRS


def _are_enough(counts: Counter[int], width: int, least: int) -> bool:
    """Return whether enough rows are complete, and a large enough share has several cells."""
    full = counts[width] + (counts[width - 1] if width > 2 else 0)  # one cell may span several rows
    rows = counts.total()
    return full >= least and rows - counts[1] >= _MIN_SHARE * rows


def _cells(placed: list[PlacedRow], width: int) -> list[_Texts]:
    """Return the texts of cells by row and column; the next line of a cell above is in the row above."""
    rows: list[tuple[float, defaultdict[int, list[str]]]] = []
    for row in placed:
        if not rows or not _is_more(row):
            rows.append((_level_of(row), defaultdict(list)))
        for place, cell in row.items():
            rows[-1][1][place] += texts_to_join(cell)
    return [(height, _texts(row, width)) for height, row in rows]


def _is_more(row: PlacedRow) -> bool:
    """Return whether a row is the next line of a cell above: one cell, right of the first column or in lower case."""
    (place, cell), *more = row.items()
    return not more and (place > 0 or cell[0].text[:1].islower())


def _texts(row: dict[int, list[str]], width: int) -> list[str]:
    return [joined(row.get(column, ())) for column in range(width)]


_Level = list[TextLine]


def with_level_tables(items: list[Item], read: list[Item], rules: LevelRules, code: bool) -> list[Item]:
    """Return the items as `read`, with each table of figures that explains its lines better than they do."""
    lines = lines_in(items)
    if sum(is_value(line.text) for line in lines) < LAYOUT.figures * LAYOUT.rows:  # true of most pages
        return read
    for levels in _figure_runs(levels_of(lines)):
        found = None if code and _is_mono([*filter(has_figures, levels)]) else _level_table(levels, lines, rules)
        if found is not None:
            read = _better(read, *found)
    return read


def _figure_runs(levels: list[_Level]) -> Iterator[list[_Level]]:
    """Yield the runs of levels with figures, including the levels between and around them."""
    of_figures = (at for at, level in enumerate(levels) if has_figures(level))
    for run in grouped(of_figures, partial(_goes_on, levels)):
        if len(run) >= LAYOUT.rows:
            yield levels[max(run[0] - LAYOUT.between, 0) : run[-1] + 1 + LAYOUT.between]


def _goes_on(levels: list[_Level], run: list[int], at: int) -> bool:
    """Return whether a level of figures follows a run at about the run's usual distance between levels."""
    steps = [levels[lower][0].middle - levels[upper][0].middle for upper, lower in pairwise([*run, at])]
    usual = median(steps[:-1]) if len(steps) > 1 else 2 * levels[at][0].height
    near = steps[-1] < LAYOUT.next_row * usual * (1 + (at - run[-1] > 1))
    return near and at - run[-1] - 1 <= LAYOUT.between


def _level_table(
    levels: list[_Level], lines: list[TextLine], rules: LevelRules
) -> tuple[PageTable, list[TextLine]] | None:
    """Return the table of levels of figures, grown by text around it, and its lines; None if too few levels fit."""
    spans, names = columns_of_figures(levels)
    rows = _longest_fitting(_rows_of_levels(levels, spans), spans) if spans else []
    if len(rows) < LAYOUT.rows:
        return None
    found = _grown_rows(rows, spans, lines, rules)
    # Rows of a table without names of rows are numbered, except heads.
    numbered = all(len(row) == 1 or any(map(str.isdigit, texts[0])) for row, texts in rows[1:])
    return found if names or (found[0].header_rows and numbered) else None


def _grown_rows(
    rows: list[tuple[_Level, list[str]]], spans: list[Span], lines: list[TextLine], rules: LevelRules
) -> tuple[PageTable, list[TextLine]]:
    held = [line for row, _ in rows for line in row]
    own = {*map(id, held)}
    heads = [(at, 0, 1, len(spans)) for at, (row, _) in enumerate(rows) if len(row) == 1]
    header = _headed([(row[0].middle, texts) for row, texts in rows], spans, rules)
    table = _made([texts for _, texts in rows], held, spans, header)
    table.spans = heads
    taken = grow(table, [line for line in lines if id(line) not in own], rules)
    return table, [*held, *taken]


def _longest_fitting(rows: list[_Level], spans: list[Span]) -> list[tuple[_Level, list[str]]]:
    """Return the longest sequence of rows that fit the columns, with their texts; larger letters are a heading."""
    most = (1 + LAYOUT.other_size) * median([line.size for row in rows for line in row] or [0.0])
    both = [(row, _cells_of_level(row, spans, most)) for row in rows]
    longest = max(
        ([*group] for fits, group in groupby(both, key=lambda one: bool(one[1])) if fits), key=len, default=[]
    )
    while longest and len(longest[-1][0]) == 1:
        longest.pop()
    return longest


def _rows_of_levels(levels: list[_Level], spans: list[Span]) -> list[_Level]:
    """Return levels within the columns as rows; a line that is part of the name of a nearby row is added to it."""
    inside = [_within(level, spans) for level in levels]
    rows = [[*level] for level in inside]
    for at, level in enumerate(inside):
        near = _row_of_name(level, inside, spans)
        if near is not None:
            rows[near] += rows[at]
            rows[at] = []
    seeds = [at for at, level in enumerate(inside) if has_figures(level)]
    return [*filter(None, rows[seeds[0] : seeds[-1] + 1])] if seeds else []


def _within(level: _Level, spans: list[Span]) -> _Level:
    left, right = spans[0][0], spans[-1][1]
    return [line for line in level if line.left < right and left < line.right]


def _row_of_name(level: _Level, levels: list[_Level], spans: list[Span]) -> int | None:
    """Return the level of the row whose name a line between rows is part of; None if the line is a row itself."""
    if len(level) != 1 or spans_over(level[0].box[::2], spans) != [0]:
        return None
    near = [at for at, other in enumerate(levels) if len(other) > 1 and _may_name(level[0], other, spans)]
    return min(near, key=lambda at: abs(levels[at][0].middle - level[0].middle), default=None)


def _may_name(line: TextLine, level: _Level, spans: list[Span]) -> bool:
    """Return whether a line near a level is part of its row's name: the row has none yet, or the line continues it."""
    if abs(line.middle - level[0].middle) > LAYOUT.off_figures * line.height:
        return False
    goes_on = line.text[:1].islower() and line.middle > level[0].middle
    return goes_on or not any(spans_over(one.box[::2], spans) == [0] for one in level)


def _cells_of_level(row: _Level, spans: list[Span], most: float) -> list[str]:
    """Return the texts of a row by column; nothing if a line fits no column. A single line is a head if its font is
    smaller than `most` points.
    """
    if len(row) == 1:
        return [row[0].text, *[""] * (len(spans) - 1)] if row[0].size < most else []
    over = {id(line): spans_over(line.box[::2], spans) for line in row}
    begun = {places[0] for places in over.values() if places}
    held: defaultdict[int, list[str]] = defaultdict(list)
    for line in sorted(row, key=lambda one: (over[id(one)][:1], one.box[1])):
        parts = parts_by_columns(line, spans)
        # A line may reach into the next column only if another text begins in that column.
        if parts is None or (len(parts) == 1 and not begun.issuperset(over[id(line)])):
            return []
        for column, text in parts:
            held[column].append(text)
    return _texts(held, len(spans))


def _better(read: list[Item], table: PageTable, lines: list[TextLine]) -> list[Item]:
    """Return `read` with a table in place of its lines, unless the tables already there explain them as well."""
    own = {*map(id, lines)}
    others = [one for one in tables_in(read) if _overlap(one.box, table.box)]
    left = [item for item in read if id(item) in own]
    explained = len(lines) - len(left) - sum(map(_impure, others)) - max(len(others) - 1, 0)
    if not _holds(table, others) or explained >= len(lines) - _impure(table):
        return read
    gone = {*own, *map(id, others)}
    first = next(item for item in read if id(item) in gone)
    return replaced(read, [*left, *others], table, first)


def _holds(table: PageTable, others: list[PageTable]) -> bool:
    """Return whether a table covers the others from top to bottom."""
    return all(table.box[1] - 1 < item.box[1] and item.box[3] < table.box[3] + 1 for item in others)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _impure(table: PageTable) -> int:
    """Return how many cells in a table's columns of figures have words next to a figure."""
    count = 0
    for column in zip(*table.cells[table.header_rows :], strict=True):
        if 2 * sum(map(is_value, filter(None, column))) > sum(map(bool, column)):
            count += sum(map(_is_impure, column))
    return count


def _is_impure(cell: str) -> bool:
    """Return whether a figure is followed by words longer than a unit."""
    figure, *words = cell.split(" ") or [""]
    return is_value(figure) and sum(map(str.isalpha, "".join(words))) > LAYOUT.unit
