"""Mark units: cut a part at given positions, such as turns, entries or clauses; these units stay whole if they fit."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from docmill.tasks.split.parts.blocks import stretches
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.heading_leads import led
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, GLUE, Cutter, Piece, cut, fit, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span


class UnitStart(NamedTuple):
    """The start of a unit, and the seam before it."""

    place: int
    seam: int


def units(part: Part, marks: Sequence[UnitStart]) -> Iterator[Piece]:
    """Yield the units of a part; marks must be in order. No unit spans front matter or furniture."""
    places = [mark.place for mark in marks]
    for start, end, after_front in stretches(part):
        first, last = bisect_right(places, start), bisect_right(places, end - 1)
        begins = first > 0 and places[first - 1] == start
        seam = BARRIER if after_front else (marks[first - 1].seam if begins else BLOCK)
        yield from cut(part.text, Span(start, end), seam, marks[first:last])


def fit_units(
    text: str, found: Iterator[Piece], room: Room, cutters: tuple[Cutter, ...] = (prose_cuts,)
) -> Iterator[Piece]:
    """Yield units; one that is too long is cut, and the next unit does not join its last part."""
    barred, lead = False, 0
    for unit in found:
        whole = room.fits(unit.start, unit.end)
        pieces = fit(text, unit._replace(seam=BARRIER) if barred else unit, room, cutters)
        glued = unit.seam == GLUE and not barred
        lead = lead if glued else unit.start
        yield from led(text, pieces, lead, room) if glued else pieces
        barred = not whole


def split_units(
    part: Part, marks: Sequence[UnitStart], size: int, cutters: tuple[Cutter, ...] = (prose_cuts,)
) -> list[Span]:
    """Return spans of at most `size` tokens; only a longer unit is cut."""
    room = Room(part.tokens, size)
    return merge(part.text, list(fit_units(part.text, units(part, marks), room, cutters)), room)
