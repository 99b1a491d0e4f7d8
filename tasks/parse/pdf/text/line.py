"""PDF lines: contiguous text on one level of a page."""

from dataclasses import dataclass

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.letters.right_to_left import is_right_to_left
from docmill.tasks.parse.pdf.text.fonts import Font

NOWHERE = -1  # the place in pdfium's text of what is no part of a page's content: filled in, or laid over it


@dataclass(slots=True)
class TextLine:
    """A line or a piece of one: text, font size in points, box from the page's top left.

    `first` and `last` are its characters in pdfium's text of the page, 0 after OCR. `gap` is the widest gap between the
    pieces that it was joined from, in font sizes.
    """

    text: str
    size: float
    font: Font
    box: Box
    page: int
    first: int
    last: int
    level: int = 0
    furniture: bool = False
    ruled: bool = False  # there is a vertical rule behind it
    gap: float = 0.0
    contents: bool = False  # it belongs to a list of contents
    lead: int = 0  # letters at its beginning that stand out and may name its paragraph

    @property
    def height(self) -> float:
        """Return the height of the line's box in points."""
        _, top, _, bottom = self.box
        return bottom - top

    @property
    def left(self) -> float:
        """Return where the line begins, in points."""
        return self.box[0]

    @property
    def right(self) -> float:
        """Return where the line ends, in points."""
        return self.box[2]


def from_the_left(pieces: list[TextLine]) -> list[TextLine]:
    """Return pieces of a line as rows of tables are looked for: those read from the right come the other way round."""
    is_leftward = is_right_to_left("".join(piece.text for piece in pieces))
    return sorted(pieces, key=lambda piece: piece.box[0]) if is_leftward else pieces
