"""Raised figures: where figures may be set small and high in a text, as marks of notes and exponents are."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Sequence

RAISED, LOWERED = "\x0e", "\x0f"  # around superscript figures, until it is known what they are
# Up to three figures: behind a letter or a mark and at the end of a word (m2, "word."12), or before a word (1 See).
# Longer numbers are years and amounts. A look-behind has one width, so each count of figures has its own.
_BEHIND = "|".join(rf"(?<=(?:[^\W\d_]|[.,;:)\]”\"’]){digits})" for digits in (r"\d", r"\d\d", r"\d\d\d"))
_SUPERSCRIPT = re.compile(rf"[0-9][0-9]{{0,2}}+(?:(?![\w.])(?:{_BEHIND})|(?P<before>(?=\s?[^\W\d_])))")
_AHEAD = 4  # characters behind the last line, which the pattern may look at
_FIGURES = "0123456789"
PRIVATE = "\ue0f0-\ue0f9"  # code points that stand for raised figures while a line is put in order, for patterns
_TO_PRIVATE = str.maketrans(_FIGURES, "".join(chr(0xE0F0 + figure) for figure in range(10)))
_FROM_PRIVATE = {there: here for here, there in _TO_PRIVATE.items()}
_RUN = re.compile(f"[{PRIVATE}]+")

Span = tuple[int, int]


def superscripts(text: str, lines: Sequence[Span], is_raised: Callable[[int, int], bool]) -> dict[int, list[Span]]:
    """Return the raised figures of a page's lines by the index of the line, each with its start and its end.

    `lines` are the first and last characters of lines; `is_raised` compares a character with another beside it.
    """
    found: defaultdict[int, list[Span]] = defaultdict(list)
    firsts = [first for first, _ in lines]
    end_of_all = max((last for _, last in lines), default=0)
    for match in _SUPERSCRIPT.finditer(text, min(firsts, default=0), end_of_all + _AHEAD):
        start, end = match.span()
        index = bisect_right(firsts, start) - 1
        if index < 0 or end > lines[index][1] + 1:
            continue
        # They stand before a word where they begin a line, else behind one.
        begins = start == firsts[index]
        beside = end + text[end].isspace() if begins else start - 1
        if begins == (match.lastgroup == "before") and is_raised(start, beside):
            found[index].append((start, end))
    return found


def set_apart(text: str, raised: Container[int]) -> str:
    """Return a text with a private character for each raised figure; `raised` are their places."""
    return "".join(sign.translate(_TO_PRIVATE) if at in raised else sign for at, sign in enumerate(text))


def marked(text: str) -> str:
    """Return a text with marks around its raised figures, which are ordinary ones again."""
    return _RUN.sub(lambda run: f"{RAISED}{run[0]}{LOWERED}", text).translate(_FROM_PRIVATE)
