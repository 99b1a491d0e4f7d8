"""PDF rows: items that stand on one level, as the cells of a table do, each of one line or several."""

from itertools import chain

from docmill.tasks.parse.pdf.layout.grid import Item
from docmill.tasks.parse.pdf.text.line import Line
from docmill.tasks.parse.pdf.text.rules import Level

STRAY = 4.0  # points
_SHARED = 0.3  # of the height, which pieces on one level share
_RISE = 1.6  # so many heights of a line may a cell begin above the middle of its row
_CLOSE = 0.6
_MOST_LINES = 6


def rows_of(items: list[Item], rules: Level) -> list[list[Item]]:
    """Return items in their order, those that stand on one level as one row."""
    rows = [items[:1]]
    for item in items[1:]:
        above = _lines_beside(rows, item, rules)
        if above:
            rows[-above - 1 :] = [[*chain(*rows[-above - 1 :])]]
        elif not _goes_on(rows[-1], item, rules):
            rows.append([])
        rows[-1].append(item)
    return rows


def _lines_beside(rows: list[list[Item]], item: Item, rules: Level) -> int:
    """Return how many of the last rows are further lines of the piece above them, beside which the item stands."""
    last = rows[-1][-1]
    if not isinstance(last, Line) or not isinstance(item, Line) or item.box[0] < last.box[2]:
        return 0
    if middle(item) >= last.box[1]:
        return 0
    above = 0
    while above < min(_MOST_LINES, len(rows) - 1) and _is_next(rows[-above - 2], rows[-above - 1]):
        above += 1
        first = rows[-above - 1][0]
        if item.box[0] < first.box[2]:
            return 0
        if isinstance(first, Line) and middle(item) > first.box[1]:
            return above if _goes_on(rows[-above - 1], item, rules) else 0
    return 0


def _is_next(above: list[Item], row: list[Item]) -> bool:
    """Return whether a row of one piece stands right below another of one, as the next line of it."""
    first, second = above[0], row[0]
    if len(above) > 1 or len(row) > 1 or not isinstance(first, Line) or not isinstance(second, Line):
        return False
    left, right = second.box[0] - first.box[0], second.box[2] - first.box[2]
    aligned = min(abs(left), abs(left + right) / 2) < STRAY
    return aligned and middle(second) - middle(first) > 0 and second.box[1] - first.box[3] < _CLOSE * second.height


def _goes_on(row: list[Item], item: Item, rules: Level) -> bool:
    """Return whether an item belongs to a row: as another cell to the right, or as the next line of the last one."""
    first, last = row[0], row[-1]
    if not isinstance(first, Line) or not isinstance(last, Line) or not isinstance(item, Line):
        return False
    if item.box[0] >= last.box[2]:
        rise = middle(first) - middle(item)  # what stands in the middle of its cell is lower than the first line
        return _on_level(last, item) or _on_level(first, item) or 0 < rise < _RISE * first.height
    if last is first or item.box[0] < first.box[2] or item.box[2] <= last.box[0]:
        return False
    upper, lower = middle(last), middle(item)
    return 0 < lower - upper < _RISE * last.height and not rules.between(upper, lower, item.box[0], item.box[2])


def _on_level(one: Line, other: Line) -> bool:
    overlap = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    return overlap > _SHARED * min(one.height, other.height)


def middle(line: Line) -> float:
    """Return the height halfway down a line."""
    return (line.box[1] + line.box[3]) / 2


def gap(above: list[Item], row: list[Item]) -> float:
    """Return how many points lie between two rows."""
    return min(item.box[1] for item in row) - max(item.box[3] for item in above)


def is_parted(above: list[Item], row: list[Item], rules: Level) -> bool:
    """Return whether a rule stands between two rows, as long as the lower."""
    upper, lower = max(item.box[3] for item in above), min(item.box[1] for item in row)
    return rules.between(min(upper, lower) - 1, max(upper, lower) + 1, row[0].box[0], row[-1].box[2])
