"""Placed pictures: the pictures that a page shows among its text, and their places among its blocks."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import closing
from io import BytesIO
from itertools import repeat
from typing import Any, NamedTuple

from docmill.storage.keys import hash_bytes, key_of
from docmill.storage.schema import KeptPicture
from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.passes.drawn_block import DrawnBlock
from docmill.tasks.parse.pdf.page_content import PageContent, transform
from docmill.tasks.parse.pdf.text.pdfium_calls import Handle, calls, placed
from docmill.tasks.parse.pictures.album import Album
from docmill.tasks.parse.pictures.figure_block import figure_block
from docmill.tasks.parse.pictures.picture_file import LEAST_SIDE, MAX_PIXELS

_IMAGE, _FORM = 3, 5  # FPDF_PAGEOBJ_IMAGE, FPDF_PAGEOBJ_FORM
_MOST_OBJECTS = 20_000  # of a page that are looked at: a map has more, and no picture apart from them
_MOST_ON_PAGE = 50  # pictures of a page: more are the tiles of one, or icons
_WHOLE = 0.6
"""Share of a page from which on a picture is its background or the scan of it."""
_LEAST_POINTS = 20.0  # of the shorter side as shown: smaller ones are icons and signs, of however many pixels
_EDGE, _SMALL = 0.12, 0.04
"""A picture in this share of the page at its top or bottom, of less than this share of its area, is a letterhead."""
_OVERLAP = 2.0  # points that a picture may reach into the line above it


class PlacedPicture(NamedTuple):
    """A picture on a page, counted from 1, and its box in points from the top left."""

    picture: KeptPicture
    page: int
    box: Box


def placed_pictures(document: Any, page: int, sheet: PageContent, album: Album) -> list[PlacedPicture]:
    """Return the pictures of a page that are figures; the album counts the others."""
    if not _has_pictures(page):
        return []
    place = transform(page, *(calls()[name](page) for name in ("FPDF_GetPageWidthF", "FPDF_GetPageHeightF")))
    found = list[PlacedPicture]()
    with closing(document[sheet.number - 1]) as opened:
        for image, bounds in _images(opened):
            (box,) = placed([bounds], place)
            if _is_background(box, sheet):
                continue
            if len(found) >= _MOST_ON_PAGE or _is_decoration(box, sheet) or min(image.get_px_size()) < LEAST_SIDE:
                album.left_out["decoration"] += 1
            elif (picture := _picture(image, album)) is not None:
                found.append(PlacedPicture(picture, sheet.number, box))
    return found


def _has_pictures(page: int) -> bool:
    """Return whether a page draws a picture, itself or in a form; quick, as most pages draw none."""
    ask = calls()
    count = min(ask["FPDFPage_CountObjects"](page), _MOST_OBJECTS)
    handles = map(ask["FPDFPage_GetObject"], repeat(Handle(page)), range(count))
    return not {_IMAGE, _FORM}.isdisjoint(map(ask["FPDFPageObj_GetType"], handles))


def _images(page: Any) -> Iterator[tuple[Any, Box]]:
    """Yield the images of a page with their bounds; one that a form holds alone has those of the form."""
    within: dict[int, list[Any]] = {}
    forms: dict[int, Any] = {}
    for image in page.get_objects(filter=[_IMAGE], max_depth=2):
        if image.level == 0:
            yield image, image.get_bounds()
        else:
            forms[id(image.container)] = image.container
            within.setdefault(id(image.container), []).append(image)
    for key, images in within.items():
        if len(images) == 1:
            yield images[0], forms[key].get_bounds()


def _is_background(box: Box, sheet: PageContent) -> bool:
    left, top, right, bottom = box
    width, height = (sheet.height, sheet.width) if sheet.turn else (sheet.width, sheet.height)
    outside = right <= 0 or bottom <= 0 or left >= width or top >= height
    return outside or (right - left) * (bottom - top) >= _WHOLE * width * height


def _is_decoration(box: Box, sheet: PageContent) -> bool:
    left, top, right, bottom = box
    height = sheet.width if sheet.turn else sheet.height
    at_edge = bottom < _EDGE * height or top > (1 - _EDGE) * height
    small = (right - left) * (bottom - top) < _SMALL * sheet.width * sheet.height
    return min(right - left, bottom - top) < _LEAST_POINTS or (at_edge and small)


def _picture(image: Any, album: Album) -> KeptPicture | None:
    """Return the picture of an image: the JPEG that the file holds, else its pixels as PNG."""
    width, height = image.get_px_size()
    if width * height > MAX_PIXELS:
        album.left_out["too_large"] += 1
        return None
    raw, filters = bytes(image.get_data(decode_simple=False)), image.get_filters()
    whole = filters == ["DCTDecode"]  # the stream is a JPEG file, which other documents may hold, too
    # Else of what the file holds, as the bytes of a PNG depend on the library that writes it.
    key = hash_bytes(raw) if whole else key_of("picture", hash_bytes(raw), filters, width, height)
    if (known := album.get(key)) is not None:
        return known
    return album.add(raw if whole and _has_screen_colours(raw) else _png(image), key)


def _has_screen_colours(jpeg: bytes) -> bool:
    """Return whether a JPEG has the colours of a screen and not those of a press, which browsers show inverted."""
    from PIL import Image

    try:
        return bool(Image.open(BytesIO(jpeg), formats=["JPEG"]).mode in ("RGB", "L"))
    except Exception:  # it is damaged; pdfium may still draw it
        return False


def _png(image: Any) -> bytes:
    import pypdfium2

    sink = BytesIO()
    try:
        with closing(image.get_bitmap()) as bitmap:
            bitmap.to_pil().convert("RGB").save(sink, "PNG")
    except (pypdfium2.PdfiumError, ValueError, RuntimeError):
        return b""
    return sink.getvalue()


def with_pictures(blocks: Sequence[DrawnBlock], pictures: Sequence[PlacedPicture]) -> list[DrawnBlock]:
    """Return the blocks of all pages, each picture below the last block above it or at the beginning of its page."""
    after: dict[int, list[DrawnBlock]] = {}
    pages = [one.page for one in blocks]
    for picture, page, box in sorted(pictures, key=lambda one: (one.page, one.box[1])):
        first, last = bisect_left(pages, page), bisect_left(pages, page + 1)
        above = (at for at in range(first, last) if _is_above(blocks[at].box, box))
        place = max(above, default=first - 1)
        after.setdefault(place, []).append(figure_block(picture, "", "", page, box))
    return [*after.get(-1, ()), *(one for at, block in enumerate(blocks) for one in (block, *after.get(at, ())))]


def _is_above(block: Box | None, picture: Box) -> bool:
    """Return whether a block ends above a picture in the same column."""
    if block is None:
        return False
    left, _, right, bottom = block
    return bottom <= picture[1] + _OVERLAP and left < picture[2] and right > picture[0]
