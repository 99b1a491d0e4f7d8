"""PDF hyphens: rejoin words cut at the end of a line."""

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise, repeat

from docmill.tasks.parse.pdf.letters.special_characters import HYPHEN

_MARKS = ",.;:)"  # with which words may stand
_LAST = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*$")
_FIRST = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"\w[.=@\\:]\w|[{}<>\\_]")  # of a file, a key, an address: hyphens in it are its own
_DASHES = ("-", "\u2010", HYPHEN)
_LEAST_PART = 5  # letters of each part of a compound: shorter ones, as in "there-fore", are words by chance
_PREFIX_WORDS = "under after other every where there super inter trans multi micro macro hyper ultra infra extra intra"
_PREFIXES = frozenset(_PREFIX_WORDS.split())
"""Words that begin others: with "stand" in a document, "under-stand" would be a compound."""
_LONGEST = 60  # characters of a word that are looked at: longer ones are no words, and searches in them take long


class Vocabulary:
    """The words of a text in lower case, without trailing punctuation; built on first use."""

    def __init__(self, text: str = "") -> None:
        self._text = text

    @cached_property
    def _small(self) -> str:
        return self._text.lower()

    def __contains__(self, word: str) -> bool:
        """Return whether a word of letters occurs alone in the text."""
        return word in self._small and word in self._alone

    @cached_property
    def _alone(self) -> set[str]:
        return {*map(str.rstrip, {*self._small.split()}, repeat(_MARKS))}

    @cached_property
    def compound(self) -> set[str]:
        """Return the words with a hyphen; of one with several hyphens, each pair of parts."""
        found = set()
        for before, after in pairwise(self._small.split("-")):
            head, tail = before.rsplit(None, 1)[-1:], after.split(None, 1)[:1]
            if head and tail and not before[-1].isspace() and not after[0].isspace():
                found.add(f"{head[0]}-{tail[0].rstrip(_MARKS)}")
        return found


def joined(lines: Iterable[str], words: Vocabulary) -> str:
    """Return lines as one text; a word cut between two of them is rejoined.

    The other `words` of the document decide whether the hyphen is part of the word. If they do not, a hyphen before a
    lower-case letter is taken to be the typesetter's.
    """
    text = "\n".join(lines)
    if not _may_be_cut(text):
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


def _may_be_cut(text: str) -> bool:
    return "-\n" in text or "\u2010\n" in text or HYPHEN in text


def _hyphen(before: str, after: str, words: Vocabulary) -> str:
    """Return what belongs between the two parts of a word: a hyphen, or nothing."""
    start, end = before.rsplit(None, 1)[-1][-_LONGEST:], after[:_LONGEST].split(" ", 1)[0]
    last, first = _LAST.search(start), _FIRST.match(end)
    if not last or not first or _NAME.search(start) or _NAME.search(end):
        return "-"
    return "-" if _is_compound(last.group().lower(), first.group(), words) else ""


def _is_compound(head: str, tail: str, words: Vocabulary) -> bool:
    small = tail.lower()
    if f"{head}-{small}" in words.compound:
        return head + small not in words
    return not tail[0].islower() or "-" in head or _are_words(head, small, words)


def _are_words(head: str, tail: str, words: Vocabulary) -> bool:
    """Return whether both parts are words of the document and together they are none, as in "decision-making"."""
    if min(len(head), len(tail)) < _LEAST_PART or head in _PREFIXES:
        return False
    return head in words and tail in words and head + tail not in words
