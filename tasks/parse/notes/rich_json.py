"""Rich text in JSON: documents of many editors, each brought into the form of ProseMirror's, and drawn by one walk.

A document is a tree: a node has a type, and beneath it nodes or a text. Editors differ in the names of these fields:
ProseMirror, Tiptap, Box and Jira (`type`, `content`), Contentful (`nodeType`), Lexical (`root`, `children`), Slate and
Sanity (a list of blocks with `children`), Notion (blocks with `rich_text`), Quill (`ops`), Draft.js and Editor.js
(`blocks`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from docmill.tasks.parse.trees import whole

Node = Mapping[str, Any]
_ALIKE = {
    "document": "doc", "listitem": "listItem", "li": "listItem", "ul": "bulletList", "ol": "orderedList",
    "unorderedlist": "bulletList", "bulletedlist": "bulletList", "numberedlist": "orderedList", "text": "text",
    "hyperlink": "paragraph", "quote": "blockquote", "code": "codeBlock", "codeblock": "codeBlock", "pre": "codeBlock",
    "linebreak": "hardBreak", "hr": "rule", "title": "heading", "p": "paragraph", "td": "tableCell",
    "th": "tableHeader", "tr": "tableRow", "tableheadercell": "tableHeader",
}  # fmt: skip
"""Types of nodes by other names, without case and signs."""
_HEADING = re.compile(r"(?:heading|header|h)[-_ ]?(one|two|three|four|five|six|[1-6])\Z", re.IGNORECASE)
_ORDINALS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_NOTION = {
    "bulleted_list_item": "bulletList", "numbered_list_item": "orderedList", "to_do": "bulletList",
    "unordered-list-item": "bulletList", "ordered-list-item": "orderedList", "bullet": "bulletList",
    "number": "orderedList",
}  # fmt: skip
"""Blocks that are items of a list without a list around them."""
_DATA = frozenset(("text", "items", "code", "content"))  # in the blocks of Editor.js
_NAMES = frozenset(("type", "nodeType", "_type", "root", "blocks", "results", "ops", "children", "inlineStyleRanges"))
"""Fields of which a document, or its first block, has at least one."""
_NUMBERS = ("level", "order", "start")  # attributes that are numbers
_MAX_DEPTH = 100
"""Levels of nodes that are read; deeper ones, which only a damaged file has, would exceed Python's stack."""


def document_in(value: Any) -> Node | None:
    """Return the document that a JSON value is, as ProseMirror would write it, or None."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or _NAMES.isdisjoint(first):
        return None
    for read in (_by_type, _by_root, _by_blocks, _by_operations):
        if (blocks := read(value)) is not None:
            return {"type": "doc", "content": _in_lists(blocks)}
    return None


def _by_type(value: Any) -> list[Node] | None:
    """Read a node that is called a document."""
    if not isinstance(value, dict) or (value.get("type") or value.get("nodeType")) not in ("doc", "document"):
        return None
    blocks = _inside(value)
    return [_node(one, 0) for one in blocks] if blocks else None


def _by_root(value: Any) -> list[Node] | None:
    root = value.get("root") if isinstance(value, dict) else None
    if not isinstance(root, dict) or root.get("type") != "root" or not _inside(root):
        return None
    return [_node(one, 0) for one in _inside(root)]


def _by_blocks(value: Any) -> list[Node] | None:
    """Read a list of blocks, or an object that holds one."""
    held = _held_blocks(value) if isinstance(value, dict) else value
    if not isinstance(held, list) or not held or not all(map(_is_block, held)):
        return None
    return [_node(one, 0) for one in held]


def _held_blocks(value: Node) -> Any:
    if any(name in value for name in ("entityMap", "version", "time")):  # of Draft.js and Editor.js
        return value.get("blocks")
    return value.get("results") if value.get("object") == "list" else None


def _by_operations(value: Any) -> list[Node] | None:
    """Read the operations of Quill: texts, where the end of a line says what the line is."""
    operations = value.get("ops") if isinstance(value, dict) else None
    if not isinstance(operations, list) or not all(isinstance(one, dict) and "insert" in one for one in operations):
        return None
    blocks: list[Node] = []
    line: list[Node] = []
    for one in operations:
        attributes = _mapping(one.get("attributes"))
        first, *others = one["insert"].split("\n") if isinstance(one["insert"], str) else [""]
        line += _texts(first, attributes)
        for part in others:
            blocks.append(_quill_line(attributes, line))
            line = _texts(part, attributes)
    return [*blocks, *([_quill_line({}, line)] if line else [])]


def _texts(part: str, attributes: Node) -> list[Node]:
    return [_text(part, attributes.get("link"))] if part else []


def _quill_line(attributes: Node, line: list[Node]) -> Node:
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
    """Return whether an item of a list is a block: it has a type and a text of its own, by the names of an editor."""
    if not isinstance(value, dict) or not isinstance(value.get("type") or value.get("_type") or value.get("text"), str):
        return False
    if value.get("object") == "block" or "inlineStyleRanges" in value:
        return True
    children, data = value.get("children"), _mapping(value.get("data"))
    return _are_texts(children) if isinstance(children, list) else not _DATA.isdisjoint(data)


def _are_texts(children: list[Any]) -> bool:
    return all(isinstance(one, dict) and ("text" in one or "children" in one) for one in children)


def _node(value: Node, depth: int) -> Node:
    """Return a node in the form of ProseMirror."""
    kind = _kind_of(value)
    own = _mapping(value.get(kind)) or _mapping(value.get("data"))  # Notion's block, or that of Editor.js
    attributes = _attributes(value, own)
    if (words := _words_of(value, own)) is not None:
        return _text(words, value.get("url") or attributes.get("url"), value.get("marks"))
    level = _level(value, kind)
    inside = _inner(value, own, depth)
    name = "heading" if level or kind == "header" else _renamed(value, kind)
    if name == "listItem" and (texts := _leading(inside)):
        inside = [{"type": "paragraph", "content": texts}, *_behind(inside)]
    return {"type": name, "attrs": {"level": level} | attributes if level else attributes, "content": inside}


def _inner(value: Node, own: Node, depth: int) -> list[Node]:
    return [] if depth > _MAX_DEPTH else [_node(one, depth + 1) for one in (*_own_texts(value, own), *_inside(value))]


def _attributes(value: Node, own: Node) -> dict[str, Any]:
    """Return the attributes of a node, those that are numbers as such."""
    stated = {**own, **_mapping(value.get("attrs")), **_mapping(value.get("attributes"))}
    return stated | {name: number for name in _NUMBERS if (number := _number(stated.get(name)))}


def _level(value: Node, kind: str) -> int:
    """Return the level of a heading whose type, style or tag states it, 0 for others."""
    stated = _HEADING.match(kind) or _HEADING.match(str(value.get("style") or value.get("tag") or ""))
    return (_ORDINALS.get(stated[1].lower()) or int(stated[1])) if stated else 0


def _number(value: Any) -> int:
    """Return a number that JSON holds as such or as text, 0 for what is none."""
    return whole(str(value), 0)


def _kind_of(value: Node) -> str:
    style, kind = value.get("style"), str(value.get("type") or value.get("nodeType") or value.get("_type") or "")
    listed = value.get("listItem")  # of Sanity
    if isinstance(listed, str):
        return listed
    return style if kind == "block" and isinstance(style, str) and style == "blockquote" else kind


def _renamed(value: Node, kind: str) -> str:
    if kind == "list":  # of Lexical
        return "orderedList" if "number" in (value.get("listType"), value.get("tag")) else "bulletList"
    return kind if kind in _NOTION else _ALIKE.get(kind.replace("-", "").replace("_", "").lower(), kind)


def _words_of(value: Node, own: Node) -> str | None:
    """Return the text of a node that is one, or None."""
    for name in ("plain_text", "text", "value"):
        if isinstance(value.get(name), str) and not own and not _inside(value) and not _own_texts(value, own):
            return str(value[name])
    return None


def _own_texts(value: Node, own: Node) -> list[Node]:
    """Return the texts of a block that holds them apart from its inner blocks."""
    rich = own.get("rich_text") or own.get("title") or own.get("caption")
    return [one for one in rich if isinstance(one, dict)] if isinstance(rich, list) else list(_plain_texts(value, own))


def _plain_texts(value: Node, own: Node) -> Iterator[Node]:
    written = value.get("text") if "inlineStyleRanges" in value else None
    yield from ({"text": one} for one in (own.get("text"), own.get("code"), written) if isinstance(one, str))
    yield from map(_item, own.get("items") or ())


def _item(value: Any) -> Node:
    held = value.get("content") or value.get("text") if isinstance(value, dict) else value
    return {"type": "bulleted_list_item", "content": [{"text": str(held or "")}]}


def _inside(value: Node) -> list[Node]:
    for name in ("content", "children"):
        held = value.get(name)
        if isinstance(held, list):
            return [one for one in held if isinstance(one, dict)]
    return []


def _text(words: str, url: Any, marks: Any = None) -> Node:
    held = list(marks) if isinstance(marks, list) else []
    linked = [{"type": "link", "attrs": {"href": url}}] if isinstance(url, str) and url else []
    return {"type": "text", "text": words, "marks": [*held, *linked]}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _in_lists(blocks: list[Node]) -> list[Node]:
    """Return blocks in which items without a list around them are in one."""
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


def _leading(nodes: list[Node]) -> list[Node]:
    return [one for one in nodes if one.get("type") == "text"]


def _behind(nodes: list[Node]) -> list[Node]:
    return [one for one in nodes if one.get("type") != "text"]
