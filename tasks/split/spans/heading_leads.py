"""Heading leads: cut what follows a heading so that its first part and the heading fit one chunk."""

from collections.abc import Iterable, Iterator, Mapping

from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import GLUE, PART, Piece, best_cut, cut
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span


def led(text: str, pieces: Iterable[Piece], lead: int, room: Room) -> Iterator[Piece]:
    """Yield pieces, the first one in two if it is too long to stand in one chunk with the heading at `lead`.

    A heading that a full piece follows would else be the end of the chunk before it, or a chunk of its own.
    """
    for number, piece in enumerate(pieces):
        place = 0 if number or room.fits(lead, piece.end) else _place(text, piece, room.reach(lead))
        cuts = [(place, PART)] if place else []
        yield from cut(text, Span(piece.start, piece.end), piece.seam, cuts)


def with_leads(text: str, pieces: Iterable[Piece], headings: Mapping[int, int], room: Room) -> Iterator[Piece]:
    """Yield pieces, of which each heading, or run of headings, fits one chunk with the piece that is glued to it.

    `headings` are the ends of headings by their starts.
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
    """Return the last place up to `high` where a piece may be cut: at a line or sentence, else at a word; or 0."""
    if high <= piece.start:
        return 0
    span = Span(piece.start, min(piece.end, high + 1))
    places = [place for place, _ in prose_cuts(text, span) if piece.start < place <= high]
    return places[-1] if places else best_cut(text, piece.start, high)
