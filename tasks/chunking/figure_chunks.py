"""Figure chunks: a chunk for each figure with words, if enabled, so that a question can find the picture."""

import re
from collections.abc import Iterator, Sequence

from docmill.storage.schema import MISSING, OCR_PAGES, Element
from docmill.storage.search.sentences.sentence_spans import sentence_spans
from docmill.tasks.chunking.chunk_options import FIGURE, ChunkOptions
from docmill.tasks.chunking.chunk_tree import ChunkNode
from docmill.tasks.chunking.fit_spans import Fitter
from docmill.tasks.context.contextualizers import nothing
from docmill.tasks.context.model_context import asking_ocr, describing
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.span import Span

_LABEL = re.compile(r"[\W_]*(\w+\.?\s*[\dIVX]+(?:[.-]\d+)*)")
_WITHOUT_WORDS = "pages_without_text"
_PROSE = ("paragraph", "list_item", "text")


def figure_chunks(part: Part, fitter: Fitter, options: ChunkOptions) -> Iterator[ChunkNode]:
    """Yield a chunk for each figure, with its caption; its context has the sentence that refers to the figure.

    If figures are `described`, the context also has a language model's description, and if they are `read`, the words
    in the picture. A figure that nothing describes makes a chunk only if figures are `pictured`. A figure with a
    caption that is too long makes none.
    """
    for figure in part.elements:
        if figure.kind == FIGURE:
            prompts = _prompts(part, figure, options)
            caption = part.captions.of.get(figure.start_char)
            told = caption is not None or options.pictured or bool(figure.attributes.get("alt"))
            if told or _is_answered(prompts, fitter):
                yield from _chunk(part, fitter, (figure, caption), prompts)


def _prompts(part: Part, figure: Element, options: ChunkOptions) -> tuple[Prompt, ...]:
    """Return the prompts about a figure; on a page read by OCR, the words of figures are known already."""
    key, facts = figure.attributes["key"], part.parsed.metadata
    described = (describing(key),) if options.described else ()
    read = any(figure.page in facts.get(pages, ()) for pages in (OCR_PAGES, _WITHOUT_WORDS))
    return described + ((asking_ocr(key),) if options.read and not read else ())


def _is_answered(prompts: Sequence[Prompt], fitter: Fitter) -> bool:
    """Return whether a model answered, even with a refusal, or OCR found words; or may, in a run that only counts."""
    said = [(prompt.by_ocr, *fitter.teller.said([prompt], waiting=False)) for prompt in prompts]
    answered = any(bool(text) if by_ocr else state != MISSING for by_ocr, text, state in said)
    return answered or (bool(prompts) and fitter.teller.lookup.ahead)


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
        for prompt in prompts:  # each has its own room in the context
            own = fitter.tell(own, [prompt], waiting=False)
        yield ChunkNode(own, role=FIGURE)


def _referring(part: Part, caption: Element) -> str:
    """Return the first sentence that mentions the figure of a caption, or ""."""
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
