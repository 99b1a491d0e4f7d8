"""HTML nodes: which are hidden, which number they state, the language of code, the stated depth of list items.

Word and Outlook write items as paragraphs, each with its mark typed before it; Google Docs and Quill write lists of
all depths side by side. A class or a style states the depth.
"""

import re
from typing import Any

from docmill.tasks.parse.trees import whole, words_in

_HIDING = frozenset(("hidden", "aria-hidden", "style"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_LANGUAGE = re.compile(r"(?:^|[\s-])(?:language|lang|brush|highlight-source|highlight)[-:]\s?([A-Za-z0-9+#_-]+)")
_BRUSH = re.compile(r"brush:\s*([A-Za-z0-9+#_-]+)")
_BACKLINK = re.compile(r"(?:^|[\s_-])back-?link(?:$|\s)")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9+#_-]*)")
SIGNS = re.compile(r"mso-list|lst-kix_|ql-indent-|aria-level")
"""What a page has that states depths; others need not be walked for them."""
DEPTH, MARKER = "docmill-depth", "docmill-marker"  # the attributes of an item in which they are left
_DEPTH = re.compile(r"mso-list:[^;]*\blevel([1-9])|\blst-kix_\w+-(\d)\b|\bql-indent-(\d)\b")
_LEVELS = frozenset("123456789")
_CLOSED = re.compile(
    r"<(p|div|span|h[1-6]|ul|ol|li|table|tr|td|blockquote|pre|strong|em|b|i|u|s|a|code|sup|sub|font|section|article"
    r"|figure|main|body|html|details|del|mark|small|at|dl|dt|dd|center)\b[^<>]*>.*?</\1\s*>",
    re.IGNORECASE | re.DOTALL,
)
_UNCLOSED = re.compile(
    r"(?<![`\"'])<(?:br|hr)\b[^<>]*>(?![`\"'])|<(?:img|p)\s[^<>]*=[^<>]*>|[\w.,;:!?]<p>|<p>(?=[^\W_]|\s*<)",
    re.IGNORECASE,
)
"""Tags that need no other to close them; of a paragraph, where words or tags touch it. Prose names a tag between spaces
or quotation marks."""
_MARK = re.compile(r"mso-list:\s*ignore", re.IGNORECASE)


def holds_markup(text: str) -> bool:
    """Return whether a value of data is HTML: it holds a tag that is closed, or one that need not be."""
    return "<" in text and (_CLOSED.search(text) is not None or _UNCLOSED.search(text) is not None)


def is_hidden(node: Any) -> bool:
    """Return whether a node itself says that it is hidden; style sheets are ignored."""
    if _HIDING.isdisjoint(node.keys()):  # as nearly all: one call instead of three
        return False
    return (
        node.get("hidden") is not None
        or node.get("aria-hidden") == "true"
        or (node.get("style") is not None and _HIDDEN.search(node.get("style")) is not None)
    )


def caption_of(picture: Any) -> str:
    """Return the caption of the figure that a picture is in, or ""; it is drawn as a paragraph of its own."""
    figure = next(picture.iterancestors("figure"), None)
    said = None if figure is None else figure.find(".//figcaption")
    return "" if said is None else words_in(said)


def leads_back(node: Any) -> bool:
    """Return whether a node holds nothing but the links of a note back to its references."""
    said = node.get("class")
    return said is not None and "back" in said and _BACKLINK.search(said) is not None


def stated_number(node: Any, name: str, default: int) -> int:
    """Return the number in an attribute, or the default if it has none above 0."""
    return whole(node.get(name), default) or default


def drop(node: Any) -> None:
    """Remove a node from its tree, but keep the text after it."""
    # lxml stores the text after a node as its tail, and would remove it with the node.
    parent, before = node.getparent(), node.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (node.tail or "")
    elif parent is not None:
        parent.text = (parent.text or "") + (node.tail or "")
    if parent is not None:
        parent.remove(node)


def code_language(node: Any) -> str:
    """Return the language stated by a code block, the code in it, or one of the two elements around it."""
    parent = node.getparent()
    around = (parent, None if parent is None else parent.getparent())
    for one in (node.find(".//code"), node, *around):
        language = "" if one is None else _stated_language(one)
        if language:
            return language
    return ""


def _stated_language(node: Any) -> str:
    stated = node.get("data-lang") or node.get("data-language") or ""
    match = _NAME.fullmatch(stated.strip()) or _LANGUAGE.search(node.get("class") or "")
    match = match or _BRUSH.search(node.get("data-syntaxhighlighter-params") or "")
    return str(match[1]).lower() if match else ""


def state_depths(root: Any) -> None:
    """Write the depth of each item that states it into an attribute; paragraphs of Word become items."""
    for node in list(root.iter("li", "p")):
        depth = _stated_depth(node)
        if depth:
            node.set(DEPTH, str(depth))
            if node.tag == "p":
                node.tag = "li"
                node.set(MARKER, _take_mark(node))


def _stated_depth(node: Any) -> int:
    """Return the depth, from 1, that a node or its list states, 0 if none does or the node is a plain paragraph."""
    if node.tag == "p":
        found = _DEPTH.search(node.get("style") or "")
        return int(found[1]) if found and found[1] else 0
    around = node.getparent()
    said = " ; ".join(filter(None, (node.get("style"), node.get("class"), around.get("class"))))
    if found := _DEPTH.search(said):
        return int(found[1]) if found[1] else int(found[2] or found[3]) + 1
    level = node.get("aria-level")
    return int(level) if level in _LEVELS else 0


def _take_mark(paragraph: Any) -> str:
    """Remove the mark typed before an item; return it if it is a number, else a dash."""
    mark = next((span for span in paragraph.iter("span") if _MARK.search(span.get("style") or "")), None)
    if mark is None:
        return "-"
    written = "".join(mark.itertext()).strip()
    drop(mark)
    return written if len(written) > 1 and any(map(str.isalnum, written)) else "-"
