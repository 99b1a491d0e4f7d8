"""PDF words: what was cut at the end of a line made whole again."""

import re
from collections.abc import Iterable, Set

from tasks.parse.pdf.page import HYPHEN

_MARKS = ("", ",", ".", ";", ":", ")")  # with which words may stand
_LAST = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*$")
_FIRST = re.compile(r"[^\W\d_]+")
_DASHES = ("-", "\u2010", HYPHEN)
_LONGEST = 60


def words_of(text: str) -> Set[str]:
    """Return the words of a text in small letters, with the marks that they stand with."""
    return set(text.lower().split())


def joined(lines: Iterable[str], words: Set[str]) -> str:
    """Return lines as one text; a word cut between two is whole again.

    Whether its hyphen belongs to it, the document's other `words` tell; else one before a small letter
    is taken to be the typesetter's.
    """
    parts: list[str] = []
    for line in lines:
        last = parts[-1] if parts else ""
        if last.endswith(_DASHES) and last[-2:-1].isalpha():
            parts[-1] = last[:-1] + _hyphen(last[:-1], line, words)
        elif parts:
            parts[-1] = f"{last.removesuffix(HYPHEN)} "
        parts.append(line)
    return "".join(parts).replace(HYPHEN, "-")


def _hyphen(before: str, after: str, words: Set[str]) -> str:
    last, first = _LAST.search(before[-_LONGEST:]), _FIRST.match(after)
    if not last or not first:
        return "-"
    head, tail = last.group().lower(), first.group().lower()
    if _knows(words, f"{head}-{tail}"):
        return "" if _knows(words, head + tail) else "-"
    return "" if first.group()[0].islower() and "-" not in head else "-"


def _knows(words: Set[str], word: str) -> bool:
    return any(word + mark in words for mark in _MARKS)
