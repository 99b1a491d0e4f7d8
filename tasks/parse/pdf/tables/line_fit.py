"""PDF line fit: whether a line of a cell broke because the next word had no room in it."""

from typing import Protocol

from docmill.tasks.parse.pdf.tables.thresholds import LAYOUT


class SetText(Protocol):
    """Text with its sides in points and the size of its letters."""

    text: str
    size: float

    @property
    def left(self) -> float:
        """Return where it begins."""

    @property
    def right(self) -> float:
        """Return where it ends."""


def width_with_next(one: SetText, other: SetText) -> float:
    """Return how wide a line were in points with the first word of the next, by its share of the letters."""
    first = (other.right - other.left) * len(other.text.split(" ", 1)[0]) / max(len(other.text), 1)
    return one.right - one.left + first


def had_room(one: SetText, other: SetText, room: float) -> bool:
    """Return whether the first word of a line had room behind the line above, in a cell `room` points wide."""
    return width_with_next(one, other) < room - LAYOUT.margin * one.size
