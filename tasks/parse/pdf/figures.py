"""PDF figures: the pictures that pages show among their text, their plots, and the drawings that captions name."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from io import BytesIO
from itertools import islice
from math import sqrt
from typing import Any, NamedTuple

from docmill.storage.keys import hash_bytes, key_of
from docmill.storage.schema import KeptPicture
from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.caption_labels import is_caption, names_table
from docmill.tasks.parse.passes.drawn_block import DrawnBlock, figure_block
from docmill.tasks.parse.pdf.layout.plots import CELL, LABEL, LEAST_DRAWN, grouped, is_letterhead, is_within
from docmill.tasks.parse.pdf.page_content import PageContent, transform
from docmill.tasks.parse.pdf.text.pdfium_calls import (
    MOST_OBJECTS,
    OpenPage,
    Place,
    address,
    around_all,
    boxes_from,
    object_at,
    objects_in,
    objects_of,
    placed,
    tenths,
)
from docmill.tasks.parse.pictures.album import LEAST_SIDE, MAX_PIXELS, REPEATED, Album

_IMAGE, _FORM = 3, 5  # FPDF_PAGEOBJ_IMAGE, FPDF_PAGEOBJ_FORM
_MOST_ON_PAGE = 50  # pictures of a page: more are the tiles of one, or icons
_WHOLE = 0.6
"""Share of a page from which on a picture is its background or the scan of it."""
_LEAST_POINTS = 20.0  # of the shorter side as shown: smaller ones are icons and signs, of however many pixels
_PACKED = 3  # of 9 levels of zlib: takes 40 % less time than the usual 6, for 3 % more bytes
_OVERLAP = 2.0  # points that a picture may reach into the line above it


class PlacedPicture(NamedTuple):
    """A picture on a page, counted from 1, its box in points from the top left, and the words in a plot.

    There is no `picture` of a plot where the document has too many.
    """

    picture: KeptPicture | None
    page: int
    box: Box
    words: str = ""


def placed_pictures(page: OpenPage, sheet: PageContent, album: Album) -> list[PlacedPicture]:
    """Return the pictures of an open page that are figures, and its plots; the album counts the others."""
    place: Place | None = None
    found = [*_plotted(page.opened, sheet, album)]
    plots = [one.box for one in found]
    for image, bounds in _images(page):
        place = place or transform(page.address, *page.opened.get_size())
        (box,) = placed([bounds], place)
        if _is_background(box, sheet) or any(is_within(box, plot) for plot in plots):
            continue
        if len(found) >= _MOST_ON_PAGE or _is_decoration(box, sheet) or min(image.get_px_size()) < LEAST_SIDE:
            album.left_out["decoration"] += 1
        elif (picture := _picture(image, album)) is not None:
            found.append(PlacedPicture(picture, sheet.number, box))
    return found


def _plotted(opened: Any, sheet: PageContent, album: Album) -> Iterator[PlacedPicture]:
    for plot in sheet.plots:
        page = _DrawnPage(opened, sheet.width, sheet.height, ())
        box = _beside(plot.box, None, page)
        yield PlacedPicture(album.add(*_drawing(page, box)), sheet.number, box, plot.words)


def _images(page: OpenPage) -> Iterator[tuple[Any, Box]]:
    """Yield the images of a page with their bounds; one that a form holds alone has those of the form."""
    shown = [(one, one) for one in page.of_kind(_IMAGE)]
    for form in page.of_kind(_FORM):
        images = [one for one, kind in zip(*objects_in(form, MOST_OBJECTS), strict=True) if kind == _IMAGE]
        if len(images) == 1:
            shown.append((images[0], form))
    boxes = boxes_from("FPDFPageObj_GetBounds", [outer for _, outer in shown])
    for (image, _), box in zip(shown, boxes, strict=True):
        yield object_at(image, page.opened), box


def _is_background(box: Box, sheet: PageContent) -> bool:
    left, top, right, bottom = box
    width, height = (sheet.height, sheet.width) if sheet.turn else (sheet.width, sheet.height)
    outside = right <= 0 or bottom <= 0 or left >= width or top >= height
    return outside or (right - left) * (bottom - top) >= _WHOLE * width * height


def _is_decoration(box: Box, sheet: PageContent) -> bool:
    left, top, right, bottom = box
    width, height = (sheet.height, sheet.width) if sheet.turn else (sheet.width, sheet.height)
    return min(right - left, bottom - top) < _LEAST_POINTS or is_letterhead(box, width, height)


def _picture(image: Any, album: Album) -> KeptPicture | None:
    """Return the picture of an image: the JPEG that the file holds, packed or not, else its pixels as PNG."""
    width, height = image.get_px_size()
    if width * height > MAX_PIXELS:
        album.left_out["too_large"] += 1
        return None
    filters = image.get_filters()
    whole = filters[-1:] == ["DCTDecode"]  # the stream is a JPEG file, which other documents may hold, too
    raw = bytes(image.get_data(decode_simple=whole))
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
        pixels = image.get_bitmap().to_pil()
        (pixels if pixels.mode == "L" else pixels.convert("RGB")).save(sink, "PNG", compress_level=_PACKED)
    except (pypdfium2.PdfiumError, ValueError, RuntimeError):
        return b""
    return sink.getvalue()


def with_pictures(blocks: Sequence[DrawnBlock], pictures: Sequence[PlacedPicture]) -> list[DrawnBlock]:
    """Return the blocks of all pages, each picture below the last block above it or at the beginning of its page."""
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
    """Return a figure, or the words of a plot that is no figure, as where many places show it."""
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


_DRAWN = {2, 4, _FORM}  # FPDF_PAGEOBJ_PATH, FPDF_PAGEOBJ_SHADING
_MOST_PAGES = 300  # of a document on which captions are looked at: each is opened once more
_LEAST_PATHS = 3  # of a drawing: two boxes and an arrow; fewer are a rule or a frame
_FAR = 60.0  # points from a drawing to its caption: three lines of labels between them
_FRAME = 0.9  # share of the page: a background, or a frame around it
_PROSE = 500  # characters in a drawing: with more it is a box of text or a table
_MARGIN = 2.0  # points around a drawing: half of a thick line is outside of its path
_SCALE = 2.0  # pixels a point, as of a page that is shown
_MOST_PIXELS = 4_000_000


class _DrawnPage(NamedTuple):
    """A page of a PDF with its size in points and the blocks that were read on it."""

    opened: Any
    width: float
    height: float
    blocks: Sequence[DrawnBlock]


def with_drawings(document: Any, blocks: Sequence[DrawnBlock], album: Album) -> list[DrawnBlock]:
    """Return the blocks of a PDF with a figure beside each caption that names a drawing and has no picture beside it.

    The words in such a drawing stay text of the page, too. Pages that are turned are left as they are.
    """
    captions = defaultdict[int, list[DrawnBlock]](list)
    pages = defaultdict[int, list[DrawnBlock]](list)
    for one in blocks:
        pages[one.page].append(one)
        if one.kind in ("paragraph", "text") and one.box and is_caption(one.text) and not names_table(one.text):
            captions[one.page].append(one)
    found = dict[int, tuple[DrawnBlock, bool]]()
    for number, named in islice(captions.items(), _MOST_PAGES):
        for caption, figure in _on_page(document, number, pages[number], named, album):
            found[id(caption)] = figure, _is_higher(figure.box, caption.box)
    if not found:
        return list(blocks)
    return [one for block in blocks for one in _placed(block, found.get(id(block)))]


def _placed(block: DrawnBlock, found: tuple[DrawnBlock, bool] | None) -> tuple[DrawnBlock, ...]:
    if found is None:
        return (block,)
    figure, above = found
    return (figure, block) if above else (block, figure)


def _is_higher(figure: Box | None, caption: Box | None) -> bool:
    return figure is not None and caption is not None and figure[1] < caption[1]


def _on_page(
    document: Any, number: int, blocks: Sequence[DrawnBlock], captions: Sequence[DrawnBlock], album: Album
) -> Iterator[tuple[DrawnBlock, DrawnBlock]]:
    """Yield captions of a page, each with the figure of the drawing that it names."""
    pictures = _boxes_of_figures(blocks)
    waiting = [one for one in captions if _nearest(pictures, one) is None]
    if not waiting:
        return
    with closing(document[number - 1]) as opened:
        if opened.get_rotation():
            return
        width, height = opened.get_size()
        page = _DrawnPage(opened, width, height, blocks)
        drawings = [one for one in _drawings(page) if all(_distance(one, box) > 0 for box in pictures)]
        yield from _named(page, number, drawings, waiting, album)


def _boxes_of_figures(blocks: Sequence[DrawnBlock]) -> list[Box]:
    return [one.box for one in blocks if one.kind == "figure" and one.box]


def _named(
    page: _DrawnPage, number: int, drawings: list[Box], captions: Sequence[DrawnBlock], album: Album
) -> Iterator[tuple[DrawnBlock, DrawnBlock]]:
    """Yield captions, each with the figure of the nearest drawing that no caption before it names."""
    for caption in captions:
        nearest = _nearest(drawings, caption)
        if nearest is not None:
            drawings.remove(nearest)
            figure = _figure(page, number, nearest, caption, album)
            if figure is not None:
                yield caption, figure


def _nearest(boxes: Sequence[Box], caption: DrawnBlock) -> Box | None:
    """Return the box nearest to a caption, or None if all are far from it."""
    nearest = min(boxes, key=lambda box: _distance(box, caption.box), default=None)
    return nearest if nearest is not None and _distance(nearest, caption.box) <= _FAR else None


def _distance(box: Box, other: Box | None) -> float:
    """Return the points between two boxes, one above the other; infinity if they are side by side."""
    if other is None or box[0] >= other[2] or box[2] <= other[0]:
        return float("inf")
    return max(other[1] - box[3], box[1] - other[3], 0.0)


def _drawings(page: _DrawnPage) -> Iterator[Box]:
    """Yield the boxes of what is drawn together."""
    paths, weights = _paths(page)
    for members in grouped(paths, page.width, page.height):
        box = around_all([paths[at] for at in members])
        low = min(box[2] - box[0], box[3] - box[1]) < LEAST_DRAWN
        if not low and sum(weights[at] for at in members) >= _LEAST_PATHS and not _holds_text(page, box):
            yield box


def _holds_text(page: _DrawnPage, box: Box) -> bool:
    """Return whether a box is that of a table, or of a text."""
    placed_blocks = [(one, one.box) for one in page.blocks if one.box]
    if any(one.kind == "table" and (is_within(own, box) or is_within(box, own)) for one, own in placed_blocks):
        return True
    return sum(len(one.text) for one, own in placed_blocks if is_within(own, box)) > _PROSE


def _paths(page: _DrawnPage) -> tuple[list[Box], list[int]]:
    """Return the boxes on a page of its paths and forms, and for how many paths each counts."""
    place = transform(address(page.opened), page.width, page.height)
    drawn = [one for one in zip(*objects_of(address(page.opened)), strict=True) if one[1] in _DRAWN]
    bounds = boxes_from("FPDFPageObj_GetBounds", [one for one, _ in drawn])
    boxes, weights = list[Box](), list[int]()
    for (_, kind), (left, top, right, bottom) in zip(drawn, placed(bounds, place), strict=True):
        box = (max(left, 0.0), max(top, 0.0), min(right, page.width), min(bottom, page.height))
        wide, high = box[2] - box[0], box[3] - box[1]
        if wide >= 0 and high >= 0 and wide * high < _FRAME * page.width * page.height:
            boxes.append(box)
            weights.append(_LEAST_PATHS if kind == _FORM else 1)
    return boxes, weights


def _figure(page: _DrawnPage, number: int, drawing: Box, caption: DrawnBlock, album: Album) -> DrawnBlock | None:
    """Return the figure of a drawing with its labels, or None if it is none that is kept."""
    reach = 2 * CELL
    around = (drawing[0] - reach, drawing[1] - reach, drawing[2] + reach, drawing[3] + reach)
    labels = [one.box for one in page.blocks if one.box and one is not caption and _is_label(one, around)]
    box = _beside(around_all([drawing, *labels]), caption.box, page)
    picture = album.add(*_drawing(page, box))
    return None if picture is None else figure_block(picture, "", "", number, box)


def _is_label(block: DrawnBlock, around: Box) -> bool:
    """Return whether a block is a short text that reaches into a box."""
    left, top, right, bottom = block.box or around
    short = len(block.text) <= LABEL and block.kind not in ("figure", "furniture", "table")
    return short and left <= around[2] and right >= around[0] and top <= around[3] and bottom >= around[1]


def _beside(box: Box, caption: Box | None, page: _DrawnPage) -> Box:
    """Return a box with a margin, which neither leaves the page nor reaches into the caption."""
    left, top, right, bottom = box
    top, bottom = max(top - _MARGIN, 0.0), min(bottom + _MARGIN, page.height)
    if caption is not None:
        if box[1] < caption[1]:
            bottom = min(bottom, caption[1])
        else:
            top = max(top, caption[3])
    sides = max(left - _MARGIN, 0.0), top, min(right + _MARGIN, page.width), bottom
    return (tenths(sides[0]), tenths(sides[1]), tenths(sides[2]), tenths(sides[3]))


def _drawing(page: _DrawnPage, box: Box) -> tuple[bytes, str]:
    """Return a part of a page as a PNG file, and the key of its pixels, which a PNG library does not decide."""
    left, top, right, bottom = box
    scale = min(_SCALE, sqrt(_MOST_PIXELS / max((right - left) * (bottom - top), 1.0)))
    crop = (left, page.height - bottom, page.width - right, top)
    with closing(page.opened.render(scale=scale, crop=crop, may_draw_forms=False)) as bitmap:
        picture = bitmap.to_pil()
    picture.save(sink := BytesIO(), "PNG", compress_level=_PACKED)
    return sink.getvalue(), key_of("drawing", *picture.size, hash_bytes(picture.tobytes()))
