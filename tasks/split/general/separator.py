"""Separator: the naive split at one string, as in `str.split` and LangChain's CharacterTextSplitter without merging."""

from collections.abc import Iterator
from dataclasses import dataclass

from docmill.storage.errors import ConfigError
from docmill.tasks.split.general.recursive import cut_at
from docmill.tasks.split.parts.blocks import stretches
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.strategy_options import Options, option
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import BLOCK, Piece, cut, fit
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span


@dataclass(frozen=True, slots=True)
class Separator(Options):
    """Makes one chunk of each text between two separators, and merges nothing.

    Text that is longer than `size` is cut between sentences.
    """

    separator: str = option(
        "\n\n",
        "The text to cut at: before it, if it begins with white space, else after it. `\\n` matches any line end.",
    )

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not isinstance(self.separator, str) or not self.separator:
            raise ConfigError(f"separator must be a non-empty string, got {self.separator!r}")


def split_separator(part: Part, options: Separator) -> list[Span]:
    """Return the spans between separators, each of at most `options.size` tokens."""
    return [Span(piece.start, piece.end) for piece in _pieces(part, options)]


def _pieces(part: Part, options: Separator) -> Iterator[Piece]:
    room = Room(part.tokens, options.size)
    for start, end, _ in stretches(part):
        span = Span(start, end)
        for piece in cut(part.text, span, BLOCK, cut_at(options.separator, BLOCK, part.text, span)):
            yield from fit(part.text, piece, room, (prose_cuts,))
