"""Picture: what OCR is given of a page, and what it makes of it."""

from dataclasses import dataclass, field

from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import Place

POINTS = 72.0  # an inch
INSTEAD = "or pip install 'docmill[ocr]', or set ocr = false in [parse]"  # what helps without tesseract


@dataclass(frozen=True, slots=True)
class Picture:
    """A page in grey: one byte a pixel, row by row from the top left."""

    pixels: bytes
    width: int
    height: int
    per_inch: float

    @property
    def scale(self) -> float:
        """Return how many points a pixel measures."""
        return POINTS / self.per_inch


@dataclass(frozen=True, slots=True)
class PageReading:
    """The lines that OCR read, their boxes in points on the page turned upright, of `width` by `height` points.

    `paragraphs` holds the same lines in the order of an engine that finds one. `back` leads from boxes of the upright
    page to the page as displayed; None if it is upright. `sure` is the mean confidence from 0 to 1, by characters.
    """

    lines: list[TextLine]
    width: float
    height: float
    sure: float
    paragraphs: list[list[TextLine]] = field(default_factory=list)
    back: Place | None = None
