"""Main content: the part of a page that holds its prose; what stands beside it is furniture.

Related links, share bars, lists of tags and newsletters stand in boxes of their own beside the box of the article. The
prose tells which box that is, whatever its name.
"""

from collections.abc import Iterator
from typing import Any

from lxml import etree

from docmill.tasks.parse.titles.untitled import is_prose

_TOLD = ("p", "div", "li", "td", "section", "article", "blockquote")
_BOXES = frozenset(("div", "section", "aside", "article", "ul", "ol", "header", "footer", "form"))
_APART = ("script", "style", "noscript", "template", "nav", "footer", "form", "aside", "svg")
_SHARE = 0.95
"""Least share of a page's prose in its main content. With .85, introductions that stand in a box of their own are lost;
with all of it, the teaser of one other article makes the whole page the main content."""
_LEAST = 400  # characters of prose on a page that has a main content: others are lists, forms and start pages
_LINKED = 0.5  # share of a paragraph in links above which it is a teaser
_CONTENT = etree.XPath("boolean(descendant-or-self::*[self::h1 or self::th or self::pre or self::dl or self::math])")


def beside_main(root: Any) -> frozenset[Any]:
    """Return the boxes of a page beside its main content that hold no heading of the page, table or listing."""
    main = _main(root)
    return frozenset(box for box in _beside(main, root.find("body")) if box.tag in _BOXES and not _CONTENT(box))


def _main(root: Any) -> Any:
    """Return the innermost box that holds nearly all prose; the root if there is too little prose to tell."""
    told = list(_told(root))
    whole = sum(length for _, length in told)
    held: dict[Any, int] = {}
    for node, length in told:
        for box in (node, *node.iterancestors()):
            held[box] = held.get(box, 0) + length
    main, inner = root, root if whole >= _LEAST else None
    while inner is not None:
        main, inner = inner, next((one for one in inner if held.get(one, 0) >= _SHARE * whole), None)
    return main


def _told(root: Any) -> Iterator[tuple[Any, int]]:
    """Yield the blocks whose own words are prose, and how many characters these have."""
    for node in root.iter(*_TOLD):
        own = "".join(node.itertext()) if node.tag == "p" else _own_words(node)
        text = " ".join(own.split())
        if is_prose(text) and not _is_teaser(node, text) and next(node.iterancestors(*_APART), None) is None:
            yield node, len(text)


def _own_words(node: Any) -> str:
    return (node.text or "") + "".join(child.tail or "" for child in node)


def _is_teaser(node: Any, text: str) -> bool:
    return node.tag == "p" and sum(len("".join(link.itertext())) for link in node.iter("a")) > _LINKED * len(text)


def _beside(main: Any, body: Any) -> Iterator[Any]:
    """Yield the boxes beside the main content and beside each box around it."""
    while body is not None and main is not body and main.getparent() is not None:
        yield from (one for one in main.getparent() if one is not main)
        main = main.getparent()
