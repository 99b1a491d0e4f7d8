"""PDF blocks: runs of lines that make one heading, list item, paragraph or block of code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.blocks.headings import MAX_HEADING
from docmill.tasks.parse.pdf.layout.grid import Item, Table
from docmill.tasks.parse.pdf.text.letters import LOWERED, RAISED
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.place import around_all

BULLET = re.compile(r"([•●▪■◦○‣∙·*–—➢➤✓❖-]|[\u2043\uf0a7\uf0b7\uf0a8\uf0d8]|o(?=\s))\s+(?=\S)")
NUMBER = re.compile(r"(\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s+(?=\S)")
_FIRST = re.compile(r"\(?[1aiA][.)]")
_NOTE = re.compile(rf"(?:{RAISED}(\d{{1,3}}){LOWERED}|(\d{{1,3}})(?=\s))\s*(?=\S)")
_ADDRESS = re.compile(r"(?:\{[^{}@]+\}|[\w.+, -]+)@\w[\w.-]*\w|(?:https?://|www\.)\S+")
_ENDS = (".", "!", "?", ":", "”", '"')
_SMALL = 0.93
_FULL, _ENOUGH, _WIDEST = 0.75, 3, 2.5
_BLANK_LINES = 3.4  # as high as two of them are


@dataclass(slots=True)
class Block:
    """Lines, or a table, that become one element; `note` is the number of a footnote.

    `lines` are those among its items, and those with which its text goes on in another column or on another page.
    """

    kind: str
    items: list[Item]
    page: int
    level: int = 0
    marker: str = ""
    note: str = ""
    lines: list[TextLine] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def box(self) -> Box:
        """Return the box around the items, where the block begins."""
        if len(self.items) == 1:
            return self.items[0].box
        return around_all([item.box for item in self.items])


def blocks(flow: list[Item], body: float, code: bool) -> list[Block]:
    """Return the blocks of a flow; lines in a font of one width are code if `code`."""
    lefts: list[float] = []
    found = []
    for group in _groups(flow, _Measure(flow), code):
        block = _block(group, code, lefts)
        if block.kind == "paragraph":
            _mark_note(block, body)
        found.append(block)
    return found


class _Measure:
    """How the lines of a flow are set, found when it is asked for."""

    def __init__(self, flow: list[Item]) -> None:
        self._flow = flow

    @cached_property
    def lines(self) -> list[TextLine]:
        """Return those that are no furniture."""
        return [item for item in self._flow if isinstance(item, TextLine) and not item.furniture]

    @cached_property
    def sides(self) -> tuple[float, float]:
        """Return where the lines begin and end."""
        return min(line.box[0] for line in self.lines), max(line.box[2] for line in self.lines)

    @cached_property
    def gap(self) -> float:
        """Return what usually lies between lines of one sentence, in their size; 0 where that is unknown."""
        left, right = self.sides
        gaps = [
            (lower.box[1] - upper.box[3]) / upper.size
            for upper, lower in pairwise(self.lines)
            if upper.box[2] - left > _FULL * (right - left) and lower.text[:1].islower() and upper.size == lower.size
        ]
        usual = median(gaps) if len(gaps) >= _ENOUGH else 0.0
        return usual if 0 < usual < _WIDEST else 0.0

    def is_short(self, line: TextLine) -> bool:
        """Return whether a line ends far from where others do."""
        left, right = self.sides
        return right - line.box[2] > 0.2 * max(right - left, 1)


def _groups(flow: list[Item], measure: _Measure, code: bool) -> Iterator[list[TextLine] | Table]:
    group: list[TextLine] = []
    for item in flow:
        if isinstance(item, Table):
            if group:
                yield group
            yield item
            group = []
        elif group and _continues(group, item, measure, code):
            group.append(item)
        else:
            if group:
                yield group
            group = [item]
    if group:
        yield group


def _block(group: list[TextLine] | Table, code: bool, lefts: list[float]) -> Block:
    if isinstance(group, Table):
        return Block("table", [group], group.page)
    first = group[0]
    block = Block("paragraph", [*group], first.page, lines=group)
    marker = None
    if first.furniture:
        block.kind = "furniture"
    elif first.level:
        lefts.clear()
        block.kind, block.level = "title", first.level
    elif code and _is_code(first):
        block.kind = "code"
    else:
        marker = marker_of(first.text)
    if marker:
        while lefts and lefts[-1] > first.box[0] + 3:
            lefts.pop()
        if not lefts or lefts[-1] < first.box[0] - 6:
            lefts.append(first.box[0])
        block.kind, block.level, block.marker = "list_item", len(lefts), marker[1] if marker.re is NUMBER else "-"
    return block


def marker_of(text: str) -> re.Match[str] | None:
    """Return the sign or number that a list item begins with."""
    if text[1:2] == " ":
        return BULLET.match(text)
    head = text[:6]
    return NUMBER.match(text) if "." in head or ")" in head else None


def _is_bullet(mark: re.Match[str], before: TextLine) -> bool:
    """Return whether a sign begins an item, and is no dash or dot of the text that the line before begins."""
    if mark[1] in "-–—":
        return (
            before.text.endswith(_ENDS) or not mark.string[mark.end()].islower() or marker_of(before.text) is not None
        )
    return mark[1] != "·" or " · " not in before.text


def _is_number(mark: re.Match[str], line: TextLine, first: TextLine, last: TextLine) -> bool:
    """Return whether a number begins an item: as far left as its block, or the first of a list that is further in."""
    inner = _FIRST.fullmatch(mark[1]) is not None and line.box[0] > last.box[0] + 0.5 * line.size
    return inner or line.box[0] <= first.box[0] + line.size


def _mark_note(block: Block, body: float) -> None:
    """Note the number of what may be a footnote: small text that begins with a number."""
    first = block.lines[0]
    match = _NOTE.match(first.text) if first.size < body * _SMALL else None
    if match and any(map(str.isalpha, first.text)):  # figures alone are a chart's
        block.note = match[1] or match[2]


def _continues(block: list[TextLine], line: TextLine, measure: _Measure, code: bool) -> bool:
    last = block[-1]
    if line.furniture or last.furniture or line.level != last.level:
        return False
    if code and not line.level and (_is_code(line) or _is_code(last)):
        return _is_code(line) and _is_code(last) and -last.size < line.box[1] - last.box[3] < _BLANK_LINES * last.size
    if abs(line.size - last.size) > 0.15 * last.size:
        return False
    gap = line.box[1] - last.box[3]
    if line.box[1] <= last.box[1]:
        return False
    if gap > 0.6 * last.size and gap > (_usual_gap(block) or measure.gap * last.size) + 0.35 * last.size:
        return False
    if line.box[0] > last.box[2]:
        return False
    if line.level:
        return gap < 0.8 * line.size and len(line.text) + sum(len(one.text) for one in block) < MAX_HEADING
    if line.font.bold != last.font.bold and len(block) == 1 and last.font.bold:
        return False
    return not _begins(block, line, measure)


def _is_code(line: TextLine) -> bool:
    """Return whether a line is code: of one width, and no address, which is set so too."""
    return line.font.mono and _ADDRESS.fullmatch(line.text) is None


def _is_indented(last: TextLine, line: TextLine, measure: _Measure) -> bool:
    """Return whether a line begins elsewhere than the one before, or as far in as this does."""
    return abs(line.box[0] - last.box[0]) > line.size or line.box[0] - measure.sides[0] > line.size


def _usual_gap(block: list[TextLine]) -> float:
    return min((lower.box[1] - upper.box[3] for upper, lower in pairwise(block[-4:])), default=0.0)


def _begins(block: list[TextLine], line: TextLine, measure: _Measure) -> bool:
    """Return whether a line begins an item, a footnote or, by indent or after a short line, a paragraph."""
    first, last = block[0], block[-1]
    mark = marker_of(line.text)
    if mark and (_is_bullet(mark, last) if mark.re is BULLET else _is_number(mark, line, first, last)):
        return True
    if line.text.startswith(RAISED):
        return True
    if marker_of(first.text):
        return line.box[0] < first.box[0] - 0.5 * line.size
    if not last.text.endswith(_ENDS):
        return False
    if len(block) < 2:
        return measure.is_short(last) and _is_indented(last, line, measure)
    recent = block[-8:]
    right = max(one.box[2] for one in recent)
    width = max(right - min(one.box[0] for one in recent), 1)
    return line.box[0] - last.box[0] > line.size or right - last.box[2] > 0.2 * width
