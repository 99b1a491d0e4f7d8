"""Office Open XML: core properties, headers and footers, and repairs of a container before parsing."""

import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

from docmill.tasks.parse.trees import xml_tree

_CORE = {
    "{http://purl.org/dc/elements/1.1/}creator": "author",
    "{http://purl.org/dc/elements/1.1/}description": "description",
    "{http://purl.org/dc/elements/1.1/}language": "language",
    "{http://purl.org/dc/elements/1.1/}subject": "subject",
    "{http://purl.org/dc/elements/1.1/}title": "title",
    "{http://purl.org/dc/terms/}created": "created",
    "{http://purl.org/dc/terms/}modified": "modified",
    "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}keywords": "keywords",
}
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# The namespaces of the strict variant, unknown to the libraries, are replaced by the usual ones.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_USUAL = rb"http://schemas.openxmlformats.org/\1/2006/"


def core_properties(container: zipfile.ZipFile) -> dict[str, Any]:
    """Return title, author, dates and language, each if the document states it."""
    root = read_member(container, "docProps/core.xml")
    if root is None:
        return {}
    found = ((_CORE.get(node.tag), " ".join((node.text or "").split())) for node in root)
    return {name: value for name, value in found if name and value}


def furniture(container: zipfile.ZipFile, part: str) -> list[str]:
    """Return the texts of a Word document's headers or footers, each once; `part` is "header" or "footer"."""
    names = sorted(name for name in container.namelist() if name.startswith(f"word/{part}") and name.endswith(".xml"))
    found: dict[str, None] = {}
    for name in names:
        text = _paragraphs(read_member(container, name))
        if text.strip():
            found[text] = None
    return list(found)


def _paragraphs(root: Any) -> str:
    """Return the text of a part's paragraphs, one a line; "" if the part cannot be read."""
    lines = () if root is None else root.iter(_WORD + "p")
    return "\n".join("".join(node.text or "" for node in line.iter(_WORD + "t")) for line in lines)


def rewritten(container: zipfile.ZipFile, change: Callable[[str, bytes], bytes]) -> bytes:
    """Return the container with changed parts, the usual namespaces, and only its XML."""
    strict = _is_strict(container)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as usual:
        for name in container.namelist():
            content = b""
            if name.endswith((".xml", ".rels")):
                content = container.read(name)
                content = change(name, _STRICT.sub(_USUAL, content) if strict else content)
            usual.writestr(name, content)
    return buffer.getvalue()


def _is_strict(container: zipfile.ZipFile) -> bool:
    try:
        return _STRICT.search(container.read("_rels/.rels")) is not None
    except (KeyError, OSError, zipfile.BadZipFile):
        return False


def member(container: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of a member, or b"" if it is missing."""
    try:
        return container.read(name)
    except KeyError:
        return b""


def read_member(container: zipfile.ZipFile, name: str) -> Any:
    """Return the root of a member, or None if it is missing or damaged; the parser reports damage."""
    try:
        return xml_tree(_STRICT.sub(_USUAL, container.read(name)))
    except Exception:
        return None
