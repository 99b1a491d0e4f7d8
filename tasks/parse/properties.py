"""What old Office documents and OpenDocument say of themselves; of Office Open XML, see `open_xml`."""

import io
import zipfile
from datetime import datetime
from typing import Any

from lxml import etree

_SUMMARY = {"title": "title", "author": "author", "subject": "subject", "keywords": "keywords",
            "create_time": "created", "last_saved_time": "modified"}  # fmt: skip
_META = {
    "title": "title",
    "initial-creator": "author",
    "creator": "author",
    "subject": "subject",
    "description": "description",
    "keyword": "keywords",
    "language": "language",
    "creation-date": "created",
    "date": "modified",
}


def compound_properties(data: bytes) -> dict[str, Any]:
    """Return title, author, subject, keywords and dates of a compound file, as far as it states them."""
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            summary = container.get_metadata()
    except Exception:  # damage is for the parser to tell
        return {}
    found = {name: _text(getattr(summary, key, None), summary.codepage) for key, name in _SUMMARY.items()}
    return {name: value for name, value in found.items() if value}


def open_document_properties(container: zipfile.ZipFile) -> dict[str, Any]:
    """Return what an OpenDocument's `meta.xml` states of title, author, language and dates."""
    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        root = etree.fromstring(container.read("meta.xml"), parser)
    except Exception:  # damage is for the parser to tell
        return {}
    found: dict[str, Any] = {}
    for node in root.iter("{*}*"):
        name = _META.get(etree.QName(node).localname)
        value = " ".join((node.text or "").split())
        if name and value:
            found[name] = f"{found[name]}, {value}" if name == "keywords" and name in found else found.get(name, value)
    return found


def is_encrypted(container: zipfile.ZipFile) -> bool:
    """Return whether members of an OpenDocument are encrypted."""
    return b"encryption-data" in (
        container.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in container.NameToInfo else b""
    )


def _text(value: Any, codepage: int | None) -> str:
    if isinstance(value, datetime):
        return value.isoformat() if value.year > 1601 else ""
    if not isinstance(value, bytes):
        return ""
    try:
        text = value.decode("utf-8" if codepage in (65001, -535) else f"cp{(codepage or 1252) % 65536}", "replace")
    except LookupError:
        text = value.decode("cp1252", "replace")
    return " ".join(text.replace("\0", "").split())
