"""Blocks: what a document consists of outside of its front matter and furniture, without gaps."""

from collections.abc import Iterator
from typing import NamedTuple

from storage.schema import Parsed
from tasks.split.span import trim


class Block(NamedTuple):
    """An outermost element, or text between elements, of kind `text`."""

    kind: str
    start: int
    end: int
    level: int = 0


def blocks(parsed: Parsed) -> Iterator[Block]:
    """Yield the blocks of a document, trimmed and in order.

    Front matter is yielded empty, since no chunk may reach across it, furniture not at all.
    """
    text, position = parsed.text, 0
    for element in parsed.elements:
        start, end = element.start, element.end
        if start < position or end <= start:
            continue
        yield from _block(text, "text", position, start, 0)
        position = end
        if element.kind == "front_matter":
            yield Block("front_matter", end, end)
        elif element.kind != "furniture":
            yield from _block(text, element.kind, start, end, element.level)
    yield from _block(text, "text", position, len(text), 0)


def _block(text: str, kind: str, start: int, end: int, level: int) -> Iterator[Block]:
    start, end = trim(text, start, end)
    if end > start:
        yield Block(kind, start, end, level)


def stretches(parsed: Parsed) -> Iterator[tuple[int, int, bool]]:
    """Yield the spans between what is left out, and whether front matter stands before them."""
    position, after_front = 0, False
    for element in parsed.elements:
        if element.kind in ("front_matter", "furniture") and element.start >= position:
            if parsed.text[position : element.start].strip():
                yield position, element.start, after_front
                after_front = False
            after_front |= element.kind == "front_matter"
            position = element.end
    if parsed.text[position:].strip():
        yield position, len(parsed.text), after_front
