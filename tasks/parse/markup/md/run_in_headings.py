"""Run-in headings of Markdown: the emphasised beginnings of paragraphs, as headings before what they name.

The text of a Markdown file is the file: such a heading and its paragraph are two elements of one line.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from docmill.storage.schema import Element
from docmill.tasks.parse.passes.run_in_headings import SIGNS, LedParagraph, headed, is_lead, of_rest

_LEAD = re.compile(
    r"(\*{1,3}|_{1,3})(?=\S)(?P<words>[^*_`\n]{1,120})(?<=\S)\1(?![*_\w])"
    rf"(?: ?(?P<sign>[{''.join(SIGNS)}]))?(?=\s)"
)


def with_run_in_headings(text: str, elements: Sequence[Element], plain: Callable[[str], str]) -> Sequence[Element]:
    """Return the elements of a file, its led paragraphs in two; `plain` takes the inline markup from a line."""
    led = {at: found for at, one in enumerate(elements) if (found := _led(text, one, plain))}
    return headed(elements, led, partial(_parted, text))


def _parted(text: str, element: Element, led: LedParagraph, level: int) -> Iterable[Element]:
    rest = element.end_char - len(led.rest)
    yield replace(element, kind="title", end_char=led.end, level=level, attributes={"text": led.heading})
    line = element.line + ("\n" in text[led.end : rest])
    yield replace(element, start_char=rest, line=line, attributes=of_rest(element.attributes, led.rest))


def _led(text: str, element: Element, plain: Callable[[str], str]) -> LedParagraph | None:
    """Return the lead of a paragraph that stands in no list, or None."""
    if element.kind != "paragraph" or (element.start_char and text[element.start_char - 1] not in "\r\n"):
        return None
    match = _LEAD.match(text, element.start_char, element.end_char)
    if match is None:
        return None
    lead = plain(match["words"])
    lead += (match["sign"] or "") * (lead[-1:] not in SIGNS)
    rest = text[match.end() : element.end_char].lstrip()
    return LedParagraph(lead, rest, match.end()) if rest and is_lead(lead) else None
