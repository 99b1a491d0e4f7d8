"""PDF links: where a page's link annotations lead, and the words that they lie on."""

import ctypes
from dataclasses import dataclass
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.pdfium_calls import calls
from docmill.tasks.parse.pdf.text.place import Place, placed
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_MAX_LINKS = 500
_MAX_URL = 2_000
_TO_ADDRESS = 3  # PDFACTION_URI


@dataclass(frozen=True, slots=True)
class Link:
    """A link out of the document: its words, its address, and where it lies."""

    text: str
    url: str
    box: Box


def page_links(page: int, document: int, layer: TextLayer, place: Place) -> list[Link]:
    """Return a page's links to addresses; links within the document are left out."""
    ask = calls()
    position, link, sides = ctypes.c_int(0), ctypes.c_void_p(), (ctypes.c_float * 4)()
    here, there, corner = map(ctypes.addressof, (position, link, sides))
    found: list[Link] = []
    while len(found) < _MAX_LINKS and ask["FPDFLink_Enumerate"](page, here, there):
        action = ask["FPDFLink_GetAction"](link.value)
        if not action or ask["FPDFAction_GetType"](action) != _TO_ADDRESS:
            continue
        url = _url(ask, document, action)
        if url and ask["FPDFLink_GetAnnotRect"](link.value, corner):
            left, top, right, bottom = sides
            box = placed([(left, top, right, bottom)], place)[0]
            found.append(Link(layer.text_in((left, top, right, bottom)), url, box))
    return found


def _url(ask: dict[str, Any], document: int, action: int) -> str:
    buffer = ctypes.create_string_buffer(_MAX_URL)
    length = ask["FPDFAction_GetURIPath"](document, action, ctypes.addressof(buffer), _MAX_URL)
    return buffer.value.decode("utf-8", "replace").strip() if 0 < length <= _MAX_URL else ""
