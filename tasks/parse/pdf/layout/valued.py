"""PDF valued tables: rows of figures that stand below one another, told by their places and not by their order.

Programs write tables by rows, by columns, or in the order in which somebody typed them, and most rule nothing between
the columns. Figures in columns are no text, so neither order nor rules are needed to see them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise
from statistics import median

from docmill.tasks.parse.pdf.layout.grid_cells import CellRows, is_value
from docmill.tasks.parse.pdf.layout.growth import Growth, parts_by_columns, sides_of
from docmill.tasks.parse.pdf.layout.page_table import LAYOUT, Item, PageTable, replaced
from docmill.tasks.parse.pdf.text.characters import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all, merged_spans, spans_over
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules

_MOST_WORDS = 2  # of one figure: "$ 71.15"; a line of more holds the figures of several columns

_Level = list[TextLine]


@dataclass(slots=True)
class _FigureRun:
    """Levels of lines, those with figures and those between and around; `rows` are the places of the first."""

    levels: list[_Level]
    rows: list[int]

    @property
    def seeds(self) -> list[_Level]:
        return [self.levels[at] for at in self.rows]


def with_valued_tables(items: list[Item], read: list[Item], rules: LevelRules, code: bool) -> list[Item]:
    """Return what was `read` of a page's items, with each table of figures that explains its lines better.

    `rules` are the page's horizontal ones. If letters of one width are `code`, what stands in columns there is part of
    a listing.
    """
    lines = [item for item in items if isinstance(item, TextLine)]
    if sum(is_value(line.text) for line in lines) < LAYOUT.figures * LAYOUT.rows:  # as on most pages
        return read
    for run in _runs(_levels(lines)):
        table = None if code and _is_mono(run) else _table(run, lines, rules)
        if table is not None:
            read = _better(read, *table)
    return read


def _is_mono(run: _FigureRun) -> bool:
    mono = [line.font.mono for level in run.seeds for line in level]
    return 2 * sum(mono) > len(mono)


def _better(read: list[Item], table: PageTable, lines: list[TextLine]) -> list[Item]:
    """Return a reading with a table in the place of its lines, unless the tables read there explain them as well."""
    own = {*map(id, lines)}
    others = _beside(read, table)
    left = [item for item in read if id(item) in own]
    explained = len(lines) - len(left) - sum(map(_impure, others)) - max(len(others) - 1, 0)
    if not _holds(table, others) or explained >= len(lines) - _impure(table):
        return read
    gone = {*own, *map(id, others)}
    first = next(item for item in read if id(item) in gone)
    return replaced(read, [*left, *others], table, first)


def _holds(table: PageTable, others: list[PageTable]) -> bool:
    """Return whether a table begins no lower and ends no higher than others."""
    return all(table.box[1] - 1 < item.box[1] and item.box[3] < table.box[3] + 1 for item in others)


def _beside(read: list[Item], table: PageTable) -> list[PageTable]:
    return [item for item in read if isinstance(item, PageTable) and _overlap(item, table)]


def _overlap(one: PageTable, other: PageTable) -> bool:
    return (
        one.box[1] < other.box[3]
        and other.box[1] < one.box[3]
        and one.box[0] < other.box[2]
        and other.box[0] < one.box[2]
    )


def _impure(table: PageTable) -> int:
    """Return how many cells of a table's columns of figures hold words beside a figure."""
    count = 0
    for column in zip(*table.cells[table.header_rows :], strict=True):
        if 2 * sum(map(is_value, filter(None, column))) > sum(map(bool, column)):
            count += sum(map(_is_impure, column))
    return count


def _is_impure(cell: str) -> bool:
    """Return whether words stand behind a figure, and more of them than a unit."""
    figure, *words = cell.split(" ") or [""]
    return is_value(figure) and sum(map(str.isalpha, "".join(words))) > LAYOUT.unit


def _levels(lines: Iterable[TextLine]) -> list[_Level]:
    levels: list[_Level] = []
    for line in sorted(lines, key=_middle):
        last = levels[-1][0] if levels else None
        if last is not None and _middle(line) - _middle(last) < LAYOUT.level * min(line.height, last.height):
            levels[-1].append(line)
        else:
            levels.append([line])
    return [sorted(level, key=lambda one: one.box[0]) for level in levels]


def _middle(line: TextLine) -> float:
    return (line.box[1] + line.box[3]) / 2


def _values(level: _Level) -> list[TextLine]:
    return [line for line in level if is_value(line.text)]


def _is_seed(level: _Level) -> bool:
    words = [len(line.text.split()) for line in _values(level)]
    return sum(count if count > _MOST_WORDS else 1 for count in words) >= LAYOUT.figures


def _runs(levels: list[_Level]) -> Iterator[_FigureRun]:
    """Yield the runs of levels that hold figures, with those between them."""
    run: list[int] = []
    for at, level in enumerate(levels):
        if not _is_seed(level):
            continue
        if run and not _is_next(levels, run, at):
            yield from _run(levels, run)
            run = []
        run.append(at)
    yield from _run(levels, run)


def _run(levels: list[_Level], run: list[int]) -> Iterator[_FigureRun]:
    if len(run) >= LAYOUT.rows:
        first = max(run[0] - LAYOUT.between, 0)
        yield _FigureRun(levels[first : run[-1] + 1 + LAYOUT.between], [at - first for at in run])


def _is_next(levels: list[_Level], run: list[int], at: int) -> bool:
    if at - run[-1] - 1 > LAYOUT.between:
        return False
    steps = [_middle(levels[lower][0]) - _middle(levels[upper][0]) for upper, lower in pairwise([*run, at])]
    usual = median(steps[:-1]) if len(steps) > 1 else 2 * levels[at][0].height
    return steps[-1] < LAYOUT.next_row * usual * (1 + (at - run[-1] > 1))


@dataclass(slots=True)
class _Columns:
    """Where columns begin and end, and the number of the first one that holds figures."""

    spans: list[tuple[float, float]]
    values: int

    def over(self, line: TextLine) -> list[int]:
        """Return the columns that a line stands in."""
        return spans_over(line.box[::2], self.spans)

    def parts(self, line: TextLine) -> list[tuple[int, str]] | None:
        """Return the texts of a line by column; None if it fits no column."""
        return parts_by_columns(line, self.spans)


def _columns(run: _FigureRun) -> _Columns | None:
    """Return the columns of a run: those of its figures, and of the names at their left."""
    figures = merged_spans([line.box[0::2] for line in _few_words(run)])
    sure = [span for span in figures if _is_of_figures(span, run)]
    if len(sure) < LAYOUT.figures:
        return None
    inner = [*chain.from_iterable(run.levels[run.rows[0] : run.rows[-1] + 1])]
    names = _of_words([line for line in inner if line.right <= sure[0][0]], len(run.rows), leftward=True)
    beside = _of_words([line for line in inner if line.left >= figures[-1][1]], len(run.rows), leftward=False)
    return _Columns([*names, *figures[figures.index(sure[0]) :], *beside], len(names))


def _few_words(run: _FigureRun) -> Iterator[TextLine]:
    """Yield the figures of a run; a line of several is of several columns."""
    for level in run.seeds:
        yield from (line for line in _values(level) if len(line.text.split()) <= _MOST_WORDS)


def _is_of_figures(span: tuple[float, float], run: _FigureRun) -> bool:
    """Return whether most rows have something in a column, and few of them words."""
    held = [[line for line in level if _over(line, span)] for level in run.seeds]
    words = sum(not all(is_value(line.text) for line in lines) for lines in held)
    return 2 * sum(map(bool, held)) > len(held) and words < LAYOUT.mixed * len(held)


def _of_words(words: list[TextLine], rows: int, leftward: bool) -> list[tuple[float, float]]:
    """Return the columns of words beside the figures of some rows, but not those of a text beside the table."""
    spans = merged_spans([line.box[0::2] for line in words])
    chosen: list[tuple[float, float]] = []
    for span in reversed(spans) if leftward else spans:
        own = [sum(map(str.isalnum, line.text)) for line in words if _over(line, span)]
        if len(own) < LAYOUT.named * rows or sum(own) > LAYOUT.name_letters * len(own):
            break
        chosen.append(span)
    return sorted(chosen)


def _over(line: TextLine, span: tuple[float, float]) -> bool:
    return line.box[0] < span[1] and span[0] < line.box[2]


@dataclass(slots=True)
class _FigureRow:
    """The lines of a row; `head` is the place of the first for a row that names those below it."""

    lines: list[TextLine]
    is_head: bool = False
    names: list[TextLine] = field(default_factory=list)


def _table(run: _FigureRun, lines: list[TextLine], rules: LevelRules) -> tuple[PageTable, list[TextLine]] | None:
    """Return the table of a run and its lines; None if too few of them fit columns."""
    columns = _columns(run)
    if columns is None:
        return None
    rows, cells = _fitting(_rows(run, columns), columns)
    if len(rows) < LAYOUT.rows:
        return None
    numbered = _are_numbered(rows, cells)
    heads = [(at, 0, 1, len(columns.spans)) for at, row in enumerate(rows) if row.is_head]
    table = CellRows(cells, [*heads], [*map(_extent, rows)])
    held = [*chain.from_iterable(row.lines for row in rows)]
    around, spans = _others(lines, held), columns.spans
    growth = Growth(sides_of(spans), table, around, columns.parts, held[0].size, spans, rules)
    held += growth.grow(False)
    if not (columns.values or (numbered and growth.header)):
        return None
    box = around_all([line.box for line in held])
    return PageTable(table.cells, growth.header, box, held[0].page, spans=table.spans, columns=columns.spans), held


def _others(lines: list[TextLine], held: list[TextLine]) -> list[TextLine]:
    own = {*map(id, held)}
    return [line for line in lines if id(line) not in own]


def _extent(row: _FigureRow) -> tuple[float, float]:
    return min(line.box[1] for line in row.lines), max(line.box[3] for line in row.lines)


def _are_numbered(rows: list[_FigureRow], cells: list[list[str]]) -> bool:
    """Return whether the first column holds a figure in all rows below the first."""
    below = zip(rows[1:], cells[1:], strict=True)
    return all(row.is_head or any(map(str.isdigit, texts[0])) for row, texts in below)


def _fitting(rows: list[_FigureRow], columns: _Columns) -> tuple[list[_FigureRow], list[list[str]]]:
    """Return the most rows in succession of which each line fits a column, and their texts by column."""
    texts = _texts(rows, columns)
    groups = ([*group] for fit, group in groupby(range(len(rows)), key=lambda at: bool(texts[at])) if fit)
    longest = max(groups, key=len, default=[])
    while longest and rows[longest[-1]].is_head:
        longest.pop()
    return [rows[at] for at in longest], [texts[at] for at in longest]


def _texts(rows: list[_FigureRow], columns: _Columns) -> list[list[str]]:
    """Return the texts of rows by column; nothing of those that do not fit, or of a heading in larger letters."""
    most = (1 + LAYOUT.other_size) * median(line.size for row in rows for line in row.lines)
    fit = (not row.is_head or row.lines[0].size < most for row in rows)
    return [(fits and _cells(row, columns)) or [] for row, fits in zip(rows, fit, strict=True)]


def _rows(run: _FigureRun, columns: _Columns) -> list[_FigureRow]:
    """Return the rows of a run: levels with figures, each with the lines of its name, and heads between them."""
    outer = columns.spans[0][0], columns.spans[-1][1]
    rows = {at: _FigureRow(_inside(run.levels[at], outer)) for at in run.rows}
    for at, level in enumerate(run.levels):
        inside = _inside(level, outer)
        if at in rows or not inside:
            continue
        near = _row_of_name(inside, rows, columns)
        if near is None and run.rows[0] < at < run.rows[-1]:
            rows[at] = _FigureRow(inside, is_head=len(inside) == 1)
        elif near is not None:
            rows[near].lines += inside
    return [rows[at] for at in sorted(rows) if rows[at].lines]


def _inside(level: _Level, outer: tuple[float, float]) -> _Level:
    return [line for line in level if line.box[0] < outer[1] and outer[0] < line.box[2]]


def _row_of_name(level: _Level, rows: dict[int, _FigureRow], columns: _Columns) -> int | None:
    """Return the row with figures that a line between rows names in part, None for a row of its own."""
    line = level[0]
    if len(level) > 1 or columns.over(line) != [0]:
        return None
    near = [at for at, row in rows.items() if not row.is_head and _may_name(line, row, columns)]
    return min(near, key=lambda at: abs(_middle(rows[at].lines[0]) - _middle(line)), default=None)


def _may_name(line: TextLine, row: _FigureRow, columns: _Columns) -> bool:
    """Return whether a line above or below the level of a row is part of its name: there is none, or it goes on."""
    level = _middle(row.lines[0])
    if abs(_middle(line) - level) > LAYOUT.off_figures * line.height:
        return False
    names = [one for one in row.lines if columns.over(one) == [0]]
    goes_on = line.text[:1].islower() and _middle(line) > level
    return goes_on or all(abs(_middle(one) - level) > 1 for one in names)


def _cells(row: _FigureRow, columns: _Columns) -> list[str] | None:
    """Return the texts of a row by column; None if a line of it fits none."""
    if row.is_head:
        return [row.lines[0].text, *[""] * (len(columns.spans) - 1)]
    held: list[list[str]] = [[] for _ in columns.spans]
    begun = {at for line in row.lines for at in columns.over(line)[:1]}
    for line in sorted(row.lines, key=lambda one: (columns.over(one)[:1], one.box[1])):
        parts = columns.parts(line)
        # What stands over the next column, too, is cut off there if that has something of its own.
        if parts is None or (len(parts) == 1 and not begun.issuperset(columns.over(line))):
            return None
        for column, text in parts:
            held[column].append(text)
    return [joined(texts, Vocabulary()) for texts in held]
