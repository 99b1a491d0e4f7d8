"""Run-in headings of Markdown: the emphasised beginnings of paragraphs, as headings before what they name.

The text of a Markdown file is the file: such a heading and its paragraph are two elements of one line.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from docmill.storage.schema import Element
from docmill.tasks.parse.titles.run_in import DEEPEST, SIGNS, LedParagraph, heading_of, is_lead, name_paragraphs

_SIGNS = "".join(SIGNS)
_LEAD = re.compile(
    rf"(\*{{1,3}}|_{{1,3}})(?=\S)(?P<words>[^*_`\n]{{1,120}})(?<=\S)\1(?![*_\w])(?: ?(?P<sign>[{_SIGNS}]))?(?=\s)"
)


class _LedElement(NamedTuple):
    """A paragraph with a lead, where the lead ends in the text, and where what follows it begins."""

    lead: str
    words: int
    end: int
    rest: int


def with_run_in_headings(text: str, elements: Sequence[Element], plain: Callable[[str], str]) -> list[Element]:
    """Return the elements of a file, its led paragraphs in two: a heading and the rest.

    `plain` takes the inline markup from a line. A heading is one level below the one above it.
    """
    led = {at: found for at, one in enumerate(elements) if (found := _led(text, one, plain))}
    if not name_paragraphs([LedParagraph(one.lead, one.words) for one in led.values()]):
        return list(elements)
    return list(_set_apart(text, elements, led))


def _set_apart(text: str, elements: Sequence[Element], led: dict[int, _LedElement]) -> Iterator[Element]:
    level = 0
    for at, element in enumerate(elements):
        level = element.level if element.kind == "title" else level
        if at in led:
            lead, _, end, rest = led[at]
            stated = {"text": heading_of(lead)}
            yield replace(element, kind="title", end_char=end, level=min(level + 1, DEEPEST), attributes=stated)
            line = element.line + ("\n" in text[end:rest])
            own = _of_rest(element, text[rest : element.end_char])
            yield replace(element, start_char=rest, line=line, attributes=own)
        else:
            yield element


def _led(text: str, element: Element, plain: Callable[[str], str]) -> _LedElement | None:
    """Return the lead of a paragraph that stands in no list, or None."""
    if element.kind != "paragraph" or (element.start_char and text[element.start_char - 1] not in "\r\n"):
        return None
    match = _LEAD.match(text, element.start_char, element.end_char)
    if match is None:
        return None
    lead = plain(match["words"])
    sign = match["sign"] or ""
    lead += sign * (lead[-1:] not in SIGNS)
    words = text[match.end() : element.end_char].split()
    if not words or not is_lead(lead):
        return None
    return _LedElement(lead, len(words), match.end(), text.index(words[0], match.end()))


def _of_rest(element: Element, rest: str) -> dict[str, Any]:
    """Return the attributes of a paragraph without its lead: the links that stand in the rest of it."""
    links = [link for link in element.attributes.get("links", ()) if link["text"] in rest]
    return {"links": links} if links else {}
