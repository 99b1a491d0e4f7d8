"""Snippet: the passage of a chunk that best matches the query."""

import re

import typer

from docmill.flows.cli.terminal.output import plain
from docmill.storage.keywords.analysis.analyser import analyse

WIDTH = 240
"""Characters: three lines of a terminal of 80 columns."""
_WORD = re.compile(r"\w+")


def snippet(query: str, text: str, mark: bool) -> str:
    """Return about `WIDTH` characters of `text` on one line, where most words of `query` occur.

    `mark` highlights these words for a terminal.
    """
    line = plain(text)
    wanted = set(analyse(query))
    spans = [m.span() for m in _WORD.finditer(line) if wanted.intersection(analyse(m.group()))]
    start = _best_start(spans, len(line))
    end = min(len(line), start + WIDTH)
    shown = _mark(line, [s for s in spans if start <= s[0] and s[1] <= end], start, end) if mark else line[start:end]
    return f"{'…' if start else ''}{shown}{'…' if end < len(line) else ''}"


def _best_start(spans: list[tuple[int, int]], length: int) -> int:
    """Return the start of the window that holds the most spans; the first one wins a tie."""
    if length <= WIDTH or not spans:
        return 0
    starts = [0, *(max(0, min(s - WIDTH // 8, length - WIDTH)) for s, _ in spans)]
    return max(starts, key=lambda start: sum(start <= s and e <= start + WIDTH for s, e in spans))


def _mark(line: str, spans: list[tuple[int, int]], start: int, end: int) -> str:
    parts, at = [], start
    for left, right in spans:
        parts += [line[at:left], typer.style(line[left:right], bold=True, fg="yellow")]
        at = right
    return "".join([*parts, line[at:end]])
