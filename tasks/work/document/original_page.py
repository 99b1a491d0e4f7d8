"""Original page: draw a page of the file that a document was read from; one call in a worker process."""

import stat
from contextlib import closing
from dataclasses import dataclass, field
from io import BytesIO
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.keys import hash_bytes
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.page_content import read_sheet
from docmill.tasks.parse.pdf.reader import open_pdf, opened_page
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import OpenPage, address
from docmill.tasks.work.document.preview import Taking, take

_SCALE = 2.0
"""Pixels a point: 6-point print is legible on a screen, and a page of text takes 150 to 300 kB."""
_MOST_PIXELS = 8_000_000  # of a picture: an A2 page at this scale; larger pages, such as plans, are drawn coarser
_LEAST_SCALE = 0.02  # a page a kilometre long; below that nothing can be made out
_COLOURS = 64  # of a page with text and lines; photographs keep all of theirs


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of text on a page, and its box in points from the top left."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as a PNG file. `width` and `height` are in points; `pages` is the number of pages of the document."""

    number: int
    pages: int
    width: float
    height: float
    png: bytes
    lines: tuple[PageLine, ...]


def draw_page(data: bytes, number: int, passwords: tuple[str, ...]) -> PagePicture:
    """Draw a page of a PDF as viewers display it; `number` counts from 1.

    Raise Rejected: `corrupt`, `encrypted`, `too_large`, or `unreadable` if there is no such page.
    """
    document = open_pdf(data, passwords)
    with closing(document):
        pages = len(document)
        if not 1 <= number <= pages:
            raise Rejected("unreadable", f"it has {pages} pages, there is no page {number}")
        with opened_page(document, number) as page:
            if page is None:
                raise Rejected("corrupt", f"page {number} cannot be read")
            width, height = page.get_size()
            lines = _lines(page, document, number)
            return PagePicture(number, pages, width, height, _png(page, width * height), lines)


def _png(page: Any, points: float) -> bytes:
    """Return the page as a PNG file; `points` is its area in square points."""
    from PIL import Image

    scale = min(_SCALE, sqrt(_MOST_PIXELS / max(points, 1.0)))
    if scale < _LEAST_SCALE:
        raise Rejected("too_large", "the page is too large to be drawn")
    with closing(page.render(scale=scale, may_draw_forms=True)) as bitmap:
        picture = bitmap.to_pil().convert("RGB")
    sink = BytesIO()
    few = picture.getcolors(1 << 16)
    if few is not None:  # text, lines and flat areas: with a palette the file is a third as large
        picture = picture.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    picture.save(sink, "PNG", compress_level=6)
    return sink.getvalue()


def _lines(page: Any, document: Any, number: int) -> tuple[PageLine, ...]:
    """Return the lines of a page as the parser reads them, without those of tables."""
    sheet = read_sheet(OpenPage(page), address(document), number)
    return tuple(PageLine(one.text, sheet.box(one.box)) for one in sheet.items if isinstance(one, TextLine))


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page of the PDF at `path`, or of its member `inner`; the bytes of the PDF must have the hash."""

    path: Path
    inner: str
    content_hash: str
    number: int
    max_bytes: int
    archives: ArchiveOptions
    passwords: tuple[str, ...] = field(default=(), repr=False, metadata={"secret": True})


def original_page(asked: PageRequest) -> PagePicture:
    """Draw a page; raise Rejected if the file has changed since the document was read, or cannot be drawn."""
    data = _member(asked) if asked.inner else _bytes(asked.path, asked.max_bytes)
    if hash_bytes(data) != asked.content_hash:
        raise Rejected("unreadable", "its file was changed after it was read")
    return draw_page(data, asked.number, asked.passwords)


def _member(asked: PageRequest) -> bytes:
    with TemporaryDirectory() as folder:
        target = Path(folder, "member")
        take(Taking(asked.path, asked.inner, target, asked.archives))
        return _bytes(target, asked.max_bytes)


def _bytes(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file; reading a pipe that took its place would block for ever."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise Rejected("unreadable", "its file was replaced by something else after it was read")
        if status.st_size > most:
            raise Rejected("too_large", f"{status.st_size} bytes, the limit is {most} (discover.max_file_bytes)")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise Rejected("unreadable", "its file was moved or deleted after it was read") from error
    except OSError as error:
        raise Rejected("unreadable", error.strerror or str(error)) from error
