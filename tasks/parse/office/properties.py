"""What old Office documents and OpenDocument say of themselves; of Office Open XML, see `open_xml`."""

import io
import struct
import zipfile
from datetime import datetime, timedelta
from typing import Any

from lxml import etree

_SUMMARY = {2: "title", 3: "subject", 4: "author", 5: "keywords", 12: "created", 13: "modified"}
_STREAM = "\x05SummaryInformation"
_MAX_PROPERTIES = 1_000
_MAX_TEXT = 10_000
_CODEPAGE, _NARROW, _WIDE, _TIME = 1, 0x1E, 0x1F, 0x40
_EPOCH = datetime(1601, 1, 1)
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
    """Return title, author, subject, keywords and dates of a compound file, as far as it states them (MS-OLEPS)."""
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            stream = container.openstream(_STREAM).read() if container.exists(_STREAM) else b""
        found = _properties(stream)
    except Exception:  # damage is for the parser to tell
        return {}
    codepage = int.from_bytes(found.get(_CODEPAGE, b"")[4:6], "little") or 1252
    texts = {name: _text(found.get(number, b""), codepage) for number, name in _SUMMARY.items()}
    return {name: text for name, text in texts.items() if text}


def _properties(stream: bytes) -> dict[int, bytes]:
    """Return the values of a property set by their numbers, each with its type before it."""
    start = int.from_bytes(stream[44:48], "little")
    count = min(int.from_bytes(stream[start + 4 : start + 8], "little"), _MAX_PROPERTIES)
    table = stream[start + 8 : start + 8 + 8 * count]
    found: dict[int, bytes] = {}
    for number, at in struct.iter_unpack("<II", table[: len(table) // 8 * 8]):
        found.setdefault(number, stream[start + at : start + at + _MAX_TEXT])
    return found


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


def _text(value: bytes, codepage: int) -> str:
    kind, content = int.from_bytes(value[:2], "little"), value[4:]
    if kind == _TIME:
        ticks = int.from_bytes(content[:8], "little")
        return (_EPOCH + timedelta(seconds=ticks // 10_000_000)).isoformat() if 0 < ticks < 1 << 61 else ""
    length = int.from_bytes(content[:4], "little")
    if kind == _WIDE:
        return _clean(content[4 : 4 + 2 * length].decode("utf-16-le", "replace"))
    if kind != _NARROW:
        return ""
    try:
        return _clean(content[4 : 4 + length].decode("utf-8" if codepage == 65001 else f"cp{codepage}", "replace"))
    except LookupError:
        return _clean(content[4 : 4 + length].decode("cp1252", "replace"))


def _clean(text: str) -> str:
    return " ".join(text.partition("\0")[0].split())
