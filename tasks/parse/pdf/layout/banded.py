"""PDF banded rows: rows of a table between level rules of one width, whose cells may have any number of lines."""

from collections.abc import Iterator
from itertools import groupby, pairwise

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.layout.cell_columns import Cell, in_cells, span_of
from docmill.tasks.parse.pdf.layout.grid import Item
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules, Rule

_STRAY = 4.0  # points by which the rules of a table may differ in where they begin and end, and text stand over them
_LEAST_RULES = 3  # of one width: two are those around a paragraph or a header
_LOWEST, _HIGHEST = 6.0, 150.0  # points from one rule to the next: less is a double rule, more no row
_MOST_RULES = 200  # of a page that are compared; more are a form or a drawing
_HALF = 0.5  # of the room of a cell, which a line that goes on below fills
_MARGIN = 1.5  # font sizes of a cell's room that its inner margins may take


def in_bands(items: list[Item], rules: LevelRules) -> Iterator[tuple[bool, list[Item]]]:
    """Yield items in their order, those of each surely single row between two rules apart, and whether they are one."""
    bands = _bands(rules.wide())
    if not bands:
        yield False, items
        return
    rest: list[Item] = []
    for band, group in groupby(items, key=lambda item: _band(item, bands)):
        some = [*group]
        if band is None or not _is_row(some, bands[band]):
            rest += some
            continue
        if rest:
            yield False, rest
        yield True, some
        rest = []
    if rest:
        yield False, rest


def _bands(rules: list[Rule]) -> list[Box]:
    """Return the boxes between rules that begin and end where the one above does."""
    groups: list[list[Rule]] = []
    for rule in rules[:_MOST_RULES]:
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


def _is_row(some: list[Item], band: Box) -> bool:
    """Return whether lines in a band are the cells of one row: one has one line, and those of others go on below.

    Cells that stand over one another are those of several rows.
    """
    cells = in_cells(some)
    if len(cells) < 2 or min(map(len, cells)) > 1:
        return False
    spans = [*map(span_of, cells)]
    if any(left[1] > right[0] for left, right in pairwise(spans)):
        return False
    ends = [*(left for left, _ in spans[1:]), band[2]]
    return all(_is_wrapped(cell, end) for cell, end in zip(cells, ends, strict=True))


def _is_wrapped(cell: Cell, end: float) -> bool:
    """Return whether no first word of a line had room in the line above; `end` is where the next cell begins."""
    room = end - span_of(cell)[0]
    return all(_has_no_room(one, other, room) for one, other in pairwise(cell))


def _has_no_room(one: TextLine, other: TextLine, room: float) -> bool:
    if other.box[1] <= one.box[1] or not any(map(str.isalpha, one.text + other.text)):
        return False
    wide, next_wide = one.box[2] - one.box[0], other.box[2] - other.box[0]
    word = next_wide * len(other.text.split(" ", 1)[0]) / len(other.text)
    return wide > _HALF * room and wide + word > room - _MARGIN * one.size
