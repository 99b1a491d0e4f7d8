"""PDF list marks: signs and numbers that begin list items, including those drawn separately or as shapes."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.layout.rows import Item
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around

_UNKNOWN = "\x80-\x9f\ue000-\uf8ff\ufffd\uff66-\uff9d"
_SHAPES = "\u25a0-\u25ff\u2605\u2606\u2700-\u2767\u2b25"  # geometric shapes, stars, dingbats
BULLET = re.compile(rf"([•‣∙·*–—→⇒»›⦁➔➜➢➤\u2043\u2212{_SHAPES}-]|o(?=\s)|[{_UNKNOWN}](?!\s+[{_UNKNOWN}]))\s+(?=\S)")
"""A sign that begins an item; it may be a letter of a symbol font, which has no meaning of its own."""
NUMBER = re.compile(r"(\(?(?:\d{1,3}|[a-z]|[ivx]{1,4}|[IVX]{1,4})[.)])\s+(?=\S)")
CAPTION = re.compile(
    r"(?:table(?:au)?|tab(?:elle|ella|la|ela|\.)|fig(?:ur[ae]|\.)|abb(?:ildung|\.)|plate|chart|listing|gr[aá]fico|graph)\s*\d"
    r"|exhibit\s*\d+[.:]\s",
    re.IGNORECASE,
)
"""The beginning of a caption; "Exhibit 10.1" is the title of an appended document instead."""
_HEAD = 6  # letters of the longest number of an item: "(viii)"


def marker_of(text: str) -> re.Match[str] | None:
    """Return the sign or number that a list item begins with."""
    if text[1:2] == " ":
        return BULLET.match(text)
    head = text[:_HEAD]  # most lines have neither character there and need no search
    return NUMBER.match(text) if "." in head or ")" in head else None


_LONGEST = 6  # characters of a mark: "(viii)"
_REACH = 2.5  # font sizes between a mark and its item; text further away is a cell of a table, or of a drawing
_SIGNS = "\u2022\u25cf\u25cb\u25e6\u25b8\u25aa"  # always begin an item when they precede text
_SHARED_LEVEL = 0.6  # of the height, by which a mark and the first line of its item overlap


def with_marks(items: list[Item]) -> list[Item]:
    """Return items, with marks that do not directly precede their items in the page's content moved there.

    WeasyPrint draws the text of a list first and then its numbers. A sign that is never a cell is joined to the item
    after it, because page columns may otherwise separate them.
    """
    moved = {place for place, item in enumerate(items) if _is_mark(item) and _is_moved(items, place)}
    return [item for place, item in enumerate(items) if place not in moved] if moved else items


def _is_moved(items: list[Item], place: int) -> bool:
    mark, following = items[place], items[place + 1 : place + 2]
    if not any(_begins_right_of(item, mark) for item in following):
        return _is_put(mark, items)
    return isinstance(mark, TextLine) and mark.text in _SIGNS and _is_put(mark, following)


def _is_put(mark: Item, items: list[Item]) -> bool:
    """Put a mark at the beginning of its item; return whether there is one."""
    if any(_begins_right_of(mark, item) for item in items):  # text is just left of it: a raised sign of a formula
        return False
    first = next((item for item in items if _begins_right_of(item, mark) and not _is_mark(item)), None)
    if not isinstance(first, TextLine) or not isinstance(mark, TextLine):
        return False
    first.text = f"{mark.text} {first.text}"
    first.box = around(mark.box, first.box)
    return True


def _is_mark(item: Item) -> bool:
    """Return whether a line is only the number or sign of an item; "(1)" is excluded, as it may number a formula."""
    if not isinstance(item, TextLine) or len(item.text) > _LONGEST or item.furniture or item.text[0] == "(":
        return False
    shown = f"{item.text} x"
    mark = BULLET.match(shown) or NUMBER.match(shown)
    return mark is not None and mark.end() == len(shown) - 1


def _begins_right_of(item: Item, mark: Item) -> bool:
    """Return whether a line begins just right of a mark, on its level."""
    if not isinstance(item, TextLine) or not isinstance(mark, TextLine) or item is mark:
        return False
    if not -mark.size / 2 < item.box[0] - mark.box[2] < _REACH * mark.size:
        return False
    shared = min(item.box[3], mark.box[3]) - max(item.box[1], mark.box[1])
    return shared > _SHARED_LEVEL * min(item.height, mark.height)


_LARGE = 0.6  # of the font size: larger dots are boxes or pictures
_MOST = 1_000_000  # pairs of a dot and a line: beyond it, the page is a drawing
_FINENESS = 2  # steps per point for comparing the sizes of dots: exact sizes of one bullet differ by rounding


def with_bullets(lines: list[TextLine], dots: list[Box]) -> None:
    """Write a bullet at the beginning of each line with a dot before it, unless other text is next to the dot.

    Bullets have one size, and two of them are in one column.
    """
    if len(dots) * len(lines) > _MOST:
        return
    items = [*_items(dots, lines)]
    columns = Counter((*_size(dot), round(dot[0])) for _, dot in items)
    sizes = {(wide, high) for (wide, high, _), count in columns.items() if count > 1}
    for item, dot in items:
        if _size(dot) in sizes:  # a dot of a drawing is next to text by chance
            _write_bullet(item, dot)


def _items(dots: list[Box], lines: list[TextLine]) -> Iterator[tuple[TextLine, Box]]:
    """Yield each line that has a dot before it, with its dot."""
    ordered = sorted(lines, key=lambda line: line.box[3])
    bottoms = [line.box[3] for line in ordered]
    tallest = max((line.height for line in lines), default=0.0)
    for dot in dots:
        beside = _beside(dot, ordered, bottoms, tallest)
        item = _first_right(dot, beside)
        if item is not None and not any(_is_between(line, dot, item) for line in beside):
            yield item, dot


def _beside(dot: Box, ordered: list[TextLine], bottoms: list[float], tallest: float) -> list[TextLine]:
    """Return the lines level with the middle of a dot; `ordered` are all lines, sorted by their bottoms."""
    middle = (dot[1] + dot[3]) / 2
    first, end = bisect_left(bottoms, middle), bisect_left(bottoms, middle + tallest)
    return [line for line in ordered[first:end] if line.box[1] < middle]


def _first_right(dot: Box, beside: list[TextLine]) -> TextLine | None:
    """Return the first line right of a dot; None unless it is near and large enough to be the dot's item."""
    right = min((line for line in beside if line.box[0] >= dot[2]), key=lambda line: line.box[0], default=None)
    if right is None or right.box[0] - dot[2] > _REACH * right.size:
        return None
    return right if dot[3] - dot[1] <= _LARGE * right.size else None


def _is_between(line: TextLine, dot: Box, item: TextLine) -> bool:
    """Return whether another line covers an item's dot or is close to its left, as for a dot within text."""
    return line is not item and dot[0] - item.size <= line.box[2] and line.box[0] <= dot[2]


def _write_bullet(item: TextLine, dot: Box) -> None:
    if marker_of(item.text) is None:
        item.text = f"\u2022 {item.text}"
    item.box = (dot[0], *item.box[1:])


def _size(dot: Box) -> tuple[int, int]:
    return round(_FINENESS * (dot[2] - dot[0])), round(_FINENESS * (dot[3] - dot[1]))
