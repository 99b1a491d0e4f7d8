"""Xml trees: XML as all readers parse it, and what its elements and attributes say."""

from typing import Any

from lxml import etree

_MOST_DIGITS = 9
"""Digits of a number in an attribute. Rows of sheets need seven; more are damage, and Python refuses to parse thousands
of them."""


def xml_tree(data: bytes, recover: bool = False) -> Any:
    """Return the root of an XML file; entities are not expanded, nothing is fetched, damage raises XMLSyntaxError.

    With `recover`, what can be read of a damaged file is returned.
    """
    return etree.fromstring(
        data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, recover=recover)
    )


def words_in(node: Any) -> str:
    """Return the text within a node in one line."""
    return " ".join("".join(node.itertext()).split())


def drop(node: Any, text: str = "") -> None:
    """Remove a node from its tree, but keep the text after it; a `text` takes the node's place."""
    # lxml stores the text after a node as its tail, and would remove it with the node.
    parent, before, text = node.getparent(), node.getprevious(), text + (node.tail or "")
    if before is not None:
        before.tail = (before.tail or "") + text
    elif parent is not None:
        parent.text = (parent.text or "") + text
    if parent is not None:
        parent.remove(node)


def whole(stated: str | None, otherwise: int, most_digits: int = _MOST_DIGITS) -> int:
    """Return what an attribute states as a whole number, `otherwise` if it states none, or one of too many digits."""
    text = stated.strip() if stated else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most_digits else otherwise
