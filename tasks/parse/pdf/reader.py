"""PDF, by pdfium: pages in reading order, drawn as headings, paragraphs, items, tables, code and furniture.

Pages, Numbers and Keynote documents are read from their PDF preview.
"""

import zipfile
from collections.abc import Callable
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.office.open_xml import check_container
from docmill.tasks.parse.pdf.draw import draw
from docmill.tasks.parse.pdf.figures import PlacedPicture, placed_pictures, with_pictures
from docmill.tasks.parse.pdf.ocr_engines import ADVICE
from docmill.tasks.parse.pdf.page_content import PageContent, read_sheet
from docmill.tasks.parse.pdf.pdf_file import metadata, open_pdf, opened_page, outline
from docmill.tasks.parse.pdf.scan import certainty, is_picture, is_scan, read_scan
from docmill.tasks.parse.pdf.text.annotations import form_of
from docmill.tasks.parse.pdf.text.pdfium_calls import OpenPage, address
from docmill.tasks.parse.pictures.album import Album

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
