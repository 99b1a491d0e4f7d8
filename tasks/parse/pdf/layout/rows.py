"""PDF rows: tables and lines as the items of a page, and the rows that lines form, by levels, rules or their order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise
from operator import attrgetter

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around, grouped, spans_over
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules, Rule

Cell = list[TextLine]  # from top to bottom
Row = list[Cell]
PlacedRow = dict[int, Cell]  # by column, from the left
Span = tuple[float, float]  # left and right edge
Extent = tuple[float, float]  # top and bottom of a row, in points from the top of the page
CellSpan = tuple[int, int, int, int]


@dataclass(slots=True)
class PageTable:
    """A table of a page: its rows of cells, the number of header rows, and its box.

    `spans` are the merged cells, as row, column, rows, columns; their text is in the first cell. `columns` and
    `extents` are the edges of its columns and rows, `size` is its font size. The table ends on page `end_page` at
    height `bottom`. `form` are a form's boxes; each of its rows is a label and the filled-in text.
    """

    cells: list[list[str]]
    header_rows: int
    box: Box
    page: int
    furniture: bool = False
    contents: bool = False  # whether it is a table of contents
    spans: list[CellSpan] = field(default_factory=list)
    columns: list[Span] = field(default_factory=list)
    extents: list[Extent] = field(default_factory=list)
    size: float = 0.0
    form: list[Box] = field(default_factory=list)
    end_page: int = field(init=False)
    bottom: float = field(init=False)

    def __post_init__(self) -> None:
        self.end_page, self.bottom = self.page, self.box[3]

    @property
    def kind(self) -> str:
        """Return the kind of element that it becomes."""
        return "toc" if self.contents else "table"


Item = TextLine | PageTable


def lines_in(items: Iterable[Item]) -> list[TextLine]:
    """Return the lines among items."""
    return [item for item in items if isinstance(item, TextLine)]


def tables_in(items: Iterable[Item]) -> list[PageTable]:
    """Return the tables among items."""
    return [item for item in items if isinstance(item, PageTable)]


def replaced(items: list[Item], lines: Sequence[Item], table: PageTable, first: Item) -> list[Item]:
    """Return items without some lines, with a table in place of the `first` of them."""
    gone = {*map(id, lines)}
    return [table if item is first else item for item in items if item is first or id(item) not in gone]


@dataclass(slots=True)
class Layout:
    """Thresholds for tables: shares, counts of rows, lines and columns, and distances in font sizes or line heights."""

    # Levels and rows within the cells of a grid.
    level: float = 0.5  # of a line's height: middles closer than this are on one level; the next line is further away
    breaks: float = 0.8  # share of a band's line breaks at a figure or with room above that makes its lines rows
    beside_tall: float = 0.7  # share of the rows next to a tall cell that its lines must match to name these rows
    margin: float = 1.5  # font sizes of a cell's width that its inner margins may take

    # Text outside a table's rules or figures.
    off_row: float = 0.35  # of a line's height, by which a row's name may be off the row's middle
    rows_named: float = 0.8  # share of the rows below a header that must have a name next to them
    apart: float = 0.5  # font sizes between words in two columns: no space within a sentence is as wide
    other_size: float = 0.25  # of the font size, by which an outer row's font size may differ
    reach: float = 1.3  # line heights to the next outer row; twice as far if it is `full`
    full: float = 0.8  # share of the columns that a full row fills; no caption fills as many
    filled: float = 0.5  # share of the columns that an outer row fills; a caption or a note fills one
    close: float = 0.8  # maximum line heights from a name over several columns to the header below
    leading: float = 0.3  # line heights between the lines of one column name
    off_centre: float = 0.7  # font sizes by which a name over several columns may be off their middle
    shared: float = 0.2  # of its height, by which a header line overlaps the lines on its level
    stray: float = 4.0  # points by which text may extend beyond its table, as letters do beyond their box

    # Tables of figures.
    figures: int = 2  # figures in a row, and columns of figures: fewer may be a date or a page number
    rows: int = 3  # such rows; two are aligned by chance
    next_row: float = 2.2  # times the usual distance between rows: further down another table begins
    between: int = 2  # consecutive levels without figures: names of parts, names over several lines
    name_letters: int = 45  # average letters of the names of rows: longer ones are lines of text next to the table
    named: float = 0.4  # share of the rows that have something in a column of names
    mixed: float = 0.3  # share of the rows, such as a header, that may have words in a column of figures
    off_figures: float = 1.2  # line heights by which a line of a row's name may be above or below the row's figures
    unit: int = 6  # letters of a unit of measure after a figure


LAYOUT = Layout()


def had_room(one: TextLine, other: TextLine, room: float) -> bool:
    """Return whether the first word of a line would have fitted on the line above, in a cell `room` points wide."""
    first = (other.right - other.left) * len(other.text.split(" ", 1)[0]) / max(len(other.text), 1)
    return one.right - one.left + first < room - LAYOUT.margin * one.size


def is_value(text: str) -> bool:
    """Return whether a text is a figure, or a sign in its place, and not a word."""
    if text[:1].isalpha() and text[-1:].isalpha() and len(text) > 1:  # most words, but no figure with its unit
        return False
    letters = sum(map(str.isalpha, text))
    return letters <= 1 or (2 * letters < len(text) - letters and 2 * letters < sum(map(str.isdigit, text)))


def in_cells(row: list[TextLine]) -> Row:
    """Return a row's lines as cells: a line that begins left of the previous line's end is below it in its cell."""
    return grouped(row, lambda cell, line: line.box[0] < cell[-1].box[2])


def lines_of(row: PlacedRow) -> list[TextLine]:
    """Return the lines of a row of cells."""
    return [*chain.from_iterable(row.values())]


def span_of(lines: list[TextLine]) -> Span:
    """Return the leftmost and the rightmost edge of lines."""
    if len(lines) == 1:  # true of nearly all cells
        left, _, right, _ = lines[0].box
        return left, right
    return min(line.box[0] for line in lines), max(line.box[2] for line in lines)


STRAY = 4.0  # points: edges within one column differ by less, from rounding and letter shapes; columns by far more
_LEAST_RULES = 3  # of one width: two are around a paragraph or a header
_LOWEST, _HIGHEST = 6.0, 150.0  # points from one rule to the next: less is a double rule, more is not a row
_MOST_RULES = 200  # of a page to compare; more are a form or a drawing


def bands_of(rules: LevelRules) -> list[Box]:
    """Return the boxes between successive rules that begin and end at the same places."""
    groups: list[list[Rule]] = []
    for rule in rules.wide()[:_MOST_RULES]:
        for group in groups:
            y, left, right = group[-1]
            alike = abs(left - rule[1]) < STRAY and abs(right - rule[2]) < STRAY
            if alike and rule[0] - y < _HIGHEST:
                group.append(rule)
                break
        else:
            groups.append([rule])
    return [
        (upper[1], upper[0], upper[2], lower[0])
        for group in groups
        if len(group) >= _LEAST_RULES
        for upper, lower in pairwise(group)
        if lower[0] - upper[0] > _LOWEST
    ]


def _band(line: TextLine, bands: list[Box]) -> Box | None:
    """Return the band that contains a line, or None."""
    for band in bands:
        start, upper, end, lower = band
        if upper < line.middle < lower and start - STRAY < line.left and line.right < end + STRAY:
            return band
    return None


def _is_row(lines: list[TextLine], end: float) -> bool:
    """Return whether lines in a band form one row of cells side by side, whose lines wrap.

    The first word of a wrapped line would not have fitted on the line above. `end` is where the last cell ends.
    """
    cells = in_cells(lines)
    spans = [*map(span_of, cells)]
    if len(cells) < 2 or any(left[1] > right[0] for left, right in pairwise(spans)):
        return False
    sides = pairwise([*(left for left, _ in spans), end])
    return all(
        not had_room(one, other, right - left)
        for cell, (left, right) in zip(cells, sides, strict=True)
        for one, other in pairwise(cell)
    )


_RISE = 1.6  # line heights by which a cell may begin above the middle of its row
_CLOSE = 0.6  # of its height: the next line of a cell is closer; the next row of a loosely set table is not
_HIGHER = 0.35  # of its height, by which text centred on two lines is above the lower one
_OFF_MIDDLE = 0.25  # of its height: a line whose middle differs more is on another level
_MOST_LINES = 12  # of a cell: with more, the joined row is probably two columns of text


def rows_of(lines: list[TextLine], rules: LevelRules) -> list[list[TextLine]]:
    """Return lines in their order, grouped into rows: by level, or if they certainly form one row between two rules."""
    bands = bands_of(rules)
    if not bands:  # true of most pages
        return _on_levels(lines, rules)
    rows: list[list[TextLine]] = []
    rest: list[TextLine] = []
    for band, group in groupby(lines, key=lambda line: _band(line, bands)):
        some = [*group]
        if band is None or not _is_row(some, band[2]):
            rest += some
        else:
            rows += [*_on_levels(rest, rules), some]
            rest = []
    return rows + _on_levels(rest, rules)


def _on_levels(lines: list[TextLine], rules: LevelRules) -> list[list[TextLine]]:
    rows = [lines[:1]] if lines else []
    for line in lines[1:]:
        if len(rows[-1]) == 1 and line.box[0] < rows[-1][0].box[2]:  # nearly all: it is not right of the last one
            rows.append([line])
            continue
        above = _lines_beside(rows, line, rules)
        if above:
            rows[-above - 1 :] = [[*chain(*rows[-above - 1 :])]]
        elif not _goes_on(rows[-1], line, rules) and not _is_taller(rows, line):
            rows.append([])
        rows[-1].append(line)
    return rows


def _lines_beside(rows: list[list[TextLine]], line: TextLine, rules: LevelRules) -> int:
    """Return how many of the last rows are further lines of the cell to the left of a line."""
    last = rows[-1][-1]
    if line.box[0] < last.box[2] or line.middle >= last.middle - _HIGHER * _tall(last):  # not up right of it
        return 0
    above = 0
    while above < min(_MOST_LINES, len(rows) - 1) and _is_next(rows[-above - 2], rows[-above - 1]):
        above += 1
        first = rows[-above - 1][0]
        if line.box[0] < first.box[2]:
            return 0
        if line.middle > first.box[1]:
            return above + _more_above(rows, above, line)
    # It may begin higher, if it has more lines.
    return above if _goes_on(rows[-above - 1], line, rules) else 0


def _more_above(rows: list[list[TextLine]], above: int, line: TextLine) -> int:
    """Return how many more lines the cell has above: a line in the middle of its row has as many above as below."""
    reach = _OFF_MIDDLE * line.height
    apart = [row[0].middle - line.middle for row in rows[-above - 1 :]]
    wanted = sum(one > reach for one in apart) - sum(one < -reach for one in apart)
    more = 0
    while more < wanted and above + more + 1 < len(rows):
        if not _is_next(rows[-above - more - 2], rows[-above - more - 1]):
            break
        more += 1
    return more


def _is_next(above: list[TextLine], row: list[TextLine]) -> bool:
    """Return whether a single-cell row continues the one above."""
    first, second = above[0], row[0]
    if len(above) > 1 or len(row) > 1:
        return False
    return second.box[1] - first.box[3] < _CLOSE * _tall(second) and second.middle > first.middle


def _goes_on(row: list[TextLine], line: TextLine, rules: LevelRules) -> bool:
    """Return whether a line belongs to a row: as another cell to the right, or as the next line of the last one."""
    first, last = row[0], row[-1]
    if line.box[0] < last.box[2]:
        return _is_next_line(first, last, line, rules)
    rise = first.middle - line.middle  # positive if the first cell is centred beside a taller one
    is_beside = are_level(last, line) or are_level(first, line) or 0 < rise < _RISE * _tall(first)
    return is_beside or _is_within(row, line)


def _is_within(row: list[TextLine], line: TextLine) -> bool:
    """Return whether a line is right of all cells of a row with several, and within their height."""
    if row[-1].box[0] < row[0].box[2] or line.box[0] < max(one.box[2] for one in row):
        return False
    return min(one.box[1] for one in row) < line.middle < max(one.box[3] for one in row)


def _is_taller(rows: list[list[TextLine]], line: TextLine) -> bool:
    """Return whether a line begins a taller cell than those left of it: above these, but below the previous row."""
    row = rows[-1]
    if len(rows) < 2 or line.box[0] < max(one.box[2] for one in row):
        return False
    return max(one.box[3] for one in rows[-2]) < line.box[1] < min(one.box[1] for one in row)


def _is_next_line(first: TextLine, last: TextLine, line: TextLine, rules: LevelRules) -> bool:
    """Return whether a line continues the last cell below it, right of the first, with no rule between.

    A bold line below a plain one belongs to the header of the next table.
    """
    if line.font.bold and not last.font.bold:
        return False
    left, _, right, _ = line.box
    upper, lower = last.middle, line.middle
    if left < first.box[2] or right <= last.box[0] or not 0 < lower - upper < _RISE * _tall(last):
        return False
    return not rules.between(upper, lower, left, right)


def _tall(line: TextLine) -> float:
    """Return the height of a line, at least its font size: boxes of some fonts are only as high as small letters."""
    return max(line.height, line.size)


def gap(above: list[TextLine], row: list[TextLine]) -> float:
    """Return the distance between two rows in points."""
    return min(item.box[1] for item in row) - max(item.box[3] for item in above)


def is_parted(above: list[TextLine], row: list[TextLine], rules: LevelRules) -> bool:
    """Return whether a rule at least as wide as the lower row separates two rows."""
    upper, lower = max(item.box[3] for item in above), min(item.box[1] for item in row)
    # Boxes of text overlap a little, so a rule may be within both, up to a point from where they meet.
    return rules.between(min(upper, lower) - 1, max(upper, lower) + 1, row[0].box[0], row[-1].box[2])


def levels_of(lines: Iterable[TextLine]) -> list[list[TextLine]]:
    """Return lines grouped by level, from the top."""
    return grouped(sorted(lines, key=attrgetter("middle")), lambda level, line: are_level(level[0], line))


def are_level(one: TextLine, other: TextLine) -> bool:
    """Return whether two lines are on one level."""
    return abs(other.middle - one.middle) < LAYOUT.level * min(one.height, other.height)


def append_table(table: PageTable, more: PageTable, between: Sequence[TextLine] = ()) -> bool:
    """Append a table to the previous one if it continues it, on the next page or below a gap; return whether it does.

    It does if its columns are the same; below a gap it must have no header of its own. A repeated header is dropped.
    Lines `between` two tables of a page become a row if each is in one column.
    """
    places = [spans_over((line.left, line.right), table.columns) for line in between]
    if not _continues(table, more, bool(between)) or any(len(place) != 1 for place in places):
        return False
    if between:
        table.cells.append([""] * len(table.columns))
    for line, (place,) in zip(between, places, strict=True):
        table.cells[-1][place] = f"{table.cells[-1][place]} {line.text}".strip()
    _append_rows(table, more)
    return True


def _continues(table: PageTable, more: PageTable, between: bool) -> bool:
    below = more.page == table.end_page and more.header_rows == 0 and more.box[1] >= table.bottom
    next_page = more.page == table.end_page + 1 and not between
    return (below or next_page) and _are_alike(table.columns, more.columns)


def _append_rows(table: PageTable, more: PageTable) -> None:
    header = table.cells[: table.header_rows]
    repeated = len(header) if header == more.cells[: len(header)] else 0
    shift = len(table.cells) - repeated
    table.cells += more.cells[repeated:]
    table.spans += [(row + shift, *rest) for row, *rest in more.spans if row >= repeated]  # type: ignore[misc]
    if more.page == table.page:
        table.box = around(table.box, more.box)
    table.end_page, table.bottom = more.page, more.box[3]


def _are_alike(one: list[Span], other: list[Span]) -> bool:
    """Return whether columns are the same: each overlaps only its counterpart, apart from stray edges."""
    if not one or len(one) != len(other):
        return False
    return all(spans_over(_inner(span), other) == [place] for place, span in enumerate(one))


def _inner(span: Span) -> Span:
    """Return a column without its edges, which may stray."""
    left, right = span
    edge = min(STRAY, (right - left) / 4)
    return left + edge, right - edge
