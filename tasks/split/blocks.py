"""Blocks: what a document consists of outside of its front matter and furniture, without gaps."""

from collections.abc import Iterator
from dataclasses import replace

from storage.schema import Element, Parsed
from tasks.split.span import trim

LEFT_OUT = frozenset({"front_matter", "furniture"})


def blocks(parsed: Parsed) -> Iterator[Element]:
    """Yield the outermost elements, trimmed, and what stands between them, but for what is left out.

    Front matter is yielded as an empty element, since no chunk may reach across it.
    """
    position = 0
    for element in parsed.elements:
        if element.start < position or element.end <= element.start:
            continue
        yield from _text(parsed.text, "text", position, element.start)
        position = element.end
        if element.kind == "front_matter":
            yield Element("front_matter", element.end, element.end)
        elif element.kind != "furniture":
            span = trim(parsed.text, element.start, element.end)
            if span.end > span.start:
                yield replace(element, start=span.start, end=span.end)
    yield from _text(parsed.text, "text", position, len(parsed.text))


def _text(text: str, kind: str, start: int, end: int) -> Iterator[Element]:
    span = trim(text, start, end)
    if span.end > span.start:
        yield Element(kind, span.start, span.end)


def stretches(parsed: Parsed) -> Iterator[tuple[int, int, bool]]:
    """Yield the spans between what is left out, and whether front matter stands before them."""
    position, after_front = 0, False
    for element in parsed.elements:
        if element.kind in LEFT_OUT and element.start >= position:
            if parsed.text[position : element.start].strip():
                yield position, element.start, after_front
                after_front = False
            after_front |= element.kind == "front_matter"
            position = element.end
    if parsed.text[position:].strip():
        yield position, len(parsed.text), after_front
