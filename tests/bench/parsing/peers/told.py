"""What a document says, by whatever it was read: its words in order, headings, list items, and rows of tables."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token

_WORD = re.compile(r"\w+")
_MARKER = re.compile(r"\s*(?:[-*+•·]|\(?\w{1,4}[.)])\s+(?:\[[ x]\]\s)?")
_TARGET = re.compile(r"\](?:\([^()\s]*\)|\[\w.-]+\])")  # of a link, in text that stays Markdown
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")

Row = tuple[str, ...]


@dataclass
class Told:
    """Words in the order of the text; headings and items as their letters, rows as the letters of their cells.

    `cells` are the rows as they stand there.
    """

    words: list[str] = field(default_factory=list)
    headings: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)
    rows: Counter[Row] = field(default_factory=Counter)
    cells: list[list[str]] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Add a heading."""
        self.text(text)
        _count(self.headings, letters(text))

    def item(self, text: str) -> None:
        """Add the first paragraph of a list item; its bullet or number is no part of it."""
        text = _MARKER.sub("", text, count=1) if _MARKER.match(text) else text
        self.text(text)
        _count(self.items, letters(text))

    def row(self, cells: Iterable[str]) -> None:
        """Add a row of a table."""
        cells = list(cells)
        self.text(" ".join(cells))
        row = tuple(map(letters, cells))
        while row and not row[-1]:  # of a sheet whose tables are of different widths
            row = row[:-1]
        if any(row):
            self.rows[row] += 1
            self.cells.append(cells)

    def tables(self) -> "Told":
        """Return what the tables alone say."""
        told = Told()
        for cells in self.cells:
            told.row(cells)
        return told

    def text(self, text: str) -> None:
        """Add text of another kind."""
        self.words += _WORD.findall(text.lower())


def letters(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return "".join(filter(str.isalnum, text.lower()))


def _count(found: Counter[str], said: str) -> None:
    if said:
        found[said] += 1


def of_markdown(text: str) -> Told:
    """Return what Markdown says, with HTML in it."""
    told = Told()
    parents: list[str] = []
    cells: list[str] = []
    fresh = False  # whether a list item has begun, and nothing of it was said
    for token in _MARKDOWN.parse(text):
        if token.nesting:
            _step(parents, token)
            fresh = token.type == "list_item_open" or (fresh and token.type == "paragraph_open")
            if token.type == "tr_close":
                told.row(cells)
                cells = []
        elif token.type == "inline":
            _say(told, parents, plain(token), cells, fresh)
            fresh = False
        elif token.type == "html_block":
            _add_html(told, token.content)
        else:
            told.text(token.content)
    return told


def _step(parents: list[str], token: Token) -> None:
    if token.nesting > 0:
        parents.append(token.type)
    elif parents:
        parents.pop()


def _say(told: Told, parents: list[str], text: str, cells: list[str], fresh: bool) -> None:
    if "tr_open" in parents:
        cells.append(text)
    elif parents[-1:] == ["heading_open"]:
        told.heading(text)
    elif fresh:
        told.item(text)
    else:
        told.text(text)


def plain(token: Token) -> str:
    """Return the text of a line of Markdown, without pictures and tags."""
    shown = [" " if child.type in ("softbreak", "hardbreak") or child.tag == "br" else child.content
             for child in token.children or () if child.type not in ("image", "html_inline")
             or child.content.startswith("<br")]  # fmt: skip
    return "".join(" " if one.startswith("<br") else one for one in shown)


def of_html(text: str) -> Told:
    """Return what a piece of HTML says: the rows of its tables, else its words."""
    told = Told()
    _add_html(told, text)
    return told


def _add_html(told: Told, text: str) -> None:
    tree = etree.fromstring(f"<div>{text}</div>", etree.HTMLParser())
    if tree is None:
        return
    rows = list(tree.iter("tr"))
    for row in rows:
        told.row("".join(cell.itertext()) for cell in row if cell.tag in ("td", "th"))
    if not rows:
        told.text(" ".join(tree.itertext(with_tail=False)) if tree.tag is not etree.Comment else "")


def of_elements(elements: Iterable[dict[str, Any]]) -> Told:
    """Return what a list of elements says: each has a kind and a text, tables have rows of cells or HTML."""
    told = Told()
    for one in elements:
        kind, text = one["kind"], _TARGET.sub("]", one["text"])
        if "rows" in one:
            for row in one["rows"]:
                told.row(_TARGET.sub("]", cell) for cell in row)
        elif one.get("html"):
            _add_html(told, one["html"])
        else:
            {"heading": told.heading, "item": told.item}.get(kind, told.text)(text)
    return told
