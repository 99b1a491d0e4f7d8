"""PDF, by pdfium: text in the order of the page's content, headings, items, paragraphs, furniture."""

import re
from contextlib import suppress
from typing import Any

from storage.errors import Rejected
from storage.schema import Parsed
from tasks.parse.canvas import Canvas
from tasks.parse.format import ParseOptions
from tasks.parse.pdf_layout import BULLET, NUMBER, blocks, box_of, mark_furniture, mark_headings, squeeze, text_of
from tasks.parse.pdf_page import Line, page_lines

_INFO = {"Author": "author", "Subject": "description", "Keywords": "keywords"}
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?")
# What programs write as a title when its author has written none.
_NO_TITLE = re.compile(
    r"untitled|microsoft |.*\.(?:docx?|pdf|tex|dvi|indd|qxd|pptx?|xlsx?|rtf|odt|txt|ps)$|[\W\d_]*$", re.I
)
_OUTLINE_PER_PAGE = 40


def parse_pdf(data: bytes, options: ParseOptions) -> Parsed:
    """Return a PDF drawn as Markdown; each element has its page from 1 and its box in points.

    The title is the document's own, else its first heading of the highest level. Raise Rejected
    `encrypted` when none of the passwords opens it, `no_text` when its pages are only pictures.
    """
    document = _open(data, options.passwords)
    try:
        return _draw(document)
    finally:
        document.close()


def _open(data: bytes, passwords: tuple[str, ...]) -> Any:
    import pypdfium2
    import pypdfium2.raw as pdfium

    tried = [None, *passwords]
    for password in tried:
        try:
            return pypdfium2.PdfDocument(data, password=password)
        except pypdfium2.PdfiumError as error:
            if error.err_code != pdfium.FPDF_ERR_PASSWORD:
                raise Rejected("corrupt", f"cannot be read as pdf: {error}") from error
    known = f"none of {len(passwords)} passwords opens it" if passwords else "no password is known"
    raise Rejected("encrypted", f"the pdf needs a password; {known} (parse.passwords)")


def _draw(document: Any) -> Parsed:
    pages, heights, damaged = _read(document)
    if not any(pages):
        raise Rejected("no_text", f"none of {len(pages)} pages holds text; a scanned document needs OCR")
    mark_furniture(pages, heights)
    mark_headings(pages, _outline(document))
    canvas = Canvas()
    for lines in pages:
        _draw_page(canvas, lines)
    metadata = _metadata(document) | {"pages": len(pages)}
    empty = [number for number, lines in enumerate(pages, 1) if not lines]
    if empty:
        metadata["pages_without_text"] = empty
    if damaged:
        metadata["damaged_pages"] = damaged
    return canvas.parsed(metadata.pop("title", "") or _first_heading(canvas), metadata)


def _read(document: Any) -> tuple[list[list[Line]], list[float], list[int]]:
    """Return the lines and the height of every page, and the numbers of pages that cannot be read."""
    import pypdfium2

    pages: list[list[Line]] = []
    heights: list[float] = []
    damaged: list[int] = []
    for index in range(len(document)):
        try:
            page = document[index]
        except pypdfium2.PdfiumError:
            pages.append([])
            heights.append(1.0)
            damaged.append(index + 1)
            continue
        pages.append(page_lines(page, index + 1))
        heights.append(page.get_height())
        page.close()
    return pages, heights, damaged


def _outline(document: Any) -> dict[tuple[int, str], int]:
    """Return the level, from 1, of each outline entry by its page and squeezed title."""
    entries: dict[tuple[int, str], int] = {}
    with suppress(Exception):  # a broken outline leaves the text whole
        for count, mark in enumerate(document.get_toc(max_depth=6)):
            target = mark.get_dest()
            index = target.get_index() if target is not None else None
            if count > _OUTLINE_PER_PAGE * (len(document) + 1):
                break
            if index is not None:
                entries.setdefault((index + 1, squeeze(mark.get_title())), mark.level + 1)
    return {(page, title): level for (page, title), level in entries.items() if title}


def _draw_page(canvas: Canvas, lines: list[Line]) -> None:
    lefts: list[float] = []
    for block in blocks(lines):
        first, text, box = block[0], text_of(block), box_of(block)
        canvas.page = first.page
        marker = None if first.level or first.furniture else BULLET.match(text) or NUMBER.match(text)
        if first.furniture:
            canvas.paragraph(text, box, kind="furniture")
        elif first.level:
            canvas.heading(text, first.level, box)
        elif marker:
            while lefts and lefts[-1] > first.box[0] + 3:
                lefts.pop()
            if not lefts or lefts[-1] < first.box[0] - 6:
                lefts.append(first.box[0])
            sign = marker[1] if marker.re is NUMBER else "-"
            canvas.item(text[marker.end() :], len(lefts), sign, box)
        else:
            canvas.paragraph(text, box)


def _metadata(document: Any) -> dict[str, Any]:
    info = {key: " ".join(value.replace("\0", "").split()) for key, value in document.get_metadata_dict().items()}
    found = {ours: info[theirs] for theirs, ours in _INFO.items() if info.get(theirs)}
    for theirs, ours in (("CreationDate", "created"), ("ModDate", "modified")):
        match = _DATE.match(info.get(theirs, ""))
        if match:
            date, time = [part for part in match.groups()[:3] if part], [part for part in match.groups()[3:] if part]
            found[ours] = "-".join(date) + ("T" + ":".join(time) if len(date) == len(time) == 3 else "")
    title = info.get("Title", "")
    return found if not title or _NO_TITLE.match(title) else found | {"title": title}


def _first_heading(canvas: Canvas) -> str:
    headings = [element for element in canvas.elements if element.kind == "title"]
    highest = min((heading.level for heading in headings), default=0)
    return next((str(heading.attributes["text"]) for heading in headings if heading.level == highest), "")
