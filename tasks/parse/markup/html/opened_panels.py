"""Opened panels: what a page hides until a reader opens it, such as the panels of tabs and the answers of accordions.

Such a panel is shown, and a button that opens one and names it is its heading. Menus, dialogs and banners stay hidden.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from lxml import etree

from docmill.tasks.parse.markup.html.html_nodes import is_hidden
from docmill.tasks.parse.markup.html.page_chrome import is_chrome, is_mostly_links
from docmill.tasks.parse.trees import words_in

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
_ASKING = ("input", "form", "textarea", "select", "iframe")  # panels that ask something of a reader
_FEWEST_LETTERS = 12  # of a panel: fewer are a label or a count
_TEXTUAL = frozenset(("div", "section", "dd", "p", "ul", "ol", "pre", "table", "article", "figure", "aside"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DEEPEST = 6
_ASKS = ("?", "\uff1f", "\u061f")
_LONGEST = 300  # characters of a button that names a panel: longer ones are cards


def open_panels(root: Any) -> None:
    """Show the panels that a page can open, and make headings of the buttons that name them; the tree is modified."""
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
    """Return whether a hidden block is text: no menu, dialog or banner, nor a part of what surrounds the text."""
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
    """Return the button before a panel: beside it, or in its heading; None if there is none."""
    before = node.getprevious()
    if before is None:
        return None
    if before.tag in ("button", "summary") or before.get("aria-expanded") is not None:
        return before
    inner = next((one for one in before.iter("button") if before.tag in (*_HEADINGS, "div", "dt", "p")), None)
    return inner if inner is not None else next(iter(before.xpath(".//*[@aria-expanded]")), None)


def _is_alternative(node: Any) -> bool:
    """Return whether a hidden block with an id stands beside a like one that is shown, as the panels of tabs do."""
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
    """Make headings of buttons that ask, or open a panel of text below them."""
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
    """Return what follows a button, or the box that holds nothing behind it; None if nothing does."""
    below, around = button.getnext(), button.getparent()
    return around.getnext() if below is None and around is not None else below
