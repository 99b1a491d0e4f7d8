"""Snippet: the passage of a chunk that best matches the query."""

import re
from collections.abc import Iterator
from itertools import groupby

import typer

from docmill.flows.cli.terminal.output import plain
from docmill.storage.keywords.analysis.analyser import analyse

WIDTH = 240
"""Characters: three lines of a terminal of 80 columns."""
_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:\+\+|#)?")  # of the analyser's pieces, those that it may leave whole


def snippet(query: str, text: str, mark: bool, language: str = "english", width: int = WIDTH) -> str:
    """Return about `width` characters of `text` on one line, where most words of `query` occur.

    `mark` highlights these words for a terminal: those of which the keyword index would find the stem in `language`.
    """
    line = plain(text)
    wanted = set(analyse(query, language))
    spans = [span for word in _WORD.finditer(line) for span in _matched(word, wanted, language)]
    start = _best_start(spans, len(line), width)
    end = min(len(line), start + width)
    shown = _mark(line, [s for s in spans if start <= s[0] and s[1] <= end], start, end) if mark else line[start:end]
    return f"{'…' if start else ''}{shown}{'…' if end < len(line) else ''}"


def _matched(word: re.Match[str], wanted: set[str], language: str) -> list[tuple[int, int]]:
    """Return the spans of a word that match: all of it, or pairs of letters in a script without spaces."""
    text, terms = word.group(), analyse(word.group(), language)
    pairs = [text[at : at + 2] for at in range(len(text) - 1)]
    if len(pairs) < 2 or terms != pairs:
        return [word.span()] if wanted.intersection(terms) else []
    return list(_runs([pair in wanted for pair in pairs], word.start()))


def _runs(lit: list[bool], start: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of consecutive pairs of letters that match; the first pair begins at `start`."""
    at = start
    for match, run in groupby(lit):
        length = len(list(run))
        if match:
            yield at, at + length + 1
        at += length


def _best_start(spans: list[tuple[int, int]], length: int, width: int) -> int:
    """Return the start of the window that holds the most spans; the first one wins a tie."""
    if length <= width or not spans:
        return 0
    starts = [0, *(max(0, min(s - width // 8, length - width)) for s, _ in spans)]
    return max(starts, key=lambda start: sum(start <= s and e <= start + width for s, e in spans))


def _mark(line: str, spans: list[tuple[int, int]], start: int, end: int) -> str:
    parts, at = [], start
    for left, right in spans:
        parts += [line[at:left], typer.style(line[left:right], bold=True, fg="yellow")]
        at = right
    return "".join([*parts, line[at:end]])
