"""Sizing: how long a span is for a splitter, by look-ups."""

from collections.abc import Sequence
from dataclasses import dataclass

from docmill.tasks.counting.tokens import Tokens

CHARACTERS_PER_TOKEN = 16
"""More than text has: keeps what is one unknown token, or mostly space, from being one endless chunk."""


@dataclass(frozen=True, slots=True)
class Room:
    """What fits into a chunk: at most `tokens` tokens, and not many more characters than these have."""

    measure: Tokens
    tokens: int

    def at(self, positions: Sequence[int]) -> list[int]:
        """Return the tokens before each position, whose differences `fits` compares."""
        return self.measure.at(positions)

    @property
    def characters(self) -> int:
        """Return the most characters that fit."""
        return self.tokens * CHARACTERS_PER_TOKEN

    def fits(self, start: int, end: int) -> bool:
        """Return whether a span is not too long."""
        return end - start <= self.characters and self.measure.count(start, end) <= self.tokens

    def fitting(self, spans: Sequence[tuple[int, int, int]]) -> list[bool]:
        """Return of each of many spans whether it fits; what is third in them does not matter."""
        starts, ends = [span[0] for span in spans], [span[1] for span in spans]
        found = zip(starts, ends, self.at(starts), self.at(ends), strict=True)
        tokens, characters = self.tokens, self.characters
        return [b - a <= characters and after - before <= tokens for a, b, before, after in found]

    def reach(self, start: int, part: float = 1.0) -> int:
        """Return the last position up to which a span from `start` fills at most this part of the room."""
        return min(self.measure.reach(start, int(self.tokens * part)), start + int(self.characters * part))
