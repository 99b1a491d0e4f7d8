"""Blocks: the consecutive elements of a part, without front matter and furniture."""

from collections.abc import Iterator
from typing import NamedTuple

from docmill.tasks.parse.caption_labels import is_caption
from docmill.tasks.split.parts.part import LEFT_OUT, Part
from docmill.tasks.split.spans.span import Span, trim

_BARRIERS = frozenset({"front_matter", "toc"})
_LONGEST_HEADING = 80  # characters; lines of prose without a full stop are mostly longer


class Block(NamedTuple):
    """An outermost element, clipped to the part, or a text between elements, of kind `text`."""

    kind: str
    start: int
    end: int
    level: int = 0


def blocks(part: Part) -> Iterator[Block]:
    """Yield the blocks of a part, trimmed and in order.

    Front matter and tables of contents are yielded empty, because no chunk may span them; furniture is skipped.
    """
    text, position = part.text, part.start
    for element in part.index.outer.within(part.start, part.end):
        start, end = max(element.start_char, part.start), min(element.end_char, part.end)
        yield from _block(text, "text", position, start, 0)
        position = end
        if element.kind in _BARRIERS:
            yield Block("front_matter", end, end)
        elif element.kind not in LEFT_OUT:
            yield from _block(text, element.kind, start, end, element.level)
    yield from _block(text, "text", position, part.end, 0)


def _block(text: str, kind: str, start: int, end: int, level: int) -> Iterator[Block]:
    start, end = trim(text, start, end)
    if end > start:
        yield Block(kind, start, end, level)


def announces(text: str) -> bool:
    """Return whether a block introduces what follows, or is short and looks like a heading."""
    like_heading = len(text) <= _LONGEST_HEADING and "\n" not in text and text.rstrip("*_ \r\n")[-1:].isalnum()
    return like_heading or introduces(text)


def introduces(text: str) -> bool:
    """Return whether a block ends in a colon or is a caption."""
    return text.rstrip("*_ \r\n").endswith((":", "\uff1a")) or is_caption(text)


def runs(part: Part) -> Iterator[Span]:
    """Return the spans between front matters, without blanks and furniture at their ends."""
    start = end = -1
    for first, last, after_front in stretches(part):
        if after_front and end > start >= 0:
            yield Span(start, end)
        start, end = (first if after_front or start < 0 else start), last
    if end > start >= 0:
        yield Span(start, end)


def stretches(part: Part) -> Iterator[tuple[int, int, bool]]:
    """Yield the spans between front matter and furniture, and whether front matter directly precedes them."""
    text, position, after_front = part.text, part.start, False
    for element in part.index.left_out.within(part.start, part.end):
        if text[position : element.start_char].strip():
            yield position, element.start_char, after_front
            after_front = False
        after_front |= element.kind in _BARRIERS
        position = element.end_char
    if text[position : part.end].strip():
        yield position, part.end, after_front
