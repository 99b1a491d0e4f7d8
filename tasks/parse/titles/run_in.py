"""Run-in headings: bold or slanted words that begin a paragraph and name it, as "Delivery. The goods are ..." does.

Bold words begin paragraphs for other reasons, too: a warning, a speaker, the term that a glossary explains. So they are
headings only in a document that begins several longer paragraphs with such words, each time with others.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

SIGNS = (".", ":", "\u2014", "\u2013")
"""What ends such words; it may stand behind the bold letters."""
DEEPEST = 6
"""The level of the lowest headings: deeper ones are written as these."""
_LEAST = 3  # such paragraphs: one or two are emphasised
_LEAD_WORDS = 9  # of a heading; longer bold text is an emphasised sentence
_LONG_WORDS = 25
"""Words of what follows, in half of the paragraphs at least: entries of glossaries and lists of features are shorter,
and to cut them apart would leave chunks of a line."""
_ENDS = re.compile(rf"[{''.join(SIGNS)}]\Z")
_LABEL = re.compile(
    r"(?:note|notes|nb|n\.b|warning|caution|tip|hint|example|important|remark|answer|question|[qa]|figure|fig|table|step"
    r"|source|todo|update|edit|see also|by|from|to|subject|date|abstract|keywords?|dear .*)[\s\d.:]*",
    re.IGNORECASE,
)


class LedParagraph(NamedTuple):
    """The words that begin a paragraph and stand out, with the sign behind them, and how many words follow."""

    lead: str
    words: int


def is_lead(text: str) -> bool:
    """Return whether words at the beginning of a paragraph may name it: short, with a sign that ends them."""
    text = text.strip()
    named = bool(text) and text[0].isalpha() and not text[0].islower() and _ENDS.search(text) is not None
    return named and len(text.split()) <= _LEAD_WORDS and _LABEL.fullmatch(text) is None


def name_paragraphs(led: Sequence[LedParagraph]) -> bool:
    """Return whether the leads of a document's paragraphs are headings: several, all different, before longer texts."""
    if len(led) < _LEAST or len({one.lead.casefold() for one in led}) < len(led):
        return False
    return 2 * sum(one.words >= _LONG_WORDS for one in led) >= len(led)


def heading_of(lead: str) -> str:
    """Return a lead as a heading, without the sign that ends it."""
    return _ENDS.sub("", lead.strip()).strip()
