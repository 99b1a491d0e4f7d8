"""Wiki: pages of MediaWiki, prepared for pandoc, and dumps: XML with many of them, read as sections of one document.

Pandoc takes the second row of a table's header for one of the body, and forgets its spans. A cell of the first row that
covers the second leaves no cell there, so all others would stand in columns of others. An empty cell takes its place.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.pandoc.document import read_document
from docmill.tasks.parse.trees import xml_tree

_SPACE = b"http://www.mediawiki.org/xml/export-"
_BEGINNING = 2_000  # bytes, in which the root of a dump names its vocabulary
_WIKI_TEXT = "text/x-wiki"
_SPANS = re.compile(r"\b(row|col)span\s*=\s*[\"']?(\d+)", re.IGNORECASE)
_SWITCH = re.compile(r"^__[A-Z]+__$", re.MULTILINE)  # __TOC__, __NOTOC__: switches of MediaWiki
_CELLS = re.compile(r"\|\||!!")
_MOST = 50
"""Rows and columns of a span. A table for readers has fewer; more would let a line of markup make millions of cells."""


def is_dump(data: bytes) -> bool:
    """Return whether a file is a dump, and not a page in the markup itself."""
    return data.lstrip()[:1] == b"<" and _SPACE in data[:_BEGINNING]


def parse_dump(data: bytes) -> Parsed:
    """Return the pages of a dump, each a section with its newest revision; raise Rejected `corrupt` if it is no XML."""
    try:
        root = xml_tree(data)
    except etree.XMLSyntaxError as error:
        raise Rejected("corrupt", f"not well-formed XML: {error}") from error
    canvas, titles = Canvas(), list[str]()
    for page in root.iter("{*}page"):
        titles.append(page.findtext("{*}title") or "")
        canvas.heading(titles[-1], 1)
        revisions = page.findall("{*}revision")
        if revisions:
            _draw(canvas, revisions[-1])
    title = titles[0] if len(titles) == 1 else root.findtext("{*}siteinfo/{*}sitename") or ""
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang")
    return canvas.parsed(title, {"pages_of_dump": len(titles)} | ({"language": language} if language else {}))


def _draw(canvas: Canvas, revision: Any) -> None:
    text, form = revision.findtext("{*}text") or "", revision.findtext("{*}format") or _WIKI_TEXT
    if form != _WIKI_TEXT:
        canvas.code(text)
        return
    try:
        page = read_document(prepared_wiki(text).encode("utf-8", "replace"), "mediawiki")
    except Rejected as why:
        if why.reason == "not_installed":
            raise
        canvas.paragraph(text)
        return
    canvas.add(page, 2)


@dataclass(slots=True)
class _Table:
    """The row of a table that is read, its next column, and how many rows cells of the first row cover, by column."""

    row: int = 0
    column: int = 0
    covered: dict[int, int] = field(default_factory=dict)

    def end_row(self) -> None:
        """Go to the next row, if this one has cells."""
        self.row, self.column = self.row + bool(self.column), 0

    def cells_of(self, line: str) -> Iterator[str]:
        """Yield the cells of a line, each on a line of its own, and empty ones where the first row covers this one."""
        mark = line[0]
        for cell in _CELLS.split(line[1:]) if mark == "!" else line[1:].split("||"):
            rows, columns = _spans(cell)
            if not self.row and mark == "!":
                self.covered |= dict.fromkeys(range(self.column, self.column + columns), rows)
            while self.row and self.covered.get(self.column, 1) > self.row:
                yield mark
                self.column += 1
            yield mark + cell
            self.column += columns


def prepared_wiki(text: str) -> str:
    """Return a page in MediaWiki's markup without switches, and with whole headers of tables."""
    return fill_headers(_SWITCH.sub("", text))


def fill_headers(text: str) -> str:
    """Return a page in MediaWiki's markup with an empty cell for each place that a header of a table covers."""
    tables: list[_Table] = []
    lines: list[str] = []
    for line in text.split("\n"):
        start = line.lstrip(" \t:")
        if start.startswith("{|"):
            tables.append(_Table())
        elif tables and start.startswith(("|-", "|+")):
            tables[-1].end_row()
        elif tables and start.startswith("|}") and not start.startswith("|}}"):
            tables.pop()
        elif tables and start.startswith(("|", "!")):
            lines += tables[-1].cells_of(start)
            continue
        lines.append(line)
    return "\n".join(lines)


def _spans(cell: str) -> tuple[int, int]:
    """Return how many rows and columns a cell covers; what stands before its first bar are its attributes."""
    attributes, bar, _ = cell.partition("|")
    if not bar or "[[" in attributes or "{{" in attributes:
        return 1, 1
    found = {name.lower(): min(_MOST, max(1, int(number[:4]))) for name, number in _SPANS.findall(attributes)}
    return found.get("row", 1), found.get("col", 1)
