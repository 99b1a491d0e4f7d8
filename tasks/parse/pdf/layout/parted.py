"""PDF parted lines: pieces of a line that keep the bullet drawn before it."""

from collections.abc import Sequence

from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

BULLET = "\u2022"


def parted(line: TextLine, places: Sequence[float], layer: TextLayer) -> list[TextLine]:
    """Return a line in pieces, cut between words at each of the places, from the left.

    A bullet that is drawn as a shape is none of the page's letters, of which the pieces are made.
    """
    if not places:
        return [line]
    pieces = layer.parted(line, places)
    first = pieces[0]
    if first is not line and line.text.startswith(BULLET) and not first.text.startswith(BULLET):
        first.text = f"{BULLET} {first.text}"
        first.box = (line.box[0], *first.box[1:])
    return pieces
