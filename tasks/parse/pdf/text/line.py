"""PDF lines: what stands on one level of a page in one piece."""

from dataclasses import dataclass

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.fonts import Font


@dataclass(slots=True)
class Line:
    """A line or a piece of one: text, font size in points, box from the page's top left, place in pdfium's text."""

    text: str
    size: float
    font: Font
    box: Box
    page: int
    first: int
    last: int
    level: int = 0
    furniture: bool = False
    ruled: bool = False  # an upright rule stands behind it

    @property
    def height(self) -> float:
        """Return the height of the line's box in points."""
        return self.box[3] - self.box[1]
