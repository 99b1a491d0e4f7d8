"""Signatures: the kind of a binary file, from its first bytes or the names inside its container; kinds not read."""

import io
import re
import struct
import zipfile
from typing import NamedTuple

from docmill.tasks.parse.formats import FORMATS, Format, Signature


class UnreadKind(NamedTuple):
    """A kind of file that is not read, what to provide instead if it has text, and its signatures as in `Format`."""

    name: str
    instead: str
    signatures: tuple[Signature, ...] = ()
    members: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()


_SOUND = "sound and video are not read; what is said in them is, as .srt, .vtt or .txt"
_PROGRAM = "compiled programs are not read; their source code is"
_PICTURE = "pictures of this kind are not read; PNG, JPEG, TIFF and WebP are"

UNREAD = (
    UnreadKind("wav", _SOUND, signatures=((8, b"WAVE"),)),
    UnreadKind("avi", _SOUND, signatures=((8, b"AVI "),)),
    UnreadKind("heic", "HEIC and AVIF pictures are not read; PNG, JPEG, TIFF and WebP are",
        signatures=((4, b"ftyphei"), (4, b"ftyphev"), (4, b"ftypmif1"), (4, b"ftypmsf1"),
            (4, b"ftypavif"), (4, b"ftypavis"))),
    UnreadKind("tnef", "winmail.dat, mail wrapped by Outlook (TNEF), is not read; the mail saved as .eml or .msg is",
        signatures=((0, b'x\x9f>"'),)),
    UnreadKind("mp4", _SOUND, signatures=((4, b"ftyp"),)),
    UnreadKind("matroska", _SOUND, signatures=((0, b"\x1aE\xdf\xa3"),)),
    UnreadKind("flv", _SOUND, signatures=((0, b"FLV\x01"),)),
    UnreadKind("ogg", _SOUND, signatures=((0, b"OggS"),)),
    UnreadKind("flac", _SOUND, signatures=((0, b"fLaC"),)),
    UnreadKind("mp3", _SOUND, signatures=((0, b"ID3"), (0, b"\xff\xfb"), (0, b"\xff\xf3"))),
    UnreadKind("au", _SOUND, signatures=((0, b".snd"),)),
    UnreadKind("gzip", "", signatures=((0, b"\x1f\x8b"),)),
    UnreadKind("bzip2", "", signatures=((0, b"BZh"),)),
    UnreadKind("xz", "", signatures=((0, b"\xfd7zXZ\x00"),)),
    UnreadKind("7z", "7z archives are not read; zip and tar archives are", signatures=((0, b"7z\xbc\xaf'\x1c"),)),
    UnreadKind("rar", "rar archives are not read; zip and tar archives are", signatures=((0, b"Rar!\x1a\x07"),)),
    UnreadKind("zstd", "", signatures=((0, b"(\xb5/\xfd"),)),
    UnreadKind("tar", "", signatures=((257, b"ustar"),)),
    UnreadKind("program", _PROGRAM, signatures=((0, b"\x7fELF"), (0, b"MZ\x90"), (0, b"\xcf\xfa\xed\xfe"))),
    UnreadKind("java class", _PROGRAM, signatures=((0, b"\xca\xfe\xba\xbe"),)),
    UnreadKind("wasm", _PROGRAM, signatures=((0, b"\x00asm"),)),
    UnreadKind("font", "fonts are not read; documents that use them are",
        signatures=((0, b"wOF"), (0, b"\x00\x01\x00\x00\x00"), (0, b"OTTO"))),
    UnreadKind("access", "Access databases are not read; their tables exported as CSV, Parquet or SQLite are",
        signatures=((4, b"Standard Jet DB"), (4, b"Standard ACE DB"))),
    UnreadKind("hdf5", "HDF5 files are not read; their tables exported as Parquet or CSV are",
        signatures=((0, b"\x89HDF\r\n"),)),
    UnreadKind("numpy", "NumPy arrays are not read; tables exported as Parquet or CSV are",
        signatures=((0, b"\x93NUMPY"),)),
    UnreadKind("avro", "Avro files are not read; exported as Parquet, JSON or CSV they are",
        signatures=((0, b"Obj\x01"),)),
    UnreadKind("orc", "ORC files are not read; exported as Parquet or CSV they are", signatures=((0, b"ORC"),)),
    UnreadKind("djvu", "DjVu documents are not read; converted to PDF they are; docmill[ocr] reads scans",
        signatures=((0, b"AT&TFORM"),)),
    UnreadKind("mobi", "Kindle's books are not read; converted to EPUB they are", signatures=((60, b"BOOKMOBI"),)),
    UnreadKind("chm", "compiled HTML help is not read; unpacked to HTML it is", signatures=((0, b"ITSF"),)),
    UnreadKind("hwp", "Hangul documents are not read; saved as docx or PDF they are",
        signatures=((0, b"HWP Document File"),), streams=("HwpSummaryInformation",)),
    UnreadKind("warc", "web archives are not read; the pages in them are, as HTML files", signatures=((0, b"WARC/"),)),
    UnreadKind("onenote", "OneNote's notebooks are not read; exported to docx or PDF they are",
        signatures=((0, b"\xe4R\\{\x8c\xd8\xa7M"),)),
    UnreadKind("wordperfect", "WordPerfect documents are not read; saved as docx, odt or PDF they are",
        signatures=((0, b"\xffWPC"),)),
    UnreadKind("photoshop", "Photoshop's pictures are not read; PNG, JPEG, TIFF and WebP are",
        signatures=((0, b"8BPS"),)),
    UnreadKind("autocad", "AutoCAD drawings are not read; plotted to PDF they are", signatures=((0, b"AC10"),)),
    UnreadKind("cab", "cab archives are not read; zip and tar archives are", signatures=((0, b"MSCF"),)),
    UnreadKind("property list", "binary property lists are not read; converted to XML or JSON they are",
        signatures=((0, b"bplist00"),)),
    UnreadKind("postscript", "PostScript is not read; converted to PDF it is",
        signatures=((0, b"%!PS"), (0, b"\xc5\xd0\xd3\xc6"))),
    UnreadKind("jpeg xl", _PICTURE, signatures=((0, b"\x00\x00\x00\x0cJXL "),)),
    UnreadKind("jpeg 2000", _PICTURE, signatures=((0, b"\x00\x00\x00\x0cjP  "),)),
    UnreadKind("icon", _PICTURE, signatures=((0, b"\x00\x00\x01\x00"),)),
    UnreadKind("metafile", _PICTURE,
        signatures=((0, b"\xd7\xcd\xc6\x9a"), (0, b"\x01\x00\t\x00\x00\x03"), (40, b" EMF"))),
    UnreadKind("dicom", "DICOM pictures are not read; reports saved as PDF or text are", signatures=((128, b"DICM"),)),
    UnreadKind("indesign", "InDesign documents are not read; exported to PDF they are",
        signatures=((0, b"\x06\x06\xed\xf5\xd8\x1dF\xe5"),)),
    UnreadKind("framemaker", "FrameMaker documents are not read; saved as PDF or DITA they are",
        signatures=((0, b"<MakerFile"),)),
    UnreadKind("lit", "Microsoft Reader's books are not read; converted to EPUB they are",
        signatures=((0, b"ITOLITLS"),)),
    UnreadKind("spss", "SPSS data are not read; exported as CSV or Parquet they are", signatures=((0, b"$FL2@(#)"),)),
    UnreadKind("stata", "Stata data are not read; exported as CSV or Parquet they are",
        signatures=((0, b"<stata_dta>"),)),
    UnreadKind("sas", "SAS data are not read; exported as CSV or Parquet they are",
        signatures=((12, b"\xc2\xea\x81`\xb3\x14\x11\xcf"),)),
    UnreadKind("pickle", "pickles of Python are not read, as they may run code; data saved as JSON, CSV or Parquet are",
        signatures=((0, b"\x80\x04\x95"), (0, b"\x80\x05\x95"))),
    UnreadKind("network capture", "network captures are not read; printed by tshark as text or JSON they are",
        signatures=((0, b"\xd4\xc3\xb2\xa1"), (0, b"\n\r\r\n"))),
    UnreadKind("disk image", "disk images are not read; the files in them are", signatures=((32769, b"CD001"),)),
    UnreadKind("xps", "XPS documents are not read; saved as PDF they are",
        members=("FixedDocumentSequence.fdseq", "FixedDocSeq.fdseq")),
    UnreadKind("idml", "InDesign documents are not read; exported to PDF they are", members=("designmap.xml",)),
    UnreadKind("apk", "", members=("AndroidManifest.xml",)),
    UnreadKind("jar", _PROGRAM, members=("META-INF/MANIFEST.MF",)),
    UnreadKind("opendocument",
        "OpenDocument databases and formulas are not read; texts, sheets, slides and drawings are",
        members=("META-INF/manifest.xml",)),
    UnreadKind("publication", "", members=("META-INF/container.xml",)),
    UnreadKind("office package", "this kind of Office file is not read; docx, xlsx, pptx, vsdx and PDF are",
        members=("[Content_Types].xml",)),
    UnreadKind("visio", "Visio drawings of before 2013 are not read; saved as vsdx or PDF they are",
        streams=("VisioDocument",)),
    UnreadKind("publisher", "Publisher documents are not read; saved as PDF or docx they are", streams=("Quill",)),
    UnreadKind("application/hwp+zip", "Hangul documents are not read; saved as docx or PDF they are"),
    UnreadKind("ole", "this kind of compound file is not read; saved by its program as docx, xlsx, pptx or PDF it is"),
)  # fmt: skip
"""The first kind that matches a file is used, so the most general ones are last."""

INSTEAD = {kind.name: kind.instead for kind in UNREAD if kind.instead}

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage"  # the stream of an Office document with a password
OPEN_DOCUMENT = {form.opendocument: form.name for form in FORMATS.values() if form.opendocument}
KINDS: tuple[Format | UnreadKind, ...] = (*FORMATS.values(), *UNREAD)
"""All kinds of files that are recognised by their bytes, the readable ones first."""
_SIGNED = [signed for kind in KINDS for signed in kind.signatures]
_BY_OFFSET = {offset: tuple(signature for at, signature in _SIGNED if at == offset) for offset, _ in _SIGNED}
"""All signatures by offset: most files have none, so each offset is tested only once."""
_PDF_LEEWAY = 1024
"""Bytes within which a PDF's header may begin, as Acrobat allows (PDF 1.7, implementation note 13)."""
_PDF_BINARY = 100_000
"""Bytes of such a file that must include a zero, as streams do: a text about PDF may contain the header, too."""
_IWORK_FOLDER = re.compile(r"[^/]+\.(?:pages|key|numbers)/(?:Index\.zip|index\.(?:xml|apxl)(?:\.gz)?|preview\.jpg)\Z")
"""A member of a document that is a folder to its own program and was packed by another program."""
_MAX_MIMETYPE = 100  # bytes: all names of media types are shorter
# A bitmap's header has its signature and file size, then four unused bytes and a four-byte offset.
_BITMAP_HEADER = 14
_BITMAP_SIZE = slice(2, 6)
_DBASE_VERSIONS = frozenset(b"\x02\x03\x30\x31\x32\x43\x63\x83\x8b\xcb\xf5\xfb")
_DBASE_HEADER = 32  # bytes of the header and of each field; a carriage return ends them, and in FoxPro 263 bytes follow
# The header of each member of a zip archive; the member's name follows it (APPNOTE 4.3.7).
_MEMBER = b"PK\x03\x04"
_MEMBER_HEADER = 30  # bytes; the lengths of the name and the extra fields are at the end
_MEMBER_NAME_LENGTH = slice(26, 28)
_EMPTY_ZIP = b"PK\x05\x06"


def binary_kind(data: bytes) -> str:
    """Return the kind of a binary file, such as "pdf", or ""; "encrypted" is a locked Office document."""
    if data.startswith((_MEMBER, _EMPTY_ZIP)):
        return _zip_kind(data)
    if data.startswith(_OLE):
        return _ole_kind(data)
    if any(data.startswith(signatures, offset) for offset, signatures in _BY_OFFSET.items()):
        return next(kind.name for kind in KINDS if _is_signed(data, kind))
    if _is_bitmap(data):
        return "image"
    if _is_dbase(data):
        return "dbf"
    return "pdf" if _is_late_pdf(data) else ""


def _is_signed(data: bytes, kind: Format | UnreadKind) -> bool:
    return any(data.startswith(signature, offset) for offset, signature in kind.signatures)


def _is_bitmap(data: bytes) -> bool:
    """Return whether data is a BMP: texts may also begin with its two letters, so the file size must match, too."""
    whole = len(data) > _BITMAP_HEADER and int.from_bytes(data[_BITMAP_SIZE], "little") == len(data)
    return whole and data.startswith(b"BM")


def _is_dbase(data: bytes) -> bool:
    """Return whether data is a dBase file: it has no signature, but a header with consistent numbers."""
    if len(data) < _DBASE_HEADER or data[0] not in _DBASE_VERSIONS or not 1 <= data[2] <= 12 or not 1 <= data[3] <= 31:
        return False
    header, record = (int.from_bytes(data[at : at + 2], "little") for at in (8, 10))
    fields = data[_DBASE_HEADER:header]
    return record > 1 and len(fields) >= _DBASE_HEADER and b"\r" in (fields[-1:], fields[-264:-263])


def _is_late_pdf(data: bytes) -> bool:
    """Return whether data is a PDF with something before its header."""
    return b"%PDF-" in data[:_PDF_LEEWAY] and b"\0" in data[:_PDF_BINARY]


def _ole_kind(data: bytes) -> str:
    """Return the kind of a compound file from its top-level streams, or, if it is damaged, from any names in it."""
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            names = {path[0] for path in container.listdir(storages=True)}
    except (OSError, ValueError, LookupError, TypeError, struct.error, RecursionError):
        streams = (_ENCRYPTED, *(stream for kind in KINDS for stream in kind.streams))
        names = {name for name in streams if name.encode("utf-16-le") in data}
    # Stream names are case-insensitive (MS-CFB 2.6.4), and some programs write them in capitals.
    small = {name.lower().lstrip("\5") for name in names}  # a character before the names of properties
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
    """Return the kind of document in a zip container, or "zip" for a plain archive of files."""
    names = [name.replace("\\", "/") for name in archive.namelist()]
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
