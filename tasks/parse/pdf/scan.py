"""Scanned PDF pages: render pages without text as pictures for OCR."""

from contextlib import closing
from itertools import repeat
from math import sqrt
from typing import Any

from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.pdf.ocr.engines import read_picture
from docmill.tasks.parse.pdf.ocr.picture import POINTS, Picture
from docmill.tasks.parse.pdf.page_content import PageContent
from docmill.tasks.parse.pdf.text.pdfium_calls import Handle, boxes_from, calls

_PER_INCH = 300.0  # dots, what tesseract asks for: with fewer it misreads small print, with more it takes longer
_MAX_PIXELS = 40_000_000  # of a picture in memory: a page of A2 at 300 dots an inch; larger ones are drawn coarser
_FEW_CHARACTERS = 25  # a page number or a stamp that a scanner prints on its pages; a short line of text has more
_MOST_OBJECTS = 100  # that are looked at for an image: a scan is one, or some strips, at a page's beginning
_IMAGE = 3  # FPDF_PAGEOBJ_IMAGE
_COVERED = 0.6
"""Share of a page that the pictures of a scan cover at least: scanners leave out little but margins. Figures that fill
more of a page without a word on it are rare."""


def is_scan(page: int, sheet: PageContent) -> bool:
    """Return whether a page shows something but has no text, hardly any beside an image, or a garbled one."""
    if sheet.garbled:
        return True
    if not sheet.items:
        return bool(calls()["FPDFPage_CountObjects"](page) > 0)
    return not sheet.has_characters(_FEW_CHARACTERS) and bool(_images(page))


def is_picture(page: int, sheet: PageContent) -> bool:
    """Return whether images cover most of a page that has hardly any text."""
    if sheet.garbled or sheet.has_characters(_FEW_CHARACTERS):
        return False
    boxes = boxes_from("FPDFPageObj_GetBounds", _images(page))
    area = sum(abs((right - left) * (top - bottom)) for left, bottom, right, top in boxes)
    return area >= _COVERED * sheet.width * sheet.height


def _images(page: int) -> list[Handle]:
    """Return the images among the first objects of a page."""
    ask = calls()
    count = min(ask["FPDFPage_CountObjects"](page), _MOST_OBJECTS)
    handles = list(map(ask["FPDFPage_GetObject"], repeat(Handle(page)), range(count)))
    kinds = map(ask["FPDFPageObj_GetType"], handles)
    return [one for one, kind in zip(handles, kinds, strict=True) if kind == _IMAGE]


def read_scan(document: Any, sheet: PageContent, options: ParseOptions) -> PageContent:
    """Return the page as OCR reads it, or unchanged if OCR reads no more text."""
    with closing(document[sheet.number - 1]) as page:
        width, height = page.get_size()
        square_inches = max(width * height, 1.0) / POINTS**2
        per_inch = min(_PER_INCH, sqrt(_MAX_PIXELS / square_inches))
        with closing(page.render(scale=per_inch / POINTS, grayscale=True)) as bitmap:
            pixels = bitmap.to_numpy()
            picture = Picture(pixels.tobytes(), pixels.shape[1], pixels.shape[0], per_inch)
    read = scanned(picture, sheet.number, options)
    return read if read.characters > sheet.characters else sheet


def scanned(picture: Picture, number: int, options: ParseOptions) -> PageContent:
    """Return the page that OCR reads in a picture of it."""
    read = read_picture(picture, number, options.ocr_engine, options.ocr_languages)
    return PageContent(
        number,
        read.width,
        read.height,
        [*read.lines],
        paragraphs=read.paragraphs,
        back=read.back,
        sure=read.sure if read.lines else None,
    )


def certainty(sheets: list[PageContent]) -> dict[str, list[int]]:
    """Return how sure OCR is of each page that it read, in percent and in their order; nothing if it read none."""
    sure = [int(100 * sheet.sure) for sheet in sheets if sheet.sure is not None]
    return {"ocr_confidence": sure} if sure else {}
