"""PPT records: reads PowerPoint's binary records (MS-PPT) and the texts of slides, notes and shapes in them."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from docmill.storage.errors import Rejected

# Record types from MS-PPT 2.13.24, under their names there.
RT_DOCUMENT = 0x03E8  # the whole document: its lists and settings
RT_SLIDE = 0x03EE  # a slide, identified by RT_SLIDE_PERSIST_ATOM
RT_SLIDE_ATOM = 0x03EF  # identifies a slide's layout, master and notes
RT_NOTES = 0x03F0  # a notes page
RT_SLIDE_PERSIST_ATOM = 0x03F3  # identifies a slide in a list; its outline texts follow
RT_SLIDE_SHOW_SLIDE_INFO_ATOM = 0x03F9  # how a slide is shown, and whether it is hidden
RT_DRAWING = 0x040C  # the shapes of a slide or notes page
RT_OUTLINE_TEXT_REF_ATOM = 0x0F9E  # the shape's text is the outline text with this number
RT_TEXT_HEADER_ATOM = 0x0F9F  # begins a text and gives its kind
RT_TEXT_CHARS_ATOM = 0x0FA0  # text in UTF-16
RT_STYLE_TEXT_PROP_ATOM = 0x0FA1  # formatting of runs of the text's characters
RT_TEXT_BYTES_ATOM = 0x0FA8  # text below U+0100, one byte per character
RT_SLIDE_LIST_WITH_TEXT = 0x0FF0  # a list of slides, masters or notes
RT_USER_EDIT_ATOM = 0x0FF5  # one save of the file
RT_PERSIST_DIRECTORY_ATOM = 0x1772  # where a save stored its objects

# Record types of drawings from MS-ODRAW.
_DG_CONTAINER = 0xF002  # OfficeArtDgContainer: a whole drawing
_SPGR_CONTAINER = 0xF003  # OfficeArtSpgrContainer: a group; its first shape represents the group itself
_SP_CONTAINER = 0xF004  # OfficeArtSpContainer: a shape
_CLIENT_TEXTBOX = 0xF00D  # OfficeArtClientTextbox: its text, as MS-PPT records
_CHILD_ANCHOR = 0xF00F  # OfficeArtChildAnchor: its position in its group
_CLIENT_ANCHOR = 0xF010  # OfficeArtClientAnchor: its position on the slide
_TERTIARY_FOPT = 0xF122  # OfficeArtTertiaryFOPT: a shape's properties, including whether it is a table

TX_TITLE, TX_BODY, TX_NOTES, TX_OTHER = 0, 1, 2, 4
TX_CENTER_TITLE, TX_HALF_BODY, TX_QUARTER_BODY = 6, 7, 8
"""Kinds of text (TextTypeEnum)."""

_RECORD_HEADER = struct.Struct("<HHI")  # recVer in 4 bits and recInstance in 12, recType, recLen
_REC_VER_BITS = 4  # recVer is in the lower bits of the field that it shares with recInstance
_USER_EDIT = struct.Struct("<8xIII")  # after 8 bytes: offsetLastEdit, offsetPersistDirectory, docPersistIdRef
_PERSIST_ID_BITS = 20  # persistId's bits in the head of a PersistDirectoryEntry; the bits above are cPersist
_PERSIST_ID = (1 << _PERSIST_ID_BITS) - 1  # the mask for these bits
UINT32 = 4  # bytes of the numbers in directories
_TEXT_PF_RUN = struct.Struct("<IHI")  # of a TextPFRun: count, indentLevel, the masks of its TextPFException
_TAB_COUNT, _TAB_STOP = 2, 4  # bytes of TabStops: its count, then each stop
_SMALL_RECT, _RECT = struct.Struct("<hhhh"), struct.Struct("<iiii")  # SmallRectStruct, RectStruct
_FOPTE = struct.Struct("<HI")  # OfficeArtFOPTE: opid, op
_OPID = 0x3FFF  # the bits of an opid with the property's number, without fBid and fComplex
_TABLE_PROPERTIES = 0x039F  # only the group of a table has this property

_HAS_BULLET = 0x1  # in TextPFException's masks: bulletFlags say whether there is a bullet
_BULLET_FLAG = 0x1  # in bulletFlags: there is a bullet
_TAB_STOPS = 0x100000  # in TextPFException's masks: there are tab stops, whose size varies
# The other fields of a TextPFException in order: name, the bits of the mask that announce it, bytes.
_FIELDS_BEFORE_TABS = (
    ("bulletFlags", 0xF, 2), ("bulletChar", 0x80, 2), ("bulletFontRef", 0x10, 2), ("bulletSize", 0x40, 2),
    ("bulletColor", 0x20, 4), ("textAlignment", 0x800, 2), ("lineSpacing", 0x1000, 2), ("spaceBefore", 0x2000, 2),
    ("spaceAfter", 0x4000, 2), ("leftMargin", 0x100, 2), ("indent", 0x400, 2), ("defaultTabSize", 0x8000, 2),
)  # fmt: skip
_FIELDS_AFTER_TABS = (("fontAlign", 0x10000, 2), ("wrapFlags", 0xE0000, 2), ("textDirection", 0x200000, 2))

_ENCODINGS = {RT_TEXT_CHARS_ATOM: "utf-16-le", RT_TEXT_BYTES_ATOM: "latin-1"}
_MAX_EDITS = 1_000
"""Maximum number of saves of a file to follow. With fewer, slides written only by early saves are lost; a damaged file
may contain any number, and each may refer to a directory to read."""
_MAX_DEPTH = 50
"""Maximum nesting of groups. People nest a few; a damaged file may nest thousands, which Python's stack cannot hold."""
_MAX_LEVEL = 8
"""MS-PPT allows levels 0 to 4, today's format 0 to 8; a damaged style may give 65535, a depth that no list has."""
_SPARSE = 100
"""Maximum ratio of positions to cells in a table. Above it, the cells are scattered, and a table of them would be
mostly blank; a lower limit would break up tables with many merged cells."""


class Record(NamedTuple):
    """A record's kind and instance, and the start and end of its content."""

    kind: int
    instance: int
    start: int
    end: int


class PptLine(NamedTuple):
    """A paragraph: its level from 0, and whether it states that it has a bullet (None: as in its master)."""

    text: str
    level: int
    bullet: bool | None


@dataclass
class Text:
    """A text; its kind is one of `TX_TITLE` to `TX_QUARTER_BODY`."""

    kind: int
    lines: list[PptLine] = field(default_factory=list)


class PptShape(NamedTuple):
    """A shape's position in units of 1/576 inch, and its texts; a table has rows of cells instead of texts."""

    top: int
    left: int
    texts: list[Text]
    rows: list[list[str]]


class _Edit(NamedTuple):
    """A save of the file: the offsets of the previous save and of its directory, and the document's id."""

    before: int
    directory: int
    document: int


class _ParagraphRun(NamedTuple):
    """A number of characters of a text that have this level and bullet."""

    length: int
    level: int
    bullet: bool | None


def uint32(data: bytes, at: int) -> int:
    """Return the number at an offset; if it is truncated, use the bytes that are there."""
    return int.from_bytes(data[at : at + UINT32], "little")


def records(stream: bytes, start: int, end: int) -> Iterator[Record]:
    """Yield the consecutive records in a span; the last one may be truncated."""
    header = _RECORD_HEADER.size
    while start + header <= end:
        version, kind, length = _RECORD_HEADER.unpack_from(stream, start)
        yield Record(kind, version >> _REC_VER_BITS, start + header, min(end, start + header + length))
        start += header + length


def record_at(stream: bytes, offset: int) -> Record | None:
    """Return the record that begins at an offset, or None."""
    return next(records(stream, offset, len(stream)), None)


def first_of(kind: int, found: Iterable[Record]) -> Record | None:
    """Return the first record of a kind, or None if there is none."""
    return next((record for record in found if record.kind == kind), None)


def persisted(stream: bytes, edit: int) -> tuple[dict[int, int], int]:
    """Return the offset of each persistent object and the document's id; `edit` is the offset of the last save."""
    found: dict[int, int] = {}
    document = 0
    for saved in _edits(stream, edit):
        document = document or saved.document
        for number, offset in _directory(stream, saved.directory):
            found.setdefault(number, offset)  # later saves come first and override earlier ones
    return found, document


def _edits(stream: bytes, offset: int) -> Iterator[_Edit]:
    """Yield the saves of a file, latest first."""
    for _ in range(_MAX_EDITS):
        record = record_at(stream, offset)
        if record is None or record.kind != RT_USER_EDIT_ATOM or record.end - record.start < _USER_EDIT.size:
            return
        edit = _Edit(*_USER_EDIT.unpack_from(stream, record.start))
        yield edit
        if not edit.before or edit.before >= offset:  # a reference forward would cause a loop
            return
        offset = edit.before


def _directory(stream: bytes, offset: int) -> Iterator[tuple[int, int]]:
    """Yield the ids and offsets of the objects in a directory, which lists them by runs of ids."""
    table = record_at(stream, offset)
    if table is None or table.kind != RT_PERSIST_DIRECTORY_ATOM:
        return
    at = table.start
    while at + UINT32 <= table.end:
        head = uint32(stream, at)
        at += UINT32
        stated = head >> _PERSIST_ID_BITS
        count = min(stated, (table.end - at) // UINT32)
        yield from enumerate(struct.unpack_from(f"<{count}I", stream, at), head & _PERSIST_ID)
        at += UINT32 * stated


def texts(stream: bytes, start: int, end: int, outline: list[Text]) -> list[Text]:
    """Return the texts in a span; `outline` has the texts that shapes may refer to by number."""
    found: list[Text] = []
    for record in records(stream, start, end):
        content = stream[record.start : record.end]
        if record.kind == RT_TEXT_HEADER_ATOM:
            found.append(Text(uint32(content, 0)))
        elif record.kind == RT_OUTLINE_TEXT_REF_ATOM:
            number = uint32(content, 0)
            found += outline[number : number + 1]
        elif record.kind in _ENCODINGS:
            found = found or [Text(TX_OTHER)]
            found[-1].lines = _lines(content.decode(_ENCODINGS[record.kind], "replace"))
        elif record.kind == RT_STYLE_TEXT_PROP_ATOM and found:
            found[-1].lines = _styled(found[-1].lines, content)
    return found


def _lines(text: str) -> list[PptLine]:
    return [PptLine(line.replace("\v", "\n"), 0, None) for line in text.split("\r")]


def _styled(lines: list[PptLine], style: bytes) -> list[PptLine]:
    """Return lines with the levels and bullets from the character runs of a style."""
    runs = _paragraph_runs(style)
    found: list[PptLine] = []
    run = _ParagraphRun(0, 0, None)
    covered = position = 0
    for line in lines:
        while covered <= position and (following := next(runs, None)):
            run = following
            covered += max(run.length, 1)
        found.append(PptLine(line.text, min(run.level, _MAX_LEVEL), run.bullet))
        position += len(line.text) + 1
    return found


def _paragraph_runs(style: bytes) -> Iterator[_ParagraphRun]:
    """Yield the runs of a StyleTextPropAtom.

    Character runs follow them and would be decoded as if they were paragraphs, so request runs only while lines are
    left.
    """
    at = 0
    while at + _TEXT_PF_RUN.size <= len(style):
        length, level, masks = _TEXT_PF_RUN.unpack_from(style, at)
        at += _TEXT_PF_RUN.size
        flags = style[at : at + 1]
        stated = bool(flags and flags[0] & _BULLET_FLAG)
        yield _ParagraphRun(length, level, stated if masks & _HAS_BULLET else None)
        at += sum(size for _, bits, size in _FIELDS_BEFORE_TABS if masks & bits)
        if masks & _TAB_STOPS:
            at += _TAB_COUNT + _TAB_STOP * int.from_bytes(style[at : at + _TAB_COUNT], "little")
        at += sum(size for _, bits, size in _FIELDS_AFTER_TABS if masks & bits)


def shapes(stream: bytes, start: int, end: int, outline: list[Text], depth: int = 0) -> Iterator[PptShape]:
    """Yield the shapes of a drawing; shapes in a group get the group's position."""
    if depth > _MAX_DEPTH:
        raise Rejected("corrupt", f"shapes nested more than {_MAX_DEPTH} deep")
    for record in records(stream, start, end):
        if record.kind == _SP_CONTAINER:
            yield _shape(stream, record, outline)
        elif record.kind == _SPGR_CONTAINER:
            inner = list(shapes(stream, record.start, record.end, outline, depth + 1))
            yield from _table(inner) if _is_table(stream, record) else _grouped(inner, depth)
        elif record.kind == _DG_CONTAINER:
            yield from shapes(stream, record.start, record.end, outline, depth + 1)


def _grouped(inner: list[PptShape], depth: int) -> list[PptShape]:
    """Return a group's shapes at its position; the outermost group is the slide and has no position."""
    if depth <= 1 or not inner:
        return inner
    return [shape._replace(top=inner[0].top, left=inner[0].left) for shape in inner]


def _table(inner: list[PptShape]) -> list[PptShape]:
    """Return a group's shapes as one shape with a table; the first shape is the group, the rest are its cells."""
    group = inner[0] if inner else PptShape(0, 0, [], [])
    cells = [shape for shape in inner[1:] if shape.texts]
    return [group._replace(rows=_rows(cells), texts=[])]


def _shape(stream: bytes, container: Record, outline: list[Text]) -> PptShape:
    top = left = 0
    found: list[Text] = []
    for record in records(stream, container.start, container.end):
        size = record.end - record.start
        if record.kind == _CLIENT_ANCHOR and size >= _SMALL_RECT.size:
            box = _RECT if size >= _RECT.size else _SMALL_RECT
            top, left, _, _ = box.unpack_from(stream, record.start)
        elif record.kind == _CHILD_ANCHOR and size >= _RECT.size:
            left, top, _, _ = _RECT.unpack_from(stream, record.start)
        elif record.kind == _CLIENT_TEXTBOX:
            found += texts(stream, record.start, record.end, outline)
    return PptShape(top, left, found, [])


def _is_table(stream: bytes, group: Record) -> bool:
    shape = next(records(stream, group.start, group.end), None)
    if shape is None or shape.kind != _SP_CONTAINER:
        return False
    inner = records(stream, shape.start, shape.end)
    stated = (_properties(stream, record) for record in inner if record.kind == _TERTIARY_FOPT)
    return any(_TABLE_PROPERTIES in properties for properties in stated)


def _properties(stream: bytes, record: Record) -> set[int]:
    """Return the property numbers in a record; its instance is their count."""
    count = min(record.instance, (record.end - record.start) // _FOPTE.size)
    table = stream[record.start : record.start + count * _FOPTE.size]
    return {opid & _OPID for opid, _ in _FOPTE.iter_unpack(table)}


def _rows(cells: list[PptShape]) -> list[list[str]]:
    """Return a table's cells by rows: cells with the same top form a row, cells with the same left side a column."""
    lefts, tops = sorted({cell.left for cell in cells}), sorted({cell.top for cell in cells})
    if len(lefts) * len(tops) > _SPARSE * len(cells):
        return [_cell_lines(cell) for cell in cells]
    columns = {left: at for at, left in enumerate(lefts)}
    rows = {top: [""] * len(lefts) for top in tops}
    for cell in cells:
        rows[cell.top][columns[cell.left]] = "\n".join(_cell_lines(cell))
    return list(rows.values())


def _cell_lines(cell: PptShape) -> list[str]:
    return [line.text for text in cell.texts for line in text.lines]
