"""Damaged XML: what can be read of a file that is not well-formed."""

import re
from typing import Any

from lxml import etree

_LOOSE = re.compile(r"<!\[CDATA\[.*?\]\]>|&(?!#?\w{1,40};)", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_LEAST = 0.5
"""The least share of the words beside its tags that is found in a damaged file.

With less, a file that only begins like XML would be a document of its first words; with more, one that breaks off
within a long attribute or comment is lost.
"""


def with_ampersands(text: str) -> str:
    """Return XML in which an ampersand that begins no reference stands for itself, as in "R&D"."""
    return _LOOSE.sub(lambda match: match[0] if len(match[0]) > 1 else "&amp;", text)


def recovered(text: str) -> Any:
    """Return the root of a tree of what can be read, with its elements closed where they break off; None if too little.

    A file that defines entities is none of these: the limits on what they expand to hold for whole files alone.
    """
    if "<!ENTITY" in text:
        return None
    parser = etree.XMLParser(
        recover=True, resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return None
    if root is None or not len(root):
        return None
    found, written = len(" ".join(root.itertext()).split()), len(_TAG.sub(" ", text).split())
    return root if found and found >= _LEAST * written else None
