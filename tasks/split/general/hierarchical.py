"""Hierarchical: sections contain paragraphs, and paragraphs contain sentences.

Search matches the small chunks and returns the large ones, after LlamaIndex's HierarchicalNodeParser with its
AutoMergingRetriever, and LangChain's ParentDocumentRetriever.
"""

from dataclasses import dataclass, replace
from typing import Self

from docmill.tasks.split.general.sentences import sentences
from docmill.tasks.split.general.structure import split_structure, structure_pieces
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.strategy_options import MIN_SIZE, Level, Options, check_whole, option
from docmill.tasks.split.parts.usual_options import Structure
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span


@dataclass(frozen=True, slots=True)
class Hierarchical(Options):
    """Makes chunks of sections, of the paragraphs in them, and of the sentences in these.

    `docmill search --parents` finds the small chunks and returns the large ones.
    """

    size: int = option(400, "The maximum size of a section; a longer one becomes several.", "tokens")
    paragraph: int = option(100, "The maximum size of a paragraph, from 16 to `size`; a longer one is cut.", "tokens")
    sentences: bool = option(True, "Make chunks of sentences, too.")

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        check_whole("paragraph", self.paragraph, MIN_SIZE, self.size)

    def within(self, tokens: int) -> Self:
        """Return the options for a model with room for this many tokens of a chunk's text."""
        return self if self.size <= tokens else replace(self, size=tokens, paragraph=min(self.paragraph, tokens))


def split_sections(part: Part, options: Hierarchical) -> list[Span]:
    """Return the sections, by headings, in spans of at most `options.size` tokens."""
    return split_structure(part, Structure(options.size, small=0))


def split_paragraphs(part: Part, options: Hierarchical) -> list[Span]:
    """Return paragraphs of at most `options.paragraph` tokens; headings and introductions stay with what follows."""
    room = Room(part.tokens, options.paragraph)
    pieces = [piece if piece.seam < BLOCK else piece._replace(seam=BARRIER) for piece in structure_pieces(part, room)]
    return merge(part.text, pieces, room)


def split_single_sentences(part: Part, options: Hierarchical) -> list[Span]:
    """Return each sentence, line of code or table row as a span of at most `options.paragraph` tokens."""
    if not options.sentences:
        return []
    room = Room(part.tokens, options.paragraph)
    pieces = sentences(part, room)
    return [Span(piece.start, piece.end) for piece in pieces]


LEVELS = (Level("paragraph", split_paragraphs), Level("sentence", split_single_sentences))
