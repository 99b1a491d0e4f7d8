"""PDF figures: the pictures that pages show among their text, and their plots."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from io import BytesIO
from math import sqrt
from typing import Any, NamedTuple

from docmill.storage.keys import hash_bytes, key_of
from docmill.storage.schema import KeptPicture
from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.passes.drawn_block import DrawnBlock, figure_block
from docmill.tasks.parse.pdf.layout.grid import is_within
from docmill.tasks.parse.pdf.layout.plots import is_letterhead
from docmill.tasks.parse.pdf.page_content import PageContent, transform
from docmill.tasks.parse.pdf.text.pdfium_calls import Handle, OpenPage, boxes_from, objects_in, placed, tenths
from docmill.tasks.parse.pictures.album import LEAST_SIDE, MAX_PIXELS, REPEATED, Album

_IMAGE, _FORM = 3, 5  # FPDF_PAGEOBJ_IMAGE, FPDF_PAGEOBJ_FORM
_MOST_ON_PAGE = 50  # pictures of a page: more are tiles of one picture, or icons
_WHOLE = 0.6
"""Share of a page from which a picture is its background or a scan of it."""
_LEAST_POINTS = 20.0  # of the shorter side as displayed: smaller ones are icons and signs, whatever their pixels
_PACKED = 3  # of zlib's 9 levels: takes 40 % less time than the usual 6, for 3 % more bytes
_OVERLAP = 2.0  # points that a picture may reach into the line above it


class PlacedPicture(NamedTuple):
    """A picture, its page (from 1), its box in points from the top left, and the words if it is a plot.

    A plot has no `picture` if the document has too many.
    """

    picture: KeptPicture | None
    page: int
    box: Box
    words: str = ""


def placed_pictures(page: OpenPage, sheet: PageContent, album: Album) -> list[PlacedPicture]:
    """Return the pictures of an open page that are figures, and its plots; the album counts the others."""
    images = [*_images(page, sheet)]
    found = [*_plotted(page.opened, sheet, [box for _, box in images], album)]
    plots = [one.box for one in found]
    for image, box in images:
        if any(is_within(box, plot) for plot in plots):
            continue
        small = min(box[2] - box[0], box[3] - box[1]) < _LEAST_POINTS or min(image.get_px_size()) < LEAST_SIDE
        if len(found) >= _MOST_ON_PAGE or small or is_letterhead(box, *_size(sheet)):
            album.left_out["decoration"] += 1
        elif (picture := _picture(image, album)) is not None:
            found.append(PlacedPicture(picture, sheet.number, box))
    return found


def _plotted(opened: Any, sheet: PageContent, images: list[Box], album: Album) -> Iterator[PlacedPicture]:
    """Yield the plots of a page; one without words around an image is only a frame."""
    size = sheet.width, sheet.height
    for plot in sheet.plots:
        box = _with_margin(plot.box, size)
        if plot.words or not any(is_within(image, box) for image in images):
            picture = album.add(*_drawing(opened, size, box))
            if picture or plot.words:
                yield PlacedPicture(picture, sheet.number, box, plot.words)


def _images(page: OpenPage, sheet: PageContent) -> Iterator[tuple[Any, Box]]:
    """Yield the images of a page with their boxes, without backgrounds."""
    drawn = [*_drawn_images(page)]
    bounds = boxes_from("FPDFPageObj_GetBounds", [outer for _, outer in drawn])
    boxes = placed(bounds, transform(page.address, *page.opened.get_size())) if drawn else []
    for (image, _), box in zip(drawn, boxes, strict=True):
        if not _is_background(box, sheet):
            yield page.object_at(image), box


def _drawn_images(page: OpenPage) -> Iterator[tuple[Handle, Handle]]:
    """Yield the images of a page, each with the form of which it is the only image, or with itself."""
    yield from ((one, one) for one in page.of_kind(_IMAGE))
    for form in page.of_kind(_FORM):
        images = [one for one, kind in zip(*objects_in(form), strict=True) if kind == _IMAGE]
        if len(images) == 1:
            yield images[0], form


def _is_background(box: Box, sheet: PageContent) -> bool:
    left, top, right, bottom = box
    width, height = _size(sheet)
    outside = right <= 0 or bottom <= 0 or left >= width or top >= height
    return outside or (right - left) * (bottom - top) >= _WHOLE * width * height


def _size(sheet: PageContent) -> tuple[float, float]:
    """Return the width and height of a page as displayed."""
    return (sheet.height, sheet.width) if sheet.turn else (sheet.width, sheet.height)


def _picture(image: Any, album: Album) -> KeptPicture | None:
    """Return an image as a picture: the JPEG within the PDF, perhaps compressed, else its pixels as PNG."""
    width, height = image.get_px_size()
    if width * height > MAX_PIXELS:
        album.left_out["too_large"] += 1
        return None
    filters = image.get_filters()
    whole = filters[-1:] == ["DCTDecode"]  # the stream is a JPEG file, which other documents may share
    raw = bytes(image.get_data(decode_simple=whole))
    # Else hash what the PDF holds, because the bytes of a PNG depend on the library that writes it.
    key = hash_bytes(raw) if whole else key_of("picture", hash_bytes(raw), filters, width, height)
    if (known := album.get(key)) is not None:
        return known
    return album.add(raw if whole and _has_screen_colours(raw) else _png(image), key)


def _has_screen_colours(jpeg: bytes) -> bool:
    """Return whether a JPEG is RGB or grey; browsers show the CMYK of print inverted."""
    from PIL import Image

    try:
        return bool(Image.open(BytesIO(jpeg), formats=["JPEG"]).mode in ("RGB", "L"))
    except Exception:  # damaged; pdfium may still draw it
        return False


def _png(image: Any) -> bytes:
    import pypdfium2

    sink = BytesIO()
    try:
        pixels = image.get_bitmap().to_pil()
        (pixels if pixels.mode == "L" else pixels.convert("RGB")).save(sink, "PNG", compress_level=_PACKED)
    except (pypdfium2.PdfiumError, ValueError, RuntimeError):
        return b""
    return sink.getvalue()


def with_pictures(blocks: Sequence[DrawnBlock], pictures: Sequence[PlacedPicture]) -> list[DrawnBlock]:
    """Return the blocks of all pages, with each picture after the last block above it or at the start of its page."""
    after: dict[int, list[DrawnBlock]] = {}
    pages = [one.page for one in blocks]
    places = Counter(one.picture.key for one in pictures if one.picture)
    for one in sorted(pictures, key=lambda one: (one.page, one.box[1])):
        first, last = bisect_left(pages, one.page), bisect_left(pages, one.page + 1)
        above = (at for at in range(first, last) if _is_above(blocks[at].box, one.box))
        place = max(above, default=first - 1)
        after.setdefault(place, []).append(_shown(one, places))
    return [*after.get(-1, ()), *(one for at, block in enumerate(blocks) for one in (block, *after.get(at, ())))]


def _shown(one: PlacedPicture, places: Counter[str]) -> DrawnBlock:
    """Return a figure, or only the words of a plot that has no picture or is repeated in many places."""
    picture, page, box, words = one
    if picture is None or (words and places[picture.key] >= REPEATED):
        return DrawnBlock("paragraph", words, 0, page, box)
    return figure_block(picture, words, "", page, box)


def _is_above(block: Box | None, picture: Box) -> bool:
    """Return whether a block ends above a picture in the same column."""
    if block is None:
        return False
    left, _, right, bottom = block
    return bottom <= picture[1] + _OVERLAP and left < picture[2] and right > picture[0]


_MARGIN = 2.0  # points around a drawing: half of a thick line is outside its path
_SCALE = 2.0  # pixels a point, as for a displayed page
_MOST_PIXELS = 4_000_000


def _with_margin(box: Box, size: tuple[float, float]) -> Box:
    """Return a box with a margin, limited to a page of this size."""
    left, top, right, bottom = box
    sides = (
        max(left - _MARGIN, 0.0),
        max(top - _MARGIN, 0.0),
        min(right + _MARGIN, size[0]),
        min(bottom + _MARGIN, size[1]),
    )
    return (tenths(sides[0]), tenths(sides[1]), tenths(sides[2]), tenths(sides[3]))


def _drawing(opened: Any, size: tuple[float, float], box: Box) -> tuple[bytes, str]:
    """Return a part of a page as a PNG file, and a key of its pixels, which does not depend on the PNG library."""
    left, top, right, bottom = box
    scale = min(_SCALE, sqrt(_MOST_PIXELS / max((right - left) * (bottom - top), 1.0)))
    crop = (left, size[1] - bottom, size[0] - right, top)
    with closing(opened.render(scale=scale, crop=crop, may_draw_forms=False)) as bitmap:
        picture = bitmap.to_pil()
    picture.save(sink := BytesIO(), "PNG", compress_level=_PACKED)
    return sink.getvalue(), key_of("drawing", *picture.size, hash_bytes(picture.tobytes()))
