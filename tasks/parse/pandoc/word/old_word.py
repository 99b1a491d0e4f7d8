"""Old Word: a document of up to 2003 drawn from its own pieces, where LibreOffice does not read it."""

import re

from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.office.properties import compound_properties
from docmill.tasks.parse.pandoc.word.piece_table import WordParagraph, read_word

_CODE = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")  # a field: its code, and what it shows
_MAX_NESTED = 20  # fields within fields: a table of contents has three
_SIGNS = dict.fromkeys((*range(1, 9), 0x13, 0x14, 0x15, 0x1F)) | {0x0B: "\n", 0x0E: "\n", 0x1E: "-", 0xA0: " "}
"""Marks of pictures, notes and fields are dropped; breaks, hyphens and spaces that do not break are the usual ones."""
_CELL = "\x07"
_OTHERS = {"footnotes": "paragraph", "endnotes": "paragraph", "boxes": "paragraph", "comments": "text"}


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
