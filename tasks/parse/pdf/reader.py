"""PDF, by pdfium: pages in reading order, drawn as headings, paragraphs, items, tables, code and furniture.

A file is opened with a password if needed, and its metadata and outline are read. Pages, Numbers and Keynote documents
are read from their PDF preview. Pages without text, image files and figures are read by OCR.
"""

import re
import stringprep
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Container, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from math import sqrt
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.office.open_xml import check_container
from docmill.tasks.parse.pdf.draw import draw
from docmill.tasks.parse.pdf.figures import PlacedPicture, placed_pictures, with_pictures
from docmill.tasks.parse.pdf.ocr import ADVICE, POINTS, Picture, read_picture
from docmill.tasks.parse.pdf.page_content import PageContent, read_sheet
from docmill.tasks.parse.pdf.text.annotations import form_of
from docmill.tasks.parse.pdf.text.characters import squeeze
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import Handle, OpenPage, address, boxes_from, text_from
from docmill.tasks.parse.pictures.album import Album
from docmill.tasks.parse.pictures.camera_facts import camera_facts
from docmill.tasks.parse.titles.own_title import names_nothing

_UNKNOWN_SIZE = (1.0, 1.0)  # of a page that cannot be loaded: not 0, because others divide by it


def parse_pdf(data: bytes, options: ParseOptions) -> Parsed:
    """Return a PDF drawn as Markdown; each element has its page from 1 and its box in points.

    The title is the document's own, else the heading that is set as a title. Raise Rejected `encrypted` if none of the
    passwords opens it, `no_text` if its pages are only pictures, and `undecodable` if its fonts do not map glyphs to
    letters.
    """
    document = open_pdf(data, options.passwords)
    try:
        album, shown = Album(), list[PlacedPicture]()

        def look(page: OpenPage, sheet: PageContent) -> None:
            shown.extend(placed_pictures(page, sheet, album))

        sheets = _read(document, form_of(document), options, look)
        facts = metadata(document) | {"pages": len(sheets)}
        if not any(sheet.items for sheet in sheets):
            raise _no_text(sheets, options.ocr)
        canvas, title = draw(sheets, outline(document), facts.pop("title", ""))
        canvas.album = album
        canvas.blocks = with_pictures(canvas.blocks, shown)
    finally:
        document.close()
    return canvas.parsed(title, facts | _gaps(sheets) | certainty(sheets) | _furniture(canvas))


Look = Callable[[OpenPage, PageContent], None]
"""Collects the pictures of an open page, given its content."""


def _read(document: Any, form: int | None, options: ParseOptions, look: Look) -> list[PageContent]:
    sheets: list[PageContent] = []
    characters = 0
    for number in range(1, len(document) + 1):
        sheets.append(_sheet(document, form, number, options, look))
        characters += sheets[-1].characters
        if characters > options.max_characters:
            raise Rejected("too_large", f"{number} pages have more characters than the limit, {options.max_characters}")
    return sheets


def _sheet(document: Any, form: int | None, number: int, options: ParseOptions, look: Look) -> PageContent:
    with opened_page(document, number) as opened:
        if opened is None:
            return PageContent(number, *_UNKNOWN_SIZE, damaged=True)
        page = OpenPage(opened)
        sheet = read_sheet(page, address(document), number, form)
        wanted = options.ocr and is_scan(page, sheet)
        if not options.ocr:
            sheet.scanned = is_picture(page, sheet)
            sheet.pictured = not sheet.scanned and is_scan(page, sheet)
        look(page, sheet)
    return read_scan(document, sheet, options) if wanted else sheet


def _no_text(sheets: list[PageContent], ocr: bool) -> Rejected:
    advice = "OCR reads none either" if ocr else f"what is scanned is read by {ADVICE}"
    garbled = sum(sheet.garbled for sheet in sheets)
    if garbled:
        return Rejected("undecodable", f"the fonts of {garbled} pages do not say which letters they draw; {advice}")
    damaged = sum(sheet.damaged for sheet in sheets)
    if damaged:
        return Rejected("corrupt", f"{damaged} of {len(sheets)} pages cannot be read, the others hold no text")
    return Rejected("no_text", f"none of {len(sheets)} pages holds text; {advice}")


def _furniture(canvas: Canvas) -> dict[str, int]:
    """Return the number of headers, footers and page numbers; they are in no chunk."""
    count = sum(element.kind == "furniture" for element in canvas.blocks)
    return {"furniture": count} if count else {}


_GAPS: dict[str, Callable[[PageContent], bool]] = {
    "pages_without_text": lambda sheet: not sheet.items,
    "garbled_pages": lambda sheet: sheet.garbled or sheet.unknown_lines,
    "scanned_pages": lambda sheet: sheet.scanned,
    "pictured_pages": lambda sheet: sheet.pictured and bool(sheet.items),
    "ocr_pages": lambda sheet: sheet.sure is not None,
    "damaged_pages": lambda sheet: sheet.damaged,
}


def _gaps(sheets: list[PageContent]) -> dict[str, list[int]]:
    """Return the numbers of pages with missing text, by reason, and of pages read by OCR."""
    found = {name: [sheet.number for sheet in sheets if is_one(sheet)] for name, is_one in _GAPS.items()}
    return {name: numbers for name, numbers in found.items() if numbers}


_PREVIEWS = ("QuickLook/Preview.pdf", "preview.pdf")


def parse_iwork(data: bytes, options: ParseOptions) -> Parsed:
    """Return the PDF preview of a document, parsed; raise Rejected `unsupported` if it was saved without one."""
    with check_container(data, options.max_unpacked_bytes) as container:
        preview = _preview(container)
    if not preview:
        raise Rejected(
            "unsupported",
            "this Pages, Numbers or Keynote document holds no PDF preview, and its own format is not read;"
            " exported to docx, xlsx, pptx or PDF it is",
        )
    return parse_pdf(preview, options)


def _preview(container: zipfile.ZipFile) -> bytes:
    for name in container.namelist():
        if name.endswith(_PREVIEWS):
            with container.open(name) as member:
                return member.read()
    return b""


_INFO = {"Author": "author", "Subject": "description", "Keywords": "keywords"}
_DATES = {"CreationDate": "created", "ModDate": "modified"}
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?")
_DAY = 3  # groups of a date: year, month, day; then as many for the time
_UNLIKE = re.compile(rb"/StrF\s*/Identity\b")  # pdfium requires one encryption for strings and streams
_OUTLINE_PER_PAGE = 40  # entries: no page has so many headings; a broken outline may loop for ever
_OUTLINE_DEPTH = 6  # the depth of Markdown's headings
_MAX_PAGES = 100_000  # the longest works have some ten thousand; a forged file of a few bytes may state any number


def open_pdf(data: bytes, passwords: tuple[str, ...]) -> Any:
    """Return pypdfium2's document, which the caller closes; raise Rejected `encrypted`, `corrupt` or `too_large`."""
    # pdfium takes UTF-8; files older than PDF 2.0 use Latin-1 bytes, to which it converts by itself.
    prepared = (form for password in passwords for form in dict.fromkeys((password, _prepared(password))))
    for password in (None, *prepared):
        document = _opened(data, password)
        if document is not None:
            return _of_bounded_length(document)
    if _UNLIKE.search(data):
        raise Rejected("encrypted", "its streams are encrypted and its strings are not, which pdfium cannot open")
    known = f"none of {len(passwords)} passwords opens it" if passwords else "no password is known"
    raise Rejected("encrypted", f"the pdf needs a password; {known} (parse.passwords)")


def _opened(data: bytes, password: str | None) -> Any:
    """Return pypdfium2's document, or None if it needs another password."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        return pypdfium2.PdfDocument(data, password=password)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            return None
        if error.err_code == pdfium.FPDF_ERR_SECURITY:
            raise Rejected("encrypted", "unsupported encryption (an unknown filter)") from error
        raise Rejected("corrupt", f"cannot be read as pdf: {error}") from error


def _of_bounded_length(document: Any) -> Any:
    pages = len(document)
    if pages > _MAX_PAGES:
        document.close()
        raise Rejected("too_large", f"{pages} pages, the limit is {_MAX_PAGES}")
    return document


@contextmanager
def opened_page(document: Any, number: int) -> Iterator[Any]:
    """Yield pypdfium2's page, counted from 1; None if it cannot be read."""
    import pypdfium2

    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        yield None
    else:
        with closing(page):
            yield page


def _prepared(password: str) -> str:
    """Return a password in the form that PDF 2.0 hashes: SASLprep (RFC 4013)."""
    mapped = (" " if stringprep.in_table_c12(c) else c for c in password if not stringprep.in_table_b1(c))
    return unicodedata.normalize("NFKC", "".join(mapped))


def outline(document: Any) -> dict[tuple[int, str], int]:
    """Return the level of each outline entry, from 1, by its page and squeezed title."""
    entries: dict[tuple[int, str], int] = {}
    with suppress(Exception):  # a broken outline does not affect the text
        for count, mark in enumerate(document.get_toc(max_depth=_OUTLINE_DEPTH)):
            if count > _OUTLINE_PER_PAGE * (len(document) + 1):
                break
            target = mark.get_dest()
            index = target.get_index() if target is not None else None
            if index is not None:
                entries.setdefault((index + 1, squeeze(mark.get_title())), mark.level + 1)
    return {(page, title): level for (page, title), level in entries.items() if title}


def metadata(document: Any) -> dict[str, Any]:
    """Return a document's metadata: title, author, keywords, description, dates, language."""
    title = _meta(document, "Title")
    stated = {ours: _meta(document, theirs) for theirs, ours in _INFO.items()}
    stated |= {ours: _date(_meta(document, theirs)) for theirs, ours in _DATES.items()}
    stated |= {"language": _language(document), "title": "" if names_nothing(title) else title}
    return {name: text for name, text in stated.items() if text}


def _date(stated: str) -> str:
    """Return a PDF date in ISO 8601, with its time if that is complete; "" if it is no date."""
    match = _DATE.match(stated)
    if not match:
        return ""
    parts = match.groups()
    day, time = ([part for part in some if part] for some in (parts[:_DAY], parts[_DAY:]))
    complete = len(day) == len(time) == _DAY
    return "-".join(day) + ("T" + ":".join(time) if complete else "")


def _meta(document: Any, key: str) -> str:
    """Return an entry of a document's information, on one line."""
    return " ".join(text_from("FPDF_GetMetaText", address(document), key.encode()).replace("\0", "").split())


def _language(document: Any) -> str:
    language = text_from("FPDFCatalog_GetLanguage", address(document)).strip()
    return language if re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,4}", language) else ""


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
        image = _opened_image(data)
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
        return next(_frames(_opened_image(data)))


def _nothing(image: Any, ocr: bool, left_out: Container[str]) -> Rejected:
    """Return why nothing of an image is kept."""
    if "too_large" in left_out:
        return _too_large(image)
    if "broken" in left_out:
        return Rejected("corrupt", "cannot be read as an image: its content is damaged")
    if ocr:
        return Rejected("no_text", "OCR reads no text in the image")
    size = f"{image.width} × {image.height} pixels"
    return Rejected("no_text", f"an image of {size}; its text is read by {ADVICE}")


def _too_large(image: Any) -> Rejected:
    size = f"{image.width} × {image.height} pixels"
    return Rejected("too_large", f"an image of {size}, the limit is {_MAX_IMAGE_PIXELS}")


def _count(image: Any) -> int:
    """Return the number of pages; an animation is one."""
    return image.n_frames if image.format == "TIFF" else 1


def _pages(sheets: list[PageContent]) -> dict[str, Any]:
    """Return the number of pages, which of them have text and which have none, and how sure OCR is of each."""
    facts = {"pages": len(sheets), "ocr_pages": [sheet.number for sheet in sheets if sheet.items]} | certainty(sheets)
    empty = [sheet.number for sheet in sheets if not sheet.items]
    return facts | ({"pages_without_text": empty} if empty else {})


def _opened_image(data: bytes) -> Any:
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
            raise _too_large(image)
        yield _frame(image)


def _frame(image: Any) -> Picture:
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
