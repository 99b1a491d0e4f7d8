"""Prose cuts: where a paragraph that is too long may be cut: at its lines and sentences."""

import re

from docmill.storage.search.sentences.sentence_spans import ends_on_purpose, sentence_starts
from docmill.tasks.split.spans.pieces import LINE, PART, SENTENCE, WORD
from docmill.tasks.split.spans.span import Span

_LINE_END = re.compile(r"\r\n?|\n")
_QUOTE_MARKS = " \t>"


def prose_cuts(text: str, span: Span) -> list[tuple[int, int]]:
    """Return the starts of lines and sentences.

    A line that is short or ends in a stop was ended on purpose. Any other line may merely have reached the margin, so
    the seam after it is tighter than between two sentences.
    """
    cuts = dict(_lines(text, span))
    for position in sentence_starts(text, span.start, span.end):
        cuts[position] = max(cuts.get(position, SENTENCE), SENTENCE)
    return sorted(cuts.items())


def _lines(text: str, span: Span) -> list[tuple[int, int]]:
    found, start = [], span.start
    for match in _LINE_END.finditer(text, *span):
        line = text[start : match.start()].strip(_QUOTE_MARKS)
        start = match.end()
        found.append((start, (LINE if line else PART) if ends_on_purpose(line) else WORD))
    return found
