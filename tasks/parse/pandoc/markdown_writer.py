"""Markdown writer: draws pandoc's blocks as Markdown in one walk for all formats that pandoc reads."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import KeptPicture
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.pandoc.inlines import (
    CONTENTS_MARK,
    DEEPER_MARK,
    NUMBER,
    PAGE_MARK,
    Inlines,
    Node,
    plain_text,
    raw_text,
)
from docmill.tasks.parse.pandoc.pandoc_table import PandocTable, read_table
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.passes.numbering import OpenLists
from docmill.tasks.parse.passes.table_rows import REPEATED
from docmill.tasks.parse.pictures.addresses import Loader, nowhere

_DELIMITERS = {"Period": "{}.", "OneParen": "{})", "TwoParens": "({})"}
_UNSHOWN = frozenset(("toctree", "contents", "index", "meta", "only-print"))
_CONDITIONS = frozenset(("only", "ifconfig"))  # the condition is their first argument
# Classes of code that describe its display, or the command that wrote it.
_NOT_LANGUAGES = frozenset(("numberlines", "sourcecode", "example", "literate", "verbatim", "lstlisting", "code"))
_ADMONITION_WORDS = """
    note warning tip important caution danger hint attention error seealso admonition todo deprecated
"""
_ADMONITIONS = frozenset(_ADMONITION_WORDS.split())
_BULLET = re.compile(r"\s*[\u2022\u25e6\u25aa\u2023\u25cf\u25cb\u25a0\u00b7\u2013]\s+(?=\S)")
_TURNED = re.compile(rf"\s*(?:{NUMBER.pattern}\s*)?{PAGE_MARK}")
_MAX_BOLD_HEADING = 100
"""Maximum characters of a bold paragraph that may be a heading: about a line; a longer one is emphasised text."""
_BOLD_LEVEL = 2  # of bold headings: level 1 is the title's
_EMPHASIS = frozenset(("Strong", "Emph", "Underline"))
_PARAGRAPHS = frozenset(("Para", "Plain"))
_ITEMS_APART = "; "  # between the items of a list in a cell, as in HTML
_BETWEEN_CELLS: tuple[Node, ...] = ({"t": "Str", "c": ","}, {"t": "Space"})
Links = Sequence[Mapping[str, str]]
_STYLES = {"LowerAlpha": "a", "UpperAlpha": "A", "LowerRoman": "i", "UpperRoman": "I"}


def _html_blocks(source: str) -> list[Node]:
    """Return the blocks of HTML within another markup, or its words as one paragraph if pandoc refuses it."""
    try:
        return list(read_tree(source.encode(), "html")["blocks"])
    except Rejected:
        return [{"t": "Para", "c": [{"t": "Str", "c": raw_text("html", source.replace("<", " <"))}]}]


class PandocWalker:
    """Walks the blocks: keeps the canvas, the depth in lists and quotes, and the next marker.

    `shift` lowers all headings. Without `quotes`, as for word processors, indented text is not a quote. With
    `bold_headings`, short bold paragraphs are headings of level 2. `load` finds the pictures that the document names.
    """

    def __init__(
        self,
        canvas: Canvas,
        shift: int = 0,
        quotes: bool = True,
        bold_headings: bool = False,
        load: Loader = nowhere,
    ) -> None:
        self.canvas = canvas
        self._load = load
        self._drawn = canvas.add  # takes a document read by another reader
        self._caption = ""  # of the figure being drawn
        self._shift = shift
        self._quoting = quotes
        self._bold_headings = bold_headings
        self._lists = OpenLists()
        self._quotes = self._notes = 0
        self._lead = ""  # the emphasised text at the beginning of a paragraph
        self._marker = self._prefix = ""  # of the next text drawn: an item's number, a note's, "Warning: "

    def blocks(self, blocks: list[Node]) -> None:
        """Draw blocks in order; skip a picture's description if its caption repeats it."""
        if not self._quoting:
            blocks = _with_whole_listings(blocks)
        for node, next_ in zip(blocks, [*blocks[1:], None], strict=False):
            if next_ is not None and _is_picture(node) and plain_text(node["c"]) == _words(next_):
                self._caption = _words(next_)
                self._pictures_alone(node)
                self._caption = ""
                continue
            visit = getattr(self, "_" + node["t"].lower(), None)
            if visit:
                visit(node.get("c"))

    def _inlines(self, inlines: list[Node], draw: Callable[[str, Links], None]) -> None:
        """Pass the text and links of inlines to `draw`, draw their notes below, then count their page breaks."""
        rendered = Inlines(self._notes + 1, self._take)
        text, pages = self._paged(rendered.text(inlines))
        if CONTENTS_MARK in text:
            self.canvas.paragraph(NUMBER.sub(r"\1 ", text.replace(CONTENTS_MARK, "")), kind="toc")
        else:
            drawn = len(self.canvas.blocks)
            draw(text, rendered.links)
            if len(self.canvas.blocks) > drawn:
                self.canvas.note_inner_links(text, rendered.inner)
        self._show(rendered)
        first, self._notes = self._notes + 1, self._notes + len(rendered.notes)
        for number, note in enumerate(rendered.notes, first):
            with self._outside_lists():
                self._prefix = f"[^{number}]: "
                self.blocks(note)
                self._prefix = ""
        self._turn(pages)

    def _take(self, address: str) -> KeptPicture | None:
        data = self._load(address)
        return None if data is None else self.canvas.album.add(data)

    def _show(self, rendered: Inlines) -> None:
        """Draw the pictures of inlines below their block; a description that is part of the caption is not repeated."""
        for picture, alt in rendered.shown:
            self.canvas.show(picture, "" if alt in self._caption else alt, self._caption)

    def _pictures_alone(self, node: Node) -> None:
        """Draw the pictures of a paragraph whose text equals that of the caption next to it."""
        rendered = Inlines(take=self._take)
        rendered.text(node["c"])
        self._show(rendered)

    def _paged(self, text: str) -> tuple[str, int]:
        """Return text without page marks, and the number of pages that begin in it and count from the next block on."""
        marks = text.count(PAGE_MARK)
        if marks and _TURNED.match(text):
            self._turn(1)
            marks -= 1
        return text.replace(PAGE_MARK, ""), marks

    def _turn(self, pages: int) -> None:
        self.canvas.page += pages

    def _para(self, inlines: list[Node]) -> None:
        if self._bold_headings and not self._lists and _is_bold(inlines):
            self._header([_BOLD_LEVEL - self._shift, None, inlines])
        elif _is_typed(inlines):
            lines = (one["c"][1] if one["t"] == "Code" else "\n" for one in inlines)
            self._codeblock([["", [], []], "".join(lines).replace("\xa0", " ")])
        else:
            self._lead = plain_text(inlines[:1]) if inlines and _stands_out(inlines[0]) else ""
            self._plain(inlines)
            self._lead = ""

    def _plain(self, inlines: list[Node]) -> None:
        self._inlines(inlines, self._draw)

    def _draw(self, text: str, links: Links = ()) -> None:
        if not text.strip():
            return
        deeper = text.count(DEEPER_MARK)
        text, self._prefix = self._prefix + self._numbered(text.replace(DEEPER_MARK, "")), ""
        if self._marker:
            self.canvas.item(text, len(self._lists) + deeper, self._marker, links=links)
            self._marker = ""
        elif not self._quoting and (bullet := _BULLET.match(text)):
            self.canvas.item(text[bullet.end() :], max(1, len(self._lists)), links=links)
        elif self._quotes:
            self.canvas.quote(text, self._quotes, links=links)
        else:
            self.canvas.paragraph(text, lead=self._lead, links=links)

    def _numbered(self, text: str) -> str:
        """Return text with the number that its mark gives; for an item, that number, or none, becomes the marker."""
        number = NUMBER.search(text)
        if self._marker and number:
            self._marker = number[1]
            return NUMBER.sub("", text)
        return NUMBER.sub(r"\1 ", text)

    def _header(self, content: Any) -> None:
        level, _, inlines = content

        def draw(text: str, links: Links) -> None:
            self.canvas.heading(NUMBER.sub(r"\1 ", text), level + self._shift, links=links)

        self._inlines(inlines, draw)

    def _lineblock(self, lines: list[list[Node]]) -> None:
        joined = [one for line in lines for one in (*line, {"t": "LineBreak"})]
        self._para(joined)

    def _codeblock(self, content: Any) -> None:
        (_, classes, pairs), text = content
        named = [one for one in classes if one.lower() not in _NOT_LANGUAGES]
        stated = dict(pairs)
        language = stated.get("language") or (named[0] if named else "")
        self._marker = ""
        self.canvas.paragraph(stated.get("caption", ""))
        self.canvas.code(text.replace(PAGE_MARK, ""), re.sub(r"\W.*", "", language.strip("[]{}")).lower())
        self._turn(text.count(PAGE_MARK))

    def _rawblock(self, content: Any) -> None:
        text = raw_text(*content)
        if not any(map(str.isalnum, text)):
            return
        if content[0] == "html":
            self.blocks(_html_blocks(content[1]))
        else:
            self._draw(text)

    def _blockquote(self, blocks: list[Node]) -> None:
        self._quotes += self._quoting
        self.blocks(blocks)
        self._quotes -= self._quoting

    def _bulletlist(self, items: list[list[Node]]) -> None:
        self._lists.begin()
        self._items(items)

    def _orderedlist(self, content: Any) -> None:
        (start, style, delimiter), items = content
        self._lists.begin(start, _STYLES.get(style["t"], ""), _DELIMITERS.get(delimiter["t"], "{}."))
        self._items(items)

    def _items(self, items: list[list[Node]]) -> None:
        for item in items:
            self._marker = self._lists.marker()
            self.blocks(item)
        self._marker = ""
        self._lists.end()

    def _definitionlist(self, entries: list[Any]) -> None:
        for term, definitions in entries:
            blocks = [block for definition in definitions for block in definition]
            if blocks and blocks[0]["t"] in _PARAGRAPHS:
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
        if _ADMONITIONS & set(classes) and blocks and _is_title(blocks[0]):
            title = " ".join(_words(one) for one in blocks[0]["c"][1] if one["t"] in _PARAGRAPHS)
            self._prefix, blocks = f"{title}: " if title else "", blocks[1:]
        self.blocks(blocks)
        self._prefix = ""

    def _figure(self, content: Any) -> None:
        _, (_, caption), blocks = content
        said = _said(caption)
        self._caption = said
        for one in blocks:
            if one["t"] in _PARAGRAPHS and _said([one]) in said:
                self._pictures_alone(one)
            else:
                self.blocks([one])
        self._caption = ""
        self.blocks(caption)

    def _table(self, content: Any) -> None:
        table = read_table(content)
        self._marker = ""
        if table.boxed is not None:
            self.blocks([*table.caption, *table.boxed])
        else:
            self._draw_rows(table)

    def _draw_rows(self, table: PandocTable) -> None:
        drawn = len(self.canvas.blocks)
        self.blocks(table.caption)
        captioned = len(self.canvas.blocks) > drawn
        inlines = Inlines(self._notes + 1, self._take)
        cells, pages = _without_page_marks(self._rows(inlines, table.rows))
        self.canvas.table(cells, table.header_rows or None, captioned=captioned, links=inlines.links)
        self._turn(pages)
        self._below(inlines)

    def _rows(self, inlines: Inlines, rows: list[list[list[Node]]]) -> list[list[str]]:
        """Return the texts of rows; a long text that spans rows or columns is given only once."""
        drawn: list[list[str]] = []
        above: list[list[Node]] = []
        for row in rows:
            texts: list[str] = []
            for column, blocks in enumerate(row):
                before = row[column - 1] if column else []
                if blocks and blocks is before:
                    texts.append(texts[-1])
                elif blocks and column < len(above) and blocks is above[column]:
                    texts.append(drawn[-1][column] if len(drawn[-1][column]) <= REPEATED else "")
                else:
                    texts.append(self._cell(inlines, blocks))
            drawn.append(texts)
            above = row
        return drawn

    def _cell(self, inlines: Inlines, blocks: list[Node]) -> str:
        text, before = "", False
        for line, is_item in _cell_lines(blocks):
            own = NUMBER.sub(r"\1 ", inlines.text(line))
            text += (_ITEMS_APART if is_item and before else " ") * bool(text and own) + own
            before = is_item or (before and not own)
        return text

    def _below(self, inlines: Inlines) -> None:
        """Draw the pictures and notes of a table's cells."""
        self._show(inlines)
        for note in inlines.notes:
            self._notes += 1
            self._prefix = f"[^{self._notes}]: "
            self.blocks(note)
            self._prefix = ""

    @contextmanager
    def _outside_lists(self) -> Iterator[None]:
        kept = self._lists, self._quotes, self._marker, self._prefix
        self._lists, self._quotes, self._marker = OpenLists(), 0, ""
        yield
        self._lists, self._quotes, self._marker, self._prefix = kept


def block_lines(blocks: list[Node]) -> Iterator[list[Node]]:
    """Yield the inlines of every paragraph, item and line in blocks, at any depth."""
    for node in blocks:
        kind: str = node["t"]
        if kind in _LINES:
            yield from _LINES[kind](node["c"])
        elif kind in _INSIDE:
            for inner in _INSIDE[kind](node["c"]):
                yield from block_lines(inner)


def _cell_lines(blocks: list[Node]) -> Iterator[tuple[list[Node], bool]]:
    """Yield the lines of a table's cell, and whether each begins a list item."""
    for node in blocks:
        if node["t"] == "Table":
            yield from ((_row_line(row), True) for row in read_table(node["c"]).within)
        elif node["t"] not in ("BulletList", "OrderedList"):
            yield from ((line, False) for line in block_lines([node]))
        else:
            for item in _INSIDE[node["t"]](node["c"]):
                yield from ((line, not number) for number, line in enumerate(block_lines(item)))


def _row_line(row: list[list[Node]]) -> list[Node]:
    """Return the text of a row of a table within a cell as one line, with commas between its cells."""
    cells = [[*chain.from_iterable((*line, {"t": "Space"}) for line in block_lines(cell))][:-1] for cell in row]
    filled = [cell for cell in cells if cell]
    return [*chain.from_iterable((*cell, *_BETWEEN_CELLS) for cell in filled)][: -len(_BETWEEN_CELLS)]


def _without_page_marks(rows: list[list[str]]) -> tuple[list[list[str]], int]:
    """Return a table's cells without page marks, and the number of pages that begin in it."""
    pages = sum(cell.count(PAGE_MARK) for row in rows for cell in row)
    return [[cell.replace(PAGE_MARK, "") for cell in row] for row in rows], pages


def _entries(content: Any) -> Iterator[list[Node]]:
    """Yield the blocks of a definition list: each term as a line, then its definitions."""
    for term, definitions in content:
        yield [{"t": "Plain", "c": term}]
        yield from definitions


# The lines of each kind of leaf block, and the nested lists of blocks of each other kind.
_LINES: dict[str, Callable[[Any], Iterable[list[Node]]]] = {
    "Para": lambda inlines: (inlines,),
    "Plain": lambda inlines: (inlines,),
    "Header": lambda content: (content[2],),
    "CodeBlock": lambda content: ([{"t": "Code", "c": [["", [], []], " ".join(content[1].split())]}],),
    "LineBlock": lambda lines: lines,
}
_INSIDE: dict[str, Callable[[Any], Iterable[list[Node]]]] = {
    "BlockQuote": lambda blocks: (blocks,),
    "Div": lambda content: (content[-1],),
    "Figure": lambda content: (content[-1],),
    "BulletList": lambda items: items,
    "OrderedList": lambda content: content[1],
    "DefinitionList": _entries,
    "Table": lambda content: chain.from_iterable(read_table(content).within),
}


def _stands_out(node: Node) -> bool:
    return node["t"] in _EMPHASIS and not any(one["t"] == "Note" for one in node["c"])


def _said(blocks: list[Node]) -> str:
    return " ".join(plain_text(line) for line in block_lines(blocks))


def _is_picture(node: Node) -> bool:
    return node["t"] in _PARAGRAPHS and [one["t"] for one in node["c"]] == ["Image"]


def _is_title(node: Node) -> bool:
    """Return whether a block is the title at the beginning of an admonition."""
    return node["t"] == "Div" and "title" in node["c"][0][1]


def _words(node: Node) -> str:
    return plain_text(node["c"]) if node["t"] in _PARAGRAPHS else ""


def _with_whole_listings(blocks: list[Node]) -> list[Node]:
    """Return blocks with neighbouring ones of code joined, as word processors have a paragraph for each line."""
    joined = list[Node]()
    for node in blocks:
        if joined and node["t"] == joined[-1]["t"] == "CodeBlock":
            attributes, text = joined[-1]["c"]
            joined[-1] = {"t": "CodeBlock", "c": [attributes, f"{text}\n{node['c'][1]}"]}
        else:
            joined.append(node)
    return joined


def _is_typed(inlines: list[Node]) -> bool:
    """Return whether a paragraph is lines of code, as pandoc reads preformatted lines of MediaWiki."""
    return {one["t"] for one in inlines} == {"Code", "LineBreak"}


def _is_bold(inlines: list[Node]) -> bool:
    if not any(one["t"] == "Strong" for one in inlines):
        return False
    if any(one["t"] not in ("Strong", "Space", "SoftBreak") for one in inlines):
        return False
    return reads_as_heading(plain_text(inlines))


def reads_as_heading(text: str) -> bool:
    """Return whether a bold paragraph is short and does not end like a sentence or part of one."""
    return 0 < len(text) <= _MAX_BOLD_HEADING and text[-1] not in ".,;"
