"""PDF links: where a page's link annotations lead, and the words that they lie on."""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.parse.canvas import Box
from tasks.parse.pdf_page import TextLayer, placed

_MAX_LINKS = 500
_MAX_URL = 2_000


@dataclass(frozen=True, slots=True)
class Link:
    """A link out of the document: its words, its address, and where it lies."""

    text: str
    url: str
    box: Box


def page_links(page: Any, layer: TextLayer, place: tuple[float, ...]) -> list[Link]:
    """Return a page's links to addresses; links within the document are left out."""
    import pypdfium2.raw as pdfium

    position, link, rectangle = ctypes.c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
    found: list[Link] = []
    while len(found) < _MAX_LINKS and pdfium.FPDFLink_Enumerate(page, ctypes.byref(position), ctypes.byref(link)):
        url = _url(page, link)
        if url and pdfium.FPDFLink_GetAnnotRect(link, ctypes.byref(rectangle)):
            sides = (rectangle.left, rectangle.top, rectangle.right, rectangle.bottom)
            box = placed(np.array([sides], np.float64), place)[0].tolist()
            found.append(Link(layer.text_in(sides), url, tuple(box)))
    return found


def _url(page: Any, link: Any) -> str:
    import pypdfium2.raw as pdfium

    action = pdfium.FPDFLink_GetAction(link)
    if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
        return ""
    buffer = ctypes.create_string_buffer(_MAX_URL)
    length = pdfium.FPDFAction_GetURIPath(page.pdf, action, buffer, _MAX_URL)
    return buffer.value.decode("utf-8", "replace").strip() if 0 < length <= _MAX_URL else ""
