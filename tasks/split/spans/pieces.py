"""Pieces: the smallest parts of a text that a splitter keeps whole, each with the seam before it.

A piece that is too long is cut further: a paragraph into sentences, code and tables into lines, and a sentence at
commas, spaces or characters that the words around them select.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span, is_boundary, trim

# Seams, from the first to be closed to the ones that are never closed; headings are between BLOCK and BARRIER.
GLUE, LEAD, WORD, SENTENCE, LINE, PART, TOP_LEVEL, NESTED = range(8)
ITEM, BLOCK, HEADING, BARRIER = 10, 20, 30, 99

_CLAUSE = re.compile(r"[,;:)\]\u2013\u2014\u2026]\s+(?=\S)")
_SPACE = re.compile(r"\s+(?=\S)")
_STOP = re.compile(r"[^\w\s]|[\u3040-\u30ff\u4e00-\u9fff]")
_ANY = re.compile(r".", re.DOTALL)
_SNIPPET = 16  # characters after a position that rank it; with fewer, more positions would tie
_CHARACTERS_TRIED = 256  # before the end, where any position will do; more take time and give no better position
_OPENING, _CLOSING = frozenset("([{\u201c\u2018\u00ab"), frozenset(")]}\u201d\u00bb")


class Piece(NamedTuple):
    """A span, and the seam before it."""

    start: int
    end: int
    seam: int


Cutter = Callable[[str, Span], Iterable[tuple[int, int]]]
"""Takes a text and a span of it; returns the positions at which it may be cut, each with its seam."""


def cut(text: str, span: Span, seam: int, cuts: Iterable[tuple[int, int]]) -> Iterator[Piece]:
    """Yield the parts of a span that are not blank; the first gets the given seam."""
    start, end = span
    for position, next_seam in [*cuts, (end, 0)]:
        if position < end and not is_boundary(text, position):
            continue
        first, last = trim(text, start, position)
        if last > first:
            yield Piece(first, last, seam)
        seam = next_seam if last > first or next_seam > seam else seam
        start = position


def fit(text: str, piece: Piece, room: Room, cutters: tuple[Cutter, ...]) -> Iterator[Piece]:
    """Yield a piece as it is, or cut by the first cutter; parts that are still too long are cut by the next cutter."""
    if room.fits(piece.start, piece.end):
        yield piece
    else:
        yield from _smaller(text, piece, room, cutters)


def fit_all(text: str, pieces: Iterable[Piece], room: Room, cutters: tuple[Cutter, ...]) -> Iterator[Piece]:
    """Yield what `fit` yields for each piece, measuring many pieces at once."""
    pieces = list(pieces)
    for piece, fits in zip(pieces, room.fitting(pieces), strict=True):
        if fits:
            yield piece
        else:
            yield from _smaller(text, piece, room, cutters)


def _smaller(text: str, piece: Piece, room: Room, cutters: tuple[Cutter, ...]) -> Iterator[Piece]:
    span = Span(piece.start, piece.end)
    if not cutters:
        yield from cut(text, span, piece.seam, windows(text, piece, room))
        return
    yield from fit_all(text, cut(text, span, piece.seam, cutters[0](text, span)), room, cutters[1:])


def windows(text: str, piece: Piece, room: Room) -> list[tuple[int, int]]:
    """Return the cuts of text without better seams; each part is between half full and full.

    Of the best positions there, the one whose next characters sort last is chosen, so that soon after an edit the cuts
    are where they were before.
    """
    cuts: list[tuple[int, int]] = []
    start = piece.start
    while not room.fits(start, piece.end):
        high = max(start + 1, room.reach(start))
        start = best_cut(text, min(room.reach(start, 0.5), high - 1), high) or _last_boundary(text, start, high)
        if start >= piece.end:
            break
        cuts.append((start, WORD))
    return cuts


def best_cut(text: str, low: int, high: int) -> int:
    """Return the position in (low, high] that the text selects: after a clause, else a word, else anything; or 0."""
    for pattern in (_CLAUSE, _SPACE, _STOP, _ANY):
        first = low if pattern is not _ANY else max(low, high - _CHARACTERS_TRIED)
        found = {match.end() for match in pattern.finditer(text, first, high)} - {low}
        places = sorted((place for place in found if _may_part(text, place)), reverse=True)
        if places:
            return max(places, key=lambda place: text[place : place + _SNIPPET])
    return 0


def _may_part(text: str, place: int) -> bool:
    """Return whether text may be cut at a place: between characters, and not next to the inside of a bracket."""
    return is_boundary(text, place) and text[place - 1] not in _OPENING and text[place : place + 1] not in _CLOSING


def _last_boundary(text: str, start: int, high: int) -> int:
    """Return the last end of a grapheme cluster after `start`, even next to a bracket; `high` if there is none."""
    return next((place for place in range(high, start, -1) if is_boundary(text, place)), high)


_SEAM = 48
"""The characters of a piece that decide when its seam is closed.

With fewer, more pieces begin alike, and their position decides; with more, more edits fall within them and change the
order.
"""

Allow = Callable[[int, int, int], bool]
"""Whether pieces first..middle-1 may be joined with pieces middle..last, across a heading's seam."""


def merge(text: str, pieces: Sequence[Piece], room: Room, allow: Allow | None = None) -> list[Span]:
    """Return spans of consecutive pieces such that no two neighbours could be joined.

    A heading's seam is closed only if `allow` agrees, and one of strength `BARRIER` never is.
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
        (piece.seam, crc32(text[piece.start : piece.start + _SEAM].encode("utf-8", "surrogatepass")), i)
        for i, piece in enumerate(pieces)
        if i and piece.seam < BARRIER
    ]
    return [i for *_, i in sorted(keys)]
