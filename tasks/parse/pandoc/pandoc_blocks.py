"""Pandoc's blocks, drawn as Markdown: one walk for all formats that pandoc reads."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.markup.html.html_table import header_rows
from docmill.tasks.parse.markup.html.numbering import numbered
from docmill.tasks.parse.pandoc.inlines import DEEPER_MARK, PAGE_MARK, Inlines, Node, plain_text, raw_text
from docmill.tasks.parse.pandoc.pandoc_tables import read_table

_DELIMITERS = {"Period": "{}.", "OneParen": "{})", "TwoParens": "({})"}
_UNSHOWN = frozenset(("toctree", "contents", "index", "meta", "only-print"))
_CONDITIONS = frozenset(("only", "ifconfig"))  # what they hang on stands first in them
_NOT_LANGUAGES = frozenset(("numberlines", "sourcecode", "example", "literate", "verbatim", "lstlisting", "code"))
_ADMONITION_WORDS = """
    note warning tip important caution danger hint attention error seealso admonition todo deprecated
"""
_ADMONITIONS = frozenset(_ADMONITION_WORDS.split())
_BULLET = re.compile(r"\s*[\u2022\u25e6\u25aa\u2023\u25cf\u25cb\u25a0\u00b7\u2013]\s+(?=\S)")
_MAX_BOLD_HEADING = 100
_STYLES = {"LowerAlpha": "a", "UpperAlpha": "A", "LowerRoman": "i", "UpperRoman": "I"}


class Walker:
    """Where the walk is: on which canvas, how deep in lists and quotes, which marker comes next.

    `shift` lowers all headings. In a document of a word processor indented text is no quote, and
    where `bold_headings`, short paragraphs in bold are headings of level 2.
    """

    def __init__(self, canvas: Canvas, shift: int = 0, quotes: bool = True, bold_headings: bool = False) -> None:
        self.canvas = canvas
        self._shift = shift
        self._quoting = quotes
        self._bold_headings = bold_headings
        self._lists = self._quotes = self._notes = 0
        self._pending = 0  # pages that begin inside of the block at hand
        self._marker = self._prefix = ""

    def blocks(self, blocks: list[Node]) -> None:
        """Draw blocks in order; of a picture whose caption says what it shows, the caption only."""
        for node, next_ in zip(blocks, [*blocks[1:], None], strict=False):
            if next_ is not None and _is_picture(node) and plain_text(node["c"]) == _words(next_):
                continue
            visit = getattr(self, "_" + node["t"].lower(), None)
            if visit:
                visit(node.get("c"))

    def _inlines(self, inlines: list[Node], draw: Any) -> None:
        """Give `draw` the text and links of inlines, then draw the notes in it below."""
        rendered = Inlines(self._notes + 1)
        text = self._paged(rendered.text(inlines))
        draw(text, {"links": rendered.links} if rendered.links else {})
        first, self._notes = self._notes + 1, self._notes + len(rendered.notes)
        for number, note in enumerate(rendered.notes, first):
            with self._outside_lists():
                self._prefix = f"[^{number}]: "
                self.blocks(note)
                self._prefix = ""

    def _paged(self, text: str) -> str:
        """Return text without page marks; a page that begins inside of a block counts for the next."""
        marks = text.count(PAGE_MARK)
        if marks and text.lstrip().startswith(PAGE_MARK):
            self._turn(1)
            marks -= 1
        self._pending = marks
        return text.replace(PAGE_MARK, "")

    def _turn(self, pages: int) -> None:
        self.canvas.page += pages

    def _para(self, inlines: list[Node]) -> None:
        if self._bold_headings and not self._lists and _is_bold(inlines):
            self._header([2 - self._shift, None, inlines])
            return
        self._inlines(inlines, self._draw)
        self._turn(self._pending)

    _plain = _para

    def _draw(self, text: str, links: dict[str, Any]) -> None:
        if not text.strip():
            return
        deeper = text.count(DEEPER_MARK)
        text, self._prefix = self._prefix + text.replace(DEEPER_MARK, ""), ""
        if self._marker:
            self.canvas.item(text, self._lists + deeper, self._marker, **links)
            self._marker = ""
        elif not self._quoting and (bullet := _BULLET.match(text)):
            self.canvas.item(text[bullet.end() :], max(1, self._lists), **links)
        elif self._quotes:
            self.canvas.quote(text, self._quotes, **links)
        else:
            self.canvas.paragraph(text, **links)

    def _header(self, content: Any) -> None:
        level, _, inlines = content
        self._inlines(inlines, lambda text, links: self.canvas.heading(text, level + self._shift, **links))
        self._turn(self._pending)

    def _lineblock(self, lines: list[list[Node]]) -> None:
        joined = [one for line in lines for one in (*line, {"t": "LineBreak"})]
        self._para(joined)

    def _codeblock(self, content: Any) -> None:
        (_, classes, pairs), text = content
        named = [one for one in classes if one.lower() not in _NOT_LANGUAGES]
        language = dict(pairs).get("language") or (named[0] if named else "")
        self._marker = ""
        self.canvas.code(text.replace(PAGE_MARK, ""), re.sub(r"\W.*", "", language.strip("[]{}")).lower())
        self._turn(text.count(PAGE_MARK))

    def _rawblock(self, content: Any) -> None:
        text = raw_text(*content)
        if any(map(str.isalnum, text)):
            self._draw(text, {})

    def _blockquote(self, blocks: list[Node]) -> None:
        self._quotes += self._quoting
        self.blocks(blocks)
        self._quotes -= self._quoting

    def _bulletlist(self, items: list[list[Node]]) -> None:
        self._items(items, ("-" for _ in items))

    def _orderedlist(self, content: Any) -> None:
        (start, style, delimiter), items = content
        form = _DELIMITERS.get(delimiter["t"], "{}.")
        self._items(items, (form.format(numbered(start + i, _STYLES.get(style["t"], ""))) for i in range(len(items))))

    def _items(self, items: list[list[Node]], markers: Iterator[str]) -> None:
        self._lists += 1
        for item, marker in zip(items, markers, strict=True):
            self._marker = marker
            self.blocks(item)
        self._marker = ""
        self._lists -= 1

    def _definitionlist(self, entries: list[Any]) -> None:
        for term, definitions in entries:
            blocks = [block for definition in definitions for block in definition]
            if blocks and blocks[0]["t"] in ("Para", "Plain"):
                self._para([*term, {"t": "Str", "c": ":"}, {"t": "Space"}, *blocks.pop(0)["c"]])
            else:
                self._para(term)
            self.blocks(blocks)

    def _div(self, content: Any) -> None:
        (_, classes, _), blocks = content
        if _UNSHOWN & set(classes):
            return
        if _CONDITIONS & set(classes):
            blocks = blocks[1:]
        if _ADMONITIONS & set(classes) and blocks and blocks[0]["t"] == "Div" and "title" in blocks[0]["c"][0][1]:
            title = " ".join(plain_text(one["c"]) for one in blocks[0]["c"][1] if one["t"] in ("Para", "Plain"))
            self._prefix, blocks = f"{title}: " if title else "", blocks[1:]
        self.blocks(blocks)
        self._prefix = ""

    def _figure(self, content: Any) -> None:
        _, (_, caption), blocks = content
        said = _said(caption)
        alone = [one for one in blocks if one["t"] not in ("Plain", "Para") or _said([one]) not in said]
        self.blocks(alone)
        self.blocks(caption)

    def _table(self, content: Any) -> None:
        table = read_table(content)
        self._marker = ""
        self.blocks(table.caption)
        if table.boxed is not None:
            self.blocks(table.boxed)
            return
        inlines = Inlines(self._notes + 1)
        rows = [[self._cell(inlines, cell) for cell in row] for row in table.rows]
        pages = sum(cell.count(PAGE_MARK) for row in rows for cell in row)
        cells = [[cell.replace(PAGE_MARK, "") for cell in row] for row in rows]
        headers = table.header_rows or (header_rows(rows) if len(rows) > 1 else 0)
        links: dict[str, Any] = {"links": inlines.links} if inlines.links else {}
        self.canvas.table(cells, headers, **links)
        self._turn(pages)
        self._below(inlines)

    def _cell(self, inlines: Inlines, blocks: list[Node]) -> str:
        return " ".join(filter(None, (inlines.text(line) for line in block_lines(blocks))))

    def _below(self, inlines: Inlines) -> None:
        """Draw the notes of a table's cells."""
        for note in inlines.notes:
            self._notes += 1
            self._prefix = f"[^{self._notes}]: "
            self.blocks(note)
            self._prefix = ""

    @contextmanager
    def _outside_lists(self) -> Iterator[None]:
        kept = self._lists, self._quotes, self._marker, self._prefix, self._pending
        self._lists, self._quotes, self._marker = 0, 0, ""
        yield
        self._lists, self._quotes, self._marker, self._prefix, self._pending = kept


def block_lines(blocks: list[Node]) -> Iterator[list[Node]]:
    """Yield the inlines of every paragraph, item and line in blocks, however they are nested."""
    for node in blocks:
        kind: str = node["t"]
        content: Any = node.get("c")
        if kind in ("Para", "Plain"):
            yield content
        elif kind == "Header":
            yield content[2]
        elif kind == "CodeBlock":
            yield [{"t": "Code", "c": [["", [], []], " ".join(content[1].split())]}]
        elif kind == "LineBlock":
            yield from content
        elif kind in ("BlockQuote", "Div", "Figure"):
            yield from block_lines(content if kind == "BlockQuote" else content[-1])
        elif kind in ("BulletList", "OrderedList"):
            for item in content if kind == "BulletList" else content[1]:
                yield from block_lines(item)
        elif kind == "DefinitionList":
            for term, definitions in content:
                yield term
                for definition in definitions:
                    yield from block_lines(definition)
        elif kind == "Table":
            for row in read_table(content).rows:
                for cell in row:
                    yield from block_lines(cell)


def _said(blocks: list[Node]) -> str:
    return " ".join(plain_text(line) for line in block_lines(blocks))


def _is_picture(node: Node) -> bool:
    return node["t"] in ("Para", "Plain") and [one["t"] for one in node["c"]] == ["Image"]


def _words(node: Node) -> str:
    return plain_text(node["c"]) if node["t"] in ("Para", "Plain") else ""


def _is_bold(inlines: list[Node]) -> bool:
    if not any(one["t"] == "Strong" for one in inlines):
        return False
    if any(one["t"] not in ("Strong", "Space", "SoftBreak") for one in inlines):
        return False
    text = plain_text(inlines)
    return 0 < len(text) <= _MAX_BOLD_HEADING and text[-1] not in ".,;"
