"""Usual names: give the main part of an Open XML file, and the parts beside it, the names by which they are known.

A part may have any name: the relationships say what it is. Some programs write `word/document2.xml`.
"""

import io
import posixpath
import re
import zipfile
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.open_xml import links_of, zipped
from docmill.tasks.parse.trees import xml_tree

_ROOT = "_rels/.rels"
_TYPES = "[Content_Types].xml"
_OFFICE_DOCUMENT = "/officeDocument"
_KINDS = {
    "wordprocessingml": "word/document.xml",
    "spreadsheetml": "xl/workbook.xml",
    "presentationml": "ppt/presentation.xml",
}
_NAMED = ("styles", "numbering", "footnotes", "endnotes", "comments", "settings", "sharedStrings")
_NAME = re.compile(rb"[^\"'/]*\.xml(?=[\"'])")


def with_usual_names(data: bytes) -> bytes:
    """Return an Open XML file whose main part and its known parts have their usual names; itself if they have them."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            names = _renamed(container)
            return _rewritten(container, names) if names else data
    except (zipfile.BadZipFile, etree.XMLSyntaxError, OSError, KeyError, ValueError, NotImplementedError):
        return data  # it is damaged or locked, which its reader says


def _renamed(container: zipfile.ZipFile) -> dict[str, str]:
    """Return the usual names of parts that have others."""
    main, usual = _main(container)
    if not usual:
        return {}
    folder, members = posixpath.dirname(usual), container.NameToInfo
    beside = [(part, f"{folder}/{kind}.xml") for kind, part in links_of(container, main).values() if kind in _NAMED]
    names = {main: usual} | {old: new for old, new in beside if new not in members}
    return names | {_relationships(old): _relationships(new) for old, new in names.items()}


def _main(container: zipfile.ZipFile) -> tuple[str, str]:
    """Return the name of the main part and its usual name, the latter "" where nothing is to be renamed."""
    members = container.NameToInfo
    if _ROOT not in members or _TYPES not in members or not members.keys().isdisjoint(_KINDS.values()):
        return "", ""
    main = _target(xml_tree(container.read(_ROOT)))
    types = container.read(_TYPES).decode("utf-8", "replace")
    return main, next((name for kind, name in _KINDS.items() if kind in types and main in members), "")


def _target(relationships: Any) -> str:
    nodes = relationships.iter("{*}Relationship")
    targets = (node.get("Target") or "" for node in nodes if (node.get("Type") or "").endswith(_OFFICE_DOCUMENT))
    return posixpath.normpath(next(targets, "")).lstrip("/")


def _relationships(part: str) -> str:
    folder, name = posixpath.split(part)
    return f"{folder}/_rels/{name}.rels"


def _rewritten(container: zipfile.ZipFile, names: dict[str, str]) -> bytes:
    base = {posixpath.basename(old).encode(): posixpath.basename(new).encode() for old, new in names.items()}

    def member_of(name: str) -> bytes:
        content = container.read(name)
        says = name.endswith(".rels") or name == _TYPES
        return _NAME.sub(lambda found: base.get(found[0], found[0]), content) if says else content

    return zipped((names.get(name, name), member_of(name)) for name in container.namelist())
