"""Drawn rules: the rules of tables that are drawn by characters, as SAS, mainframes and terminals print them."""

import re
from collections.abc import Callable, Sequence
from itertools import chain

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.ruling_lines import PageRules, joined_rules

_RULE_LINE = re.compile(r"^[ \t]*+(?=[^\n]*[-=_]{3})[-=_+|][-=_+| \t]*\r?$", re.MULTILINE)
_BARRED_LINE = re.compile(r"^[^\n|]*\|[^\n|]*\|", re.MULTILINE)
_RUN, _BAR = re.compile(r"[-=_+]+"), re.compile(r"\|")
_LEAST = 3  # of both kinds of line: fewer are a heading that is underlined, or a pipe in a command
_REACH = 0.3  # of a bar's height, by which it goes on to the next line; lines stand that far apart, rows further


def without_drawn_rules(text: str, boxes: Callable[[Sequence[int]], list[Box]]) -> tuple[str, PageRules]:
    """Return the text of a page with blanks in place of rules drawn by characters, and these rules.

    `boxes` returns those of the characters at some places. A page with a few such lines draws no table.
    """
    lines = [*_RULE_LINE.finditer(text)] if "|" in text else []
    if len(lines) < _LEAST or len(_BARRED_LINE.findall(text)) < _LEAST:
        return text, PageRules()
    runs = [found.span() for line in lines for found in _RUN.finditer(text, line.start(), line.end())]
    bars = _bars(text, runs)
    ends = boxes([*chain.from_iterable((start, end - 1) for start, end in runs)])
    level = [*map(_level, ends[::2], ends[1::2])]
    return _blanked(text, runs, bars), PageRules(joined_rules(level), joined_rules([*map(_upright, boxes(bars))]))


def _bars(text: str, runs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the places of bars, and of crosses within runs of dashes."""
    crosses = (at for start, end in runs for at in range(start, end) if text[at] == "+")
    return sorted({*crosses, *(found.start() for found in _BAR.finditer(text))})


def _blanked(text: str, runs: Sequence[tuple[int, int]], bars: Sequence[int]) -> str:
    letters = [*text]
    for start, end in (*runs, *((at, at + 1) for at in bars)):
        letters[start:end] = " " * (end - start)
    return "".join(letters)


def _level(first: Box, last: Box) -> tuple[float, float, float]:
    """Return the level rule that a run draws, to the middle of the bars beside it."""
    wide = (first[2] - first[0]) / 2
    return (first[1] + first[3]) / 2, first[0] - wide, last[2] + wide


def _upright(box: Box) -> tuple[float, float, float]:
    """Return the upright rule that a bar draws, or a cross within a level rule."""
    left, top, right, bottom = box
    more = _REACH * (bottom - top)
    return (left + right) / 2, top - more, bottom + more
