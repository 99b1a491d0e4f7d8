"""Prose: where a paragraph that is too long may be cut, which its lines and its sentences say."""

import re
from collections.abc import Iterator

from tasks.split.pieces import LINE, PART, SENTENCE, WORD
from tasks.split.span import Span

_LINE_END = re.compile(r"\r\n?|\n")
_QUOTE_MARKS = " \t>"
_ENDS = (".", "!", "?", ":", ";", "|", "\u2026", '"', "\u201d", "\\")
_SHORT = 45
_SENTENCE_END = re.compile(r"[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\u2019\uff09]*|[.!?]+[\"'\u201d\u2019)\]]*\s+")
_ENUMERATOR = re.compile(r"\((\w{1,4})\)")
_LONG_WORD = 2000
_SLICE = 1 << 16


def prose_cuts(text: str, span: Span) -> list[tuple[int, int]]:
    """Return where lines and sentences begin.

    A line that is short or ends in a stop was ended on purpose; another may only have reached the
    margin, so what follows it holds on more firmly than a sentence to the one before.
    """
    cuts = dict(_lines(text, span))
    for position in _sentences(text, span):
        cuts[position] = max(cuts.get(position, SENTENCE), SENTENCE)
    return sorted(cuts.items())


def _lines(text: str, span: Span) -> list[tuple[int, int]]:
    found, start = [], span.start
    for match in _LINE_END.finditer(text, *span):
        line = text[start : match.start()].strip(_QUOTE_MARKS)
        start = match.end()
        meant = len(line) < _SHORT or line.endswith(_ENDS)
        found.append((start, (LINE if line else PART) if meant else WORD))
    return found


def _sentences(text: str, span: Span) -> Iterator[int]:
    """Yield where sentences begin, by `sentencex`; by their stops where it would take the square of the length."""
    from sentencex import get_sentence_boundaries

    for start, end, begins in _slices(text, span):
        piece = _ENUMERATOR.sub(r" \1 ", text[start:end])  # sentencex ends no sentence that begins with "(b)"
        if begins:
            yield start
        if len(piece) > _LONG_WORD and max(map(len, piece.split()), default=0) > _LONG_WORD:
            yield from (match.end() for match in _SENTENCE_END.finditer(text, start, end))
        else:
            yield from (start + sentence["start_index"] for sentence in get_sentence_boundaries("en", piece)[1:])


def _slices(text: str, span: Span) -> Iterator[tuple[int, int, bool]]:
    """Yield slices whose sentences need little memory, and whether one begins with a sentence."""
    start, begins = span.start, False
    while span.end - start > 2 * _SLICE:
        stop = _SENTENCE_END.search(text, start + _SLICE, start + 2 * _SLICE)
        end = stop.end() if stop else start + _SLICE
        yield start, end, begins
        start, begins = end, stop is not None
    yield start, span.end, begins
