"""The nodes of an XML tree: what they are called, whose titles they hold, what their words are."""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree

TITLES = frozenset(("title", "head", "heading", "article-title", "invention-title", "headline", "doc-title"))
# A work that is referred to has a title, but is no section.
CITATIONS = frozenset(("mixed-citation", "element-citation", "nlm-citation", "citation", "biblstruct", "biblioentry"))
_PARAGRAPHS = ("p", "para", "simpara", "paragraph", "ab", "claim-text", "abstract", "quote", "blockquote", "note")
PROSE = CITATIONS.union(_PARAGRAPHS)
ITEMS = frozenset(("li", "listitem", "list-item", "item"))
CODES = frozenset(
    ("code-block", "eg", "codeblock", "programlisting", "screen", "listing", "pre", "literallayout", "preformat")
)
LISTS = frozenset(("ul", "ol", "list", "itemizedlist", "orderedlist", "steps"))
# What has a title that is a caption, not that of a section.
_FLOATS = ("caption", "figure", "informalfigure", "example", "equation", "fig", "formula", "boxed-text")
CAPTIONED = frozenset(_FLOATS)
TABLES = frozenset(("table", "informaltable", "simpletable"))
# In them a document's own title stands, apart from its text.
_HEAD_WORDS = """
    title-group info articleinfo bookinfo chapterinfo sectioninfo front article-meta teiheader filedesc titlestmt
    authorgroup
"""
HEADS = frozenset(_HEAD_WORDS.split())
_LINKS = ("href", "url", "target")
_TAG = re.compile(r"<[^<>]{1,1000}>")
_ADDRESS = re.compile(r"(?!#)\S+\Z")
_MANY_NODES = 20_000
_MAX_LINKS = 200


def name_of(node: Any) -> str:
    """Return a node's name without its namespace; "" for what is no element."""
    return str(node.tag).rpartition("}")[2] if isinstance(node.tag, str) else ""


def links_in(node: Any) -> dict[str, Any]:
    """Return the attribute `links` of what a node holds, if any of it has words and an address."""
    return _links(node.iter())


def _links(nodes: Iterable[Any]) -> dict[str, Any]:
    links: list[dict[str, str]] = []
    for one in nodes:
        for name, value in one.items() if isinstance(one.tag, str) else ():
            if name.rpartition("}")[2] in _LINKS and _ADDRESS.match(value) and len(links) < _MAX_LINKS:
                links.append({"text": words_of(one) or value, "url": value})
    return {"links": links} if links else {}


def words_of(node: Any) -> str:
    """Return the text of a node in one line; pages inside of it, as feeds have them, lose their tags."""
    return _plain("".join(_pieces(node)) if len(node) else node.text or "")


def _plain(text: str) -> str:
    if "</" in text or "<br" in text or "<p" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(text.split())


def _pieces(top: Any) -> Iterator[str]:
    for event, node in etree.iterwalk(top, events=("start", "end")):
        if event == "end":
            yield (node.tail or _between(node)) if node is not top else ""
        elif isinstance(node.tag, str):
            if name_of(node).lower() in _BLOCKS:
                yield " "
            yield node.text or ""
        elif node.tag is etree.Entity:
            yield html.unescape(node.text or "")


def _between(node: Any) -> str:
    """Return what stands between a node and the next: a space where only elements stand beside it."""
    parent = node.getparent()
    if parent is None or node.getnext() is None or name_of(parent).lower() in _JOINED:
        return ""
    return "" if is_mixed(parent) else " "


def parts_of(top: Any) -> Iterator[tuple[str, dict[str, Any]] | Any]:
    """Yield in order the words of a node, with their attribute `links`, and the blocks that stand between them."""
    text: list[str] = []
    around: list[Any] = []
    steps = etree.iterwalk(top, events=("start", "end"))
    for event, node in steps:
        if event == "end":
            text.append((node.tail or _between(node)) if node is not top else "")
        elif node is not top and name_of(node).lower() in _BLOCKS - TITLES:
            yield _plain("".join(text)), _links(around)
            yield node
            text, around = [], []
            steps.skip_subtree()
        elif isinstance(node.tag, str):
            text.append(node.text or "")
            around.append(node)
        elif node.tag is etree.Entity:
            text.append(html.unescape(node.text or ""))
    yield _plain("".join(text)), _links(around)


def blocks_in(node: Any) -> Iterator[Any]:
    """Yield the outermost nodes inside of a node that are blocks of their own."""
    steps = etree.iterwalk(node, events=("start",))
    for _, inner in steps:
        if inner is not node and name_of(inner).lower() in _BLOCKS - TITLES:
            steps.skip_subtree()
            yield inner


def is_mixed(node: Any) -> bool:
    if not len(node):
        return False
    return bool((node.text or "").strip()) or any((child.tail or "").strip() for child in node)


_JOINED = TITLES.union(_PARAGRAPHS)
_BLOCKS = PROSE | ITEMS | CODES | LISTS | TITLES | TABLES


def is_ordered(node: Any) -> bool:
    """Return whether a list's items are numbered."""
    kind = (node.get("list-type") or node.get("rend") or node.get("type") or "").lower()
    return name_of(node).lower() in ("ol", "orderedlist", "steps") or kind.startswith(("order", "number", "decimal"))


def is_prose(root: Any) -> bool:
    """Return whether most of the words of a tree stand in paragraphs or around markup inside of sentences."""
    prose = others = 0
    steps = etree.iterwalk(root, events=("start",))
    for number, (_, node) in enumerate(steps):
        if number > _MANY_NODES:
            break
        if name_of(node).lower() in PROSE or is_mixed(node):
            prose += len(words_of(node))
            steps.skip_subtree()
        else:
            others += len((node.text or "").strip())
    return prose > others


def is_record(node: Any, prose: bool) -> bool:
    """Return whether a node is one of several alike and holds more than words."""
    if not len(node) and (prose or not node.attrib):
        return False
    return any(one is not None and one.tag == node.tag for one in (node.getnext(), node.getprevious()))


def title_of(node: Any) -> str:
    """Return the title of a node: the words of a child that is called so."""
    for child in node if len(node) and name_of(node).lower() not in CITATIONS else ():
        name = name_of(child).lower()
        if name in TITLES and not (name == "head" and len(child) and not is_mixed(child)):
            return words_of(child)
        if name in HEADS and (title := title_of(child)):
            return title
    return ""


def is_title_of(title: Any, node: Any) -> bool:
    """Return whether a title is that of a node, or of a head in it."""
    parent = title.getparent()
    while parent is not None and parent is not node and name_of(parent).lower() in HEADS:
        parent = parent.getparent()
    return parent is node
