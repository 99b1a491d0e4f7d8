"""PDF list marks: numbers and bullets drawn apart from the items that they begin, and numbers without a sign."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from docmill.tasks.parse.pdf.blocks.marks import BULLET, NUMBER
from docmill.tasks.parse.pdf.tables.page_table import Item
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.place import around

_LONGEST = 6  # characters of a mark: "(viii)"
_REACH = 2.0  # font sizes between a mark and its item; what stands further away is a cell of a table
_SIGNS = "\u2022\u25cf\u25cb\u25e6\u25b8\u25aa"  # which begin an item wherever they stand before text
_LEVEL = 0.6  # of the height, which a mark and the first line of its item share

_NUMBERED = re.compile(r"(\d{1,2})\s+(?=[^\W\d_])")
_LEAST = 2  # items; one alone is a quantity, "2 eggs", or the number of a section
_LEFT = 1.5  # points within which the numbers of a list begin, and one of two figures under one of one
_IN = 0.8  # font sizes, by which the other lines of an item stand further in than its number


def with_marks(items: list[Item]) -> list[Item]:
    """Return items with the marks that do not stand before their items in the page's content put there.

    WeasyPrint draws the text of a list first and then its numbers. A sign that is never a cell is put into the item
    that follows it, since columns of a page may part them.
    """
    moved = {place for place, item in enumerate(items) if _is_mark(item) and _is_moved(items, place)}
    return [item for place, item in enumerate(items) if place not in moved] if moved else items


def _is_moved(items: list[Item], place: int) -> bool:
    mark = items[place]
    if not _is_followed(items, place):
        return _is_put(mark, items)
    return isinstance(mark, TextLine) and mark.text in _SIGNS and _is_put(mark, [items[place + 1]])


def _is_put(mark: Item, items: list[Item]) -> bool:
    """Put a mark before the item that it belongs to; return whether there is one."""
    if any(_begins_right_of(mark, item) for item in items):  # within a line: it is a raised sign of a formula
        return False
    first = next((item for item in items if _begins_right_of(item, mark) and not _is_mark(item)), None)
    if not isinstance(first, TextLine) or not isinstance(mark, TextLine):
        return False
    first.text = f"{mark.text} {first.text}"
    first.box = around(mark.box, first.box)
    return True


def _is_mark(item: Item) -> bool:
    """Return whether a line is the number or sign of an item and nothing else; "(1)" may be the number of a formula."""
    if not isinstance(item, TextLine) or len(item.text) > _LONGEST or item.furniture or item.text[0] == "(":
        return False
    shown = f"{item.text} x"
    mark = BULLET.match(shown) or NUMBER.match(shown)
    return mark is not None and mark.end() == len(shown) - 1


def _is_followed(items: list[Item], place: int) -> bool:
    return place + 1 < len(items) and _begins_right_of(items[place + 1], items[place])


def _begins_right_of(item: Item, mark: Item) -> bool:
    """Return whether a line begins closely behind a mark, on its level."""
    if not isinstance(item, TextLine) or not isinstance(mark, TextLine) or item is mark:
        return False
    if not -mark.size / 2 < item.box[0] - mark.box[2] < _REACH * mark.size:
        return False
    shared = min(item.box[3], mark.box[3]) - max(item.box[1], mark.box[1])
    return shared > _LEVEL * min(item.height, mark.height)


@dataclass(slots=True)
class _CountedItems:
    """The first lines of items that count from 1; `hangs` says whether lines of theirs stand further in."""

    items: list[TextLine] = field(default_factory=list)
    hangs: bool = False

    def takes(self, line: TextLine, number: int) -> bool:
        """Return whether a line is the next item."""
        if number != len(self.items) + 1:
            return False
        return not self.items or abs(line.box[0] - self.items[0].box[0]) < _LEFT

    def holds(self, line: TextLine) -> bool:
        """Return whether a line belongs to the last item: it stands further in."""
        return bool(self.items) and line.box[0] > self.items[0].box[0] + _IN * line.size


def mark_numbers(lines: Iterable[TextLine]) -> None:
    """Write a stop behind the numbers of items that have none, in the lines of a document in reading order."""
    open_list = _CountedItems()
    for line in lines:
        if not open_list.items and not line.text[0].isdigit():
            continue  # as nearly all are
        number = _number(line)
        if open_list.takes(line, number):
            open_list.items.append(line)
        elif number != 1 and not line.level and open_list.holds(line):
            open_list.hangs = True
        else:
            _write(open_list)
            open_list = _CountedItems([line] if number == 1 else [])
    _write(open_list)


def _number(line: TextLine) -> int:
    """Return the number that a line of text begins with, 0 for none."""
    match = None if line.level or line.contents or line.font.mono else _NUMBERED.match(line.text)
    return int(match[1]) if match else 0


def _write(found: _CountedItems) -> None:
    if found.hangs and len(found.items) >= _LEAST:
        for line in found.items:
            line.text = _NUMBERED.sub(r"\1. ", line.text, count=1)
