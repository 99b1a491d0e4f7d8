"""Figure words: what OCR reads in a figure, in one line."""

from dataclasses import dataclass

from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.pdf.scan import picture_in, scanned
from docmill.tasks.parse.pdf.text.line import TextLine


@dataclass(frozen=True, slots=True)
class FigureScan:
    """The file of a picture, and what reads it."""

    data: bytes
    engine: str
    languages: str


def words_in(scan: FigureScan) -> str:
    """Return the words in a picture, row by row; "" if there is none. Raise what `parse_image` raises."""
    options = ParseOptions(ocr=True, ocr_engine=scan.engine, ocr_languages=scan.languages)
    found = scanned(picture_in(scan.data), 1, options).items
    lines = [line for line in found if isinstance(line, TextLine) and any(map(str.isalnum, line.text))]
    return " ".join(line.text for line in sorted(lines, key=_row))


def _row(line: TextLine) -> tuple[int, float]:
    """Return the row of a line, counted in heights of its letters, and where it begins."""
    left, _, _, bottom = line.box
    return round(bottom / max(line.size, 1.0)), left
