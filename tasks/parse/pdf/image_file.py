"""Images: their text by OCR, each frame a page."""

import re
import warnings
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.pdf.draw import draw
from docmill.tasks.parse.pdf.ocr.engines import ADVICE
from docmill.tasks.parse.pdf.ocr.picture import Picture
from docmill.tasks.parse.pdf.page_content import PageContent
from docmill.tasks.parse.pdf.scan import certainty, scanned

_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP")
_MAX_PIXELS = 80_000_000  # a sheet of A3 at 600 dots an inch has 70 million; in colour each takes 4 bytes
_MAX_FRAMES = 1_000  # pages of one TIFF: a long book; more take hours to read
_PER_INCH = range(90, 1201)  # dots that scanners give; programs that know none write 72, and what is above is a mistake
_SCREEN, _SCAN = 96.0, 300.0  # dots an inch of an image that does not say: of a picture of a screen, of a scanned page
_SMALL = 1_200  # pixels of the longer side: letters are too small for OCR
_SEE_THROUGH = ("RGBA", "LA", "PA", "P")  # modes of Pillow; what is behind such a picture is taken to be white paper
_DATE_TAG, _AUTHOR_TAG = 306, 315  # Exif: DateTime, Artist
_DATE = re.compile(r"(.{4}:..:..).(.{8})", re.DOTALL)  # 2024:07:01 12:30:00


def parse_image(data: bytes, options: ParseOptions) -> Parsed:
    """Return the text that OCR reads in an image: all pages of a TIFF, the first frame of an animation.

    Raise Rejected: `no_text` if OCR is off or reads nothing, `not_installed`, `too_large`, `corrupt`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow remarks on broken metadata; sizes are checked here
        image = _opened(data)
        if not options.ocr:
            size = f"{image.width} × {image.height} pixels"
            raise Rejected("no_text", f"an image of {size}; its text is read by {ADVICE}")
        sheets = [scanned(picture, number, options) for number, picture in enumerate(_frames(image), 1)]
        facts = _facts(image) | _pages(sheets)
    if not facts["ocr_pages"]:
        raise Rejected("no_text", "OCR reads no text in the image")
    canvas, title = draw(sheets, {})
    return canvas.parsed(title, facts)


def _pages(sheets: list[PageContent]) -> dict[str, Any]:
    """Return the number of pages, which of them have text and which none, and how sure OCR is of it."""
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
        raise Rejected("too_large", f"an image with more pixels than the limit, {_MAX_PIXELS}") from error
    return image


def _frames(image: Any) -> Iterator[Picture]:
    count = image.n_frames if image.format == "TIFF" else 1
    if count > _MAX_FRAMES:
        raise Rejected("too_large", f"{count} pages in one image, the limit is {_MAX_FRAMES}")
    for number in range(count):
        image.seek(number)
        if image.width * image.height > _MAX_PIXELS:
            size = f"{image.width} × {image.height}"
            raise Rejected("too_large", f"an image of {size} pixels, the limit is {_MAX_PIXELS}")
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
    """Return the resolution stated in an image if it is plausible for a scanner, else a usual one for its size."""
    try:
        named = float(image.info.get("dpi", (0, 0))[0])
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        named = 0.0
    if round(named) in _PER_INCH:
        return named
    return _SCREEN if max(image.size) < 2 * _SMALL else _SCAN


def _facts(image: Any) -> dict[str, Any]:
    try:
        tags = image.getexif()
    except Exception:  # broken metadata leaves the picture whole
        return {}
    author, date = (str(tags.get(tag, "")).strip() for tag in (_AUTHOR_TAG, _DATE_TAG))
    found = {"author": author} if author else {}
    if match := _DATE.match(date):
        found["created"] = f"{match[1].replace(':', '-')}T{match[2]}"
    return found
