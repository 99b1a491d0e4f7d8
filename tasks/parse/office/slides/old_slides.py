"""PowerPoint until 2003, read from its records: each slide a section, its shapes by their places, then its notes."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.office.properties import compound_properties
from docmill.tasks.parse.office.sheets.sheet import has_header
from docmill.tasks.parse.office.slides import records_ppt as ppt
from docmill.tasks.parse.office.slides.records_ppt import Box, Line, Record, Text

_TITLES, _TITLE_SLIDE, _BODIES, _NOTES = (0, 6), 6, (1, 7, 8), 2
_BAND = 216  # shapes whose tops differ by less, in units of 1/576 inch, stand in one row
_HIDDEN = 0x4
_MAX_TITLE = 100
_NOWHERE = Record(ppt.SLIDE, 0, 0, 0)
_BLANK = ("*", "")  # what masters hold in the place of dates and numbers


@dataclass
class _Entry:
    """A slide of the document's list: its container's identifier, its own, and its texts."""

    persist: int
    slide: int
    texts: list[Text] = field(default_factory=list)


def parse_ppt(data: bytes, _: ParseOptions) -> Parsed:
    """Return a presentation's slides as sections, pages their numbers; a hidden slide's title says so."""
    stream, edit = _streams(data)
    offsets, document = ppt.persisted(stream, edit)
    slides, notes = _lists(stream, _document(stream, offsets.get(document, len(stream))))
    canvas = Canvas()
    for number, (record, outline) in enumerate(_containers(stream, offsets, slides), 1):
        canvas.page = number
        _draw(canvas, stream, record, outline, number)
        spoken = notes.get(_notes_of(stream, record))
        if spoken is not None:
            _draw_notes(canvas, stream, ppt.record_at(stream, offsets.get(spoken, len(stream))))
    metadata = compound_properties(data)
    return canvas.parsed(metadata.pop("title", ""), metadata)


def _streams(data: bytes) -> tuple[bytes, int]:
    import olefile

    with olefile.OleFileIO(io.BytesIO(data)) as container:
        if not container.exists("PowerPoint Document"):
            raise Rejected("corrupt", "the presentation has no stream PowerPoint Document")
        stream: bytes = container.openstream("PowerPoint Document").read()
        user = container.openstream("Current User").read() if container.exists("Current User") else b""
    return stream, int.from_bytes(user[16:20], "little") if len(user) >= 20 else len(stream)


def _document(stream: bytes, offset: int) -> Record | None:
    """Return the document's record; where the last edit does not tell it, the first of the stream."""
    told = ppt.record_at(stream, offset)
    if told and told.kind == ppt.DOCUMENT:
        return told
    return next((record for record in ppt.records(stream, 0, len(stream)) if record.kind == ppt.DOCUMENT), None)


def _lists(stream: bytes, document: Record | None) -> tuple[list[_Entry], dict[int, int]]:
    """Return the slides that a document lists, and where its notes are kept, by their identifiers."""
    found: dict[int, list[_Entry]] = {0: [], 2: []}
    for record in ppt.records(stream, document.start, document.end) if document else ():
        if record.kind == ppt.LIST and record.instance in found:
            inner = list(ppt.records(stream, record.start, record.end))
            starts = [at for at, one in enumerate(inner) if one.kind == ppt.PERSIST]
            for first, stop in pairwise([*starts, len(inner)]):
                begin, end = inner[first].start, inner[stop - 1].end
                persist, slide = (int.from_bytes(stream[begin + at : begin + at + 4], "little") for at in (0, 12))
                found[record.instance].append(_Entry(persist, slide, ppt.texts(stream, inner[first].end, end, [])))
    return found[0], {entry.slide: entry.persist for entry in found[2]}


def _containers(stream: bytes, offsets: dict[int, int], slides: list[_Entry]) -> Iterator[tuple[Record, list[Text]]]:
    """Yield the slides' containers with their outlines.

    A slide that is not where the document says has its outline alone; without a list, the stream's slides count.
    """
    for entry in slides:
        record = ppt.record_at(stream, offsets.get(entry.persist, len(stream)))
        yield (record if record and record.kind == ppt.SLIDE else _NOWHERE), entry.texts
    if not slides:
        yield from ((record, []) for record in ppt.records(stream, 0, len(stream)) if record.kind == ppt.SLIDE)


def _notes_of(stream: bytes, slide: Record) -> int:
    """Return the identifier of a slide's notes, 0 where it has none."""
    atom = next((one for one in ppt.records(stream, slide.start, slide.end) if one.kind == ppt.SLIDE_ATOM), None)
    return int.from_bytes(stream[atom.start + 16 : atom.start + 20], "little") if atom else 0


def _shapes(stream: bytes, container: Record, outline: list[Text]) -> list[Box]:
    """Return a slide's shapes by rows from above, left to right; without a drawing, its outline."""
    drawings = [one for one in ppt.records(stream, container.start, container.end) if one.kind == ppt.DRAWING]
    found = [box for one in drawings for box in ppt.boxes(stream, one.start, one.end, outline)]
    rows: list[list[Box]] = []
    for box in sorted(found, key=lambda one: one.top):
        if rows and box.top - rows[-1][0].top < _BAND:
            rows[-1].append(box)
        else:
            rows.append([box])
    ordered = [box for row in rows for box in sorted(row, key=lambda one: one.left)]
    return ordered if any(box.texts or box.rows for box in ordered) else [Box(0, 0, outline, [])]


def _draw(canvas: Canvas, stream: bytes, slide: Record, outline: list[Text], number: int) -> None:
    shapes = _shapes(stream, slide, outline)
    texts = [text for box in shapes for text in box.texts if _words(text) not in _BLANK]
    tables = [box.rows for box in shapes if box.rows]
    if not texts and not tables:
        return
    title = next((text for text in texts if text.kind in _TITLES), None)
    if title is None and texts and len(_words(texts[0])) <= _MAX_TITLE and "\n" not in _words(texts[0]):
        title = texts[0]
    show = next((one for one in ppt.records(stream, slide.start, slide.end) if one.kind == ppt.SHOW), None)
    flags = stream[show.start + 10 : show.start + 11] if show else b""
    hidden: dict[str, Any] = {"hidden": True} if flags and flags[0] & _HIDDEN else {}
    level = 1 if title is not None and title.kind == _TITLE_SLIDE else 2
    canvas.heading(_words(title) if title else f"Slide {number}", level, **hidden)
    for box in shapes:
        for text in box.texts:
            if text is not title and _words(text) not in _BLANK:
                _draw_text(canvas, text)
        if box.rows:
            canvas.table(box.rows, int(has_header(box.rows)))


def _draw_text(canvas: Canvas, text: Text) -> None:
    for line in text.lines:
        if _is_item(text, line):
            canvas.item(line.text, line.level + 1)
        else:
            canvas.paragraph(line.text)


def _is_item(text: Text, line: Line) -> bool:
    return line.bullet if line.bullet is not None else text.kind in _BODIES


def _draw_notes(canvas: Canvas, stream: bytes, notes: Record | None) -> None:
    for box in _shapes(stream, notes, []) if notes and notes.kind == ppt.NOTES else ():
        for text in box.texts:
            for line in text.lines if text.kind == _NOTES else ():
                canvas.paragraph(line.text, role="notes")


def _words(text: Text) -> str:
    return "\n".join(line.text.strip() for line in text.lines if line.text.strip())
