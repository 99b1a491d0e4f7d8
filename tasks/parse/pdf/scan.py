"""Scanned PDF pages: pages without text that are drawn as a picture, for OCR to read."""

from contextlib import closing
from itertools import repeat
from typing import Any

from docmill.tasks.parse.pdf.ocr import Picture, read_picture
from docmill.tasks.parse.pdf.page_sheet import Sheet
from docmill.tasks.parse.pdf.text.pdfium_calls import Handle, calls

_PER_INCH = 300.0
_MAX_PIXELS = 40_000_000
_FEW_CHARACTERS = 25
_IMAGE = 3


def is_scan(page: int, sheet: Sheet) -> bool:
    """Return whether a page shows something but holds no text, or hardly any beside an image."""
    ask = calls()
    objects = ask["FPDFPage_CountObjects"](page)
    if not sheet.items:
        return bool(objects > 0)
    if sheet.characters >= _FEW_CHARACTERS:
        return False
    handles = map(ask["FPDFPage_GetObject"], repeat(Handle(page)), range(min(objects, 100)))
    return _IMAGE in map(ask["FPDFPageObj_GetType"], handles)


def read_scan(document: Any, sheet: Sheet, languages: str) -> Sheet:
    """Return the page as OCR reads it, or as it was where OCR reads no more than that."""
    with closing(document[sheet.number - 1]) as page:
        width, height = page.get_size()
        inches = max(width * height, 1.0) / 72**2
        per_inch = min(_PER_INCH, (_MAX_PIXELS / inches) ** 0.5)
        with closing(page.render(scale=per_inch / 72, grayscale=True)) as bitmap:
            pixels = bitmap.to_numpy()
            picture = Picture(pixels.tobytes(), pixels.shape[1], pixels.shape[0], per_inch)
    read = scanned(picture, sheet.number, languages)
    return read if read.characters > sheet.characters else sheet


def scanned(picture: Picture, number: int, languages: str) -> Sheet:
    """Return a page that is a picture."""
    width, height = 72 * picture.width / picture.per_inch, 72 * picture.height / picture.per_inch
    paragraphs = read_picture(picture, number, languages)
    lines = [line for paragraph in paragraphs for line in paragraph]
    return Sheet(number, width, height, [*lines], paragraphs=paragraphs)
