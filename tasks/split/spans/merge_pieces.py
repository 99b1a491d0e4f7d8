"""Merge pieces: join pieces into chunks, closing the weakest seams first.

The order among seams of equal strength is decided by their text, not by their position. So an edit changes only the
chunks near it.
"""

from collections.abc import Callable, Sequence
from zlib import crc32

from docmill.tasks.split.spans.pieces import BARRIER, HEADING, Piece
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

_SNIPPET = 48
"""The characters of a piece that decide when its seam is closed.

With fewer, more pieces begin alike, and their position decides; with more, more edits fall within them and change the
order.
"""

Allow = Callable[[int, int, int], bool]
"""Whether the pieces first..middle-1 may be joined with middle..last, across a heading's seam."""


def merge(text: str, pieces: Sequence[Piece], room: Room, allow: Allow | None = None) -> list[Span]:
    """Return spans of consecutive pieces, such that no two neighbours could be joined.

    The seam of a heading is closed only if `allow` agrees, and one of strength `BARRIER` never.
    """
    starts, ends = [piece.start for piece in pieces], [piece.end for piece in pieces]
    before, after = room.at(starts), room.at(ends)
    left_of, right_of = room.widths(starts), room.widths(ends)
    first, last = list(range(len(pieces))), list(range(len(pieces)))
    tokens, width = room.tokens, room.width
    for middle in _order(text, pieces):
        left, right = first[middle - 1], last[middle]
        fits = after[right] - before[left] <= tokens and right_of[right] - left_of[left] <= width
        if fits and (pieces[middle].seam < HEADING or (allow is not None and allow(left, middle, right))):
            last[left], first[right] = right, left
    spans, left = [], 0
    while left < len(pieces):
        spans.append(Span(starts[left], ends[last[left]]))
        left = last[left] + 1
    return spans


def _order(text: str, pieces: Sequence[Piece]) -> list[int]:
    keys = [
        (piece.seam, crc32(text[piece.start : piece.start + _SNIPPET].encode("utf-8", "surrogatepass")), i)
        for i, piece in enumerate(pieces)
        if i and piece.seam < BARRIER
    ]
    return [i for *_, i in sorted(keys)]
