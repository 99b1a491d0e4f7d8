"""HTML: one walk over lxml's tree, drawn as Markdown.

Scripts, styles, form controls and hidden parts are dropped, except for panels that a reader can open; navigation and
page footers are kept as furniture. Inline markup other than code is dropped; links are attributes of their block.
libxml2 would leave an open `<svg>` or `<math>` to the end of the page, so an element that only HTML has ends it (HTML
standard, 13.2.6.5).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, takewhile
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.formulas_and_ruby import make_formulas, mark_script, mark_struck, show_reading
from docmill.tasks.parse.markup.html.html_nodes import (
    SIGNS,
    holds_markup,
    is_chrome,
    is_hidden,
    is_mostly_links,
    state_depths,
)
from docmill.tasks.parse.markup.html.html_table import name_tables
from docmill.tasks.parse.markup.html.html_walk import LINE_BREAK, PageWalk
from docmill.tasks.parse.markup.html.main_content import mark_beside
from docmill.tasks.parse.pictures.addresses import Loader, nowhere, of_data_uri
from docmill.tasks.parse.pictures.picture_files import loader_beside
from docmill.tasks.parse.superscripts import script_classes, script_of
from docmill.tasks.parse.xml_trees import drop, whole, words_in

CONTROLS = re.compile(r"<(?:input|textarea|select)\b[^>]*\b(?:disabled|readonly)\b", re.IGNORECASE)
_WRITTEN = frozenset(("", "text", "number", "date", "datetime-local", "month", "week", "time", "email", "tel", "url"))
"""Types of inputs whose values people write; the values of others are a program's, or secret."""
_TO_COPY = re.compile(r"<|://")  # addresses and code that a page offers
_TICKED, _EMPTY = "☒", "☐"  # as in Word and PDF


def show_form_values(root: Any) -> None:
    """Replace controls that state something by their words.

    Only controls that a reader cannot change do, such as the boxes of a list of tasks. Others ask, and their values are
    defaults and hints.
    """
    for control in list(root.iter("input", "textarea", "select")):
        value = " ".join(_value(control).split()) if {"disabled", "readonly"} & set(control.attrib) else ""
        if value and not _TO_COPY.search(value):
            tail = control.tail
            control.clear()
            control.tag, control.text, control.tail = "span", f" {value} ", tail


def _value(control: Any) -> str:
    if control.tag == "textarea":
        return "".join(control.itertext())
    if control.tag == "select":
        chosen = control.xpath(".//option[@selected]")
        return ", ".join("".join(one.itertext()).strip() for one in chosen)
    kind = (control.get("type") or "").strip().lower()
    if kind in ("checkbox", "radio"):
        return _EMPTY if control.get("checked") is None else _TICKED
    return control.get("value") or "" if kind in _WRITTEN else ""


_KEPT = re.compile(
    rb"<(?!/?(?:html|head|title|meta|body|p|h[1-6]|pre|table|tr|t[dh]|script|style)\b)/?[A-Za-z][^<>]*>", re.I
)
_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w:.-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w:.-]+)", re.I)
_DECLARING = 4_096
"""Bytes within which a page declares its encoding. HTML requires the first 1,024, but scripts and comments often come
before; further down, a page about HTML may show such a declaration as an example."""
_NOTE_BLOCKS = ("li", "p", "div", "dd", "dt", "aside", "section")
_ALIGNED = "vertical-align"
_STRIKING = ("<del", "<s>", "<s ", "<strike", "<DEL", "<S>", "<STRIKE")
_STRUCK_STYLE = re.compile(r"line-through[^<>{}]*[\"'][^<>{}]*>")
_STYLED = etree.XPath(f"descendant::span[@style][contains(@style, '{_ALIGNED}')]")
_TABLE_ROLE = re.compile(r"=[\s\"']*(?:table|grid)\b")  # begins with the sign, as patterns that ignore case are slow
_HEADING_ROLE = re.compile(r"role\s*=[\s\"']*heading\b")
_DRAWN = re.compile("MathJax|mjx-")
_HIDING = re.compile(r"\s(?:aria-)?hidden[\s=>/]|display\s*:\s*none|<button")
_MARKER_WIDTH = 4
"""Most characters outside links in a menu block: the marker of its item, "10. " at most, or a sign next to it."""
_MAX_CHARACTERS = 5_000_000
"""Characters of a value that is read as a page; a longer one is not an article's text, and is kept unchanged."""
_NAMES = {
    "description": "description", "og:description": "description", "author": "author", "article:author": "author",
    "dc.creator": "author", "keywords": "keywords", "article:published_time": "created", "date": "created",
    "dc.date": "created", "dcterms.created": "created", "article:modified_time": "modified",
    "last-modified": "modified", "dcterms.modified": "modified",
}  # fmt: skip
_LANGUAGES = ("lang", "{http://www.w3.org/XML/1998/namespace}lang", "xml:lang")
_OPEN_TO_HTML = {
    "svg": frozenset(["foreignobject", "desc", "title"]),
    "math": frozenset(["mi", "mo", "mn", "ms", "mtext"]),
}
"""The elements of a drawing or a formula that may contain HTML elements."""
_ENDING_WORDS = """
    b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr
    ol p pre ruby s small span strong strike sub sup table tt u ul var
"""
_ENDING = frozenset(_ENDING_WORDS.split())
_FONT = ("color", "face", "size")  # an HTML font has one of these; drawings have elements of the same name
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_MAY_HIDE = etree.XPath(".//*[@hidden or @style or @aria-hidden]")
_OPENING = etree.XPath(".//*[@aria-controls or @data-target or @data-bs-target or @data-tab or @data-toggle-target]")
_OPENING_NAMES = ("aria-controls", "data-target", "data-bs-target", "data-tab", "data-toggle-target")
_HIDES = re.compile(
    r"(?:display\s*:\s*none|visibility\s*:\s*hidden|height\s*:\s*0(?:px)?)\s*(?:!important)?\s*;?", re.I
)
_STATES = ("hidden", "aria-hidden")
_NEVER = ("dialog", "alertdialog", "menu", "menubar", "navigation", "search", "alert", "status", "tooltip")
_NEVER_NAMED = re.compile(
    r"(?:^|[\s_-])(?:modal|dialog|popup|pop-up|overlay|lightbox|toast|tooltip|dropdown|drawer|offcanvas|off-canvas|menu|nav"
    r"|navbar|sr-only|visually-hidden|print-only|captcha|paywall|login|signin|share|sharing|comments?|loading|spinner"
    r"|newsletter|subscribe|register|search)(?:$|[\s_-])",
    re.IGNORECASE,
)
_AROUND = ("nav", "footer", "form", "header", "dialog", "noscript", "template")
_SHADOW = "shadowrootmode"  # of a template that is shown, as the inside of an element of the page's own
_ASKING = ("input", "form", "textarea", "select", "iframe")  # panels that ask a reader for input
_FEWEST_LETTERS = 12  # of a panel: fewer are a label or a count
_TEXTUAL = frozenset(("div", "section", "dd", "p", "ul", "ol", "pre", "table", "article", "figure", "aside"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DEEPEST = 6
_ASKS = ("?", "\uff1f", "\u061f")
_LONGEST = 300  # characters of a button that names a panel: longer ones are cards


def parse_html(data: bytes, options: ParseOptions) -> Parsed:
    """Return a page drawn as Markdown, with its title and the metadata in its head."""
    return read_page(data, loader_beside(options.pictures))


def read_page(data: bytes, load: Loader = of_data_uri) -> Parsed:
    """As `parse_html`; `load` finds the pictures that the page names.

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
    # Searching a page's text takes a tenth of the time of walking its tree, and few pages have what is searched for.
    for concerns, change in _CHANGES:
        if concerns(page):
            change(root)
    styled = "line-through" in page and _STRUCK_STYLE.search(page) is not None
    if styled or any(sign in page for sign in _STRIKING):
        mark_struck(root, styled)
    return root


def draw_tree(root: Any, whole_page: bool = False, load: Loader = of_data_uri) -> Parsed:
    """Return a page's tree, modified in place, drawn as Markdown; empty if all of it is furniture.

    With `whole_page`, everything beside the main content is furniture. `load` finds the pictures that it names.
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
    """Rename letters that style sheets raise or lower to `sup` and `sub` elements."""
    sheets = ["".join(sheet.itertext()) for sheet in root.iter("style")]
    classes = script_classes(sheets) if any(_ALIGNED in sheet for sheet in sheets) else {}
    for span in root.iter("span", "font") if classes else _STYLED(root):
        own = script_of(span.get("style") or "")
        span.tag = own or next(filter(None, map(classes.get, (span.get("class") or "").split())), span.tag)


def _with_plain_words(root: Any) -> dict[str, str]:
    """Replace line breaks, formulas, quotation and superscripts by text; return the marks of footnotes by id."""
    notes: dict[str, str] = {}
    make_formulas(list(root.iter("math")))
    for node in root.iter("br", "rt", "q", "sup", "sub"):
        if node.tag == "br":
            node.tail = LINE_BREAK + (node.tail or "")
        elif node.tag == "rt":
            show_reading(node)
        elif node.tag == "q":
            _show_quotation(node)
        elif target := mark_script(node):
            notes.setdefault(target, node.text or "")
    return notes


def _show_quotation(node: Any) -> None:
    """Write the marks that browsers show around a quotation."""
    node.text = f"\u201c{node.text or ''}"
    if len(node):
        node[-1].tail = f"{node[-1].tail or ''}\u201d"
    else:
        node.text += "\u201d"


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
    """Return the elements with menus as furniture; on a page that is all furniture, everything is a paragraph."""
    # Links above a page's main heading are menus, whatever their elements.
    above = [replace(one, kind="furniture") if _is_links(one) else one for one in elements[:top]]
    if all(one.kind == "furniture" for one in (*above, *elements[top:])):
        return tuple(replace(one, kind="paragraph") for one in elements)
    return (*above, *elements[top:])


def _is_links(element: Element) -> bool:
    """Return whether a block has no words outside its links."""
    words = sum(len(link["text"]) for link in element.attributes.get("links", ()))
    return (
        element.kind in ("paragraph", "list_item")
        and words >= element.end_char - element.start_char - _MARKER_WIDTH > 0
    )


def page_in(text: str) -> Parsed | None:
    """Return the page in a value, drawn as Markdown, or None if it is not HTML or has no words."""
    if len(text) > _MAX_CHARACTERS or not holds_markup(text):
        return None
    root = page_tree(text)
    drawn = None if root is None else draw_tree(root, load=nowhere)
    return drawn if drawn is not None and drawn.text.strip() else None


def plain_words(text: str) -> str:
    """Return a value without HTML tags, if it has any."""
    page = page_in(text)
    return text if page is None else page.text


def head_metadata(root: Any) -> tuple[str, dict[str, Any]]:
    """Return a page's title and metadata; the first statement wins, except that authors are joined."""
    language = _language(root)
    metadata: dict[str, Any] = {"language": language} if language else {}
    for meta in root.iter("meta"):
        _add(metadata, meta)
    # A drawing has its own title.
    title = next((one for one in root.iter("title") if next(one.iterancestors("svg"), None) is None), None)
    return "" if title is None else words_in(title), metadata


def _language(root: Any) -> str:
    """Return the language from the first attribute that states one; the HTML parser keeps `xml:lang` as it is."""
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


def end_foreign(root: Any) -> None:
    """Move HTML elements out of drawings and formulas; the tree is modified in place."""
    if next(root.iter(*_OPEN_TO_HTML), None) is None:
        return
    for foreign, first in list(_ends(root)):
        _move_out(foreign, first)


def _ends(root: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each drawing or formula that ends early, with the element that ends it, in page order."""
    # Each level is the element that closes it, and the drawing or formula around its content, or None.
    levels: list[tuple[Any, Any]] = [(None, None)]
    for event, node in etree.iterwalk(root, events=("start", "end")):
        closing, foreign = levels[-1]
        if event == "end":
            if node is closing:
                levels.pop()
        elif foreign is None:
            if node.tag in _OPEN_TO_HTML:
                levels.append((node, node))
        elif _is_open_to_html(node, foreign.tag):
            levels.append((node, None))
        elif _is_of_html(node):
            levels[-1] = (closing, None)
            yield foreign, node


def _is_open_to_html(node: Any, foreign: str) -> bool:
    if foreign == "math" and node.tag == "annotation-xml":
        return (node.get("encoding") or "").lower() in _HTML_TYPES
    return node.tag in _OPEN_TO_HTML[foreign]


def _is_of_html(node: Any) -> bool:
    return node.tag in _ENDING or (node.tag == "font" and any(name in node.attrib for name in _FONT))


def _move_out(foreign: Any, first: Any) -> None:
    """Move an element, and everything after it within a drawing or formula, to the place after that."""
    moved = [first, *first.itersiblings()]
    for above in first.iterancestors():
        # lxml stores the text after an element as its tail, which follows everything in the element.
        moved[-1].tail = (moved[-1].tail or "") + (above.tail or "") or None
        above.tail = None
        if above is foreign:
            break
        moved += above.itersiblings()
    for node in reversed(moved):
        foreign.addnext(node)


def open_panels(root: Any) -> None:
    """Show the panels that a page can open, and turn buttons that name them into headings; the tree is modified."""
    hidden = [node for node in _MAY_HIDE(root) if node.tag in _TEXTUAL and is_hidden(node) and _is_panel(node)]
    targets = frozenset(chain.from_iterable(map(_targets, _OPENING(root)))) if hidden else frozenset()
    for node in hidden:
        if _is_opened(node, targets) or _is_alternative(node):
            _show(node)
    _name_panels(root)


def _targets(node: Any) -> Iterator[str]:
    for name in _OPENING_NAMES:
        yield from (one.lstrip("#") for one in (node.get(name) or "").split())


def _is_panel(node: Any) -> bool:
    """Return whether a hidden block is text: no menu, dialog or banner, and not part of what surrounds the text."""
    letters = sum(map(str.isalpha, "".join(node.itertext())))
    if letters < _FEWEST_LETTERS or next(node.iter(*_ASKING), None) is not None:
        return False
    if node.get("role") in _NEVER or is_chrome(node) or is_mostly_links(node):
        return False
    if any(_NEVER_NAMED.search(said) for said in (node.get("class"), node.get("id")) if said):
        return False
    return next(node.iterancestors(*_AROUND), None) is None


def _is_opened(node: Any, targets: frozenset[str]) -> bool:
    """Return whether a panel says that it is one, or something refers to it, or the element before it opens it."""
    if node.get("role") == "tabpanel" or node.get("id") in targets or node.get("aria-labelledby"):
        return True
    return _opener_before(node) is not None


def _opener_before(node: Any) -> Any:
    """Return the button before a panel, next to it or in its heading; None if there is none."""
    before = node.getprevious()
    if before is None:
        return None
    if before.tag in ("button", "summary") or before.get("aria-expanded") is not None:
        return before
    inner = next((one for one in before.iter("button") if before.tag in (*_HEADINGS, "div", "dt", "p")), None)
    return inner if inner is not None else next(iter(before.xpath(".//*[@aria-expanded]")), None)


def _is_alternative(node: Any) -> bool:
    """Return whether a hidden block with an id is next to a similar one that is shown, as tab panels are."""
    within = next(node.iterancestors("main", "article"), None) is not None
    if not within or not node.get("id") or next(node.iter("p", "pre", "li"), None) is None:
        return False
    return any(_is_like(one, node) for one in (node.getprevious(), node.getnext()) if one is not None)


def _is_like(one: Any, node: Any) -> bool:
    return bool(one.tag == node.tag and one.get("id") and one.get("class") == node.get("class"))


def _show(node: Any) -> None:
    for name in _STATES:
        if node.get(name) is not None:
            del node.attrib[name]
    if node.get("style") is not None:
        node.set("style", _HIDES.sub("", node.get("style")))


def _name_panels(root: Any) -> None:
    """Turn buttons that ask, or that open a panel of text below them, into headings."""
    level = 1
    for node in list(root.iter("button", *_HEADINGS)):
        if node.tag != "button":
            level = _HEADINGS[node.tag]
        elif _names_panel(node) and next(node.iterancestors(*_HEADINGS, *_AROUND, "li"), None) is None:
            node.tag = f"h{min(level + 1, _DEEPEST)}"


def _names_panel(button: Any) -> bool:
    text = words_in(button)
    opens = button.get("aria-expanded") is not None and button.get("role") != "tab"
    if not 0 < len(text) <= _LONGEST or not (opens or text.endswith(_ASKS)):
        return False
    below = _below(button)
    return below is not None and below.tag in _TEXTUAL and not is_hidden(below) and _is_panel(below)


def _below(button: Any) -> Any:
    """Return what follows a button, or the box in which it is last; None if nothing does."""
    below, around = button.getnext(), button.getparent()
    return around.getnext() if below is None and around is not None else below


def _name_headings(root: Any) -> None:
    """Rename the elements that are headings only by their role."""
    for node in root.xpath("//*[@role='heading'][not(self::h1 or self::h2 or self::h3 or self::h4 or self::h5)]"):
        node.tag = f"h{min(max(whole(node.get('aria-level'), 2), 1), _DEEPEST)}"


def _show_scripts(root: Any) -> None:
    """Show the formulas that MathJax keeps in scripts, in place of the letters that it has drawn of them."""
    for script in root.xpath("//script[starts-with(@type, 'math/tex')]"):
        drawn = list(takewhile(lambda one: _DRAWN.match(one.get("class") or ""), script.itersiblings(preceding=True)))
        if not any(next(one.iter("math"), None) is not None for one in drawn):
            for one in drawn:
                drop(one)
            sign = "$$" if "display" in script.get("type") else "$"
            script.tag, script.text = "span", f" {sign}{(script.text or '').strip()}{sign} "


def _show_shadows(root: Any) -> None:
    for shadow in root.xpath(f"//template[@{_SHADOW}]"):
        shadow.tag = "div"


_CHANGES: tuple[tuple[Callable[[str], Any], Callable[[Any], None]], ...] = (
    (lambda page: _SHADOW in page, _show_shadows),
    (lambda page: "math/tex" in page, _show_scripts),
    (_HEADING_ROLE.search, _name_headings),
    (_TABLE_ROLE.search, name_tables),
    (_HIDING.search, open_panels),
    (SIGNS.search, state_depths),
    (lambda page: _ALIGNED in page, _name_scripts),
    (CONTROLS.search, show_form_values),
)
"""Changes of a page's tree, each with a test of the page's text."""
