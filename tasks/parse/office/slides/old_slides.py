"""PowerPoint until 2003, read from its records: each slide is a section of its shapes in reading order and notes."""

import io
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.office.properties import compound_properties
from docmill.tasks.parse.office.slides import records_ppt as ppt
from docmill.tasks.parse.office.slides.records_ppt import UINT32, PptLine, PptShape, Record, Text, uint32
from docmill.tasks.parse.office.slides.slide_text import by_rows, may_be_title

_TITLES = (ppt.TX_TITLE, ppt.TX_CENTER_TITLE)
_BODIES = (ppt.TX_BODY, ppt.TX_HALF_BODY, ppt.TX_QUARTER_BODY)
_BAND = 216
"""Shapes whose tops differ by less, in units of 1/576 inch, are in one row: a twentieth of a slide of 7.5 inches, as in
`slide_shapes`. With less, boxes placed side by side by hand would be separated; with more, lines below would join."""
_NOWHERE = Record(ppt.RT_SLIDE, 0, 0, 0)
_BLANK = ("*", "")  # placeholders of dates and numbers in masters

_DOCUMENT_STREAM, _USER_STREAM = "PowerPoint Document", "Current User"
_SLIDES, _NOTES = 0, 2  # instances of a SlideListWithTextContainer; 1 lists the masters
# Offsets of fields in their records.
_OFFSET_TO_CURRENT_EDIT = 16  # CurrentUserAtom, with its header: the offset of the last save
_PERSIST_ID_REF, _SLIDE_ID = 0, 12  # SlidePersistAtom, and NotesPersistAtom, whose second is notesId
_NOTES_ID_REF = 16  # SlideAtom: the notesId of the slide's notes
_SHOW_FLAGS = 10  # SlideShowSlideInfoAtom: the first byte of its flags
_HIDDEN = 0x4  # SlideShowSlideInfoAtom: fHidden, one of its flags


class _ListedSlide(NamedTuple):
    """A slide in the document's list: its container's identifier, its own, and its texts."""

    persist: int
    slide: int
    texts: list[Text]


def parse_ppt(data: bytes, _: ParseOptions) -> Parsed:
    """Return a presentation's slides as sections; pages are slide numbers, hidden slides are marked `hidden`."""
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
    """Return the document's stream and the offset of its last save, or the stream's end if none is stated."""
    import olefile

    with olefile.OleFileIO(io.BytesIO(data)) as container:
        if not container.exists(_DOCUMENT_STREAM):
            raise Rejected("corrupt", f"the presentation has no stream {_DOCUMENT_STREAM}")
        stream: bytes = container.openstream(_DOCUMENT_STREAM).read()
        user = container.openstream(_USER_STREAM).read() if container.exists(_USER_STREAM) else b""
    stated = len(user) >= _OFFSET_TO_CURRENT_EDIT + UINT32
    return stream, uint32(user, _OFFSET_TO_CURRENT_EDIT) if stated else len(stream)


def _document(stream: bytes, offset: int) -> Record | None:
    """Return the document's record: that of the last save, else the first in the stream."""
    stated = ppt.record_at(stream, offset)
    if stated and stated.kind == ppt.RT_DOCUMENT:
        return stated
    return ppt.first_of(ppt.RT_DOCUMENT, ppt.records(stream, 0, len(stream)))


def _lists(stream: bytes, document: Record | None) -> tuple[list[_ListedSlide], dict[int, int]]:
    """Return the slides that a document lists, and the offsets of its notes by id."""
    found: dict[int, list[_ListedSlide]] = {_SLIDES: [], _NOTES: []}
    for record in ppt.records(stream, document.start, document.end) if document else ():
        if record.kind == ppt.RT_SLIDE_LIST_WITH_TEXT and record.instance in found:
            found[record.instance] += _listed(stream, record)
    return found[_SLIDES], {entry.slide: entry.persist for entry in found[_NOTES]}


def _listed(stream: bytes, listing: Record) -> Iterator[_ListedSlide]:
    """Yield the slides of a list: each atom names a slide, and the records up to the next atom are its texts."""
    inner = list(ppt.records(stream, listing.start, listing.end))
    starts = [at for at, one in enumerate(inner) if one.kind == ppt.RT_SLIDE_PERSIST_ATOM]
    for first, stop in pairwise([*starts, len(inner)]):
        atom, end = inner[first], inner[stop - 1].end
        persist, slide = (uint32(stream, atom.start + at) for at in (_PERSIST_ID_REF, _SLIDE_ID))
        yield _ListedSlide(persist, slide, ppt.texts(stream, atom.end, end, []))


def _containers(
    stream: bytes, offsets: dict[int, int], slides: list[_ListedSlide]
) -> Iterator[tuple[Record, list[Text]]]:
    """Yield the slides' containers with their outlines.

    A slide that is not at its stated offset has only its outline. Without a list, all slides in the stream count, in
    stream order.
    """
    for entry in slides:
        record = ppt.record_at(stream, offsets.get(entry.persist, len(stream)))
        yield (record if record and record.kind == ppt.RT_SLIDE else _NOWHERE), entry.texts
    if not slides:
        every = ppt.records(stream, 0, len(stream))
        yield from ((record, []) for record in every if record.kind == ppt.RT_SLIDE)


def _notes_of(stream: bytes, slide: Record) -> int:
    """Return the id of a slide's notes, 0 if it has none."""
    atom = ppt.first_of(ppt.RT_SLIDE_ATOM, ppt.records(stream, slide.start, slide.end))
    return uint32(stream, atom.start + _NOTES_ID_REF) if atom else 0


def _shown_how(stream: bytes, slide: Record) -> dict[str, Any]:
    """Return the attribute `hidden` for a slide's heading if the slide is hidden."""
    show = ppt.first_of(ppt.RT_SLIDE_SHOW_SLIDE_INFO_ATOM, ppt.records(stream, slide.start, slide.end))
    flags = stream[show.start + _SHOW_FLAGS : show.start + _SHOW_FLAGS + 1] if show else b""
    return {"hidden": True} if flags and flags[0] & _HIDDEN else {}


def _shapes(stream: bytes, container: Record, outline: list[Text]) -> list[PptShape]:
    """Return a slide's shapes by rows from the top, left to right, or its outline if it has no drawing."""
    inner = ppt.records(stream, container.start, container.end)
    drawings = [record for record in inner if record.kind == ppt.RT_DRAWING]
    found = [shape for one in drawings for shape in ppt.shapes(stream, one.start, one.end, outline)]
    if any(shape.texts or shape.rows for shape in found):
        return by_rows(found, _BAND)
    return [PptShape(0, 0, outline, [])]


def _draw(canvas: Canvas, stream: bytes, slide: Record, outline: list[Text], number: int) -> None:
    shapes = _shapes(stream, slide, outline)
    texts = [text for shape in shapes for text in shape.texts if not _is_blank(text)]
    if not (texts or any(shape.rows for shape in shapes)):
        return
    title = _title(texts)
    canvas.heading(_words(title) if title else f"Slide {number}", _level(title), **_shown_how(stream, slide))
    for shape in shapes:
        _draw_shape(canvas, shape, title)


def _title(texts: list[Text]) -> Text | None:
    """Return the text marked as the title, else the first text if it is one short line."""
    stated = next((text for text in texts if text.kind in _TITLES), None)
    if stated or not texts:
        return stated
    return texts[0] if may_be_title(_words(texts[0])) else None


def _level(title: Text | None) -> int:
    """Return the level of a slide's heading, which is higher for title slides."""
    return 1 if title is not None and title.kind == ppt.TX_CENTER_TITLE else 2


def _draw_shape(canvas: Canvas, shape: PptShape, title: Text | None) -> None:
    for text in shape.texts:
        if text is not title and not _is_blank(text):
            _draw_text(canvas, text)
    if shape.rows:
        canvas.table(shape.rows, None)


def _draw_text(canvas: Canvas, text: Text) -> None:
    for line in text.lines:
        canvas.block(line.text, item=line.level + 1 if _is_item(text, line) else 0)


def _is_item(text: Text, line: PptLine) -> bool:
    """Return whether a line is a list item, as stated or by the default of its kind of text."""
    return line.bullet if line.bullet is not None else text.kind in _BODIES


def _draw_notes(canvas: Canvas, stream: bytes, notes: Record | None) -> None:
    if notes is None or notes.kind != ppt.RT_NOTES:
        return
    shapes = _shapes(stream, notes, [])
    for text in (text for shape in shapes for text in shape.texts if text.kind == ppt.TX_NOTES):
        for line in text.lines:
            canvas.paragraph(line.text, role="notes")


def _is_blank(text: Text) -> bool:
    return _words(text) in _BLANK


def _words(text: Text) -> str:
    return "\n".join(line.text.strip() for line in text.lines if line.text.strip())
