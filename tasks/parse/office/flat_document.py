"""OpenDocument containers, and flat documents: single XML files, converted to the container that parsers read."""

import zipfile
from typing import Any

from lxml import etree

from docmill.storage.errors import Rejected
from docmill.tasks.parse.office.open_xml import check_container, member, zipped
from docmill.tasks.parse.pictures.addresses import of_data_uri
from docmill.tasks.parse.xml_trees import xml_tree

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_PARTS = {
    "content.xml": ("document-content", ("scripts", "font-face-decls", "automatic-styles", "body")),
    "styles.xml": ("document-styles", ("font-face-decls", "styles", "automatic-styles", "master-styles")),
    "meta.xml": ("document-meta", ("meta",)),
}
"""The members of a container, each with its root and the parts of a flat document that it contains."""
_MANIFEST = b'<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
_ZIP = b"PK"


def open_container(data: bytes, limit: int) -> zipfile.ZipFile:
    """Return an OpenDocument file as an opened container of at most `limit` bytes; raise Rejected `encrypted`."""
    container = check_container(as_container(data), limit)
    if b"encryption-data" in member(container, "META-INF/manifest.xml"):
        container.close()
        raise Rejected("encrypted", "the document is encrypted; save it without a password")
    return container


def as_container(data: bytes) -> bytes:
    """Return a flat document as a container with its pictures as members, and a container unchanged."""
    if data.startswith(_ZIP):
        return data
    try:
        root = xml_tree(data)
    except etree.XMLSyntaxError as error:
        raise Rejected("corrupt", f"a flat OpenDocument file that is not well-formed XML: {error}") from error
    pictures = {f"Pictures/{number}": held for number, held in enumerate([*root.iter(_OFFICE + "binary-data")])}
    for name, held in pictures.items():
        held.getparent().set(_HREF, name)
        held.getparent().remove(held)
    members = {"mimetype": (root.get(_OFFICE + "mimetype") or "").encode(), "META-INF/manifest.xml": _MANIFEST}
    for name, held in pictures.items():
        members[name] = of_data_uri(f"data:image/png;base64,{held.text or ''}") or b""
    return zipped((members | {name: _part(root, *part) for name, part in _PARTS.items()}).items())


def _part(root: Any, tag: str, kept: tuple[str, ...]) -> bytes:
    # The parts are serialized separately, so that each declares the namespaces of its root.
    written = b"".join(etree.tostring(node) for node in root if node.tag in {_OFFICE + name for name in kept})
    spaces = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in root.nsmap.items() if prefix)
    prefix = next(name for name, uri in root.nsmap.items() if f"{{{uri}}}" == _OFFICE)
    return f"<{prefix}:{tag}{spaces}>".encode() + written + f"</{prefix}:{tag}>".encode()
