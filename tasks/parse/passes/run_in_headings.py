"""Run-in headings: bold or italic text that begins a paragraph and names it, as in "Delivery. The goods are ...".

Bold text begins paragraphs for other reasons, too: a warning, a speaker, the term that a glossary explains. So it is
treated as headings only in a document that begins several longer paragraphs with such text, different each time.
Readers determine which text is emphasised, and how their blocks are split in two.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from docmill.tasks.parse.passes.drawn_block import DrawnBlock, heading_block

SIGNS = (".", ":", "\u2014", "\u2013")
"""Signs that end such text; they may follow the bold letters."""
_DEEPEST = 6
"""The lowest heading level: deeper headings are written at this level."""
_LEAST = 3  # such paragraphs: with only one or two, the text is just emphasised
_LEAD_WORDS = 9  # of a heading; longer bold text is an emphasised sentence
_LONG_WORDS = 25
"""Minimum words in the rest of the paragraph, in at least half of the paragraphs: entries of glossaries and feature
lists are shorter, and splitting them would leave chunks of one line."""
_ENDS = re.compile(rf"[{''.join(SIGNS)}]\Z")
_LABEL = re.compile(
    r"(?:note|notes|nb|n\.b|warning|caution|tip|hint|example|important|remark|answer|question|[qa]|figure|fig|table|step"
    r"|source|todo|update|edit|see also|by|from|to|subject|date|abstract|keywords?|dear .*)[\s\d.:]*",
    re.IGNORECASE,
)


class LedParagraph(NamedTuple):
    """The emphasised text that begins a paragraph, with the sign that ends it, and the rest of the paragraph."""

    lead: str
    rest: str
    end: int = 0  # of the emphasised text, in a text that stays as it is

    @property
    def heading(self) -> str:
        """Return the text as a heading, without the sign that ends it."""
        return _ENDS.sub("", self.lead.strip()).strip()


def is_lead(text: str) -> bool:
    """Return whether text at the beginning of a paragraph may name it: it is short and ends with such a sign."""
    text = text.strip()
    named = bool(text) and text[0].isalpha() and not text[0].islower() and _ENDS.search(text) is not None
    return named and len(text.split()) <= _LEAD_WORDS and _LABEL.fullmatch(text) is None


def headed(
    blocks: Sequence[Any], led: Mapping[int, LedParagraph], parted: Callable[[Any, LedParagraph, int], Iterable[Any]]
) -> Sequence[Any]:
    """Return blocks; those in `led`, keyed by position, are split in two if their leads are headings.

    `parted` returns a block as a heading one level below the heading above it, and the rest.
    """
    if not _are_headings([*led.values()]):
        return blocks
    level, whole = 0, list[Any]()
    for at, block in enumerate(blocks):
        level = block.level if block.kind == "title" else level
        whole += parted(block, led[at], min(level + 1, _DEEPEST)) if at in led else (block,)
    return whole


def _are_headings(led: Sequence[LedParagraph]) -> bool:
    """Return whether the leads of a document's paragraphs are headings: several, all different, before longer texts."""
    if len(led) < _LEAST or len({one.lead.casefold() for one in led}) < len(led):
        return False
    return 2 * sum(len(one.rest.split()) >= _LONG_WORDS for one in led) >= len(led)


def of_rest(attributes: Mapping[str, Any], rest: str) -> dict[str, Any]:
    """Return the attributes of a paragraph without its lead; only links in the rest of it are kept."""
    links = [link for link in attributes.get("links", ()) if link["text"] in rest]
    return {name: value for name, value in attributes.items() if name != "links"} | ({"links": links} if links else {})


def with_run_in_headings(blocks: Sequence[DrawnBlock]) -> Sequence[DrawnBlock]:
    """Return the blocks of a canvas with the leads of paragraphs as headings."""
    led = {at: found for at, one in enumerate(blocks) if one.lead and (found := _led(one.text, one.lead))}
    return headed(blocks, led, _parted)


def _parted(block: DrawnBlock, led: LedParagraph, level: int) -> Iterable[DrawnBlock]:
    rest = replace(block, text=led.rest, attributes=of_rest(block.attributes, led.rest))
    return heading_block(led.heading, level, block.page, block.box, {}), rest


def _led(text: str, lead: str) -> LedParagraph | None:
    """Return a paragraph's lead, with the sign that ends it, and the rest; None if the lead does not name it."""
    behind = text.removeprefix(lead).strip()
    if lead[-1:] not in SIGNS and behind[:1] in SIGNS:  # the sign may follow the bold letters
        lead, behind = lead + behind[:1], behind[1:].lstrip()
    return LedParagraph(lead, behind) if behind and text.startswith(lead[:-1]) and is_lead(lead) else None
