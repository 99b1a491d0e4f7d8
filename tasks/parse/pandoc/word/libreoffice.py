"""LibreOffice: convert Word documents of up to 2003 to the current format, if it is installed.

It runs headless, in a separate process with the worker's limits and a fresh profile for each document: no macro runs,
and no link of a document is fetched.
"""

import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.office.properties import compound_properties
from docmill.tasks.parse.pandoc.word.piece_table import WordParagraph, read_word
from docmill.tasks.parse.pandoc.word.word import parse_docx
from docmill.tasks.parse.programs import last_line, run_program

_TIMEOUT_S = 120.0
"""Seconds for a conversion.

LibreOffice hangs on some damaged files, which block a worker for this long; with less, long documents are rejected on a
slow machine, where its start alone takes a while.
"""
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

_CODE = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")  # a field: its code, and what it shows
_MAX_NESTED = 20  # fields within fields: a table of contents has three
_SIGNS = dict.fromkeys((*range(1, 9), 0x13, 0x14, 0x15, 0x1F)) | {0x0B: "\n", 0x0E: "\n", 0x1E: "-", 0xA0: " "}
"""Marks of pictures, notes and fields are dropped; breaks, hyphens and spaces that do not break are the usual ones."""
_CELL = "\x07"
_OTHERS = {"footnotes": "paragraph", "endnotes": "paragraph", "boxes": "paragraph", "comments": "text"}


def parse_doc(data: bytes, options: ParseOptions) -> Parsed:
    """Return a Word document of up to 2003, converted and then read as a current one.

    Where LibreOffice is not installed, or fails, its own text is read, and the metadata say so.
    """
    try:
        converted = _converted(data, "doc", "docx")
    except Rejected as why:
        return _own_text(data, why)
    return _with_properties(parse_docx(converted, options), data)


def _own_text(data: bytes, why: Rejected) -> Parsed:
    """Return a document as its own pieces say; raise `why`, the reason of LibreOffice, if they say nothing."""
    try:
        drawn = draw_old_word(data)
    except Exception as error:  # a damaged file may break the reading of its table anywhere
        raise why from error
    if not drawn.text:
        raise why
    return replace(drawn, metadata=drawn.metadata | {"read_as": f"pieces of text; {why.message}"})


def draw_old_word(data: bytes) -> Parsed:
    """Return a document's headings, paragraphs, items and tables, then notes, boxes and comments.

    The numbers of automatic lists are not in the text of such a file, and are lost.
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
            _draw_table(canvas, rows)
            rows = []
            _draw_paragraph(canvas, one, text)
    _draw_table(canvas, [*rows, row] if row else rows)


def _draw_table(canvas: Canvas, rows: list[list[str]]) -> None:
    if rows:
        canvas.table(rows)


def _draw_paragraph(canvas: Canvas, one: WordParagraph, text: str) -> None:
    if one.look.heading:
        canvas.heading(text, one.look.heading)
    elif one.look.item:
        canvas.item(text, one.look.item)
    else:
        canvas.paragraph(text)


def _plain(text: str) -> str:
    """Return a paragraph's text as it is shown: the results of fields, without their codes and other marks."""
    for _ in range(_MAX_NESTED):
        if "\x15" not in text:
            break
        text = _CODE.sub(lambda match: match[1] or "", text)
    return text.translate(_SIGNS)


def _with_properties(parsed: Parsed, data: bytes) -> Parsed:
    """Return a document with the properties of the original file; the converted one has the dates of the conversion."""
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
