"""PDF banded rows: rows of a table between level rules of one width, whose cells may have any number of lines."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby, pairwise

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.layout.cell_columns import Cell, Row, in_cells, span_of
from docmill.tasks.parse.pdf.tables.line_fit import had_room
from docmill.tasks.parse.pdf.tables.page_table import Item
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules, Rule

_STRAY = 4.0  # points by which the rules of a table may differ in where they begin and end, and text stand over them
_LEAST_RULES = 3  # of one width: two are those around a paragraph or a header
_MOST_ROWS = 0.6
"""Share of the bands of a table that are surely single rows, from which on all are. With less, rules part groups of
rows."""
_LOWEST, _HIGHEST = 6.0, 150.0  # points from one rule to the next: less is a double rule, more no row
_MOST_RULES = 200  # of a page that are compared; more are a form or a drawing
_HALF = 0.5  # of the room of a cell, which a line that goes on below fills


def in_bands(items: list[Item], rules: LevelRules) -> Iterator[tuple[bool, list[Item]]]:
    """Yield items in their order, those of each surely single row between two rules apart, and whether they are one."""
    bands = bands_of(rules)
    if not bands:
        yield False, items
        return
    groups = [(band, [*group]) for band, group in groupby(items, key=lambda item: _band(item, bands))]
    rows = _rows(groups, bands)
    rest: list[Item] = []
    for at, (_, some) in enumerate(groups):
        if at not in rows:
            rest += some
            continue
        if rest:
            yield False, rest
        yield True, some
        rest = []
    if rest:
        yield False, rest


def _rows(groups: list[tuple[int | None, list[Item]]], bands: list[Box]) -> set[int]:
    """Return which groups of items, each with its band, are single rows; where most bands are, so are the others."""
    tables = _tables(bands)
    by_table: defaultdict[int, list[tuple[int, Row]]] = defaultdict(list)
    ends: dict[int, float] = {}
    for at, (band, some) in enumerate(groups):
        row = _cells(some) if band is not None else []
        if band is not None and row:
            by_table[tables[band]].append((at, row))
            ends[tables[band]] = bands[band][2]
    found = set[int]()
    for table, rows in by_table.items():
        sure = _sure(rows, ends[table])
        found.update([at for at, _ in rows] if len(sure) >= max(_LEAST_RULES, _MOST_ROWS * len(rows)) else sure)
    return found


def _sure(rows: list[tuple[int, Row]], end: float) -> list[int]:
    """Return the numbers of the rows of a table that are surely single ones; `end` is where the table does."""
    by_width: defaultdict[int, list[Row]] = defaultdict(list)
    for _, row in rows:
        by_width[len(row)].append(row)
    starts = {width: [*_starts(some), end] for width, some in by_width.items()}
    return [at for at, row in rows if _is_row(row, starts[len(row)])]


def _starts(rows: list[Row]) -> list[float]:
    """Return where the cells of rows of as many begin: those that end on one place begin further right in some."""
    return [min(span_of(cell)[0] for cell in column) for column in zip(*rows, strict=True)]


def _tables(bands: list[Box]) -> list[int]:
    """Return for each band the number of the table that it is part of: one that touches the one above is of its own."""
    numbers = [0]
    for upper, lower in pairwise(bands):
        numbers.append(numbers[-1] + (upper[3] != lower[1] or upper[0] != lower[0]))
    return numbers


def bands_of(rules: LevelRules) -> list[Box]:
    """Return the boxes between rules that begin and end where the one above does."""
    groups: list[list[Rule]] = []
    for rule in rules.wide()[:_MOST_RULES]:
        for group in groups:
            y, left, right = group[-1]
            alike = abs(left - rule[1]) < _STRAY and abs(right - rule[2]) < _STRAY
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


def heights_around(line: TextLine, bands: list[Box]) -> tuple[float, float] | None:
    """Return where the band above that of a line begins and the one below ends; None if it stands in no band."""
    number = _band(line, bands)
    if number is None:
        return None
    left, top, _, bottom = bands[number]
    above = next((one for one in bands if one[3] == top and one[0] == left), bands[number])
    below = next((one for one in bands if one[1] == bottom and one[0] == left), bands[number])
    return above[1], below[3]


def _band(item: Item, bands: list[Box]) -> int | None:
    """Return the number of the band that a line stands in, None for none."""
    if not isinstance(item, TextLine):
        return None
    left, top, right, bottom = item.box
    middle = (top + bottom) / 2
    for number, (start, upper, end, lower) in enumerate(bands):
        if upper < middle < lower and start - _STRAY < left and right < end + _STRAY:
            return number
    return None


def _cells(some: list[Item]) -> Row:
    """Return the cells that lines in a band make, none unless they stand beside one another.

    Cells that stand over one another are those of several rows.
    """
    cells = in_cells(some)
    spans = [*map(span_of, cells)]
    if len(cells) < 2 or any(left[1] > right[0] for left, right in pairwise(spans)):
        return []
    return cells


def _is_row(cells: Row, starts: list[float]) -> bool:
    """Return whether cells are surely those of one row: one has one line, and those of others go on below.

    `starts` are where their columns begin, and where the last one ends.
    """
    if min(map(len, cells)) > 1:
        return False
    return all(_is_wrapped(cell, end - start) for cell, (start, end) in zip(cells, pairwise(starts), strict=True))


def _is_wrapped(cell: Cell, room: float) -> bool:
    """Return whether no first word of a line had room in the line above."""
    return all(_has_no_room(one, other, room) for one, other in pairwise(cell))


def _has_no_room(one: TextLine, other: TextLine, room: float) -> bool:
    if other.box[1] <= one.box[1] or not any(map(str.isalpha, one.text + other.text)):
        return False
    return one.right - one.left > _HALF * room and not had_room(one, other, room)
