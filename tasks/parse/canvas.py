"""Canvas: canonical text written as Markdown, piece by piece, with an element for each piece.

All formats except text, Markdown and source code are drawn on a canvas, so their canonical texts look alike and their
spans are exact by construction.
"""

import re
from typing import Any

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.tables.header_rows import Rows, header_depth, one_header
from docmill.tasks.parse.titles.contents_list import leads_within, with_contents

Box = tuple[float, float, float, float]

STRUCK = "~~"
_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_MAX_INDENT = 10
"""Levels of lists and quotes that are shown: deeper ones, which only damaged files have, would be mostly spaces."""
_LOWEST_HEADING = 6  # Markdown has no lower one


class Canvas:
    """Text and elements in reading order; `page` is that of the elements drawn next.

    `entries` are the indices of elements that are nothing but a link within the document.
    """

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.entries: set[int] = set()
        self.page = 0
        self._parts: list[str] = []
        self._length = 0
        self._line = 1
        self._in_list = False

    def heading(self, text: str, level: int, box: Box | None = None, **attributes: Any) -> None:
        """Write a heading; level 1 is the highest. Its plain text is stored in its attribute `text`."""
        text = " ".join(text.split())
        if text:
            signs = "#" * max(1, min(level, _LOWEST_HEADING))
            self._write("title", f"{signs} {text}", level, box, {"text": text} | attributes)

    def paragraph(self, text: str, box: Box | None = None, kind: str = "paragraph", **attributes: Any) -> None:
        """Write a paragraph, or another kind of element made of plain lines."""
        text = tidy(text)
        if text:
            self._write(kind, text, 0, box, attributes)

    def item(self, text: str, depth: int, marker: str = "-", box: Box | None = None, **attributes: Any) -> None:
        """Write a list item; depth 1 is the outermost."""
        text = tidy(text)
        if not text:
            return
        indent = "  " * min(depth - 1, _MAX_INDENT)
        text = f"{marker} " + text.replace("\n", "\n" + indent + " " * (len(marker) + 1))
        self._write("list_item", text, depth, box, attributes, indent)

    def quote(self, text: str, depth: int = 1, box: Box | None = None, **attributes: Any) -> None:
        """Write a block quote; every line of it begins with `> `."""
        text = tidy(text)
        if text:
            prefix = "> " * max(1, min(depth, _MAX_INDENT))
            self._write("quote", prefix + text.replace("\n", "\n" + prefix), depth, box, attributes)

    def code(self, text: str, language: str = "", box: Box | None = None) -> None:
        """Write a fenced code block; the fence is longer than any in the code."""
        text = text.strip("\n").rstrip()
        if text.strip():
            fence = max(["```", *(found + "`" for found in _FENCE.findall(text))], key=len)
            self._write("code", f"{fence}{language}\n{text}\n{fence}", 0, box, {"language": language})

    def table(
        self, rows: Rows, header_rows: int | None = 1, box: Box | None = None, whole: bool = False, **attributes: Any
    ) -> None:
        """Write a pipe table, one row a line; without header rows its header line is empty.

        Several header rows become one that names each column; with None, their number is guessed by the cells. A table
        that is `whole` keeps them, and its columns without text.
        """
        cells = _spaced(rows) if whole else even(rows)
        if any(map(any, cells)):
            depth = header_depth(cells, header_rows)
            cells, depth = (cells, depth) if whole else (one_header(cells, depth), min(depth, 1))
            attributes |= {"cells": cells, "header_rows": depth}
            self._write("table", pipe_table(cells, depth), 0, box, attributes)

    def note_inner_links(self, text: str, linked: int) -> None:
        """Note the element just drawn as an entry, if `linked` characters in inner links are all of its text."""
        if self.elements and leads_within(text, linked):
            self.entries.add(len(self.elements) - 1)

    def copy(self, element: Element, text: str) -> None:
        """Write an element of another canvas, whose text is `text`, unchanged."""
        indent = "  " * min(element.level - 1, _MAX_INDENT) if element.kind == "list_item" else ""
        self._write(element.kind, text, element.level, element.box, dict(element.attributes), indent)

    def first_heading(self) -> str:
        """Return the text of the first heading of level 1, or nothing."""
        tops = (one.attributes["text"] for one in self.elements if one.kind == "title" and one.level == 1)
        return next(tops, "")

    def add(self, drawn: Parsed) -> None:
        """Write all elements of another document unchanged; none of them may be nested."""
        for element in drawn.elements:
            self.copy(element, drawn.text[element.start_char : element.end_char])

    def parsed(self, title: str = "", metadata: dict[str, Any] | None = None) -> Parsed:
        """Return the document written so far."""
        drawn = Parsed("".join(self._parts), tuple(self.elements), " ".join(title.split()), metadata or {})
        return with_contents(drawn, self.entries) if self.entries else drawn

    def _write(
        self, kind: str, text: str, level: int, box: Box | None, attributes: dict[str, Any], indent: str = ""
    ) -> None:
        in_list = kind == "list_item"
        gap = "" if not self._parts else ("\n" if in_list and self._in_list else "\n\n")
        self._in_list = in_list
        self._parts += (gap, indent, text)
        self._line += len(gap)
        start = self._length + len(gap) + len(indent)
        self._length = start + len(text)
        self.elements.append(Element(kind, start, self._length, level, self.page, self._line, box, attributes))
        self._line += text.count("\n")


def struck(text: str) -> str:
    """Return struck words between the signs that mark them in every format."""
    words = text.strip()
    return text.replace(words, f"{STRUCK}{words}{STRUCK}") if any(map(str.isalnum, words)) else text


def tidy(text: str) -> str:
    """Return lines without outer space, runs of space as one, and no empty lines."""
    if text.isprintable() and "  " not in text:  # one line, whose only space is " "
        return text.strip(" ")
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def even(rows: Rows) -> list[list[str]]:
    """Return a table's cells as lines of single-spaced text, rows of equal width, no empty columns."""
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
