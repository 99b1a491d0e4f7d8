"""Prose sentences: the sentences of a document's prose, as spans of its canonical text."""

from collections.abc import Iterator
from itertools import pairwise

from docmill.storage.schema import Parsed
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import LINE, SENTENCE
from docmill.tasks.split.spans.span import Span

PROSE = ("paragraph", "text", "answer", "quote", "list_item", "turn")


def sentences(parsed: Parsed) -> Iterator[Span]:
    """Yield the sentences of paragraphs, answers, quotes, items and turns, without white space around them."""
    reached = 0
    for element in parsed.elements:
        if element.kind in PROSE and element.start_char >= reached:
            yield from sentences_within(parsed.text, element.start_char, element.end_char)
            reached = element.end_char


def sentences_within(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of a stretch of prose."""
    cuts = [at for at, seam in prose_cuts(text, Span(start, end)) if seam in (SENTENCE, LINE)]
    for first, last in pairwise([start, *cuts, end]):
        piece = text[first:last]
        if piece.strip():
            begin = first + len(piece) - len(piece.lstrip())
            yield Span(begin, begin + len(piece.strip()))
