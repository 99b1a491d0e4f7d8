"""XML head: language, authors and dates of a document, in the vocabularies of feeds and articles."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from docmill.tasks.parse.dates import iso_date
from docmill.tasks.parse.markup.xml.xml_nodes import HEADS, name_of, words_of

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_HEADS = HEADS | {"channel", "metadata", "head", "header"}
_NAMES = {
    "creator": "author",
    "author": "author",
    "language": "language",
    "lang": "language",
    "date": "created",
    "pubdate": "created",
    "published": "created",
    "updated": "modified",
    "lastbuilddate": "modified",
}
_DATES = ("created", "modified")
_MAX_HEADS = 20
"""The heads of one document are nested a few deep.

Data may have an element `header` in every record: with no limit, the file would be read a second time for its metadata,
and the authors of all records be joined.
"""
_MAX_AUTHOR = 200
"""Characters of one author with name and affiliation. A longer element is a whole list or a biography: it is
not joined to the authors before it, and counts only where it is plain text and the first."""


def head_metadata(root: Any) -> dict[str, Any]:
    """Return the metadata in the children of the root or of its heads; authors are joined."""
    found: dict[str, Any] = {}
    language = root.get(_LANGUAGE) or root.get("lang")
    if language:
        found["language"] = language
    for parent in (root, *islice(_heads(root), _MAX_HEADS)):
        for node in parent:
            _add(found, node)
    return found


def _heads(node: Any) -> Iterator[Any]:
    for one in node:
        if name_of(one).lower() in _HEADS:
            yield one
            yield from _heads(one)


def _add(found: dict[str, Any], node: Any) -> None:
    """Add what one node states; the first statement wins, except for authors."""
    name = _NAMES.get(name_of(node).lower())
    text = words_of(node) if name else ""
    if not name or not text:
        return
    if name == "author" and len(text) < _MAX_AUTHOR:
        found[name] = f"{found[name]}, {text}" if name in found else text
    elif not len(node):
        found.setdefault(name, iso_date(text) if name in _DATES else text)
