"""Snippet: the passage of a chunk that best matches the query."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

import typer

from docmill.flows.runs.visible_text import visible
from docmill.storage.search.keywords.analysis.analyser import analyse, load_analyser
from docmill.storage.search.keywords.analysis.separation import PAIR_SIGNS, SOFT_HYPHEN, located_pieces

WIDTH = 240
"""Characters: three lines of a terminal of 80 columns."""
_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:\+\+|#)?")  # of the analyser's pieces, those that it may leave whole
_JOINED = re.compile(rf"[\w{SOFT_HYPHEN}]+(?:[-.{''.join(PAIR_SIGNS.values())}][\w{SOFT_HYPHEN}]+)+")
_IN_WORDS = "LMN"  # letters, marks and numbers, by their Unicode category
_NOT_SPACE = re.compile(r"\S+")

Span = tuple[int, int]


def snippet(query: str, text: str, mark: bool, language: str = "english", width: int = WIDTH) -> str:
    """Return about `width` characters of `text` on one line, where most words of `query` occur.

    `mark` highlights these words for a terminal: those of which the keyword index would find the stem in `language`.
    """
    wanted = frozenset(analyse(query, language))
    words = list(_NOT_SPACE.finditer(text))
    line, found = " ".join(word.group() for word in words), _found(text, wanted, language)
    spans = list(_on_the_line(found, [word.span() for word in words]))
    start = _best_start(spans, len(line), width)
    end = min(len(line), start + width)
    shown = [s for s in spans if start <= s[0] and s[1] <= end] if mark else []
    return f"{'…' if start else ''}{_marked(line, shown, start, end)}{'…' if end < len(line) else ''}"


def _found(text: str, wanted: frozenset[str], language: str) -> Iterator[Span]:
    """Yield the spans of a text that match terms of the query: a piece that the index reads as one, or words of it."""
    analyser = load_analyser(language)
    for start, piece in located_pieces(text):
        terms = analyser[piece]
        if wanted.isdisjoint(terms):
            continue
        bare = piece.strip(".,-")
        whole = terms[0] in wanted and _JOINED.fullmatch(bare)
        own = [] if whole else [span for word in _WORD.finditer(piece) for span in _matched(word, wanted, language)]
        yield from ((start + s, start + e) for s, e in own or [_trimmed(piece)])


def _trimmed(piece: str) -> Span:
    """Return the span of a piece without the signs around it."""
    kept = [place for place, sign in enumerate(piece) if unicodedata.category(sign)[0] in _IN_WORDS]
    return kept[0], kept[-1] + 1


def _matched(word: re.Match[str], wanted: frozenset[str], language: str) -> list[Span]:
    """Return the spans of a word that match: all of it, or in an unspaced script pairs of letters, else letters."""
    text, terms = word.group(), analyse(word.group(), language)
    pairs = [text[at : at + 2] for at in range(len(text) - 1)]
    if len(pairs) < 2 or terms[: len(pairs)] != pairs:
        return [word.span()] if wanted.intersection(terms) else []
    alone = [(at, at + 1) for at, letter in enumerate(text, start=word.start()) if letter in wanted]
    return list(_runs([pair in wanted for pair in pairs], word.start())) or alone


def _runs(lit: list[bool], start: int) -> Iterator[Span]:
    """Yield the spans of consecutive pairs of letters that match; the first pair begins at `start`."""
    at = start
    for match, run in groupby(lit):
        length = len(list(run))
        if match:
            yield at, at + length + 1
        at += length


def _on_the_line(spans: Iterator[Span], words: Sequence[Span]) -> Iterator[Span]:
    """Yield where spans of a text are once its `words` are joined by single spaces; one over two words becomes two."""
    starts = [start for start, _ in words]
    places = list(accumulate((end - start + 1 for start, end in words), initial=0))
    for start, end in spans:
        for number in range(bisect_right(starts, start) - 1, len(words)):
            first, last = words[number]
            if first >= end:
                break
            shift = places[number] - first
            yield max(first, start) + shift, min(last, end) + shift


def _best_start(spans: Sequence[Span], length: int, width: int) -> int:
    """Return the start of the window that holds the most spans; the first one wins a tie."""
    if length <= width or not spans:
        return 0
    starts = [0, *(max(0, min(s - width // 8, length - width)) for s, _ in spans)]
    return max(starts, key=lambda start: sum(start <= s and e <= start + width for s, e in spans))


def _marked(line: str, spans: Sequence[Span], start: int, end: int) -> str:
    parts, at = [], start
    for left, right in spans:
        parts += [visible(line[at:left]), typer.style(visible(line[left:right]), bold=True, fg="yellow")]
        at = right
    return "".join([*parts, visible(line[at:end])])
