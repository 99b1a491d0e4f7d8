"""PDF words: what was cut at the end of a line made whole again."""

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise

from docmill.tasks.parse.pdf.text.letters import HYPHEN

_MARKS = ",.;:)"  # with which words may stand
_LAST = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*$")
_FIRST = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"\w[.=@\\:]\w|[{}<>\\_]")  # of a file, a key, an address: hyphens in it are its own
_DASHES = ("-", "\u2010", HYPHEN)
_LONGEST = 60


class Words:
    """The words of a text, in small letters and without marks behind them, found when they are asked for."""

    def __init__(self, text: str = "") -> None:
        self._text = text

    @cached_property
    def _small(self) -> str:
        return self._text.lower()

    def __contains__(self, word: str) -> bool:
        """Say whether a word of letters stands by itself somewhere."""
        alone = rf"(?<!\S){re.escape(word)}[{_MARKS}]*(?!\S)"
        return word in self._small and re.search(alone, self._small) is not None

    @cached_property
    def compound(self) -> set[str]:
        """Return those that are written with a hyphen, of more than two parts every two."""
        found = set()
        for before, after in pairwise(self._small.split("-")):
            head, tail = before.rsplit(None, 1)[-1:], after.split(None, 1)[:1]
            if head and tail and not before[-1].isspace() and not after[0].isspace():
                found.add(f"{head[0]}-{tail[0].rstrip(_MARKS)}")
        return found


def joined(lines: Iterable[str], words: Words) -> str:
    """Return lines as one text; a word cut between two is whole again.

    Whether its hyphen belongs to it, the document's other `words` tell; else one before a small letter
    is taken to be the typesetter's.
    """
    text = "\n".join(lines)
    if "-\n" not in text and "\u2010\n" not in text and HYPHEN not in text:
        return text.replace("\n", " ")
    parts: list[str] = []
    for line in text.split("\n"):
        last = parts[-1] if parts else ""
        if last.endswith(_DASHES) and last[-2:-1].isalpha():
            parts[-1] = last[:-1] + _hyphen(last[:-1], line, words)
        elif parts:
            parts[-1] = f"{last.removesuffix(HYPHEN)} "
        parts.append(line)
    return "".join(parts).replace(HYPHEN, "-")


def _hyphen(before: str, after: str, words: Words) -> str:
    start, end = before.rsplit(None, 1)[-1][-_LONGEST:], after[:_LONGEST].split(" ", 1)[0]
    last, first = _LAST.search(start), _FIRST.match(end)
    if not last or not first or _NAME.search(start) or _NAME.search(end):
        return "-"
    head, tail = last.group().lower(), first.group().lower()
    if f"{head}-{tail}" in words.compound:
        return "" if head + tail in words else "-"
    return "" if first.group()[0].islower() and "-" not in head else "-"
