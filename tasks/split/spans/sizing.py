"""Sizing: the length of a span, by table look-up."""

from collections.abc import Sequence
from dataclasses import dataclass

from docmill.tasks.counting.tokens import CHARACTER_WIDTH, Tokens

CHARACTERS_PER_TOKEN = 16
"""More than real text has: without it, an unknown token, or mostly white space, could be an endless chunk.

Padding and markup, such as the blanks of an aligned table, count a quarter: see `Tokens.widths`.
"""


@dataclass(frozen=True, slots=True)
class Room:
    """The capacity of a chunk: at most `tokens` tokens, and a bounded number of characters."""

    measure: Tokens
    tokens: int

    def at(self, positions: Sequence[int]) -> list[int]:
        """Return the number of tokens before each position; `fits` compares the differences."""
        return self.measure.at(positions)

    def widths(self, positions: Sequence[int]) -> list[int]:
        """Return the width of the text before each position; a span may have at most `width`."""
        return self.measure.widths(positions)

    @property
    def characters(self) -> int:
        """Return the maximum number of characters in text without padding and markup."""
        return self.tokens * CHARACTERS_PER_TOKEN

    @property
    def width(self) -> int:
        """Return the maximum width of a span."""
        return self.characters * CHARACTER_WIDTH

    def fits(self, start: int, end: int) -> bool:
        """Return whether a span fits."""
        if end - start > self.characters:
            before, after = self.widths((start, end))
            if after - before > self.width:
                return False
        return self.measure.count(start, end) <= self.tokens

    def fitting(self, spans: Sequence[tuple[int, int, int]]) -> list[bool]:
        """Return whether each of many spans fits; the third value of each is ignored."""
        starts, ends = [span[0] for span in spans], [span[1] for span in spans]
        tokens = [after - before for before, after in zip(self.at(starts), self.at(ends), strict=True)]
        widths = [after - before for before, after in zip(self.widths(starts), self.widths(ends), strict=True)]
        return [own <= self.tokens and wide <= self.width for own, wide in zip(tokens, widths, strict=True)]

    def reach(self, start: int, part: float = 1.0) -> int:
        """Return the last position at which a span from `start` fills at most this fraction of the capacity."""
        by_tokens = self.measure.reach(start, int(self.tokens * part))
        return self.measure.within(start, by_tokens, int(self.width * part))
