"""Sizing: how long a span is, by table look-up."""

from collections.abc import Sequence
from dataclasses import dataclass

from docmill.tasks.counting.tokens import Tokens

CHARACTERS_PER_TOKEN = 16
"""More than real text has: without it, one unknown token, or mostly white space, could be an endless chunk."""


@dataclass(frozen=True, slots=True)
class Room:
    """The capacity of a chunk: at most `tokens` tokens, and a bounded number of characters."""

    measure: Tokens
    tokens: int

    def at(self, positions: Sequence[int]) -> list[int]:
        """Return the number of tokens before each position; `fits` compares the differences."""
        return self.measure.at(positions)

    @property
    def characters(self) -> int:
        """Return the maximum number of characters."""
        return self.tokens * CHARACTERS_PER_TOKEN

    def fits(self, start: int, end: int) -> bool:
        """Return whether a span fits."""
        return end - start <= self.characters and self.measure.count(start, end) <= self.tokens

    def fitting(self, spans: Sequence[tuple[int, int, int]]) -> list[bool]:
        """Return whether each of many spans fits; the third value of a span is ignored."""
        starts, ends = [span[0] for span in spans], [span[1] for span in spans]
        found = zip(starts, ends, self.at(starts), self.at(ends), strict=True)
        tokens, characters = self.tokens, self.characters
        return [b - a <= characters and after - before <= tokens for a, b, before, after in found]

    def reach(self, start: int, part: float = 1.0) -> int:
        """Return the last position at which a span from `start` fills at most this fraction of the capacity."""
        return min(self.measure.reach(start, int(self.tokens * part)), start + int(self.characters * part))
