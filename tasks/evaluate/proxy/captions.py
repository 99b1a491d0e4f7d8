"""Captions: the caption of a table or figure as a question for the table, or for the text that refers to it."""

import re
from collections.abc import Iterator, Sequence

from docmill.storage.schema import Element
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.prose_sentences import PROSE
from docmill.tasks.evaluate.proxy.question_source import QuestionSource, made, quoted
from docmill.tasks.evaluate.questions import Question, Target
from docmill.tasks.parse.titles.labels import is_caption
from docmill.tasks.split.parts.captions import bound_captions

_LABEL = re.compile(r"\W*(\w+\.?\s*[\dIVX]+(?:[.-]\d+)*)[\s.:)*_\u2013\u2014-]*")
_SHORTEST = 12
"""Characters of a caption without its label: shorter ones, such as "Results", ask for nothing in particular."""


def captions(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each caption of a table, and for each whose figure some paragraph refers to."""
    for source in sources:
        text, elements = source.parsed.text, source.parsed.elements
        named = {caption.start_char: table for table, caption in bound_captions(source.parsed).of.items()}
        tables = {one.start_char: one for one in elements if one.kind == "table"}
        for one in elements:
            if one.kind in PROSE and is_caption(_text(text, one)):
                yield from _asked(source, one, tables.get(named.get(one.start_char, -1)))


def _asked(source: QuestionSource, caption: Element, table: Element | None) -> Iterator[Question]:
    text = source.parsed.text
    label = _LABEL.match(_text(text, caption))
    said = _text(text, caption)[label.end() :].strip("*_ \n") if label else ""
    if label is None or len(said) < _SHORTEST:
        return
    if table is not None:
        yield made(said, Target(source.uri, quoted(text, table)))
    elif refers := _referring(source, label[1], caption):
        yield made(said, Target(source.uri, refers), Passage(source.uri, caption.start_char, caption.end_char))


def _referring(source: QuestionSource, label: str, caption: Element) -> str:
    """Return the first words of the paragraph that refers to a label, or ""."""
    named = re.compile(rf"\b{re.escape(label.rstrip('.'))}\b")
    text = source.parsed.text
    others = (one for one in source.parsed.elements if one.kind == "paragraph" and one != caption)
    found = (one for one in others if named.search(text, one.start_char, one.end_char))
    return next((quoted(text, one) for one in found if not is_caption(_text(text, one))), "")


def _text(text: str, element: Element) -> str:
    return text[element.start_char : element.end_char]
