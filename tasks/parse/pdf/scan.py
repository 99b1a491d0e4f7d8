"""Scanned pages: OCR of PDF pages without text, of image files, and of figures."""

import warnings
from collections.abc import Container, Iterator
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from math import sqrt
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.pdf.draw import draw
from docmill.tasks.parse.pdf.ocr import ADVICE, POINTS, Picture, read_picture
from docmill.tasks.parse.pdf.page_content import PageContent
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import Handle, OpenPage, boxes_from
from docmill.tasks.parse.pictures.camera_facts import camera_facts

_PER_INCH = 300.0  # dots, as tesseract recommends: with fewer it misreads small print, with more it takes longer
_MAX_PIXELS = 40_000_000  # of a picture in memory: an A2 page at 300 dots an inch; larger ones are rendered coarser
_FEW_CHARACTERS = 25  # a page number or a scanner's stamp; a short line of text has more
_MOST_OBJECTS = 100  # to search for images: a scan is one image, or some strips, among the first objects
_IMAGE = 3  # FPDF_PAGEOBJ_IMAGE
_COVERED = 0.6
"""Least share of a page that the images of a scan cover: scanners leave out little but margins. Figures that fill more
of a page without a word on it are rare."""


def is_scan(page: OpenPage, sheet: PageContent) -> bool:
    """Return whether a page is for OCR: garbled, drawn without text, or with an image and hardly any text."""
    if sheet.garbled:
        return True
    if not sheet.items:
        return bool(page.objects[0])
    return sheet.characters < _FEW_CHARACTERS and bool(_images(page))


def is_picture(page: OpenPage, sheet: PageContent) -> bool:
    """Return whether images cover most of a page that has hardly any text."""
    if sheet.garbled or sheet.characters >= _FEW_CHARACTERS:
        return False
    boxes = boxes_from("FPDFPageObj_GetBounds", _images(page))
    area = sum(abs((right - left) * (top - bottom)) for left, bottom, right, top in boxes)
    return area >= _COVERED * sheet.width * sheet.height


def _images(page: OpenPage) -> list[Handle]:
    """Return the images among the first objects of a page."""
    return [one for one, kind in islice(zip(*page.objects, strict=True), _MOST_OBJECTS) if kind == _IMAGE]


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
    return read_picture(picture, number, options.ocr_engine, options.ocr_languages)


def certainty(sheets: list[PageContent]) -> dict[str, list[int]]:
    """Return how sure OCR is of each page that it read, in percent and in page order; nothing if it read none."""
    sure = [int(100 * sheet.sure) for sheet in sheets if sheet.sure is not None]
    return {"ocr_confidence": sure} if sure else {}


_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP")
_MAX_IMAGE_PIXELS = 80_000_000  # a sheet of A3 at 600 dots an inch has 70 million; in colour each takes 4 bytes
_MAX_FRAMES = 1_000  # pages of one TIFF: a long book; more take hours to read
_SCANNERS_PER_INCH = range(90, 1201)  # dots of scanners; programs without a value write 72, higher ones are mistakes
_SCREEN, _SCAN = 96.0, 300.0  # dots an inch of an image that states none: of a screenshot, of a scanned page
_SMALL = 1_200  # pixels of the longer side: in smaller images the letters are too small for OCR
_SEE_THROUGH = ("RGBA", "LA", "PA", "P")  # modes of Pillow; such pictures are put on white


def parse_image(data: bytes, options: ParseOptions) -> Parsed:
    """Return an image as a figure below the text that OCR reads in it: all pages of a TIFF, else the first frame.

    A TIFF of several pages is a scan and no figure. Raise Rejected: `no_text` if there is neither text nor a figure,
    `not_installed`, `too_large`, `corrupt`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from Pillow on broken metadata; sizes are checked here
        image = _opened(data)
        frames = enumerate(_frames(image), 1) if options.ocr else ()
        sheets = [scanned(picture, number, options) for number, picture in frames]
        stated = camera_facts(image)
    facts = _pages(sheets) if options.ocr else {"pages": _count(image), "scanned_pages": [1]}
    title = stated.get("title", "")
    canvas, title = draw(sheets, {}, title) if facts.get("ocr_pages") else (Canvas(), title)
    canvas.page = 1
    if _count(image) == 1:
        canvas.figure(data, stated.get("title", ""))
    if not canvas.blocks:
        raise _nothing(image, options.ocr, canvas.album.left_out)
    return canvas.parsed(title, stated | facts)


def picture_in(data: bytes) -> Picture:
    """Return the first frame of an image as OCR reads it; raise Rejected: `too_large`, `corrupt`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in `parse_image`
        return next(_frames(_opened(data)))


def _nothing(image: Any, ocr: bool, left_out: Container[str]) -> Rejected:
    """Return why nothing of an image is kept."""
    if "too_large" in left_out:
        size = f"{image.width} × {image.height}"
        return Rejected("too_large", f"an image of {size} pixels, the limit is {_MAX_IMAGE_PIXELS}")
    if "broken" in left_out:
        return Rejected("corrupt", "cannot be read as an image: its content is damaged")
    if ocr:
        return Rejected("no_text", "OCR reads no text in the image")
    size = f"{image.width} × {image.height} pixels"
    return Rejected("no_text", f"an image of {size}; its text is read by {ADVICE}")


def _count(image: Any) -> int:
    """Return the number of pages; an animation is one."""
    return image.n_frames if image.format == "TIFF" else 1


def _pages(sheets: list[PageContent]) -> dict[str, Any]:
    """Return the number of pages, which of them have text and which have none, and how sure OCR is of each."""
    facts = {"pages": len(sheets), "ocr_pages": [sheet.number for sheet in sheets if sheet.items]} | certainty(sheets)
    empty = [sheet.number for sheet in sheets if not sheet.items]
    return facts | ({"pages_without_text": empty} if empty else {})


def _opened(data: bytes) -> Any:
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(BytesIO(data), formats=_FORMATS)
    except UnidentifiedImageError as error:
        raise Rejected("corrupt", "cannot be read as an image: its header is damaged") from error
    except Image.DecompressionBombError as error:
        raise Rejected("too_large", f"an image with more pixels than the limit, {_MAX_IMAGE_PIXELS}") from error
    return image


def _frames(image: Any) -> Iterator[Picture]:
    count = _count(image)
    if count > _MAX_FRAMES:
        raise Rejected("too_large", f"{count} pages in one image, the limit is {_MAX_FRAMES}")
    for number in range(count):
        image.seek(number)
        if image.width * image.height > _MAX_IMAGE_PIXELS:
            size = f"{image.width} × {image.height}"
            raise Rejected("too_large", f"an image of {size} pixels, the limit is {_MAX_IMAGE_PIXELS}")
        yield _picture(image)


def _picture(image: Any) -> Picture:
    from PIL import Image, ImageOps

    per_inch = _per_inch(image)
    upright = ImageOps.exif_transpose(image)
    if upright.mode in _SEE_THROUGH:
        layer = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    grey = upright.convert("L")
    if max(grey.size) < _SMALL:
        grey, per_inch = grey.resize((2 * grey.width, 2 * grey.height), Image.Resampling.BICUBIC), 2 * per_inch
    return Picture(grey.tobytes(), grey.width, grey.height, per_inch)


def _per_inch(image: Any) -> float:
    """Return the resolution that an image states if a scanner may have it, else a usual one for its size."""
    try:
        named = float(image.info.get("dpi", (0, 0))[0])
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        named = 0.0
    if round(named) in _SCANNERS_PER_INCH:
        return named
    return _SCREEN if max(image.size) < 2 * _SMALL else _SCAN


@dataclass(frozen=True, slots=True)
class FigureScan:
    """A picture file with the OCR engine and languages that read it."""

    data: bytes
    engine: str
    languages: str


def words_in(scan: FigureScan) -> str:
    """Return the words in a picture, row by row, or ""; raise Rejected like `parse_image`."""
    options = ParseOptions(ocr=True, ocr_engine=scan.engine, ocr_languages=scan.languages)
    lines = [line for line in scanned(picture_in(scan.data), 1, options).lines if any(map(str.isalnum, line.text))]
    return " ".join(line.text for line in sorted(lines, key=_row))


def _row(line: TextLine) -> tuple[int, float]:
    """Return the row of a line, in multiples of its font size, and where it begins."""
    left, _, _, bottom = line.box
    return round(bottom / max(line.size, 1.0)), left
