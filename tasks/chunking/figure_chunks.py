"""Figure chunks: a chunk of each figure with words, where settings ask for them: a question finds the picture."""

import re
from collections.abc import Iterator, Sequence

from docmill.storage.schema import MISSING, Element
from docmill.storage.sentences.sentence_spans import sentence_spans
from docmill.tasks.chunking.chunk_options import FIGURE, ChunkOptions
from docmill.tasks.chunking.chunk_tree import ChunkNode
from docmill.tasks.chunking.fitting import Fitter
from docmill.tasks.context.contextualizer import nothing
from docmill.tasks.context.model_prompts import describing
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.span import Span

_LABEL = re.compile(r"[\W_]*(\w+\.?\s*[\dIVX]+(?:[.-]\d+)*)")
_PROSE = ("paragraph", "list_item", "text")


def figure_chunks(part: Part, fitter: Fitter, options: ChunkOptions) -> Iterator[ChunkNode]:
    """Yield the chunk of each figure: the figure with its caption; its context has the sentence that refers to it.

    If figures are `described`, the context also has what a language model says of the picture. Unless figures are
    `pictured`, one about which nothing says anything makes no chunk, and one makes none whose caption is too long.
    """
    for figure in part.elements:
        if figure.kind == FIGURE:
            prompts = (describing(figure.attributes["key"]),) if options.described else ()
            caption = part.captions.of.get(figure.start_char)
            told = caption is not None or options.pictured or bool(figure.attributes.get("alt"))
            if told or _is_answered(prompts, fitter):
                yield from _chunk(part, fitter, (figure, caption), prompts)


def _is_answered(prompts: Sequence[Prompt], fitter: Fitter) -> bool:
    """Return whether a model has answered, even by a refusal, or will in a run that only counts."""
    _, state = fitter.teller.said(prompts, waiting=False)
    return bool(prompts) and (state != MISSING or fitter.teller.lookup.ahead)


def _chunk(
    part: Part, fitter: Fitter, shown: tuple[Element, Element | None], prompts: Sequence[Prompt]
) -> Iterator[ChunkNode]:
    figure, caption = shown
    ends = caption or figure
    span = Span(min(figure.start_char, ends.start_char), max(figure.end_char, ends.end_char))
    fitted = fitter.fit([span], nothing)
    if len(fitted) == 1:
        said = _referring(part, caption) if caption is not None else ""
        own = (said and fitter.saying(span, said, nothing)) or fitted[0]
        yield ChunkNode(fitter.tell(own, prompts, waiting=False), role=FIGURE)


def _referring(part: Part, caption: Element) -> str:
    """Return the first sentence that names the figure of a caption, or ""."""
    text = part.text
    label = _LABEL.match(text, caption.start_char, caption.end_char)
    if label is None:
        return ""
    named = re.compile(rf"(?<!\w){re.escape(label[1].rstrip('.'))}(?!\w)")
    for one in part.parsed.elements:
        if one.kind in _PROSE and one != caption and named.search(text, one.start_char, one.end_char):
            own = text[one.start_char : one.end_char]
            found = (own[start:end] for start, end in sentence_spans(own))
            return " ".join(next(sentence for sentence in found if named.search(sentence)).split())
    return ""
