"""Signatures: what a binary file is, by its first bytes, or by the names inside of its container."""

import io
import struct
import zipfile

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF-", "pdf"),
    (0, b"{\\rtf", "rtf"),
    (0, b"\x89PNG\r\n", "image"),
    (0, b"\xff\xd8\xff", "image"),
    (0, b"GIF8", "image"),
    (0, b"II*\0", "image"),
    (0, b"MM\0*", "image"),
    (8, b"WEBP", "image"),
    (8, b"WAVE", "wav"),
    (8, b"AVI ", "avi"),
    *((4, b"ftyp" + brand, "heic") for brand in (b"hei", b"hev", b"mif1", b"msf1", b"avif", b"avis")),
    (0, b"\x78\x9f\x3e\x22", "tnef"),
    (4, b"ftyp", "mp4"),
    (0, b"\x1a\x45\xdf\xa3", "matroska"),
    (0, b"FLV\x01", "flv"),
    (0, b"OggS", "ogg"),
    (0, b"fLaC", "flac"),
    (0, b"ID3", "mp3"),
    (0, b".snd", "au"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z"),
    (0, b"Rar!\x1a\x07", "rar"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (257, b"ustar", "tar"),
    (0, b"\x7fELF", "program"),
    (0, b"MZ\x90", "program"),
    (0, b"\xca\xfe\xba\xbe", "java class"),
    (0, b"\xcf\xfa\xed\xfe", "program"),
    (0, b"\0asm", "wasm"),
    (0, b"SQLite format 3\0", "sqlite"),
    (0, b"PAR1", "parquet"),
    (0, b"ARROW1", "arrow"),
    (0, b"wOF", "font"),
    (0, b"\0\x01\0\0\0", "font"),
    (0, b"OTTO", "font"),
)
# What is read instead of files that people keep texts in, and that are not.
INSTEAD = {
    "7z": "7z archives are not read; zip and tar archives are",
    "rar": "rar archives are not read; zip and tar archives are",
    "heic": "HEIC and AVIF pictures are not read; PNG, JPEG, TIFF and WebP are",
    "tnef": "winmail.dat, mail wrapped by Outlook (TNEF), is not read; the mail saved as .eml or .msg is",
    "odp": "OpenDocument presentations are not read; saved as pptx or PDF they are",
    "odg": "OpenDocument drawings are not read; saved as PDF they are",
    "visio": "Visio drawings are not read; saved as PDF they are",
    "iwork": "Pages, Numbers and Keynote documents are not read; exported to docx, xlsx, pptx or PDF they are",
    "hwp": "Hangul documents are not read; saved as docx or PDF they are",
}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = (
    ("WordDocument", "doc"),
    ("PowerPoint Document", "ppt"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("__properties_version1.0", "msg"),
    ("__substg1.0_", "msg"),
    ("VisioDocument", "visio"),
    ("HwpSummaryInformation", "hwp"),
    ("EncryptedPackage", "encrypted"),
)
_ZIP_FOLDERS = (
    ("word/", "docx"),
    ("ppt/", "pptx"),
    ("xl/", "xlsx"),
    ("visio/", "visio"),
    ("Index/Document.iwa", "iwork"),
    ("AndroidManifest.xml", "apk"),
    ("META-INF/MANIFEST.MF", "jar"),
    ("QuickLook/", "iwork"),
    ("META-INF/manifest.xml", "opendocument"),
    ("META-INF/container.xml", "publication"),
    ("[Content_Types].xml", "office package"),
)
_OPEN_DOCUMENT = {"text": "odt", "spreadsheet": "ods", "presentation": "odp", "graphics": "odg"}
_PDF_LEEWAY = 1024
_MAX_MIMETYPE = 100


def binary_kind(data: bytes) -> str:
    """Return what a binary file is, such as "pdf" or "docx", else nothing; "encrypted" is a locked Office document."""
    if data.startswith(b"PK\x03\x04") or data.startswith(b"PK\x05\x06"):
        return _zip_kind(data)
    if data.startswith(_OLE):
        return _ole_kind(data)
    for offset, signature, kind in _SIGNATURES:
        if data.startswith(signature, offset):
            return kind
    if data.startswith(b"BM") and len(data) > 14 and int.from_bytes(data[2:6], "little") == len(data):
        return "image"
    return "pdf" if b"%PDF-" in data[:_PDF_LEEWAY] and b"\0" in data[:100_000] else ""


def _ole_kind(data: bytes) -> str:
    """Return what a compound file is, by its outermost streams; of a damaged one, by all names in it."""
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            names = {path[0] for path in container.listdir(storages=True)}
    except (OSError, ValueError, LookupError, TypeError, struct.error, RecursionError):
        names = {name for name, _ in _OLE_STREAMS if name.encode("utf-16-le") in data}
    return next((kind for name, kind in _OLE_STREAMS if any(one.startswith(name) for one in names)), "ole")


def _zip_kind(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return kind_of_zip(archive)
    except Exception:
        return _kind_of_names(_broken_zip_names(data), "")


def kind_of_zip(archive: zipfile.ZipFile) -> str:
    """Return which kind of document a zip container is, "zip" where it is a mere archive of files."""
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
        return _OPEN_DOCUMENT.get(declared.partition("opendocument.")[2].partition("-template")[0], "opendocument")
    for prefix, kind in _ZIP_FOLDERS:
        if any(name.startswith(prefix) for name in names):
            return kind
    return declared.strip() if declared.startswith("application/") else "zip"


def _broken_zip_names(data: bytes) -> list[str]:
    """Return member names of an archive whose directory cannot be read, from the members' own headers."""
    names, at = [], 0
    while (at := data.find(b"PK\x03\x04", at)) >= 0:
        length = int.from_bytes(data[at + 26 : at + 28], "little")
        names.append(data[at + 30 : at + 30 + length].decode("utf-8", "replace"))
        at += 30
    return names
