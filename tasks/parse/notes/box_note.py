"""Box Notes, and other documents of ProseMirror: a tree of nodes in JSON, drawn as Markdown.

Notes of before 2022 are text with attributes for spans of it (Etherpad), of which the text is read.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.formulas.scripts import lowered, raised
from docmill.tasks.parse.passes.numbering import OpenLists

_Node = Mapping[str, Any]
_BLOCK_WORDS = """
    paragraph heading blockquote codeblock bulletlist orderedlist checklist tasklist table tablerow listitem
    checklistitem taskitem calloutbox panel tablist
"""
_BLOCKS = frozenset(_BLOCK_WORDS.split())
_ORDERED = "orderedlist"
_LISTS = ("bulletlist", "checklist", "tasklist", _ORDERED)
_OLD_ITEM = "*"  # an item of a list in the text of an old note
_MAX_DEPTH = 100
"""Levels of nodes that are read: a list in a list takes two. Deeper ones, which only a damaged file has, would exceed
Python's stack."""


def parse_box_note(data: bytes, _: ParseOptions) -> Parsed:
    """Return a note's headings, paragraphs, lists, tables and code; raises Rejected `corrupt` for what is none."""
    found = decode(data)
    try:
        value = json.loads(found.text)
    except ValueError as error:
        raise Rejected("corrupt", f"not a note: {error}") from error
    canvas = Canvas()
    if (root := document_node(value)) is not None:
        draw_document(canvas, root)
    elif (text := old_text(value)) is not None:
        _draw_lines(canvas, text)
    else:
        raise Rejected("corrupt", "not a note: it has neither a `doc` nor an `atext`")
    title = value.get("title") if isinstance(value.get("title"), str) else ""
    return canvas.parsed(title or canvas.first_heading(), found.metadata)


def draw_document(canvas: Canvas, root: _Node) -> None:
    """Draw the blocks of a document in the form of ProseMirror."""
    _NoteWalk(canvas).blocks(_inside(root), 0)


def document_node(value: Any) -> _Node | None:
    """Return the root of a ProseMirror document in a JSON value, or None."""
    places = (value, value.get("doc")) if isinstance(value, dict) else ()
    return next((one for one in places if isinstance(one, dict) and one.get("type") == "doc" and _inside(one)), None)


def old_text(value: Any) -> str | None:
    """Return the text of a note of the old form in a JSON value, or None."""
    text = value.get("atext") if isinstance(value, dict) else None
    return text["text"] if isinstance(text, dict) and isinstance(text.get("text"), str) else None


def _draw_lines(canvas: Canvas, text: str) -> None:
    for line in text.splitlines():
        if line.startswith(_OLD_ITEM):
            canvas.item(line.removeprefix(_OLD_ITEM), 1)
        else:
            canvas.paragraph(line)


class _NoteWalk:
    """Draws nodes; `_marker` is that of the item whose first block comes next."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._marker = ""
        self._lists, self._quotes = OpenLists(), 0

    def blocks(self, nodes: list[_Node], depth: int) -> None:
        """Draw blocks in order; `depth` is the number of nodes around them."""
        for node in nodes if depth < _MAX_DEPTH else ():
            draw = _DRAWN.get(_kind(node))
            if draw is not None:
                draw(self, node, depth)
            elif any(_kind(one) in _BLOCKS for one in _inside(node)):
                self.blocks(_inside(node), depth + 1)
            else:
                self._paragraph(node, depth)

    def _paragraph(self, node: _Node, _: int) -> None:
        text, links = _words(node), _links(node)
        if self._marker:
            self._canvas.item(text, len(self._lists), self._marker, links=links)
            self._marker = "" if text.strip() else self._marker
        elif self._quotes:
            self._canvas.quote(text, self._quotes, links=links)
        else:
            self._canvas.paragraph(text, links=links)

    def _heading(self, node: _Node, _: int) -> None:
        level = _attributes(node).get("level")
        self._canvas.heading(_words(node), level if isinstance(level, int) else 1)

    def _code(self, node: _Node, _: int) -> None:
        self._canvas.code(_words(node), str(_attributes(node).get("language") or ""))

    def _quote(self, node: _Node, depth: int) -> None:
        self._quotes += 1
        self.blocks(_inside(node), depth + 1)
        self._quotes -= 1

    def _list(self, node: _Node, depth: int) -> None:
        stated = _attributes(node).get("order") or _attributes(node).get("start")
        self._lists.begin((stated if isinstance(stated, int) else 1) if _kind(node) == _ORDERED else None)
        for item in _inside(node):
            self._marker = self._lists.marker()
            self.blocks(_inside(item), depth + 2)
        self._marker = ""
        self._lists.end()

    def _table(self, node: _Node, _: int) -> None:
        rows = [[" ".join(_lines(cell)) for cell in _inside(row)] for row in _inside(node)]
        headed = bool(rows) and all(_kind(cell) == "tableheader" for cell in _inside(_inside(node)[0]))
        self._canvas.table(rows, 1 if headed else None)


_DRAWN: dict[str, Callable[[_NoteWalk, _Node, int], None]] = {
    "paragraph": _NoteWalk._paragraph,
    "heading": _NoteWalk._heading,
    "codeblock": _NoteWalk._code,
    "blockquote": _NoteWalk._quote,
    **dict.fromkeys(_LISTS, _NoteWalk._list),
    "table": _NoteWalk._table,
}


def _kind(node: _Node) -> str:
    """Return the type of a node; editors write `bullet_list` or `bulletList`."""
    return str(node.get("type") or "").replace("_", "").lower()


def _inside(node: _Node) -> list[_Node]:
    content = node.get("content")
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _attributes(node: _Node) -> Mapping[str, Any]:
    stated = node.get("attrs")
    return stated if isinstance(stated, dict) else {}


def _leaves(node: _Node, depth: int = 0) -> Iterator[_Node]:
    """Yield the innermost nodes within a node, in order."""
    inside = _inside(node) if depth < _MAX_DEPTH else []
    if not inside:
        yield node
    for one in inside:
        yield from _leaves(one, depth + 1)


def _words(node: _Node) -> str:
    return "".join(map(_said, _leaves(node)))


def _lines(node: _Node) -> Iterator[str]:
    """Yield the text of each block within a node, such as the items of a list in a cell."""
    inner = [one for one in _inside(node) if _kind(one) in _BLOCKS]
    if not inner:
        yield _words(node)
    for one in inner:
        yield from _lines(one)


def _said(leaf: _Node) -> str:
    if _kind(leaf) == "hardbreak":
        return "\n"
    text = leaf.get("text")
    if isinstance(text, str):
        return _raised(leaf, text)
    stated = (_attributes(leaf).get(name) for name in ("text", "label", "shortName", "url", "title"))
    return next((one for one in stated if isinstance(one, str)), "")


def _raised(leaf: _Node, text: str) -> str:
    """Return a text with the marks of raised or lowered letters if it is so."""
    kinds = [_kind(mark) for mark in leaf.get("marks") or () if isinstance(mark, dict)]
    return raised(text) if "superscript" in kinds else lowered(text) if "subscript" in kinds else text


def _links(node: _Node) -> list[dict[str, str]]:
    """Return the links of a block: marks of its texts."""
    found = []
    for leaf in _leaves(node):
        for mark in leaf.get("marks") or ():
            url = _attributes(mark).get("href") if isinstance(mark, dict) else None
            if isinstance(url, str) and url and _said(leaf).strip():
                found.append({"text": _said(leaf).strip(), "url": url})
    return found
