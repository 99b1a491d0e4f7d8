"""PDF annotations: links with the words under them, values of form fields, and notes."""

import ctypes
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.characters import clean
from docmill.tasks.parse.pdf.text.line import NOWHERE, PLAIN, TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import Place, address, calls, placed, text_from

_MAX_LINKS = 500  # of a page: an index has fewer; a page made to hold millions would take hours
_MAX_URL = 2_000  # bytes, the limit of browsers; a longer address is left out, not cut
_MAX_BOUNDED = 500  # characters under a link: a sentence fits, and a link over a whole page does not repeat all of it
_TO_ADDRESS = 3  # PDFACTION_URI
_SIDES = ctypes.c_float * 4  # FS_RECTF: left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Link:
    """A link out of the document: its words, its URL, and its box."""

    text: str
    url: str
    box: Box


def link_annotations(page: int) -> list[int]:
    """Return the addresses of the links of a page, including those within the document."""
    ask = calls()
    position, link = ctypes.c_int(0), ctypes.c_void_p()
    here, there = map(ctypes.addressof, (position, link))
    found: list[int] = []
    while ask["FPDFLink_Enumerate"](page, here, there) and link.value is not None:
        found.append(link.value)
    return found


def page_links(annotations: Iterable[int], document: int, text_page: int, place: Place) -> list[Link]:
    """Return the links of a page that lead out of the document."""
    ask, sides = calls(), _SIDES()
    corner = ctypes.addressof(sides)
    found: list[Link] = []
    for link in annotations:
        action = ask["FPDFLink_GetAction"](link)
        if not action or ask["FPDFAction_GetType"](action) != _TO_ADDRESS:
            continue
        url = _url(ask, document, action)
        if url and ask["FPDFLink_GetAnnotRect"](link, corner):
            left, top, right, bottom = sides
            area = (left, top, right, bottom)
            found.append(Link(_words_in(ask, text_page, area), url, placed([area], place)[0]))
        if len(found) == _MAX_LINKS:
            break
    return found


def _url(ask: dict[str, Any], document: int, action: int) -> str:
    buffer = ctypes.create_string_buffer(_MAX_URL)
    length = ask["FPDFAction_GetURIPath"](document, action, ctypes.addressof(buffer), _MAX_URL)
    return buffer.value.decode("utf-8", "replace").strip() if 0 < length <= _MAX_URL else ""


def _words_in(ask: dict[str, Any], text_page: int, sides: Box) -> str:
    """Return the text in a box, given in the page's own coordinates, on one line."""
    buffer = bytearray(2 * _MAX_BOUNDED)
    start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    written = ask["FPDFText_GetBoundedText"](text_page, *sides, start, _MAX_BOUNDED)
    text = buffer[: 2 * max(min(written, _MAX_BOUNDED), 0)].decode("utf-16-le", "replace")
    return clean(text.rstrip("\0"))


_WIDGET, _FREE_TEXT = 20, 3  # FPDF_ANNOT_...
_TICKED, _WRITTEN = (2, 3), (4, 5, 6)  # FPDF_FORMFIELD_...: boxes and buttons; choices and text
_UNSEEN = 2 | 32  # FPDF_ANNOT_FLAG_...: hidden, not to be viewed
_SECRET = 1 << 13  # FPDF_FORMFLAG_TEXT_PASSWORD: a password must not be indexed
_MOST = 500  # annotations of a page: a dense form has fewer, and each costs several calls
_USUAL_SIZE = 10.0  # points: the size of field values on a page without text to compare with
_LEAST_SIZE = 1.0  # points: others divide by sizes, and a field may have no height
_NOT_TICKED = ("", "Off")  # states of an empty box in the PDF standard; any other means ticked
_EMPTY_BOX, _TICKED_BOX = "\u2610", "\u2612"


def form_of(document: Any) -> int | None:
    """Return the address of a document's form, or None."""
    return address(document.formenv) if document.init_forms() else None


def fields(page: int, form: int | None, place: Place, number: int) -> list[TextLine]:
    """Return the values of a page's fields and its text notes, from the top; check boxes as signs."""
    ask = calls()
    found: list[TextLine] = []
    for index in range(min(ask["FPDFPage_GetAnnotCount"](page), _MOST)):
        one = ask["FPDFPage_GetAnnot"](page, index)
        if one is None:
            continue
        try:
            text = _text(ask, form, one)
            box = _box(ask, one, place) if text else None
        finally:
            ask["FPDFPage_CloseAnnot"](one)
        if box is not None:
            found += _lines(text, box, number)
    return sorted(found, key=lambda line: (line.box[1], line.box[0]))


def _text(ask: dict[str, Any], form: int | None, one: int) -> str:
    kind = ask["FPDFAnnot_GetSubtype"](one)
    if kind not in (_WIDGET, _FREE_TEXT) or ask["FPDFAnnot_GetFlags"](one) & _UNSEEN:
        return ""
    if kind == _FREE_TEXT:
        return text_from("FPDFAnnot_GetStringValue", one, b"Contents")
    return _value(ask, form, one) if form is not None else ""


def _value(ask: dict[str, Any], form: int, one: int) -> str:
    """Return the value of a field; for a check box, a sign that says whether it is ticked."""
    if ask["FPDFAnnot_GetFormFieldFlags"](form, one) & _SECRET:
        return ""
    kind = ask["FPDFAnnot_GetFormFieldType"](form, one)
    if kind in _WRITTEN:
        return text_from("FPDFAnnot_GetFormFieldValue", form, one)
    if kind in _TICKED:
        return _EMPTY_BOX if text_from("FPDFAnnot_GetStringValue", one, b"AS") in _NOT_TICKED else _TICKED_BOX
    return ""


def _box(ask: dict[str, Any], one: int, place: Place) -> Box | None:
    sides = _SIDES()
    if not ask["FPDFAnnot_GetRect"](one, ctypes.addressof(sides)):
        return None
    left, top, right, bottom = sides
    return placed([(left, top, right, bottom)], place)[0]


def _lines(text: str, box: Box, number: int) -> Iterator[TextLine]:
    rows = [row for row in map(clean, text.splitlines()) if row]
    left, top, right, bottom = box
    high = (bottom - top) / max(len(rows), 1)
    for index, row in enumerate(rows):
        upper = top + index * high
        yield TextLine(row, _USUAL_SIZE, PLAIN, (left, upper, right, upper + high), number, NOWHERE, NOWHERE)


def with_fields(lines: list[TextLine], found: list[TextLine]) -> list[TextLine]:
    """Return lines with each field inserted after the text to its left, else before the text to its right, else below.

    A page with nothing but check boxes has no text.
    """
    if not lines and not any(map(str.isalnum, "".join(field.text for field in found))):
        return []
    sizes = Counter(line.size for line in lines).most_common(1)
    usual = sizes[0][0] if sizes else _USUAL_SIZE
    out = [*lines]
    for field in found:
        field.size = min(usual, max(field.height, _LEAST_SIZE))
        out.insert(_place(out, field), field)
    return out


def _place(lines: list[TextLine], field: TextLine) -> int:
    """Return the index at which to insert a field into a page's lines."""
    left, middle = field.left, field.middle
    level = [index for index, line in enumerate(lines) if line.box[1] < middle < line.box[3]]
    before = [index for index in level if lines[index].box[0] <= left]
    if before:
        return 1 + max(before, key=lambda index: lines[index].box[0])
    if level:
        return min(level, key=lambda index: lines[index].box[0])
    return _place_below(lines, middle)


def _place_below(lines: list[TextLine], middle: float) -> int:
    """Return the index after the lowest line above, the last of several that are level."""
    bottoms = [line.box[3] for line in lines]
    above = [index for index, bottom in enumerate(bottoms) if bottom <= middle]
    return 1 + max(above, key=lambda index: (bottoms[index], index)) if above else 0
