"""A splitter: one chunk for each paragraph, with short ones joined to the next."""

import re
from dataclasses import dataclass

from docmill.plugins import Options, Part, Span

_PARAGRAPH = re.compile(r"\S(?:.|\n(?![ \t]*\n))*")


@dataclass(frozen=True)
class ParagraphOptions(Options):
    """`least_words` is how many words a chunk has at least, unless the document ends."""

    least_words: int = 5

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not isinstance(self.least_words, int) or self.least_words < 1:
            raise ValueError(f"least_words must be an integer of at least 1, got {self.least_words!r}")


class Paragraphs:
    """The strategy `paragraphs`."""

    version = 1
    options = ParagraphOptions

    def split(self, part: Part, options: ParagraphOptions) -> list[Span]:
        """Return a span for each paragraph; one of few words goes on to the end of the next."""
        spans: list[Span] = []
        short = False
        for found in _PARAGRAPH.finditer(part.text, part.start, part.end):
            start = spans.pop().start if short else found.start()
            spans.append(Span(start, found.end()))
            short = len(part.text[start : found.end()].split()) < options.least_words
        return spans
