"""Signatures: the kind of a binary file, by its first bytes or by the names inside its container."""

import io
import re
import struct
import zipfile

from docmill.tasks.parse.format import Format
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.unread_kinds import UNREAD, UnreadKind

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage"  # the stream of an Office document with a password
OPEN_DOCUMENT = {form.opendocument: form.name for form in FORMATS.values() if form.opendocument}
KINDS: tuple[Format | UnreadKind, ...] = (*FORMATS.values(), *UNREAD)
"""All kinds of files that are known by their bytes, those that are read first."""
_PDF_LEEWAY = 1024
"""Bytes within which a PDF's header may begin, as Acrobat allows (PDF 1.7, implementation note 13)."""
_PDF_BINARY = 100_000
"""Bytes of such a file that must have a zero, as streams have: a text about PDF may have the header, too."""
_IWORK_FOLDER = re.compile(r"[^/]+\.(?:pages|key|numbers)/(?:Index\.zip|index\.(?:xml|apxl)(?:\.gz)?|preview\.jpg)\Z")
"""A member of a document that is a folder to its own program, and that another one has packed."""
_MAX_MIMETYPE = 100  # bytes: all names of media types are shorter
# A bitmap's header is its mark and its file's size, then four bytes that are unused and four of an offset.
_BITMAP_HEADER = 14
_BITMAP_SIZE = slice(2, 6)
_DBASE_VERSIONS = frozenset(b"\x02\x03\x30\x31\x32\x43\x63\x83\x8b\xcb\xf5\xfb")
_DBASE_HEADER = 32  # bytes of the header and of each field, which a carriage return ends, and in FoxPro 263 more follow
# The header of each member of a zip archive, whose name follows it (APPNOTE 4.3.7).
_MEMBER = b"PK\x03\x04"
_MEMBER_HEADER = 30  # bytes; the lengths of its name and of extra fields are at the end
_MEMBER_NAME_LENGTH = slice(26, 28)
_EMPTY_ZIP = b"PK\x05\x06"


def binary_kind(data: bytes) -> str:
    """Return the kind of a binary file, such as "pdf", or ""; "encrypted" is a locked Office document."""
    if data.startswith((_MEMBER, _EMPTY_ZIP)):
        return _zip_kind(data)
    if data.startswith(_OLE):
        return _ole_kind(data)
    for kind in KINDS:
        if any(data.startswith(signature, offset) for offset, signature in kind.signatures):
            return kind.name
    if _is_bitmap(data):
        return "image"
    if _is_dbase(data):
        return "dbf"
    return "pdf" if _is_late_pdf(data) else ""


def _is_bitmap(data: bytes) -> bool:
    """Return whether data is a BMP: its two letters also begin texts, so the file size must match, too."""
    whole = len(data) > _BITMAP_HEADER and int.from_bytes(data[_BITMAP_SIZE], "little") == len(data)
    return whole and data.startswith(b"BM")


def _is_dbase(data: bytes) -> bool:
    """Return whether data is a dBase file: it has no mark, but a header whose numbers fit one another."""
    if len(data) < _DBASE_HEADER or data[0] not in _DBASE_VERSIONS or not 1 <= data[2] <= 12 or not 1 <= data[3] <= 31:
        return False
    header, record = (int.from_bytes(data[at : at + 2], "little") for at in (8, 10))
    fields = data[_DBASE_HEADER:header]
    return record > 1 and len(fields) >= _DBASE_HEADER and b"\r" in (fields[-1:], fields[-264:-263])


def _is_late_pdf(data: bytes) -> bool:
    """Return whether data is a PDF with something before its header."""
    return b"%PDF-" in data[:_PDF_LEEWAY] and b"\0" in data[:_PDF_BINARY]


def _ole_kind(data: bytes) -> str:
    """Return the kind of a compound file by its top-level streams, or of a damaged one by any names in it."""
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            names = {path[0] for path in container.listdir(storages=True)}
    except (OSError, ValueError, LookupError, TypeError, struct.error, RecursionError):
        streams = (_ENCRYPTED, *(stream for kind in KINDS for stream in kind.streams))
        names = {name for name in streams if name.encode("utf-16-le") in data}
    # The names of streams have no case (MS-CFB 2.6.4), and some programs write them in capitals.
    small = {name.lower().lstrip("\5") for name in names}  # a sign before the names of properties
    return _first_kind(small) or ("encrypted" if _ENCRYPTED.lower() in small else "ole")


def _first_kind(names: set[str]) -> str:
    """Return the kind of a compound file by the names of its streams in lower case, or ""."""
    for kind in KINDS:
        streams = tuple(map(str.lower, kind.streams))
        if streams and any(name.startswith(streams) for name in names):
            return kind.name
    return ""


def _zip_kind(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return kind_of_zip(archive)
    except Exception:
        return _kind_of_names(_broken_zip_names(data), "")


def kind_of_zip(archive: zipfile.ZipFile) -> str:
    """Return the kind of document in a zip container, "zip" for a plain archive of files."""
    names = archive.namelist()
    declared = b""
    if "mimetype" in names:
        with archive.open("mimetype") as member:
            declared = member.read(_MAX_MIMETYPE)
    return _kind_of_names(names, declared.decode("ascii", "replace"))


def _kind_of_names(names: list[str], declared: str) -> str:
    if "epub" in declared:
        return "epub"
    if "opendocument." in declared:
        return OPEN_DOCUMENT.get(declared.partition("opendocument.")[2].partition("-template")[0], "opendocument")
    if any(map(_IWORK_FOLDER.match, names)):
        return "iwork"
    for kind in KINDS:
        if kind.members and any(name.startswith(kind.members) for name in names):
            return kind.name
    return declared.strip() if declared.startswith("application/") else "zip"


def _broken_zip_names(data: bytes) -> list[str]:
    """Return the member names of an archive with an unreadable directory, from the members' own headers."""
    names, at = [], 0
    while (at := data.find(_MEMBER, at)) >= 0:
        header, at = data[at : at + _MEMBER_HEADER], at + _MEMBER_HEADER
        length = int.from_bytes(header[_MEMBER_NAME_LENGTH], "little")
        names.append(data[at : at + length].decode("utf-8", "replace"))
    return names
