"""HTML: one walk over lxml's tree, drawn as Markdown.

Scripts, styles, forms' controls and hidden parts are dropped; navigation and page footers are kept
as furniture. Inline markup is dropped but for code; links are attributes of their block.
"""

import re
from dataclasses import replace
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.formulas.style_sheets import script_classes, script_of
from docmill.tasks.parse.markup.html.foreign_content import end_foreign
from docmill.tasks.parse.markup.html.formulas_and_ruby import make_formulas, mark_script, mark_struck, show_reading
from docmill.tasks.parse.markup.html.html_table import name_tables
from docmill.tasks.parse.markup.html.html_walk import LINE_BREAK, PageWalk
from docmill.tasks.parse.markup.html.list_depths import SIGNS, state_depths
from docmill.tasks.parse.markup.html.main_content import mark_beside
from docmill.tasks.parse.markup.html.opened_panels import open_panels
from docmill.tasks.parse.pictures.addresses import Loader, nowhere, of_data_uri
from docmill.tasks.parse.pictures.beside import loader_beside
from docmill.tasks.parse.trees import words_in

_KEPT = re.compile(
    rb"<(?!/?(?:html|head|title|meta|body|p|h[1-6]|pre|table|tr|t[dh]|script|style)\b)/?[A-Za-z][^<>]*>", re.I
)
_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w:.-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w:.-]+)", re.I)
_DECLARING = 4_096
"""Bytes within which a page declares its encoding.

HTML requires the first 1,024, but scripts and comments often come before; further below, a page about HTML may show
such a declaration as an example.
"""
_NOTE_BLOCKS = ("li", "p", "div", "dd", "dt", "aside", "section")
_ALIGNED = "vertical-align"
_STRIKING = ("<del", "<s>", "<s ", "<strike", "<DEL", "<S>", "<STRIKE")
_STRUCK_STYLE = re.compile(r"line-through[^<>{}]*[\"'][^<>{}]*>")
_STYLED = etree.XPath(f"descendant::span[@style][contains(@style, '{_ALIGNED}')]")
_TABLE_ROLE = re.compile(r"=[\s\"']*(?:table|grid)\b")  # begins with the sign, as patterns that ignore case are slow
_HIDING = re.compile(r"\s(?:aria-)?hidden[\s=>/]|display\s*:\s*none|<button")
_MARKER_WIDTH = 4
"""Maximum characters outside of links in a menu block: the marker of its item, "10. " at most, or a sign beside it."""
_CLOSED = re.compile(
    r"<(p|div|span|h[1-6]|ul|ol|li|table|tr|td|blockquote|pre|strong|em|b|i|u|s|a|code|sup|sub|font|section|article"
    r"|figure|main|body|html|details|del|mark|small|at|dl|dt|dd|center)\b[^<>]*>.*?</\1\s*>",
    re.IGNORECASE | re.DOTALL,
)
_ALONE = re.compile(r"<(?:br|hr|img|p)\b[^<>]*>", re.IGNORECASE)
_MAX_CHARACTERS = 5_000_000
"""Characters of a value that is read as a page; a longer one is no text of an article, and kept as it is."""
_NAMES = {
    "description": "description",
    "og:description": "description",
    "author": "author",
    "article:author": "author",
    "dc.creator": "author",
    "keywords": "keywords",
    "article:published_time": "created",
    "date": "created",
    "dc.date": "created",
    "dcterms.created": "created",
    "article:modified_time": "modified",
    "last-modified": "modified",
    "dcterms.modified": "modified",
}
_LANGUAGES = ("lang", "{http://www.w3.org/XML/1998/namespace}lang", "xml:lang")


def parse_html(data: bytes, options: ParseOptions) -> Parsed:
    """Return a page drawn as Markdown, with its title and the metadata in its head."""
    return read_page(data, loader_beside(options.pictures))


def read_page(data: bytes, load: Loader = of_data_uri) -> Parsed:
    """Return what `parse_html` does; `load` finds the pictures that the page names.

    The encoding is the byte order mark's, else UTF-8 if valid, else the declared one.
    """
    declared = _DECLARED.search(data[:_DECLARING])
    found = decode(data, (declared[1] or declared[2]).decode("ascii") if declared else "")
    root = page_tree(found.text)
    if root is None:
        return Parsed("", ())
    drawn = draw_tree(root, whole_page=True, load=load)
    return replace(drawn, metadata=found.metadata | drawn.metadata)


def page_tree(page: str) -> Any:
    """Return the root of a page's tree, or None if it has no element."""
    root = _tree(page.replace(LINE_BREAK, "").encode("utf-8", "replace"))
    if root is None:
        return None
    end_foreign(root)
    # To search a page's text takes a tenth of what it takes to walk its tree, and few pages have either.
    if _TABLE_ROLE.search(page):
        name_tables(root)
    if _HIDING.search(page):
        open_panels(root)
    if SIGNS.search(page):
        state_depths(root)
    if _ALIGNED in page:
        _name_scripts(root)
    styled = "line-through" in page and _STRUCK_STYLE.search(page) is not None
    if styled or any(sign in page for sign in _STRIKING):
        mark_struck(root, styled)
    return root


def draw_tree(root: Any, whole_page: bool = False, load: Loader = of_data_uri) -> Parsed:
    """Return a page's tree, modified in place, drawn as Markdown; empty if all of it is furniture.

    Of a `whole_page`, what stands beside its main content is furniture. `load` finds the pictures that it names.
    """
    notes = _with_plain_words(root)
    walk = PageWalk({} if not notes else _labelled(root, notes), load)
    walk.draw(root)
    if whole_page:
        mark_beside(walk.canvas.blocks, walk.places)
    title, metadata = head_metadata(root)
    drawn = walk.canvas.parsed(title, metadata)
    top = _top(drawn.elements)
    heading = drawn.elements[top].attributes.get("text", "") if drawn.elements else ""
    return replace(drawn, title=drawn.title or heading, elements=_with_menus(drawn.elements, top))


def _name_scripts(root: Any) -> None:
    """Give the letters that style sheets raise or lower the names of elements that do."""
    sheets = ["".join(sheet.itertext()) for sheet in root.iter("style")]
    classes = script_classes(sheets) if any(_ALIGNED in sheet for sheet in sheets) else {}
    for span in root.iter("span", "font") if classes else _STYLED(root):
        own = script_of(span.get("style") or "")
        span.tag = own or next(filter(None, map(classes.get, (span.get("class") or "").split())), span.tag)


def _with_plain_words(root: Any) -> dict[str, str]:
    """Replace line breaks, formulas and raised letters by text; return the marks of footnotes by the ids of these."""
    notes: dict[str, str] = {}
    make_formulas(list(root.iter("math")))
    for node in root.iter("br", "rt", "sup", "sub"):
        if node.tag == "br":
            node.tail = LINE_BREAK + (node.tail or "")
        elif node.tag == "rt":
            show_reading(node)
        elif target := mark_script(node):
            notes.setdefault(target, node.text or "")
    return notes


def _labelled(root: Any, notes: dict[str, str]) -> dict[Any, str]:
    """Return the blocks of footnotes with the marks that refer to them."""
    found = ((node, notes.get(node.get("id"), "")) for node in root.iter(*_NOTE_BLOCKS) if node.get("id"))
    return {node: mark for node, mark in found if mark.startswith("[^")}


def _tree(data: bytes) -> Any:
    """Return the root, or None; a page nested too deeply for libxml2 is parsed again without its boxes."""
    for source in (data, _KEPT.sub(b" ", data)):
        parser = etree.HTMLParser(
            encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True
        )
        try:
            root = etree.fromstring(source, parser)
        except etree.XMLSyntaxError:
            return None
        if not any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
            return root
    raise Rejected("corrupt", "HTML nested deeper than 2,048 elements")


def _top(elements: tuple[Element, ...]) -> int:
    """Return the index of a page's main heading, or 0 if it has none."""
    tops = (index for index, one in enumerate(elements) if one.kind == "title" and one.level == 1)
    return next(tops, 0)


def _with_menus(elements: tuple[Element, ...], top: int) -> tuple[Element, ...]:
    """Return the elements with menus as furniture; on a page of nothing but furniture, everything is a paragraph."""
    # Links above a page's main heading are menus, in whatever elements.
    above = [replace(one, kind="furniture") if _is_links(one) else one for one in elements[:top]]
    if all(one.kind == "furniture" for one in (*above, *elements[top:])):
        return tuple(replace(one, kind="paragraph") for one in elements)
    return (*above, *elements[top:])


def _is_links(element: Element) -> bool:
    """Return whether a block has no words outside of its links."""
    words = sum(len(link["text"]) for link in element.attributes.get("links", ()))
    return (
        element.kind in ("paragraph", "list_item")
        and words >= element.end_char - element.start_char - _MARKER_WIDTH > 0
    )


def page_in(text: str) -> Parsed | None:
    """Return the page that a value holds, drawn as Markdown, or None if it is no HTML or has no words."""
    if "<" not in text or len(text) > _MAX_CHARACTERS or not (_CLOSED.search(text) or _ALONE.search(text)):
        return None
    root = page_tree(text)
    drawn = None if root is None else draw_tree(root, load=nowhere)
    return drawn if drawn is not None and drawn.text.strip() else None


def plain_words(text: str) -> str:
    """Return a value without the tags of HTML, if it has any."""
    page = page_in(text)
    return text if page is None else page.text


def head_metadata(root: Any) -> tuple[str, dict[str, Any]]:
    """Return a page's title and metadata; the first statement wins, except that authors are joined."""
    language = _language(root)
    metadata: dict[str, Any] = {"language": language} if language else {}
    for meta in root.iter("meta"):
        _add(metadata, meta)
    # A drawing has a title of its own.
    title = next((one for one in root.iter("title") if next(one.iterancestors("svg"), None) is None), None)
    return "" if title is None else words_in(title), metadata


def _language(root: Any) -> str:
    """Return the language by the first attribute that states one; the HTML parser keeps `xml:lang` as it is."""
    stated = next(filter(None, map(root.get, _LANGUAGES)), "")
    return str(stated).strip()


def _add(metadata: dict[str, Any], meta: Any) -> None:
    name = _NAMES.get((meta.get("name") or meta.get("property") or "").strip().lower())
    content = " ".join((meta.get("content") or "").split())
    if not name or not content:
        return
    # Pages often state an author twice, for search engines and for social networks.
    if name == "author" and content not in metadata.get(name, content):
        metadata[name] += f", {content}"
    else:
        metadata.setdefault(name, content)
