"""XML trees: XML as all readers parse it, and the content of its elements and attributes."""

from typing import Any

from lxml import etree

_MOST_DIGITS = 9
"""Maximum digits of a number in an attribute. Sheet rows need seven; longer ones are damaged, and Python refuses to
parse thousands of digits."""


def xml_tree(data: bytes, recover: bool = False) -> Any:
    """Return the root of an XML file; entities are not expanded, nothing is fetched, damage raises XMLSyntaxError.

    With `recover`, the readable part of a damaged file is returned.
    """
    return etree.fromstring(
        data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, recover=recover)
    )


def words_in(node: Any) -> str:
    """Return the text within a node as one line."""
    return " ".join("".join(node.itertext()).split())


def drop(node: Any, text: str = "") -> None:
    """Remove a node from its tree, but keep the text after it; a `text` replaces the node."""
    # lxml stores the text after a node as its tail, and would remove it with the node.
    parent, before, text = node.getparent(), node.getprevious(), text + (node.tail or "")
    if before is not None:
        before.tail = (before.tail or "") + text
    elif parent is not None:
        parent.text = (parent.text or "") + text
    if parent is not None:
        parent.remove(node)


def whole(stated: str | None, otherwise: int, most_digits: int = _MOST_DIGITS) -> int:
    """Return an attribute's value as a whole number, or `otherwise` if it is not one or has too many digits."""
    text = stated.strip() if stated else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most_digits else otherwise
