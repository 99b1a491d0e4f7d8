"""Canvas: collects the pieces that a reader finds, and writes them as Markdown with an element for each.

All formats except text, Markdown and source code are drawn on a canvas, so their canonical texts look alike and their
spans are exact by construction. Steps that are common to all formats are applied to the blocks before writing.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from docmill.storage.schema import Element, KeptPicture, Parsed
from docmill.tasks.parse.passes.drawn_block import Box, DrawnBlock, figure_block, heading_block
from docmill.tasks.parse.passes.run_in_headings import with_run_in_headings
from docmill.tasks.parse.passes.table_rows import Rows, header_depth, one_header, titles_above
from docmill.tasks.parse.pictures.album import LEFT_OUT, Album
from docmill.tasks.parse.titles.contents_list import leads_within, with_contents

__all__ = ["MOST_LINKS", "STRUCK", "Box", "Canvas", "Rows", "even", "pipe_table", "struck", "tidy"]

STRUCK = "~~"
_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
MOST_LINKS = 200
"""Links kept for one block. With fewer, long lists of references would lose some; without a limit, the attributes of a
block with all addresses of a site would outgrow its text."""
_MAX_INDENT = 10
"""Levels of lists and quotes that are indented: deeper ones, which only damaged files have, would be mostly spaces."""


class Canvas:
    """Blocks in reading order; `page` is the page of the next blocks."""

    def __init__(self) -> None:
        self.blocks: list[DrawnBlock] = []
        self.page = 0
        self.album = Album()

    def heading(self, text: str, level: int, box: Box | None = None, **attributes: Any) -> None:
        """Write a heading; level 1 is the highest. Its plain text is stored in the attribute `text`."""
        text = " ".join(text.split())
        if text:
            self.blocks.append(heading_block(text, level, self.page, box, _kept(attributes)))

    def paragraph(
        self, text: str, box: Box | None = None, kind: str = "paragraph", lead: str = "", **attributes: Any
    ) -> None:
        """Write a paragraph, or another kind of element made of plain lines.

        `lead` are emphasised words at its start; they become a heading if other paragraphs have such words as well.
        """
        text = tidy(text)
        if text:
            self._draw(kind, text, 0, box, attributes)
            self.blocks[-1].lead = lead

    def item(self, text: str, depth: int, marker: str = "-", box: Box | None = None, **attributes: Any) -> None:
        """Write a list item; depth 1 is the outermost."""
        text = tidy(text)
        if not text:
            return
        indent = "  " * min(depth - 1, _MAX_INDENT)
        text = f"{marker} " + text.replace("\n", "\n" + indent + " " * (len(marker) + 1))
        self._draw("list_item", text, depth, box, attributes, indent)

    def quote(self, text: str, depth: int = 1, box: Box | None = None, **attributes: Any) -> None:
        """Write a block quote; each of its lines begins with `> `."""
        text = tidy(text)
        if text:
            prefix = "> " * max(1, min(depth, _MAX_INDENT))
            self._draw("quote", prefix + text.replace("\n", "\n" + prefix), depth, box, attributes)

    def block(
        self, text: str, heading: int = 0, item: int = 0, quote: int = 0, marker: str = "-", **attributes: Any
    ) -> None:
        """Write a block as a heading of a level, else as an item or quote of a depth, else as a paragraph."""
        if heading:
            self.heading(text, heading, **attributes)
        elif item:
            self.item(text, item, marker, **attributes)
        elif quote:
            self.quote(text, quote, **attributes)
        else:
            self.paragraph(text, **attributes)

    def code(self, text: str, language: str = "", box: Box | None = None) -> None:
        """Write a fenced code block; the fence is longer than any in the code."""
        text = text.strip("\n").rstrip()
        if text.strip():
            fence = max(["```", *(found + "`" for found in _FENCE.findall(text))], key=len)
            self._draw("code", f"{fence}{language}\n{text}\n{fence}", 0, box, {"language": language})

    def table(
        self,
        rows: Rows,
        header_rows: int | None = 1,
        box: Box | None = None,
        whole: bool = False,
        captioned: bool = False,
        **attributes: Any,
    ) -> None:
        """Write a pipe table, one row per line; without header rows, its header line is empty.

        Several header rows become one that names each column; if None, their number is guessed from the cells. Titles
        above the column names become its caption, as does the previous block if the table is `captioned`. A `whole`
        table keeps its titles, its header rows, and its columns without text.
        """
        cells = _spaced(rows) if whole else even(rows)
        if any(map(any, cells)):
            if titles := 0 if whole else titles_above(cells, header_rows):
                self.paragraph("\n".join(row[0] for row in cells[:titles]), box)
                cells, header_rows = even(cells[titles:]), (header_rows or titles) - titles or None
            depth = header_depth(cells, header_rows)
            cells, depth = (cells, depth) if whole else (one_header(cells, depth), min(depth, 1))
            said = {"caption": self.blocks[-1].text} if captioned or titles else {}
            attributes |= said | {"cells": cells, "header_rows": depth}
            self._draw("table", pipe_table(cells, depth), 0, box, attributes)

    def figure(self, data: bytes, alt: str = "", caption: str = "", box: Box | None = None) -> bool:
        """Write a figure, given the bytes of its picture; return whether that picture is kept.

        Without `alt`, the words that replace the picture, and without `caption`, which is in an adjacent paragraph, a
        caption is found by its position and its words.
        """
        picture = self.album.add(data)
        if picture is not None:
            self.show(picture, alt, caption, box)
        return picture is not None

    def show(self, picture: KeptPicture, alt: str = "", caption: str = "", box: Box | None = None) -> None:
        """Write a figure, given a picture in the album."""
        self.blocks.append(figure_block(picture, tidy(alt), tidy(caption), self.page, box))

    def note_inner_links(self, text: str, linked: int) -> None:
        """Mark the block just drawn as an entry if `linked` characters in inner links are all of its text."""
        if self.blocks and leads_within(text, linked):
            self.blocks[-1].entry = True

    def copy(self, element: Element, text: str) -> None:
        """Write an element of another canvas, with the text `text`, unchanged."""
        indent = "  " * min(element.level - 1, _MAX_INDENT) if element.kind == "list_item" else ""
        self._draw(element.kind, text, element.level, element.box, dict(element.attributes), indent)

    def first_heading(self) -> str:
        """Return the text of the first heading of level 1, or nothing."""
        tops = (one.attributes["text"] for one in self.blocks if one.kind == "title" and one.level == 1)
        return next(tops, "")

    def add(self, drawn: Parsed, top: int | None = None, **attributes: Any) -> None:
        """Write all elements of another document, none of which may be nested, adding attributes.

        They are unchanged, except that headings are moved if `top` is given: it is the level of the highest ones.
        """
        self.album.take(drawn)
        highest = min((one.level for one in drawn.elements if one.kind == "title"), default=0)
        for element in drawn.elements:
            if top is not None and element.kind == "title":
                self.heading(element.attributes["text"], element.level - highest + top, **attributes)
            else:
                self.copy(element, drawn.text[element.start_char : element.end_char])
                self.blocks[-1].attributes |= attributes

    def parsed(self, title: str = "", metadata: dict[str, Any] | None = None) -> Parsed:
        """Return the document written so far."""
        blocks = with_run_in_headings(self.album.without_decoration(self.blocks))
        text, elements = _written(blocks)
        left_out = {LEFT_OUT: dict(self.album.left_out)} if self.album.left_out else {}
        said = (metadata or {}) | left_out
        drawn = Parsed(text, elements, " ".join(title.split()), said, self.album.shown(blocks))
        entries = [number for number, block in enumerate(blocks) if block.entry]
        return with_contents(drawn, entries) if entries else drawn

    def _draw(
        self, kind: str, text: str, level: int, box: Box | None, attributes: dict[str, Any], indent: str = ""
    ) -> None:
        self.blocks.append(DrawnBlock(kind, text, level, self.page, box, _kept(attributes), indent))


def _kept(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with at most `MOST_LINKS` links, and without an empty attribute `links`."""
    stated = attributes.pop("links", None)
    links = list(islice(stated, MOST_LINKS)) if stated else ()
    return attributes | {"links": links} if links else attributes


def _written(blocks: Sequence[DrawnBlock]) -> tuple[str, tuple[Element, ...]]:
    """Return the canonical text of blocks, separated by empty lines except between items, and an element for each."""
    parts, elements = list[str](), list[Element]()
    length, line, in_list = 0, 1, False
    for one in blocks:
        item = one.kind == "list_item"
        gap = "" if not parts else ("\n" if item and in_list else "\n\n")
        in_list = item
        parts += (gap, one.indent, one.text)
        line += len(gap)
        start = length + len(gap) + len(one.indent)
        length = start + len(one.text)
        elements.append(Element(one.kind, start, length, one.level, one.page, line, one.box, one.attributes))
        line += one.text.count("\n")
    return "".join(parts), tuple(elements)


def struck(text: str) -> str:
    """Return struck words between the signs that mark them in every format."""
    words = text.strip()
    return text.replace(words, f"{STRUCK}{words}{STRUCK}") if any(map(str.isalnum, words)) else text


def tidy(text: str) -> str:
    """Return lines without outer space, with single spaces, and without empty lines."""
    if text.isprintable() and "  " not in text:  # a single line, whose only kind of space is " "
        return text.strip(" ")
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def even(rows: Rows) -> list[list[str]]:
    """Return a table's cells as single-spaced lines, with rows of equal width and without empty columns."""
    cells = _spaced(rows)
    width = max(map(len, cells), default=0)
    return _without_empty_columns([row + [""] * (width - len(row)) for row in cells if any(row)], width)


def _spaced(rows: Rows) -> list[list[str]]:
    return [[" ".join(cell.split()) for cell in row] for row in rows]


def _without_empty_columns(cells: list[list[str]], width: int) -> list[list[str]]:
    used = [column for column in range(width) if any(row[column] for row in cells)]
    return cells if len(used) == width else [[row[column] for column in used] for row in cells]


def pipe_table(cells: Rows, header_rows: int = 1) -> str:
    """Return rows of equal width as a GitHub pipe table."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in cells]
    width = len(rows[0])
    header = rows[0] if header_rows else [""] * width
    body = rows[1:] if header_rows else rows
    lines = [header, ["---"] * width, *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
