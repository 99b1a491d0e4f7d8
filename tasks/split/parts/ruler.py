"""Rulers: how far a number of characters, words or tokens reaches, by look-up."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from docmill.tasks.counting.tokens import Tokens, word_bounds
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span, cluster_end

Unit = Literal["tokens", "words", "characters"]


class Ruler(Protocol):
    """Measures text in one unit; positions lie within the text that it was made for."""

    def reach(self, start: int, amount: int) -> int:
        """Return the last position such that a span from `start` holds at most `amount`, but at least one unit."""
        ...

    def retreat(self, end: int, amount: int) -> int:
        """Return the first position such that a span up to `end` holds at most `amount`."""
        ...


@dataclass(frozen=True, slots=True)
class CharacterRuler:
    """Code points; a cut is moved to the end of a grapheme cluster."""

    text: str

    def reach(self, start: int, amount: int) -> int:
        """Return the position `amount` characters on."""
        return cluster_end(self.text, min(len(self.text), start + amount))

    def retreat(self, end: int, amount: int) -> int:
        """Return the position `amount` characters back."""
        return cluster_end(self.text, max(0, end - amount))


@dataclass(frozen=True, slots=True)
class WordRuler:
    """Runs of non-space characters, by their starts."""

    starts: Sequence[int]
    end: int

    def reach(self, start: int, amount: int) -> int:
        """Return the start of the first word that is too many."""
        stop = bisect_left(self.starts, start) + amount
        return self.starts[stop] if stop < len(self.starts) else self.end

    def retreat(self, end: int, amount: int) -> int:
        """Return the start of the first of the last words before `end`."""
        stop = bisect_left(self.starts, end)
        return self.starts[max(0, stop - amount)] if amount and stop else end


@dataclass(frozen=True, slots=True)
class TokenRuler:
    """Tokens of the embedding model; those of a word are one unit."""

    tokens: Tokens

    def reach(self, start: int, amount: int) -> int:
        """Return the start of the first word that is too many."""
        reached = Room(self.tokens, amount).reach(start)
        return reached if reached > start else cluster_end(self.tokens.text, start + 1)

    def retreat(self, end: int, amount: int) -> int:
        """Return the start of the first of the last words before `end`."""
        return max(self.tokens.retreat(end, amount), end - Room(self.tokens, amount).characters)


def ruler_of(part: Part, unit: Unit) -> Ruler:
    """Return the ruler of a unit for a part."""
    if unit == "tokens":
        return TokenRuler(part.tokens)
    if unit == "characters":
        return CharacterRuler(part.text)
    starts = (word_bounds(part.text[part.start : part.end])[0] + part.start).tolist()
    return WordRuler(starts, part.end)


def last_at_most(places: Sequence[int], low: int, high: int) -> int:
    """Return the last of the positions in (low, high], or `high` if there is none."""
    found = bisect_right(places, high) - 1
    return places[found] if found >= 0 and places[found] > low else high


def first_at_least(places: Sequence[int], low: int, span: Span) -> int:
    """Return the first of the positions in [low, span.end) after the span's start, or `span.end`."""
    found = bisect_left(places, max(low, span.start + 1))
    return places[found] if found < len(places) and places[found] < span.end else span.end
