"""PDF list marks: numbers and bullets that a program draws apart from the items that they begin."""

from docmill.tasks.parse.pdf.blocks.marks import BULLET, NUMBER
from docmill.tasks.parse.pdf.layout.grid import Item
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.place import around

_LONGEST = 6  # characters of a mark: "(viii)"
_REACH = 2.0  # font sizes between a mark and its item; what stands further away is a cell of a table
_LEVEL = 0.6  # of the height, which a mark and the first line of its item share


def with_marks(items: list[Item]) -> list[Item]:
    """Return items with the marks that do not stand before their items in the page's content put there.

    WeasyPrint draws the text of a list first and then its numbers.
    """
    moved = {
        place
        for place, item in enumerate(items)
        if _is_mark(item) and not _is_followed(items, place) and _is_put(item, items)
    }
    return [item for place, item in enumerate(items) if place not in moved] if moved else items


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
