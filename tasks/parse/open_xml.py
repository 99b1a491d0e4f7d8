"""Office Open XML: what is read from a document's container itself, beside the library that parses it."""

import io
import re
import zipfile
from typing import Any

from lxml import etree

_CORE = {
    "{http://purl.org/dc/elements/1.1/}creator": "author",
    "{http://purl.org/dc/elements/1.1/}description": "description",
    "{http://purl.org/dc/elements/1.1/}language": "language",
    "{http://purl.org/dc/elements/1.1/}title": "title",
    "{http://purl.org/dc/terms/}created": "created",
    "{http://purl.org/dc/terms/}modified": "modified",
    "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}keywords": "keywords",
}
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_USUAL = rb"http://schemas.openxmlformats.org/\1/2006/"


def core_properties(container: zipfile.ZipFile) -> dict[str, Any]:
    """Return title, author, dates and language, as far as the document states them."""
    root = _read(container, "docProps/core.xml")
    if root is None:
        return {}
    found = ((_CORE.get(node.tag), " ".join((node.text or "").split())) for node in root)
    return {name: value for name, value in found if name and value}


def text_boxes(container: zipfile.ZipFile) -> list[str]:
    """Return the text of each text box of a Word document, in the order of the file."""
    root = _read(container, "word/document.xml", holding=b"txbxContent")
    boxes: list[str] = []
    for box in () if root is None else root.iter(_WORD + "txbxContent"):
        if next(box.iterancestors(_FALLBACK), None) is None:  # the same box once more, for old readers
            lines = ("".join(node.text or "" for node in line.iter(_WORD + "t")) for line in box.iter(_WORD + "p"))
            boxes.append("\n".join(lines))
    return boxes


def is_strict(container: zipfile.ZipFile) -> bool:
    """Return whether a document is in the strict variant, whose namespaces libraries do not know."""
    try:
        return _STRICT.search(container.read("_rels/.rels")) is not None
    except (KeyError, OSError, zipfile.BadZipFile):
        return False


def as_transitional(container: zipfile.ZipFile) -> bytes:
    """Return a strict document's container with the namespaces of the usual variant."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as usual:
        for name in container.namelist():
            content = container.read(name)
            if name.endswith((".xml", ".rels")):
                content = _STRICT.sub(_USUAL, content)
            usual.writestr(name, content)
    return buffer.getvalue()


def _read(container: zipfile.ZipFile, name: str, holding: bytes = b"") -> Any:
    """Return the root of a member, or None where it lacks `holding`, is missing or is damaged.

    Damage is for the parser to tell.
    """
    try:
        content = container.read(name)
        if holding not in content:
            return None
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
        return etree.fromstring(_STRICT.sub(_USUAL, content), parser)
    except Exception:
        return None
