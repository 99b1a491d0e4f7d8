"""Rich text in JSON: Box Notes and documents of many editors, converted to ProseMirror's form and drawn by one walk.

A document is a tree: each node has a type, and contains nodes or a text. Editors use different names for these fields:
ProseMirror, Tiptap, Box and Jira (`type`, `content`), Contentful (`nodeType`), Lexical (`root`, `children`), Slate and
Sanity (a list of blocks with `children`), Notion (blocks with `rich_text`), Quill (`ops`), Draft.js and Editor.js
(`blocks`). Box Notes from before 2022 are text with attributes for spans of it (Etherpad); only the text is read.
"""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.hypertext import plain_words
from docmill.tasks.parse.passes.numbering import OpenLists
from docmill.tasks.parse.superscripts import lowered, raised
from docmill.tasks.parse.xml_trees import whole

_Node = Mapping[str, Any]
_BLOCK_WORDS = """
    paragraph heading blockquote codeblock bulletlist orderedlist checklist tasklist table tablerow listitem
    checklistitem taskitem calloutbox panel tablist
"""
_BLOCKS = frozenset(_BLOCK_WORDS.split())
_ORDERED = "orderedlist"
_LISTS = ("bulletlist", "checklist", "tasklist", _ORDERED)
_OLD_ITEM = "*"  # a list item in the text of an old note
_MAX_DEPTH = 100
"""Maximum depth of nodes that are read: a nested list takes two levels. Only a damaged file has deeper nodes, which
would exceed Python's stack."""
_ALIKE = {
    "document": "doc", "listitem": "listItem", "li": "listItem", "ul": "bulletList", "ol": "orderedList",
    "unorderedlist": "bulletList", "bulletedlist": "bulletList", "numberedlist": "orderedList", "text": "text",
    "hyperlink": "paragraph", "quote": "blockquote", "code": "codeBlock", "codeblock": "codeBlock", "pre": "codeBlock",
    "linebreak": "hardBreak", "hr": "rule", "title": "heading", "p": "paragraph", "td": "tableCell",
    "th": "tableHeader", "tr": "tableRow", "tableheadercell": "tableHeader",
}  # fmt: skip
"""Node types by their other names, without case and punctuation."""
_HEADING = re.compile(r"(?:heading|header|h)[-_ ]?(one|two|three|four|five|six|[1-6])\Z", re.IGNORECASE)
_ORDINALS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_NOTION = {
    "bulleted_list_item": "bulletList", "numbered_list_item": "orderedList", "to_do": "bulletList",
    "unordered-list-item": "bulletList", "ordered-list-item": "orderedList", "bullet": "bulletList",
    "number": "orderedList",
}  # fmt: skip
"""Blocks that are list items without a list around them."""
_DATA = frozenset(("text", "items", "code", "content"))  # in the blocks of Editor.js
_SAID = ("title", "text", "message", "caption")  # HTML in the blocks of Editor.js, in the order of the page
_NAMES = frozenset(
    ("type", "nodeType", "_type", "root", "blocks", "results", "ops", "children", "inlineStyleRanges", "plain_text")
)
"""A document, or its first block, has at least one of these fields."""
_NUMBERS = ("level", "order", "start")  # attributes that are numbers


def parse_box_note(data: bytes, _: ParseOptions) -> Parsed:
    """Return a note's headings, paragraphs, lists, tables and code; raise Rejected `corrupt` if it is not a note."""
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
    """Draw the blocks of a document in ProseMirror's form."""
    _NoteWalk(canvas).blocks(_inside(root), 0)


def document_node(value: Any) -> _Node | None:
    """Return the root of a ProseMirror document in a JSON value, or None."""
    places = (value, value.get("doc")) if isinstance(value, dict) else ()
    return next((one for one in places if isinstance(one, dict) and one.get("type") == "doc" and _inside(one)), None)


def old_text(value: Any) -> str | None:
    """Return the text of an old note in a JSON value, or None."""
    text = value.get("atext") if isinstance(value, dict) else None
    return text["text"] if isinstance(text, dict) and isinstance(text.get("text"), str) else None


def _draw_lines(canvas: Canvas, text: str) -> None:
    for line in text.splitlines():
        if line.startswith(_OLD_ITEM):
            canvas.item(line.removeprefix(_OLD_ITEM), 1)
        else:
            canvas.paragraph(line)


class _NoteWalk:
    """Draws nodes; `_marker` is the marker of the item whose first block comes next."""

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
        depth = len(self._lists) if self._marker else 0
        self._canvas.block(text, item=depth, quote=self._quotes, marker=self._marker, links=links)
        self._marker = "" if text.strip() else self._marker

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
    """Return a text, marked as superscript or subscript if it is one."""
    kinds = [_kind(mark) for mark in leaf.get("marks") or () if isinstance(mark, dict)]
    return raised(text) if "superscript" in kinds else lowered(text) if "subscript" in kinds else text


def _links(node: _Node) -> list[dict[str, str]]:
    """Return the links of a block, which are marks of its texts."""
    found = []
    for leaf in _leaves(node):
        for mark in leaf.get("marks") or ():
            url = _attributes(mark).get("href") if isinstance(mark, dict) else None
            if isinstance(url, str) and url and _said(leaf).strip():
                found.append({"text": _said(leaf).strip(), "url": url})
    return found


def document_in(value: Any) -> _Node | None:
    """Return a JSON value that is a document, in ProseMirror's form, or None."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or _NAMES.isdisjoint(first):
        return None
    for read in (_by_type, _by_root, _by_blocks, _by_operations, _by_pieces):
        if (blocks := read(value)) is not None:
            return {"type": "doc", "content": _in_lists(blocks)}
    return None


def _by_type(value: Any) -> list[_Node] | None:
    """Read a node with the type of a document."""
    if not isinstance(value, dict) or (value.get("type") or value.get("nodeType")) not in ("doc", "document"):
        return None
    blocks = _nodes_in(value)
    return [_node(one, 0) for one in blocks] if blocks else None


def _by_root(value: Any) -> list[_Node] | None:
    root = value.get("root") if isinstance(value, dict) else None
    if not isinstance(root, dict) or root.get("type") != "root" or not _nodes_in(root):
        return None
    return [_node(one, 0) for one in _nodes_in(root)]


def _by_blocks(value: Any) -> list[_Node] | None:
    """Read a list of blocks, or an object that contains one."""
    held = _held_blocks(value) if isinstance(value, dict) else value
    if not isinstance(held, list) or not held or not all(map(_is_block, held)):
        return None
    return [_node(one, 0) for one in held]


def _by_pieces(value: Any) -> list[_Node] | None:
    """Read the pieces of one text, such as a title in a database of Notion."""
    if not isinstance(value, list) or not all(isinstance(_mapping(one).get("plain_text"), str) for one in value):
        return None
    return [{"type": "paragraph", "content": [_text(one["plain_text"], one.get("href")) for one in value]}]


def _held_blocks(value: _Node) -> Any:
    if any(name in value for name in ("entityMap", "version", "time")):  # of Draft.js and Editor.js
        return value.get("blocks")
    return value.get("results") if value.get("object") == "list" else None


def _by_operations(value: Any) -> list[_Node] | None:
    """Read Quill's operations: texts, where the end of a line gives the type of the line."""
    operations = value.get("ops") if isinstance(value, dict) else None
    if not isinstance(operations, list) or not all(isinstance(one, dict) and "insert" in one for one in operations):
        return None
    blocks: list[_Node] = []
    line: list[_Node] = []
    for one in operations:
        attributes = _mapping(one.get("attributes"))
        first, *others = one["insert"].split("\n") if isinstance(one["insert"], str) else [""]
        line += _texts(first, attributes)
        for part in others:
            blocks.append(_quill_line(attributes, line))
            line = _texts(part, attributes)
    return [*blocks, *([_quill_line({}, line)] if line else [])]


def _texts(part: str, attributes: _Node) -> list[_Node]:
    return [_text(part, attributes.get("link"))] if part else []


def _quill_line(attributes: _Node, line: list[_Node]) -> _Node:
    kind = "paragraph"
    if attributes.get("list"):
        kind = {"ordered": "numbered_list_item"}.get(str(attributes["list"]), "bulleted_list_item")
    elif level := _number(attributes.get("header")):
        return {"type": "heading", "attrs": {"level": level}, "content": line}
    elif attributes.get("code-block"):
        kind = "codeBlock"
    elif attributes.get("blockquote"):
        return {"type": "blockquote", "content": [{"type": "paragraph", "content": line}]}
    return {"type": kind, "content": line}


def _is_block(value: Any) -> bool:
    """Return whether a list item is a block: it has a type and its own text, in an editor's field names."""
    if not isinstance(value, dict) or not isinstance(value.get("type") or value.get("_type") or value.get("text"), str):
        return False
    if value.get("object") == "block" or "inlineStyleRanges" in value:
        return True
    children, data = value.get("children"), value.get("data")
    if isinstance(children, list):
        return _are_texts(children)
    if "type" in value:  # of Editor.js, whose rules have no data
        return isinstance(data, dict)
    return not _DATA.isdisjoint(_mapping(data))


def _are_texts(children: list[Any]) -> bool:
    return all(isinstance(one, dict) and ("text" in one or "children" in one) for one in children)


def _node(value: _Node, depth: int) -> _Node:
    """Return a node in ProseMirror's form."""
    kind = _kind_of(value)
    own = _mapping(value.get(kind)) or _mapping(value.get("data"))  # Notion's block, or that of Editor.js
    attributes = _stated(value, own)
    if (words := _words_of(value, own)) is not None:
        return _text(words, value.get("url") or attributes.get("url"), value.get("marks"))
    level = _level(value, kind)
    inside = _inner(value, own, depth)
    name = "heading" if level or kind == "header" else _renamed(value, kind)
    if name == "listItem" and (texts := _leading(inside)):
        inside = [{"type": "paragraph", "content": texts}, *_behind(inside)]
    return {"type": name, "attrs": {"level": level} | attributes if level else attributes, "content": inside}


def _inner(value: _Node, own: _Node, depth: int) -> list[_Node]:
    return [] if depth > _MAX_DEPTH else [_node(one, depth + 1) for one in (*_own_texts(value, own), *_nodes_in(value))]


def _stated(value: _Node, own: _Node) -> dict[str, Any]:
    """Return the attributes of a node, with numeric ones as numbers."""
    stated = {**own, **_mapping(value.get("attrs")), **_mapping(value.get("attributes"))}
    return stated | {name: number for name in _NUMBERS if (number := _number(stated.get(name)))}


def _level(value: _Node, kind: str) -> int:
    """Return the level of a heading from its type, style or tag, or 0 for other nodes."""
    stated = _HEADING.match(kind) or _HEADING.match(str(value.get("style") or value.get("tag") or ""))
    return (_ORDINALS.get(stated[1].lower()) or int(stated[1])) if stated else 0


def _number(value: Any) -> int:
    """Return a number that JSON stores as a number or as text, or 0 for anything else."""
    return whole(str(value), 0)


def _kind_of(value: _Node) -> str:
    style, kind = value.get("style"), str(value.get("type") or value.get("nodeType") or value.get("_type") or "")
    listed = value.get("listItem")  # of Sanity
    if isinstance(listed, str):
        return listed
    return style if kind == "block" and isinstance(style, str) and style == "blockquote" else kind


def _renamed(value: _Node, kind: str) -> str:
    if kind == "list":  # of Lexical, which says `number`, and of Editor.js
        stated = (value.get("listType"), value.get("tag"), value.get("style"), _mapping(value.get("data")).get("style"))
        return "orderedList" if "number" in stated or "ordered" in stated else "bulletList"
    return kind if kind in _NOTION else _ALIKE.get(kind.replace("-", "").replace("_", "").lower(), kind)


def _words_of(value: _Node, own: _Node) -> str | None:
    """Return the text of a text node, or None; Notion gives that of its pieces, whatever they are, as `plain_text`."""
    if isinstance(value.get("plain_text"), str):
        return str(value["plain_text"])
    for name in ("text", "value"):
        if isinstance(value.get(name), str) and not own and not _nodes_in(value) and not _own_texts(value, own):
            return str(value[name])
    return None


def _own_texts(value: _Node, own: _Node) -> list[_Node]:
    """Return the texts of a block that stores them separately from its inner blocks."""
    rich = own.get("rich_text") or own.get("title") or own.get("caption")
    return [one for one in rich if isinstance(one, dict)] if isinstance(rich, list) else list(_plain_texts(value, own))


def _plain_texts(value: _Node, own: _Node) -> Iterator[_Node]:
    written = value.get("text") if "inlineStyleRanges" in value else None
    yield from ({"text": one} for one in (own.get("code"), written) if isinstance(one, str))
    said = "\n".join(_shown(own[name]) for name in _SAID if isinstance(own.get(name), str))
    yield from [{"text": said}] if said else []
    yield from _items(own, 0)
    if isinstance(own.get("content"), list):
        yield from _rows(own["content"], bool(own.get("withHeadings")))


def _rows(rows: list[Any], headed: bool) -> Iterator[_Node]:
    """Yield the rows of a table of Editor.js, whose first may be a header."""
    for row in rows:
        cells = [{"text": _shown(str(cell))} for cell in row] if isinstance(row, list) else []
        kind = "tableHeader" if headed and row is rows[0] else "tableCell"
        yield {"type": "tableRow", "content": [{"type": kind, "content": [cell]} for cell in cells]}


def _shown(source: str) -> str:
    return html.unescape(plain_words(source))


def _items(own: _Node, depth: int) -> Iterator[_Node]:
    """Yield the items of a list of Editor.js: texts, or objects with a text and inner items."""
    held = own.get("items")
    for one in held if isinstance(held, list) and depth < _MAX_DEPTH else ():
        item = _mapping(one)
        text = _shown(str(item.get("content") or item.get("text") or "" if item else one))
        inner = list(_items(item, depth + 1))
        lists = [{"type": "list", "style": own.get("style"), "content": inner}] if inner else []
        yield {"type": "listItem", "content": [{"type": "paragraph", "content": [{"text": text}]}, *lists]}


def _nodes_in(value: _Node) -> list[_Node]:
    for name in ("content", "children"):
        held = value.get(name)
        if isinstance(held, list):
            return [one for one in held if isinstance(one, dict)]
    return []


def _text(words: str, url: Any, marks: Any = None) -> _Node:
    held = list(marks) if isinstance(marks, list) else []
    linked = [{"type": "link", "attrs": {"href": url}}] if isinstance(url, str) and url else []
    return {"type": "text", "text": words, "marks": [*held, *linked]}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _in_lists(blocks: list[_Node]) -> list[_Node]:
    """Return blocks with lists added around items that have none."""
    whole: list[dict[str, Any]] = []
    for one in blocks:
        kind, held = _NOTION.get(str(one.get("type"))), list(one.get("content") or ())
        if kind is None:
            whole.append({**one, "content": _in_lists(held)} if held else dict(one))
            continue
        item = {
            "type": "listItem",
            "content": [{"type": "paragraph", "content": _leading(held)}, *_in_lists(_behind(held))],
        }
        if whole and whole[-1]["type"] == kind:
            whole[-1]["content"].append(item)
        else:
            whole.append({"type": kind, "content": [item]})
    return list(whole)


def _leading(nodes: list[_Node]) -> list[_Node]:
    return [one for one in nodes if one.get("type") == "text"]


def _behind(nodes: list[_Node]) -> list[_Node]:
    return [one for one in nodes if one.get("type") != "text"]
