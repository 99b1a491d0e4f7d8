"""Sentences: groups of whole sentences up to a size, optionally repeating the last ones.

After the sentence splitters of LlamaIndex (SentenceSplitter) and chonkie (SentenceChunker). The text itself decides
which sentences are grouped, so an edit moves only few of them.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from docmill.tasks.split.parts.blocks import Block, blocks
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.strategy_options import Options, option
from docmill.tasks.split.spans.cut_places import code_lines, prose_cuts, rows_and_header, rules
from docmill.tasks.split.spans.heading_leads import with_leads
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, GLUE, ITEM, SENTENCE, Piece, cut, fit_all, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

_MAX_OVERLAP = 20  # sentences; at the default size, four of them take up all reserved tokens
_SET_ASIDE = 24  # tokens reserved for each repeated sentence, about one of average length


@dataclass(frozen=True, slots=True)
class Sentence(Options):
    """Groups whole sentences; a sentence is cut only if it alone is longer than `size`."""

    overlap: int = option(
        0,
        "How many sentences of the previous chunk are repeated, if they fit. 24 tokens are reserved for each, up to"
        " half the size.",
        "sentences",
        0,
        _MAX_OVERLAP,
    )


def split_sentences(part: Part, options: Sentence) -> list[Span]:
    """Return spans of at most `options.size` tokens; only a longer sentence is cut."""
    room = Room(part.tokens, options.size)
    new = Room(part.tokens, options.size - min(options.size // 2, options.overlap * _SET_ASIDE))
    pieces = list(with_leads(part.text, sentences(part, new), part.headings, new))
    spans = merge(part.text, pieces, new)
    return _overlapping(pieces, spans, room, options.overlap) if options.overlap else spans


def sentences(part: Part, room: Room) -> Iterator[Piece]:
    """Yield sentences of prose with their seams, and headings, lines of code and table rows.

    A fence is joined with the adjacent line of code.

    The seam is `BARRIER` after front matter, `GLUE` after a heading, else `BLOCK`, `ITEM` or `SENTENCE`. A table's
    header is joined with the rule below it. A piece that does not fit the room is cut, a header first before its
    rule."""
    before = ""
    for block in blocks(part):
        if block.kind != "front_matter":
            seam = {"front_matter": BARRIER, "title": GLUE}.get(before, BLOCK if block.kind == "title" else ITEM)
            pieces = cut(part.text, Span(block.start, block.end), seam, _cuts(part.text, block))
            yield from fit_all(part.text, pieces, room, (rules,) if block.kind == "table" else ())
        before = block.kind


def _cuts(text: str, block: Block) -> list[tuple[int, int]]:
    span = Span(block.start, block.end)
    if block.kind == "title":
        return []
    if block.kind == "code":
        return [(place, seam) for place, seam in code_lines(text, span) if seam != GLUE]  # the seam of a fence
    if block.kind == "table":
        return rows_and_header(text, span)
    return [(place, SENTENCE) for place, seam in prose_cuts(text, span) if seam >= SENTENCE]


def _overlapping(pieces: list[Piece], spans: list[Span], room: Room, overlap: int) -> list[Span]:
    """Return the spans, each extended back by up to `overlap` pieces if it fits and swallows no earlier span."""
    starts, found = [piece.start for piece in pieces], list[Span]()
    lowest = 0
    for span in spans:
        first = at = bisect_left(starts, span.start)
        while first > max(lowest, at - overlap) and pieces[first].seam < BARRIER:
            if not room.fits(starts[first - 1], span.end):
                break
            first -= 1
        found.append(Span(starts[first], span.end))
        lowest = first + 1
    return found
