"""PDF valued tables: rows of figures that stand below one another, told by their places and not by their order.

Programs write tables by rows, by columns, or in the order in which somebody typed them, and most rule nothing between
the columns. Figures in columns are no text, so neither order nor rules are needed to see them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from statistics import median

from docmill.tasks.parse.pdf.layout.grid_cells import CellRows, Growth, header_rows, is_value
from docmill.tasks.parse.pdf.layout.page_table import LAYOUT, Item, PageTable, replaced
from docmill.tasks.parse.pdf.text.characters import Vocabulary, joined
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all, merged_spans

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


def with_valued_tables(items: list[Item], read: list[Item], code: bool) -> list[Item]:
    """Return what was `read` of a page's items, with each table of figures that explains its lines better.

    If letters of one width are `code`, what stands in columns there is part of a listing.
    """
    lines = [item for item in items if isinstance(item, TextLine)]
    if sum(is_value(line.text) for line in lines) < LAYOUT.figures * LAYOUT.rows:  # as on most pages
        return read
    for run in _runs(_levels(lines)):
        table = None if code and _is_mono(run) else _table(run, lines)
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

    @property
    def sides(self) -> list[float]:
        """Return the places between columns, and their outer sides."""
        inner = [(one[1] + other[0]) / 2 for one, other in pairwise(self.spans)]
        return [self.spans[0][0], *inner, self.spans[-1][1]]

    def over(self, line: TextLine) -> list[int]:
        """Return the columns that a line stands in."""
        return [at for at, (left, right) in enumerate(self.spans) if line.box[0] < right and left < line.box[2]]

    def parts(self, line: TextLine) -> list[tuple[int, str]] | None:
        """Return the texts of a line by column: one for each of as many words; None if it fits no column."""
        over, words = self.over(line), line.text.split()
        if len(over) > 1 and len(words) == len(over):
            return [*zip(over, words, strict=True)]
        return [(over[0], line.text)] if over else None


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


def _table(run: _FigureRun, lines: list[TextLine]) -> tuple[PageTable, list[TextLine]] | None:
    """Return the table of a run and its lines; None if some of them fit no column."""
    columns = _columns(run)
    if columns is None or not columns.values:
        return None
    rows = _rows(run, columns)
    cells = _all_cells(rows, columns)
    if cells is None:
        return None
    heads = [(at, 0, 1, len(columns.spans)) for at, row in enumerate(rows) if row.is_head]
    table = CellRows(cells, [*heads], [*map(_extent, rows)])
    held = [*chain.from_iterable(row.lines for row in rows)]
    held += Growth(columns.sides, table, _others(lines, held), columns.parts, held[0].size, columns.spans).grow(False)
    box = around_all([line.box for line in held])
    found = PageTable(table.cells, header_rows(table.cells), box, held[0].page, spans=table.spans)
    found.columns = columns.spans
    return found, held


def _others(lines: list[TextLine], held: list[TextLine]) -> list[TextLine]:
    own = {*map(id, held)}
    return [line for line in lines if id(line) not in own]


def _extent(row: _FigureRow) -> tuple[float, float]:
    return min(line.box[1] for line in row.lines), max(line.box[3] for line in row.lines)


def _all_cells(rows: list[_FigureRow], columns: _Columns) -> list[list[str]] | None:
    found = [_cells(row, columns) for row in rows]
    whole = [cells for cells in found if cells is not None]
    return whole if len(whole) == len(found) else None


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
    return [rows[at] for at in sorted(rows)]


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
    for line in sorted(row.lines, key=lambda one: (columns.over(one)[:1], one.box[1])):
        parts = columns.parts(line)
        if parts is None or (len(parts) == 1 and len(columns.over(line)) > 1):
            return None
        for column, text in parts:
            held[column].append(text)
    return [joined(texts, Vocabulary()) for texts in held]
