"""PDF words: what was cut at the end of a line made whole again."""

import re
from collections.abc import Iterable, Set

from tasks.parse.pdf_page import HYPHEN

_PARTS = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_LAST = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*$")
_FIRST = re.compile(r"[^\W\d_]+")
_DASHES = ("-", "\u2010", HYPHEN)
_LONGEST = 60


def words_of(text: str) -> Set[str]:
    """Return the words of a text in small letters, those with hyphens whole."""
    return set(_PARTS.findall(text.lower()))


def joined(lines: Iterable[str], words: Set[str]) -> str:
    """Return lines as one text; a word cut between two is whole again.

    Whether its hyphen belongs to it, the document's other `words` tell; else one before a small letter
    is taken to be the typesetter's.
    """
    text = ""
    for line in lines:
        if not text:
            text = line
        elif text.endswith(_DASHES) and text[-2:-1].isalpha():
            text = text[:-1] + _hyphen(text[:-1], line, words) + line
        else:
            text = f"{text.removesuffix(HYPHEN)} {line}"
    return text.replace(HYPHEN, "-")


def _hyphen(before: str, after: str, words: Set[str]) -> str:
    last, first = _LAST.search(before[-_LONGEST:]), _FIRST.match(after)
    if not last or not first:
        return "-"
    head, tail = last.group().lower(), first.group().lower()
    if f"{head}-{tail}" in words:
        return "" if head + tail in words else "-"
    return "" if first.group()[0].islower() and "-" not in head else "-"
