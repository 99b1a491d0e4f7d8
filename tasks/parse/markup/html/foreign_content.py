"""Foreign content: end drawings and formulas that a page does not close, where browsers end them.

libxml2 leaves an open `<svg>` or `<math>` to the end of the page. By the rules for foreign content of the HTML standard
(13.2.6.5), an element that only HTML has ends it: https://html.spec.whatwg.org/multipage/parsing.html
"""

from collections.abc import Iterator
from typing import Any

from lxml import etree

_OPEN_TO_HTML = {
    "svg": frozenset(["foreignobject", "desc", "title"]),
    "math": frozenset(["mi", "mo", "mn", "ms", "mtext"]),
}
"""The elements of a drawing and of a formula that may hold elements of HTML."""
_ENDING_WORDS = """
    b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr
    ol p pre ruby s small span strong strike sub sup table tt u ul var
"""
_ENDING = frozenset(_ENDING_WORDS.split())
_FONT = ("color", "face", "size")  # a font of HTML has one of them; drawings have elements of the same name
_HTML_TYPES = ("text/html", "application/xhtml+xml")


def end_foreign(root: Any) -> None:
    """Move what belongs to a page out of its drawings and formulas; the tree is modified in place."""
    if next(root.iter(*_OPEN_TO_HTML), None) is None:
        return
    for foreign, first in list(_ends(root)):
        _move_out(foreign, first)


def _ends(root: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each drawing or formula that ends early, and the element that ends it, in the order of the page."""
    # Each level is the element that closes it, and the drawing or formula around what is read there, or None.
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
    """Move an element, and all that follows it within a drawing or a formula, to the place behind that one."""
    moved = [first, *first.itersiblings()]
    for above in first.iterancestors():
        # lxml stores the text after an element as its tail: it follows all that was in the element.
        moved[-1].tail = (moved[-1].tail or "") + (above.tail or "") or None
        above.tail = None
        if above is foreign:
            break
        moved += above.itersiblings()
    for node in reversed(moved):
        foreign.addnext(node)
