"""Left out: chunks of what is in no chunk by default, lists of contents and furniture, where settings ask for them."""

from collections.abc import Collection, Iterator

from docmill.storage.schema import Element
from docmill.tasks.chunking.chunk_tree import ChunkNode
from docmill.tasks.chunking.fitting import Fitter
from docmill.tasks.context.contextualizer import nothing
from docmill.tasks.split.parts.options import Options
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.merge_pieces import merge
from docmill.tasks.split.spans.pieces import LINE, cut
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span


def left_out(part: Part, kinds: Collection[str], fitter: Fitter) -> Iterator[ChunkNode]:
    """Yield chunks of elements of these kinds, each with its kind as its role.

    The entries of a list of contents share chunks, cut between lines. A text that repeats, such as a running head, is a
    chunk once; one without a letter, such as the number of a page, is none.
    """
    room = Room(part.tokens, min(Options().size, fitter.room))
    seen = set[str]()
    for kind, span in _runs(part, kinds):
        lines = cut(part.text, span, LINE, _line_ends(part.text, span))
        for fitted in fitter.fit(merge(part.text, list(lines), room), nothing):
            words = " ".join(part.text[slice(*fitted.span)].split())
            if words not in seen and any(map(str.isalpha, words)):
                seen.add(words)
                yield ChunkNode(fitted, role=kind)


def _runs(part: Part, kinds: Collection[str]) -> Iterator[tuple[str, Span]]:
    """Yield the kind and the span of each list of contents, and of each other element."""
    run: list[Element] = []
    for element in part.index.left_out.within(part.start, part.end):
        if run and not _goes_on(part.text, run[-1], element):
            yield run[0].kind, Span(run[0].start_char, run[-1].end_char)
            run = []
        if element.kind in kinds:
            run.append(element)
    if run:
        yield run[0].kind, Span(run[0].start_char, run[-1].end_char)


def _goes_on(text: str, before: Element, element: Element) -> bool:
    """Return whether a list of contents goes on; a foot and the head of the next page have nothing in common."""
    same = before.kind == element.kind == "toc"
    return same and not text[before.end_char : element.start_char].strip()


def _line_ends(text: str, span: Span) -> Iterator[tuple[int, int]]:
    place = text.find("\n", *span)
    while place >= 0:
        yield place + 1, LINE
        place = text.find("\n", place + 1, span.end)
