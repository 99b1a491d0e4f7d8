"""Properties: title, author and dates of old Office documents and OpenDocument; for Office Open XML see `open_xml`."""

import io
import struct
import zipfile
from datetime import datetime, timedelta
from typing import Any

from lxml import etree

from docmill.tasks.parse.office.open_xml import read_member

_SUMMARY = {2: "title", 3: "subject", 4: "author", 5: "keywords", 12: "created", 13: "modified"}
_STREAM = "\x05SummaryInformation"
_MAX_PROPERTIES = 1_000
"""Maximum properties of a set to read: fewer than 20 are known, and a damaged set may state billions."""
_MAX_VALUE = 10_000
"""Maximum bytes of a value to read. A longer text is cut; a damaged size would copy the rest of the stream each
time."""
_UINT32 = 4  # bytes of sizes, counts and offsets
_SET_OFFSET = 44  # PropertySetStream: Offset0, after the header of 28 bytes and FMTID0
_NUM_PROPERTIES = 4  # PropertySet: NumProperties, after Size
_PROPERTIES = 8  # PropertySet: PropertyIdentifierAndOffset0, after NumProperties
_IDENTIFIER_AND_OFFSET = struct.Struct("<II")  # PropertyIdentifierAndOffset
_VALUE = 4  # TypedPropertyValue: Value, after Type and Padding
_CODEPAGE = 1  # the identifier of the property that states the encoding of narrow texts
_CP_UTF8, _CP_WESTERN = 65001, 1252  # code pages: UTF-8, and the Windows one if none is stated
_VT_LPSTR, _VT_LPWSTR, _VT_FILETIME = 0x1E, 0x1F, 0x40  # types: narrow text, wide text, time
_FILETIME = 8  # bytes of a FILETIME
_EPOCH = datetime(1601, 1, 1)  # of a FILETIME
_TICKS_A_SECOND = 10_000_000  # of a FILETIME
_MAX_TICKS = 1 << 61  # of a FILETIME: in the year 8907, because Python has no dates from 10000 on
_META = {
    "title": "title", "initial-creator": "author", "creator": "author", "subject": "subject",
    "description": "description", "keyword": "keywords", "language": "language", "creation-date": "created",
    "date": "modified",
}  # fmt: skip


def compound_properties(data: bytes) -> dict[str, Any]:
    """Return title, author, subject, keywords and dates of a compound file, as far as stated (MS-OLEPS)."""
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            stream = container.openstream(_STREAM).read() if container.exists(_STREAM) else b""
        found = _properties(stream)
    except Exception:  # the parser reports damage
        return {}
    codepage = int.from_bytes(found.get(_CODEPAGE, b"")[_VALUE : _VALUE + 2], "little") or _CP_WESTERN
    texts = {name: _text(found.get(number, b""), codepage) for number, name in _SUMMARY.items()}
    return {name: text for name, text in texts.items() if text}


def _properties(stream: bytes) -> dict[int, bytes]:
    """Return the values of a property set by number, each preceded by its type."""
    start = _uint32(stream, _SET_OFFSET)
    stated = min(_uint32(stream, start + _NUM_PROPERTIES), _MAX_PROPERTIES)
    entry = _IDENTIFIER_AND_OFFSET.size
    first = start + _PROPERTIES
    table = stream[first : first + entry * stated]
    found: dict[int, bytes] = {}
    for number, at in _IDENTIFIER_AND_OFFSET.iter_unpack(table[: len(table) // entry * entry]):
        found.setdefault(number, stream[start + at : start + at + _MAX_VALUE])
    return found


def open_document_properties(container: zipfile.ZipFile) -> dict[str, Any]:
    """Return title, author, language and dates from an OpenDocument's `meta.xml`."""
    root = read_member(container, "meta.xml")
    found: dict[str, Any] = {}
    for node in () if root is None else root.iter("{*}*"):
        name = _META.get(etree.QName(node).localname)
        value = " ".join((node.text or "").split())
        if name and value:
            # Each keyword is a separate element; of other properties, the first wins.
            joined = name == "keywords" and name in found
            found[name] = f"{found[name]}, {value}" if joined else found.get(name, value)
    return found


def _text(value: bytes, codepage: int) -> str:
    """Return a TypedPropertyValue as text, with times in ISO 8601; "" for other types."""
    kind, content = int.from_bytes(value[:2], "little"), value[_VALUE:]
    if kind == _VT_FILETIME:
        return _time(int.from_bytes(content[:_FILETIME], "little"))
    length, characters = _uint32(content, 0), content[_UINT32:]
    if kind == _VT_LPWSTR:
        return _clean(characters[: 2 * length].decode("utf-16-le", "replace"))
    return _clean(_decoded(characters[:length], codepage)) if kind == _VT_LPSTR else ""


def _time(ticks: int) -> str:
    return (_EPOCH + timedelta(seconds=ticks // _TICKS_A_SECOND)).isoformat() if 0 < ticks < _MAX_TICKS else ""


def _decoded(text: bytes, codepage: int) -> str:
    try:
        return text.decode("utf-8" if codepage == _CP_UTF8 else f"cp{codepage}", "replace")
    except LookupError:  # a damaged number, or a code page that Python lacks
        return text.decode(f"cp{_CP_WESTERN}", "replace")


def _uint32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + _UINT32], "little")


def _clean(text: str) -> str:
    return " ".join(text.partition("\0")[0].split())
