"""Word until 2003: converted by LibreOffice if it is installed, otherwise read from the file's piece table (MS-DOC).

LibreOffice runs headless, in a separate process with the worker's limits and a fresh profile for each document: no
macro runs, and no link of a document is fetched. A document's characters are in pieces all over the file; the piece
table gives their positions and encodings. Paragraph properties are stored separately, in property pages.
"""

import io
import re
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.external_programs import last_line, run_program
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.office.properties import compound_properties
from docmill.tasks.parse.pandoc.word.word import parse_docx

_TIMEOUT_S = 120.0
"""Timeout of a conversion. LibreOffice hangs on some damaged files, which then block a worker for this long; with less,
long documents are rejected on a slow machine, where its start alone takes a while."""
_PROGRAMS = ("soffice", "libreoffice")
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution"
 oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel"
 oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableActiveContent"
 oor:op="fuse"><value>true</value></prop></item>
</oor:items>
"""

_CODE = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")  # a field: its code and its result
_MAX_NESTED = 20  # fields within fields: a table of contents has three levels
_SIGNS = dict.fromkeys((*range(1, 9), 0x13, 0x14, 0x15, 0x1F)) | {0x0B: "\n", 0x0E: "\n", 0x1E: "-", 0xA0: " "}
"""Marks of pictures, notes and fields are dropped; breaks, hyphens and non-breaking spaces become the usual ones."""
_CELL = "\x07"
_OTHERS = {"footnotes": "paragraph", "endnotes": "paragraph", "boxes": "paragraph", "comments": "text"}
# Offsets in the file information block, and its flags.
_MAGIC, _OLD_MAGIC = b"\xec\xa5", b"\xdc\xa5"
_VERSION, _FLAGS, _COUNTS, _CLX, _PAPX = 0x02, 0x0A, 0x4C, 0x1A2, 0x102
_ENCRYPTED, _SECOND_TABLE, _COMPLEX = 0x0100, 0x0200, 0x0004
_FIRST_97 = 0x00C1  # the version of Word 97: earlier ones have a different block
_OLD_TEXT, _OLD_COUNT = 0x18, 0x34  # of Word 6 and 95: the offset of the text and its length
_STORIES = ("body", "footnotes", "headers", "macros", "comments", "endnotes", "boxes")
_PIECES, _PROPERTIES = b"\x02", b"\x01"  # parts of the piece table
_PAGE = 512  # bytes of a property page
_PAGE_NUMBER = 0x3FFFFF  # bits of a page's number
_DESCRIPTOR = 13  # bytes that describe one paragraph in a page
_NARROW = 1 << 30  # bit of a piece's position: one byte per character, at half of that position
_MAX_PAGES = 100_000
_HEADINGS = range(1, 10)  # the numbers of the styles Heading 1 to Heading 9
# Operations on paragraphs.
_IN_TABLE, _ROW_END, _LIST, _LIST_LEVEL = b"\x16\x24\x01", b"\x17\x24\x01", b"\x0b\x46", b"\x0a\x26"
_MARKS = "\r\x07\x0c"  # end a paragraph, a cell, and a page or section


@dataclass(frozen=True, slots=True)
class WordLook:
    """A paragraph's properties: the level of a heading and an item, 0 for none, and its role in a table."""

    heading: int = 0
    item: int = 0
    in_table: bool = False
    ends_row: bool = False


@dataclass(slots=True)
class WordParagraph:
    """A paragraph: its text including field codes and marks, the mark that ends it, and its look."""

    text: str
    mark: str
    look: WordLook


@dataclass(slots=True)
class WordText:
    """A document's stories by name, each a list of paragraphs: body, footnotes, headers, comments, boxes."""

    stories: dict[str, list[WordParagraph]] = field(default_factory=dict)


def read_word(data: bytes) -> WordText:
    """Return the text of a document; raise Rejected `encrypted`, or `corrupt` if it has no piece table."""
    import olefile

    with olefile.OleFileIO(io.BytesIO(data)) as container:
        main = container.openstream("WordDocument").read()
        flags = _word(main, _FLAGS)
        if flags & _ENCRYPTED:
            raise Rejected("encrypted", "the document is encrypted; give its password in [parse.passwords]")
        name = "1Table" if flags & _SECOND_TABLE else "0Table"
        table = container.openstream(name).read() if container.exists(name) else b""
    if main[:2] != _MAGIC and main[:2] != _OLD_MAGIC:
        raise Rejected("corrupt", "the stream WordDocument is none of Word")
    if _word(main, _VERSION) < _FIRST_97:
        return _old_text(main, flags)
    return _text(main, table)


def _old_text(main: bytes, flags: int) -> WordText:
    """Return the text of Word 6 or 95, which is in one piece unless the document was saved with "fast save"."""
    if flags & _COMPLEX:
        raise Rejected("unsupported", "this document was saved fast by Word 6 or 95; LibreOffice reads it")
    begin, count = _long(main, _OLD_TEXT), _long(main, _OLD_COUNT)
    text = main[begin : begin + count].decode("cp1252", "replace")
    return WordText({"body": [*_paragraphs(text, [WordLook()] * len(text))]})


def _text(main: bytes, table: bytes) -> WordText:
    looks = _Looks(main, table)
    text: list[str] = []
    places: list[int] = []
    for place, raw, width in _pieces(main, table):
        piece = raw.decode("utf-16-le" if width == 2 else "cp1252", "replace")
        text.append(piece)
        places += range(place, place + width * len(piece), width)
    whole = "".join(text)
    if not whole.strip():
        raise Rejected("corrupt", "the document holds no table of pieces")
    counts = [_long(main, _COUNTS + 4 * number) for number in range(len(_STORIES))]
    ends = [min(end, len(whole)) for end in accumulate(counts, initial=0)]
    return WordText(
        {
            name: [*_paragraphs(whole[start:end], [looks.at(place) for place in _ends(whole, places, start, end)])]
            for name, (start, end) in zip(_STORIES, pairwise(ends), strict=True)
        }
    )


def _ends(text: str, places: list[int], start: int, end: int) -> Iterator[int]:
    """Yield the file position at which each paragraph of a span ends."""
    for at in range(start, end):
        if text[at] in _MARKS and at < len(places):
            yield places[at]


def _paragraphs(text: str, looks: list[WordLook]) -> Iterator[WordParagraph]:
    begin, number = 0, 0
    for at, sign in enumerate(text):
        if sign in _MARKS:
            yield WordParagraph(text[begin:at], sign, looks[number] if number < len(looks) else WordLook())
            begin, number = at + 1, number + 1
    if text[begin:].strip():
        yield WordParagraph(text[begin:], "\r", WordLook())


def _pieces(main: bytes, table: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Yield each piece's file position, its bytes, and its number of bytes per character."""
    begin, length = _long(main, _CLX), _long(main, _CLX + 4)
    clx = table[begin : begin + length]
    at = 0
    while clx[at : at + 1] == _PROPERTIES:
        at += 3 + _word(clx, at + 1)
    if clx[at : at + 1] != _PIECES:
        return
    pieces = clx[at + 5 : at + 5 + _long(clx, at + 1)]
    count = (len(pieces) - 4) // 12
    left = len(main)  # in a damaged file, every piece may claim the whole file
    for number in range(count):
        characters = _long(pieces, 4 * number + 4) - _long(pieces, 4 * number)
        place = _long(pieces, 4 * (count + 1) + 8 * number + 2)
        width = 1 if place & _NARROW else 2
        place = (place & ~_NARROW) // 2 if width == 1 else place
        raw = main[place : place + min(max(characters, 0) * width, left)]
        left -= len(raw)
        yield place, raw[: len(raw) // width * width], width


class _Looks:
    """The looks of paragraphs by their positions in the file."""

    def __init__(self, main: bytes, table: bytes) -> None:
        found: dict[int, WordLook] = {}
        for page in _property_pages(main, table):
            found.update(_looks_of(page))
        self._ends = sorted(found)
        self._looks = [found[end] for end in self._ends]

    def at(self, place: int) -> WordLook:
        """Return the look of the paragraph whose mark is at a position."""
        number = bisect_right(self._ends, place)
        return self._looks[number] if number < len(self._looks) else WordLook()


def _property_pages(main: bytes, table: bytes) -> Iterator[bytes]:
    begin, length = _long(main, _PAPX), _long(main, _PAPX + 4)
    plc = table[begin : begin + length]
    count = min((len(plc) - 4) // 8, _MAX_PAGES)
    for number in range(count):
        page = _long(plc, 4 * (count + 1) + 4 * number) & _PAGE_NUMBER
        data = main[page * _PAGE : (page + 1) * _PAGE]
        if len(data) == _PAGE:
            yield data


def _looks_of(page: bytes) -> Iterator[tuple[int, WordLook]]:
    """Yield the end and the look of each paragraph of a page."""
    count = page[-1]
    first = 4 * (count + 1)
    for number in range(count):
        at = 2 * page[min(first + _DESCRIPTOR * number, _PAGE - 1)]
        if not at:
            yield _long(page, 4 * number + 4), WordLook()
            continue
        # A size of 0 means that the real size follows.
        start, size = (at + 2, 2 * page[min(at + 1, _PAGE - 1)]) if not page[at] else (at + 1, 2 * page[at] - 1)
        yield _long(page, 4 * number + 4), _look(page[start : start + size])


def _look(properties: bytes) -> WordLook:
    style, operations = _word(properties, 0), properties[2:]
    listed = operations.find(_LIST)
    level = operations.find(_LIST_LEVEL)
    is_item = listed >= 0 and _word(operations, listed + 2) > 0
    depth = operations[level + 2] + 1 if 0 <= level < len(operations) - 2 else 1
    heading = style if style in _HEADINGS else 0
    return WordLook(heading, depth if is_item else 0, _IN_TABLE in operations, _ROW_END in operations)


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def parse_doc(data: bytes, options: ParseOptions) -> Parsed:
    """Return a document of Word up to 2003, converted and then read as a current one.

    If LibreOffice is not installed or fails, the file's own text is read, and the metadata say so.
    """
    try:
        converted = _converted(data, "doc", "docx")
    except Rejected as why:
        return _own_text(data, why)
    return _with_properties(parse_docx(converted, options), data)


def _own_text(data: bytes, why: Rejected) -> Parsed:
    """Return a document read from its own pieces; raise `why`, LibreOffice's reason, if they contain nothing."""
    try:
        drawn = draw_old_word(data)
    except Exception as error:  # a damaged file may break the reading of its piece table anywhere
        raise why from error
    if not drawn.text:
        raise why
    return replace(drawn, metadata=drawn.metadata | {"read_as": f"pieces of text; {why.message}"})


def draw_old_word(data: bytes) -> Parsed:
    """Return a document's headings, paragraphs, items and tables, then notes, boxes and comments.

    The numbers of automatic lists are not in the text of such a file and are lost.
    """
    stories = read_word(data).stories
    canvas = Canvas()
    for text in dict.fromkeys(_plain(one.text) for one in stories.get("headers", ())):
        canvas.paragraph(text, kind="furniture")
    _draw(canvas, stories["body"])
    for name, kind in _OTHERS.items():
        for one in stories.get(name, ()):
            canvas.paragraph(_plain(one.text), kind=kind, role=name)
    metadata = compound_properties(data)
    return canvas.parsed(metadata.pop("title", "") or canvas.first_heading(), metadata)


def _draw(canvas: Canvas, paragraphs: list[WordParagraph]) -> None:
    rows: list[list[str]] = []
    row: list[str] = []
    cell: list[str] = []
    for one in paragraphs:
        text = _plain(one.text)
        if one.look.ends_row:
            rows.append(row)
            row, cell = [], []
        elif one.mark == _CELL:
            row.append(" ".join([*cell, text]))
            cell = []
        elif row or one.look.in_table:
            cell.append(text)
        else:
            canvas.table(rows)
            rows = []
            canvas.block(text, one.look.heading, one.look.item)
    canvas.table([*rows, row] if row else rows)


def _plain(text: str) -> str:
    """Return a paragraph's text as shown: the results of fields without their codes and other marks."""
    for _ in range(_MAX_NESTED):
        if "\x15" not in text:
            break
        text = _CODE.sub(lambda match: match[1] or "", text)
    return text.translate(_SIGNS)


def _with_properties(parsed: Parsed, data: bytes) -> Parsed:
    """Return a document with the original file's properties; the converted file has the dates of the conversion."""
    own = compound_properties(data)
    title = own.pop("title", "") or parsed.title
    kept = {name: value for name, value in parsed.metadata.items() if name not in ("created", "modified")}
    return replace(parsed, title=title, metadata=kept | own)


def _converted(data: bytes, suffix: str, wanted: str) -> bytes:
    """Return a document in another format; raise Rejected `not_installed`, `timeout`, `corrupt`."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise Rejected("not_installed", f"{suffix} needs LibreOffice: install libreoffice-writer")
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        folder = Path(name)
        source, made = folder / f"document.{suffix}", folder / "out" / f"document.{wanted}"
        source.write_bytes(data)
        settings = folder / "profile" / "user" / "registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        settings.write_text(_SETTINGS, encoding="utf-8")
        command = [program, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--norestore",
                   "--nologo", "--nodefault", "--convert-to", wanted, "--outdir", str(made.parent),
                   str(source)]  # fmt: skip
        said = run_program("LibreOffice", command, folder, _TIMEOUT_S)
        if not made.exists():
            why = last_line(f"{said.errors}\n{said.output}") or "it gives no reason"
            raise Rejected("corrupt", f"LibreOffice cannot read it as {suffix}: {why}")
        return made.read_bytes()
