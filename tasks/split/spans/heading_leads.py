"""Heading leads: cut what follows a heading so that its first part and the heading fit one chunk."""

from collections.abc import Iterable, Iterator, Mapping

from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import GLUE, PART, Piece, best_cut, cut
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span


def led(text: str, pieces: Iterable[Piece], lead: int, room: Room) -> Iterator[Piece]:
    """Yield pieces; the first is cut in two if it does not fit one chunk with the heading at `lead`.

    Otherwise a heading before a full piece would end the previous chunk, or be a chunk by itself.
    """
    for number, piece in enumerate(pieces):
        place = 0 if number or room.fits(lead, piece.end) else _place(text, piece, room.reach(lead))
        cuts = [(place, PART)] if place else []
        yield from cut(text, Span(piece.start, piece.end), piece.seam, cuts)


def with_leads(text: str, pieces: Iterable[Piece], headings: Mapping[int, int], room: Room) -> Iterator[Piece]:
    """Yield pieces such that each heading, or run of headings, fits one chunk with the piece glued to it.

    `headings` maps the starts of headings to their ends.
    """
    lead = -1  # the start of the headings directly above a piece
    for piece in pieces:
        glued = lead >= 0 and piece.seam == GLUE
        yield from led(text, [piece], lead, room) if glued else [piece]
        if piece.end > headings.get(piece.start, -1):
            lead = -1
        elif not glued:
            lead = piece.start


def _place(text: str, piece: Piece, high: int) -> int:
    """Return the last place up to `high` at which to cut a piece: at a line or sentence, else at a word; or 0."""
    if high <= piece.start:
        return 0
    span = Span(piece.start, min(piece.end, high + 1))
    places = [place for place, _ in prose_cuts(text, span) if piece.start < place <= high]
    return places[-1] if places else best_cut(text, piece.start, high)
