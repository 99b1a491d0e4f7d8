"""XML nodes: names, titles and words, and the parts of patents (WIPO ST.36, ST.96, ST.32)."""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree

from docmill.tasks.parse.markup.html.html_nodes import holds_markup

TITLES = frozenset((
    "title", "head", "heading", "article-title", "articletitle", "invention-title", "headline", "doc-title", "h",
    "b540",
))  # fmt: skip
# A cited work has a title but is not a section.
CITATIONS = frozenset(("mixed-citation", "element-citation", "nlm-citation", "citation", "biblstruct", "biblioentry"))
# Whatever a work has appeared in also has a title.
_AROUND = frozenset(("journal", "journal-meta", "journalbook", "relateditem", "related-object", "series", "monogr"))
_PARAGRAPHS = (
    "p", "para", "simpara", "paragraph", "ab", "claim-text", "abstract", "abstracttext", "quote", "blockquote", "note",
    "shortdesc",
)  # fmt: skip
_INLINE_WORDS = """
    a abbr acronym b big bold cite code em emphasis ext-link footnote foreign formula graphic hi i inline-formula
    inline-graphic italic kbd label link literal lb math mono named-content p3 ph pb phrase ptr q quote ref s samp sc
    seg small span strike strong styled-content sub subscript sup superscript term tex-math tt u ulink underline uri
    var w xref br ruby date num rs persname placename orgname bibl name
    apiname cmdname codeph filepath msgph parmname uicontrol userinput varname wintitle xmlatt xmlelement
"""
_MAY_BE_FIELDS = frozenset(("abstract", "quote", "blockquote", "note"))  # words that are also names of fields
INLINE = frozenset(_INLINE_WORDS.split())
"""Elements within a line, in the dialects of documents."""
PLAIN = frozenset((
    "b", "big", "bold", "em", "emphasis", "hi", "i", "italic", "ph", "phrase", "q", "span", "strong", "styled-content",
    "u",
))  # fmt: skip
"""Those of them whose names say how words look, and nothing of what they are."""
PROSE = CITATIONS.union(_PARAGRAPHS)
ITEMS = frozenset(("li", "listitem", "list-item", "item", "step", "substep", "sli"))
CODES = frozenset(
    ("code-block", "eg", "codeblock", "programlisting", "screen", "listing", "pre", "literallayout", "preformat")
)
_COUNTED = frozenset(("ol", "orderedlist", "steps", "substeps", "procedure"))
LISTS = _COUNTED.union(("ul", "list", "itemizedlist", "steps-unordered", "sl"))
# Elements whose title is a caption rather than a section's title.
_FLOATS = ("caption", "figure", "informalfigure", "example", "equation", "fig", "formula", "boxed-text")
CAPTIONED = frozenset(_FLOATS)
TABLES = frozenset(("table", "informaltable", "simpletable", "choicetable", "properties"))
# Containers of the document's own title, separate from its text.
_HEAD_WORDS = """
    title-group info articleinfo bookinfo chapterinfo sectioninfo front article-meta teiheader filedesc titlestmt
    authorgroup
"""
HEADS = frozenset(_HEAD_WORDS.split())
_JOINED = TITLES.union(_PARAGRAPHS)  # no space is put between their children
_BLOCKS = PROSE | ITEMS | CODES | LISTS | TITLES | TABLES
_STANDING_APART = _BLOCKS - TITLES  # a title within a sentence is that of a work, and part of the sentence
_LINKS = ("href", "url", "target")
_TAG = re.compile(r"<[^<>]{1,1000}>")
_ADDRESS = re.compile(r"(?!#)\S+\Z")
_STATED_LEVELS = frozenset("123456")
_MANY_NODES = 20_000
"""Nodes that decide whether a tree is prose. Fewer may all be head and table of contents, without words in paragraphs;
without a limit, data of millions of records would be read twice."""
_CLASSES = frozenset(
    f"classification-{system}" for system in ("ipc", "ipcr", "cpc", "national", "locarno", "ecla", "ipc-primary")
).union(("b511", "b512", "b521", "b522"))
GROUPS = _CLASSES | frozenset(
    (
        "classifications-ipcr",
        "classifications-cpc",
        "classifications-national",
        "b510",
        "b520",
        "b510ep",
        "b520ep",
        "b000",
    )
)
"""Elements that contain only codes."""
_PARTS = {"abstract": "Abstract", "description": "Description", "claims": "Claims", "sdocl": "Claims"}
_MAX_CODES = 100  # of one patent: a file with hundreds contains many patents, as data
_STATED = re.compile(r"\s*([0-9]{1,6})\s*")
_NUMBER = re.compile(r"\s*([0-9]{1,4})\s*[.)]\s*")


def name_of(node: Any) -> str:
    """Return a node's name without its namespace; "" if it is not an element."""
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def links_in(nodes: Iterable[Any]) -> Iterator[dict[str, str]]:
    """Yield the links of nodes that have an address."""
    for one in nodes:
        for name, value in one.items() if isinstance(one.tag, str) else ():
            if name.rpartition("}")[2] in _LINKS and _ADDRESS.match(value):
                yield {"text": words_of(one) or value, "url": value}


def words_of(node: Any) -> str:
    """Return the text of a node on one line; embedded HTML, as in feeds, loses its tags."""
    return _plain("".join(_pieces(node)) if len(node) else node.text or "")


def _plain(text: str) -> str:
    if holds_markup(text):
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(text.split())


def _pieces(top: Any) -> Iterator[str]:
    for event, node in etree.iterwalk(top, events=("start", "end")):
        if event == "start":
            yield (" " if name_of(node).lower() in _BLOCKS else "") + _beginning(node)
        elif node is not top:
            yield node.tail or _between(node)


def _beginning(node: Any) -> str:
    """Return the text before a node's first child; an entity defined elsewhere is read as an HTML entity."""
    if isinstance(node.tag, str):
        return node.text or ""
    return html.unescape(node.text or "") if node.tag is etree.Entity else ""


def _between(node: Any) -> str:
    """Return the text between a node and the next; a space if the parent contains only elements."""
    parent = node.getparent()
    if parent is None or node.getnext() is None or name_of(parent).lower() in _JOINED:
        return ""
    return "" if is_mixed(parent) else " "


def parts_of(top: Any) -> Iterator[tuple[str, list[Any]] | Any]:
    """Yield, in order, the words of a node with the nodes in them, and the blocks in between."""
    text: list[str] = []
    around: list[Any] = []
    steps = etree.iterwalk(top, events=("start", "end"))
    for event, node in steps:
        if event == "end":
            text.append("" if node is top else node.tail or _between(node))
        elif node is not top and name_of(node).lower() in _STANDING_APART:
            yield _plain("".join(text)), around
            yield node
            text, around = [], []
            steps.skip_subtree()
        else:
            text.append(_beginning(node))
            around.append(node)
    yield _plain("".join(text)), around


def blocks_in(node: Any) -> Iterator[Any]:
    """Yield the outermost blocks within a node."""
    steps = etree.iterwalk(node, events=("start",))
    for _, inner in steps:
        if inner is not node and name_of(inner).lower() in _STANDING_APART:
            steps.skip_subtree()
            yield inner


def has_blocks(node: Any) -> bool:
    """Return whether a node contains blocks."""
    return next(blocks_in(node), None) is not None


def is_fields(node: Any) -> bool:
    """Return whether a node named like a paragraph contains fields: at least two elements and no other words."""
    if len(node) < 2 or name_of(node).lower() not in _MAY_BE_FIELDS or is_mixed(node):
        return False
    return not any(name_of(one).lower() in INLINE for one in node)


def is_mixed(node: Any) -> bool:
    """Return whether a node has mixed content: words next to its children."""
    if not len(node):
        return False
    return bool((node.text or "").strip()) or any((child.tail or "").strip() for child in node)


def is_ordered(node: Any) -> bool:
    """Return whether a list's items are numbered."""
    kind = (node.get("list-type") or node.get("rend") or node.get("type") or "").lower()
    return name_of(node).lower() in _COUNTED or kind.startswith(("order", "number", "decimal"))


def is_prose(root: Any) -> bool:
    """Return whether most words of a tree are in paragraphs or in mixed content."""
    prose = others = 0
    steps = etree.iterwalk(root, events=("start",))
    for number, (_, node) in enumerate(steps):
        if number > _MANY_NODES:
            break
        if is_mixed(node) or (name_of(node).lower() in PROSE and not is_fields(node)):
            prose += len(words_of(node))
            steps.skip_subtree()
        else:
            others += len((node.text or "").strip())
    return prose > others


def is_record(node: Any, prose: bool) -> bool:
    """Return whether a node is one of several alike and is more than words."""
    if not len(node) and (prose or not node.attrib):
        return False
    return has_twin(node)


def has_twin(node: Any) -> bool:
    """Return whether a sibling of a node has the same name."""
    after, before = node.getnext(), node.getprevious()
    return (after is not None and after.tag == node.tag) or (before is not None and before.tag == node.tag)


def title_of(node: Any) -> str:
    """Return the title of a node: the words of its title child."""
    if not len(node) or name_of(node).lower() in CITATIONS or is_around(node):
        return ""
    for child in node:
        name = name_of(child).lower()
        if name in TITLES and not _is_whole_head(child, name):
            return words_of(child)
        if name in HEADS and (title := title_of(child)):
            return title
    return ""


def is_around(node: Any) -> bool:
    """Return whether a node is what a work has appeared in, such as a journal, rather than a part of the work."""
    return node is not None and name_of(node).lower() in _AROUND


def first_title(node: Any) -> Any:
    """Return the first title among a node's children, or the node itself."""
    return next((child for child in node if name_of(child).lower() in TITLES), node)


def is_first_title(node: Any) -> bool:
    """Return whether no sibling before a node is a title."""
    return not any(name_of(one).lower() in TITLES for one in node.itersiblings(preceding=True))


def heading_level(node: Any) -> int:
    """Return the level that a heading states, or 1."""
    stated = node.get("level") or node.get("LVL") or ""
    return int(stated) if stated in _STATED_LEVELS else 1


def _is_whole_head(node: Any, name: str) -> bool:
    """Return whether a `head`, which is a title in TEI, contains metadata, as in other dialects."""
    return name == "head" and len(node) > 0 and not is_mixed(node)


def is_title_of(title: Any, node: Any) -> bool:
    """Return whether a title belongs to a node, or to a head in it."""
    parent = title.getparent()
    while parent is not None and parent is not node and name_of(parent).lower() in HEADS:
        parent = parent.getparent()
    return parent is node


def classifications(root: Any) -> list[str]:
    """Return the codes of a patent's classes as they are cited, such as "F03B 7/00", each once."""
    codes = (_code(node) for node in root.iter("{*}*") if name_of(node).lower() in _CLASSES)
    return list(dict.fromkeys(filter(None, codes)))[:_MAX_CODES]


def _code(node: Any) -> str:
    parts = {name_of(part).lower(): words_of(part) for part in node.iterdescendants("{*}*")}
    if "text" in parts:  # the version and the office follow the symbol
        return " ".join(parts["text"].split()[:2])
    if "section" in parts:
        symbol = "".join(parts.get(name, "") for name in ("section", "class", "subclass"))
        return f"{symbol} {parts.get('main-group', '')}/{parts.get('subgroup', '')}".strip(" /")
    return parts.get("main-classification") or parts.get("pdat") or ("" if len(node) else words_of(node))


def choose_title(root: Any) -> None:
    """Keep one title of a patent with titles in several languages: the one in its own language, else the first."""
    own = (root.get("lang") or "").lower()
    for titles in root.iter("{*}B540"):
        chosen = _chosen(list(titles.iterchildren("{*}B542")), own)
        for child in list(titles) if chosen is not None else ():
            if child is not chosen:
                titles.remove(child)


def _chosen(titles: list[Any], language: str) -> Any:
    """Return the title after its own language's name, else the first, or None if there are none."""
    said = (one.getprevious() for one in titles)
    languages = [words_of(before).lower() if before is not None else "" for before in said]
    return titles[languages.index(language) if language in languages else 0] if titles else None


def part_of(node: Any) -> str:
    """Return the name of a part of a patent without a title of its own, such as "Claims"; "" for other nodes."""
    name = _PARTS.get(name_of(node).lower(), "")
    return name if name and is_patent(name_of(node.getroottree().getroot())) else ""


def is_patent(root: str) -> bool:
    """Return whether a root's name is that of a patent or a patent application."""
    return "patent" in root.lower() or root == "PATDOC"


def claim_of(node: Any) -> tuple[str, str] | None:
    """Return the number of a claim with its full stop, and its text without it; None if the node is not a claim."""
    name = name_of(node).lower()
    if name != "clm" and (name != "claim" or next(node.iterchildren("{*}claim-text"), None) is None):
        return None
    text = words_of(node)
    written = _NUMBER.match(text)
    stated = _STATED.fullmatch(node.get("num") or "")
    number = stated or written
    return (f"{int(number[1])}." if number else "-"), (text[written.end() :] if written else text)
