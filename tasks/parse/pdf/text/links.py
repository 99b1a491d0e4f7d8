"""PDF links: the targets of a page's link annotations, and the words under them."""

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.letters.special_characters import clean
from docmill.tasks.parse.pdf.text.pdfium_calls import calls
from docmill.tasks.parse.pdf.text.place import Place, placed

_MAX_LINKS = 500  # of a page: an index has fewer; a page made to hold millions would take hours
_MAX_URL = 2_000  # bytes, what browsers take; a longer address is left out, not cut
_MAX_BOUNDED = 500  # characters under a link: a sentence fits, and a link laid over a page does not repeat all of it
_TO_ADDRESS = 3  # PDFACTION_URI
_SIDES = ctypes.c_float * 4  # FS_RECTF: left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Link:
    """A link out of the document: its words, its URL, and its box."""

    text: str
    url: str
    box: Box


def link_annotations(page: int) -> list[int]:
    """Return the addresses of the links of a page, those within the document with them."""
    ask = calls()
    position, link = ctypes.c_int(0), ctypes.c_void_p()
    here, there = map(ctypes.addressof, (position, link))
    found: list[int] = []
    while ask["FPDFLink_Enumerate"](page, here, there) and link.value is not None:
        found.append(link.value)
    return found


def page_links(annotations: Iterable[int], document: int, text_page: int, place: Place) -> list[Link]:
    """Return the external links among those of a page; links within the document are left out."""
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
            found.append(Link(_text_in(ask, text_page, area), url, placed([area], place)[0]))
        if len(found) == _MAX_LINKS:
            break
    return found


def _url(ask: dict[str, Any], document: int, action: int) -> str:
    buffer = ctypes.create_string_buffer(_MAX_URL)
    length = ask["FPDFAction_GetURIPath"](document, action, ctypes.addressof(buffer), _MAX_URL)
    return buffer.value.decode("utf-8", "replace").strip() if 0 < length <= _MAX_URL else ""


def _text_in(ask: dict[str, Any], text_page: int, sides: Box) -> str:
    """Return the text in a box of the page's own coordinates, in one line."""
    buffer = bytearray(2 * _MAX_BOUNDED)
    start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    written = ask["FPDFText_GetBoundedText"](text_page, *sides, start, _MAX_BOUNDED)
    text = buffer[: 2 * max(min(written, _MAX_BOUNDED), 0)].decode("utf-16-le", "replace")
    return clean(text.rstrip("\0"))
