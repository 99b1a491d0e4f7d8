"""PDF level rows: items on one level, like the cells of a table, each of one line or several."""

from itertools import chain

from docmill.tasks.parse.pdf.layout.banded import in_bands
from docmill.tasks.parse.pdf.tables.line_fit import width_with_next
from docmill.tasks.parse.pdf.tables.page_table import Item
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules

STRAY = 4.0  # points: edges of one column differ by less, in its rounding and in its letters; columns by far more
_SHARED = 0.3  # of the height, which pieces on one level share
_RISE = 1.6  # so many heights of a line may a cell begin above the middle of its row
_CLOSE = 0.6  # of its height: a next line of one cell is closer, and the next row of a table that is set wide is not
_OFF_STEP = 0.15  # of the distance between lines of a cell: the next row is further away than that
_OFF_LINE = 0.5  # points by which that distance may differ: a line in another font is as far away to a few tenths
_FAR_ROW = 2.0  # times that distance, by which the row above is further away than its lines: beyond, it is text
_HIGHER = 0.35  # of its height, by which what stands in the middle of two lines is above the lower one
_OFF_MIDDLE = 0.25  # of its height, by which a line is off the level of another
_MOST_LINES = 12  # of a cell: with more, what is joined as one row is rather a column of text beside another


def rows_of(items: list[Item], rules: LevelRules) -> list[list[Item]]:
    """Return items in their order, with those on one level, or between two rules of a table, as one row."""
    rows: list[list[Item]] = []
    for is_row, some in in_bands(items, rules):
        rows += [some] if is_row else _with_outer_lines(_on_levels(some, rules))
    return rows


def _with_outer_lines(rows: list[list[Item]]) -> list[list[Item]]:
    """Return rows, those of several cells with the lines above them that are as far apart as the lines of a cell.

    The row above stands further away, and each line is full: it had no room for the next one's first word.
    """
    found: list[list[Item]] = []
    for row in rows:
        count = _lines_above(found, row) if len(row) > 1 and found and len(found[-1]) == 1 else 0
        lines = [*chain.from_iterable(found[len(found) - count :])]
        del found[len(found) - count :]
        found.append([*lines, *row])
    return found


def _lines_above(rows: list[list[Item]], row: list[Item]) -> int:
    """Return how many of the last rows are lines of the first cell of the row below them."""
    cell = _first_cell(row)
    if len(cell) < 2:
        return 0
    step, widest = middle(cell[1]) - middle(cell[0]), max(line.box[2] - line.box[0] for line in cell)
    lower, count = cell[0], 0
    for above in reversed(rows):
        upper = above[-1]
        if len(above) > 1 or not isinstance(upper, TextLine) or not _is_line_above(upper, lower, step, widest):
            apart = gap(above, [lower]) + lower.height - step  # how much further the row above is
            return count if _OFF_STEP * step < apart < _FAR_ROW * step else 0
        lower, count = upper, count + 1
    return 0


def _first_cell(row: list[Item]) -> list[TextLine]:
    cell = [line for line in row if isinstance(line, TextLine) and line.box[0] < row[0].box[2]]
    return cell if cell == row[: len(cell)] else []


def _is_line_above(upper: TextLine, lower: TextLine, step: float, widest: float) -> bool:
    """Return whether a line stands such a step above the next one of its cell, whose first word had no room in it."""
    off = abs(middle(lower) - middle(upper) - step)
    if upper.size != lower.size or off > _OFF_LINE or not _is_aligned(upper, lower):
        return False
    return width_with_next(upper, lower) > widest


def _on_levels(items: list[Item], rules: LevelRules) -> list[list[Item]]:
    rows = [items[:1]]
    for item in items[1:]:
        if len(rows[-1]) == 1 and item.box[0] < rows[-1][0].box[2]:  # as nearly all: it is not right of the last one
            rows.append([item])
            continue
        above = _lines_beside(rows, item, rules)
        if above:
            rows[-above - 1 :] = [[*chain(*rows[-above - 1 :])]]
        elif not _goes_on(rows[-1], item, rules) and not _is_taller(rows, item):
            rows.append([])
        rows[-1].append(item)
    return rows


def _lines_beside(rows: list[list[Item]], item: Item, rules: LevelRules) -> int:
    """Return how many of the last rows are further lines of the cell above them, beside which the item is."""
    if not _is_up_right(item, rows[-1][-1]):
        return 0
    above = 0
    while above < min(_MOST_LINES, len(rows) - 1) and _is_next(rows[-above - 2], rows[-above - 1]):
        above += 1
        first = rows[-above - 1][0]
        if item.box[0] < first.box[2]:
            return 0
        if isinstance(first, TextLine) and middle(item) > first.box[1]:
            # The boxes of some fonts are so low that what stands between two lines touches neither.
            beside = middle(item) > middle(first) or _goes_on(rows[-above - 1], item, rules)
            return above + _more_above(rows, above, item, rules) if beside else 0
    # It may begin higher, if it has more lines.
    return above if _goes_on(rows[-above - 1], item, rules) else 0


def _more_above(rows: list[list[Item]], above: int, item: Item, rules: LevelRules) -> int:
    """Return how many lines of a cell stand above those known: as many as below an item in the middle of its row."""
    reach = _OFF_MIDDLE * (item.box[3] - item.box[1])
    apart = [middle(row[0]) - middle(item) for row in rows[-above - 1 :]]
    wanted = sum(one > reach for one in apart) - sum(one < -reach for one in apart)
    more = 0
    while more < wanted and above + more + 1 < len(rows):
        upper, lower = rows[-above - more - 2], rows[-above - more - 1]
        if not _is_next(upper, lower) or is_parted(upper, lower, rules) or not _is_stepped(rows[-above - more - 2 :]):
            break
        more += 1
    return more


def _is_stepped(rows: list[list[Item]]) -> bool:
    """Return whether the first line is as far from the second as that from the third."""
    first, second, third = (middle(row[0]) for row in rows[:3])
    return abs(third - 2 * second + first) < _OFF_STEP * (third - second)


def _is_up_right(item: Item, last: Item) -> bool:
    """Return whether an item is to the right of the last one, and higher."""
    if not isinstance(last, TextLine) or not isinstance(item, TextLine):
        return False
    return item.box[0] >= last.box[2] and middle(item) < middle(last) - _HIGHER * _tall(last)


def _is_next(above: list[Item], row: list[Item]) -> bool:
    """Return whether a row of one piece is directly below another of one, as the next line of it."""
    first, second = above[0], row[0]
    if len(above) > 1 or len(row) > 1 or not isinstance(first, TextLine) or not isinstance(second, TextLine):
        return False
    close = second.box[1] - first.box[3] < _CLOSE * _tall(second)
    return close and middle(second) > middle(first) and _is_aligned(first, second)


def _is_aligned(first: TextLine, second: TextLine) -> bool:
    """Return whether two lines share their left edge or their middle."""
    left, right = second.box[0] - first.box[0], second.box[2] - first.box[2]
    return min(abs(left), abs(left + right) / 2) < STRAY


def _goes_on(row: list[Item], item: Item, rules: LevelRules) -> bool:
    """Return whether an item belongs to a row: as another cell to the right, or as the next line of the last one."""
    first, last = row[0], row[-1]
    if not isinstance(first, TextLine) or not isinstance(last, TextLine) or not isinstance(item, TextLine):
        return False
    if item.box[0] >= last.box[2]:
        return _is_next_cell(first, last, item) or _is_within(row, item)
    return last is not first and _is_next_line(first, last, item, rules)


def _is_next_cell(first: TextLine, last: TextLine, item: TextLine) -> bool:
    """Return whether a line to the right of the last cell is on its row's level."""
    rise = middle(first) - middle(item)  # what stands in the middle of its cell is lower than the first line
    return _on_level(last, item) or _on_level(first, item) or 0 < rise < _RISE * _tall(first)


def _is_within(row: list[Item], item: Item) -> bool:
    """Return whether an item is right of all cells of a row of several, and no higher and no lower than they are."""
    if row[-1].box[0] < row[0].box[2] or item.box[0] < max(one.box[2] for one in row):
        return False
    return min(one.box[1] for one in row) < middle(item) < max(one.box[3] for one in row)


def _is_taller(rows: list[list[Item]], item: Item) -> bool:
    """Return whether an item begins a cell of more lines than those left of it, which reaches up to the row above."""
    row = rows[-1]
    if len(rows) < 2 or item.box[0] < max(one.box[2] for one in row):
        return False
    return max(one.box[3] for one in rows[-2]) < item.box[1] < min(one.box[1] for one in row)


def _is_next_line(first: TextLine, last: TextLine, item: TextLine, rules: LevelRules) -> bool:
    """Return whether a line continues the last cell below it, right of the first, with no rule between.

    A bold line below a plain one is of the header of the next table.
    """
    if item.font.bold and not last.font.bold:
        return False
    left, _, right, _ = item.box
    upper, lower = middle(last), middle(item)
    if left < first.box[2] or right <= last.box[0] or not 0 < lower - upper < _RISE * _tall(last):
        return False
    return not rules.between(upper, lower, left, right)


def _on_level(one: TextLine, other: TextLine) -> bool:
    overlap = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    return overlap > _SHARED * min(one.height, other.height)


def _tall(line: TextLine) -> float:
    """Return the height of a line, at least its size: the boxes of some fonts are as high as small letters."""
    return max(line.height, line.size)


def middle(item: Item) -> float:
    """Return the height halfway down an item."""
    _, top, _, bottom = item.box
    return (top + bottom) / 2


def gap(above: list[Item], row: list[Item]) -> float:
    """Return the distance between two rows in points."""
    return min(item.box[1] for item in row) - max(item.box[3] for item in above)


def is_parted(above: list[Item], row: list[Item], rules: LevelRules) -> bool:
    """Return whether a rule separates two rows, as long as the lower."""
    upper, lower = max(item.box[3] for item in above), min(item.box[1] for item in row)
    # Boxes of text overlap a little: a rule may stand within both, a point outside of where they meet.
    return rules.between(min(upper, lower) - 1, max(upper, lower) + 1, row[0].box[0], row[-1].box[2])
