"""PDF fields: what is filled into a form, and text that is laid over a page; neither is part of the page's content."""

import ctypes
from collections import Counter
from collections.abc import Iterator
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.fonts import PLAIN
from docmill.tasks.parse.pdf.text.letters import clean
from docmill.tasks.parse.pdf.text.line import Line
from docmill.tasks.parse.pdf.text.pdfium_calls import address, calls, text_from
from docmill.tasks.parse.pdf.text.place import Place, placed

NOWHERE = -1  # what is no part of a page's content has no place in it

_WIDGET, _FREE_TEXT = 20, 3  # FPDF_ANNOT_...
_TICKED, _WRITTEN = (2, 3), (4, 5, 6)  # FPDF_FORMFIELD_...: boxes and buttons; choices and text
_UNSEEN = 2 | 32  # hidden, not to be viewed
_SECRET = 1 << 13
_MOST = 500  # of a page
_USUAL_SIZE = 10.0


def form_of(document: Any) -> int | None:
    """Return the address of a document's form, None where it has none."""
    return address(document.formenv) if document.init_forms() else None


def fields(page: int, form: int | None, place: Place, number: int) -> list[Line]:
    """Return what the fields of a page say and what is written over it, from the top; ticks as signs."""
    ask = calls()
    found: list[Line] = []
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
    if form is None or ask["FPDFAnnot_GetFormFieldFlags"](form, one) & _SECRET:
        return ""
    sort = ask["FPDFAnnot_GetFormFieldType"](form, one)
    if sort in _TICKED:
        return "\u2610" if text_from("FPDFAnnot_GetStringValue", one, b"AS") in ("", "Off") else "\u2612"
    return text_from("FPDFAnnot_GetFormFieldValue", form, one) if sort in _WRITTEN else ""


def _box(ask: dict[str, Any], one: int, place: Place) -> Box | None:
    sides = (ctypes.c_float * 4)()
    if not ask["FPDFAnnot_GetRect"](one, ctypes.addressof(sides)):
        return None
    left, top, right, bottom = sides
    return placed([(left, top, right, bottom)], place)[0]


def _lines(text: str, box: Box, number: int) -> Iterator[Line]:
    rows = [row for row in map(clean, text.splitlines()) if row]
    left, top, right, bottom = box
    high = (bottom - top) / max(len(rows), 1)
    for index, row in enumerate(rows):
        upper = top + index * high
        yield Line(row, _USUAL_SIZE, PLAIN, (left, upper, right, upper + high), number, NOWHERE, NOWHERE)


def with_fields(lines: list[Line], found: list[Line]) -> list[Line]:
    """Return lines with each field after what stands to its left, else before what stands to its right, else below.

    Ticks alone are no text of a page.
    """
    if not lines and not any(map(str.isalnum, "".join(field.text for field in found))):
        return []
    sizes = Counter(line.size for line in lines).most_common(1)
    out = [*lines]
    for field in found:
        field.size = min(sizes[0][0] if sizes else _USUAL_SIZE, max(field.height, 1.0))
        out.insert(_place(out, field), field)
    return out


def _place(lines: list[Line], field: Line) -> int:
    left, top, _, bottom = field.box
    middle = (top + bottom) / 2
    level = [index for index, line in enumerate(lines) if line.box[1] < middle < line.box[3]]
    before = [index for index in level if lines[index].box[0] <= left]
    if before:
        return 1 + max(before, key=lambda index: lines[index].box[0])
    if level:
        return min(level, key=lambda index: lines[index].box[0])
    above = [index for index, line in enumerate(lines) if line.box[3] <= middle]
    return 1 + max(above, key=lambda index: (lines[index].box[3], index)) if above else 0
