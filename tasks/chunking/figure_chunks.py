"""Figure chunks: a chunk of each figure with words, where settings ask for them: a question finds the picture."""

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
    """Yield the chunk of each figure: the figure with its caption; its context has the sentence that refers to it.

    If figures are `described`, the context also has what a language model says of the picture, and if they are `read`,
    the words in it. Unless figures are `pictured`, one about which nothing says anything makes no chunk, and one makes
    none whose caption is too long.
    """
    for figure in part.elements:
        if figure.kind == FIGURE:
            prompts = _prompts(part, figure, options)
            caption = part.captions.of.get(figure.start_char)
            told = caption is not None or options.pictured or bool(figure.attributes.get("alt"))
            if told or _is_answered(prompts, fitter):
                yield from _chunk(part, fitter, (figure, caption), prompts)


def _prompts(part: Part, figure: Element, options: ChunkOptions) -> tuple[Prompt, ...]:
    """Return what is asked about a figure; a page that OCR has read gave the words of its figures already."""
    key, facts = figure.attributes["key"], part.parsed.metadata
    described = (describing(key),) if options.described else ()
    read = any(figure.page in facts.get(pages, ()) for pages in (OCR_PAGES, _WITHOUT_WORDS))
    return described + ((asking_ocr(key),) if options.read and not read else ())


def _is_answered(prompts: Sequence[Prompt], fitter: Fitter) -> bool:
    """Return whether a model has answered, even by a refusal, or OCR by a word; or may in a run that only counts."""
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
        for prompt in prompts:  # each has room of its own in the context
            own = fitter.tell(own, [prompt], waiting=False)
        yield ChunkNode(own, role=FIGURE)


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
