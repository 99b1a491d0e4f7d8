"""Usual names: give the main part of an Open XML file, and the parts beside it, the names by which they are known.

A part may have any name: the relationships say what it is. Some programs write `word/document2.xml`.
"""

import io
import posixpath
import re
import zipfile

from lxml import etree

from docmill.tasks.parse.office.parts import links_of

_ROOT = "_rels/.rels"
_TYPES = "[Content_Types].xml"
_OFFICE_DOCUMENT = "/officeDocument"
_KINDS = (
    ("wordprocessingml", "word/document.xml"),
    ("spreadsheetml", "xl/workbook.xml"),
    ("presentationml", "ppt/presentation.xml"),
)
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
    members = container.NameToInfo
    if _ROOT not in members or _TYPES not in members or any(usual in members for _, usual in _KINDS):
        return {}
    types = container.read(_TYPES).decode("utf-8", "replace")
    usual = next((name for kind, name in _KINDS if kind in types and name not in members), "")
    main = _main(container)
    if not usual or main not in members:
        return {}
    names = {main: usual, _relationships(main): _relationships(usual)}
    for kind, part in links_of(container, main).values():
        if kind in _NAMED:
            known = posixpath.join(posixpath.dirname(usual), f"{kind}.xml")
            names |= {part: known, _relationships(part): _relationships(known)}
    return {old: new for old, new in names.items() if old != new and new not in members}


def _main(container: zipfile.ZipFile) -> str:
    for node in etree.fromstring(container.read(_ROOT)).iter("{*}Relationship"):
        if (node.get("Type") or "").endswith(_OFFICE_DOCUMENT):
            return posixpath.normpath(node.get("Target") or "").lstrip("/")
    return ""


def _relationships(part: str) -> str:
    folder, name = posixpath.split(part)
    return f"{folder}/_rels/{name}.rels"


def _rewritten(container: zipfile.ZipFile, names: dict[str, str]) -> bytes:
    base = {posixpath.basename(old).encode(): posixpath.basename(new).encode() for old, new in names.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as usual:
        for name in container.namelist():
            content = container.read(name)
            if name.endswith(".rels") or name == _TYPES:
                content = _NAME.sub(lambda found: base.get(found[0], found[0]), content)
            usual.writestr(names.get(name, name), content)
    return buffer.getvalue()
