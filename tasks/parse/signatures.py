"""Signatures: the kind of a binary file, by its first bytes or by the names inside its container."""

import io
import re
import struct
import zipfile

# Offset, bytes, kind; the first match wins, so more specific ones come first.
SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
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
    (0, b"\xff\xff\xff\xff", "arrow"),
    (0, b"wOF", "font"),
    (0, b"\0\x01\0\0\0", "font"),
    (0, b"OTTO", "font"),
    (0, b"!BDN", "pst"),
    (4, b"Standard Jet DB", "access"),
    (4, b"Standard ACE DB", "access"),
    (0, b"\x89HDF\r\n", "hdf5"),
    (0, b"\x93NUMPY", "numpy"),
    (0, b"Obj\x01", "avro"),
    (0, b"ORC", "orc"),
    (0, b"AT&TFORM", "djvu"),
    (60, b"BOOKMOBI", "mobi"),
    (0, b"ITSF", "chm"),
    (0, b"HWP Document File", "hwp"),
    (0, b"WARC/", "warc"),
    (0, b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d", "onenote"),
    (0, b"\xffWPC", "wordperfect"),
    (0, b"8BPS", "photoshop"),
    (0, b"AC10", "autocad"),
    (0, b"MSCF", "cab"),
    (0, b"bplist00", "property list"),
    (0, b"%!PS", "postscript"),
    (0, b"\xc5\xd0\xd3\xc6", "postscript"),
    (0, b"\xff\xfb", "mp3"),
    (0, b"\xff\xf3", "mp3"),
    (0, b"\0\0\0\x0cJXL ", "jpeg xl"),
    (0, b"\0\0\0\x0cjP  ", "jpeg 2000"),
    (0, b"\0\0\1\0", "icon"),
    (0, b"\xd7\xcd\xc6\x9a", "metafile"),
    (0, b"\1\0\x09\0\0\3", "metafile"),
    (40, b" EMF", "metafile"),
    (128, b"DICM", "dicom"),
    (0, b"\x06\x06\xed\xf5\xd8\x1d\x46\xe5", "indesign"),
    (0, b"<MakerFile", "framemaker"),
    (0, b"ITOLITLS", "lit"),
    (0, b"$FL2@(#)", "spss"),
    (0, b"<stata_dta>", "stata"),
    (12, b"\xc2\xea\x81\x60\xb3\x14\x11\xcf", "sas"),
    (0, b"\x80\x04\x95", "pickle"),
    (0, b"\x80\x05\x95", "pickle"),
    (0, b"\xd4\xc3\xb2\xa1", "network capture"),
    (0, b"\x0a\x0d\x0d\x0a", "network capture"),
    (32769, b"CD001", "disk image"),
)
# Which files to give instead of unsupported ones that hold text.
INSTEAD = (
    {
        "7z": "7z archives are not read; zip and tar archives are",
        "rar": "rar archives are not read; zip and tar archives are",
        "heic": "HEIC and AVIF pictures are not read; PNG, JPEG, TIFF and WebP are",
        "tnef": "winmail.dat, mail wrapped by Outlook (TNEF), is not read; the mail saved as .eml or .msg is",
        "visio": "Visio drawings of before 2013 are not read; saved as vsdx or PDF they are",
        "hwp": "Hangul documents are not read; saved as docx or PDF they are",
        "access": "Access databases are not read; their tables exported as CSV, Parquet or SQLite are",
        "hdf5": "HDF5 files are not read; their tables exported as Parquet or CSV are",
        "numpy": "NumPy arrays are not read; tables exported as Parquet or CSV are",
        "avro": "Avro files are not read; exported as Parquet, JSON or CSV they are",
        "orc": "ORC files are not read; exported as Parquet or CSV they are",
        "djvu": "DjVu documents are not read; converted to PDF they are; [parse] ocr = true reads scans",
        "mobi": "Kindle's books are not read; converted to EPUB they are",
        "chm": "compiled HTML help is not read; unpacked to HTML it is",
        "onenote": "OneNote's notebooks are not read; exported to docx or PDF they are",
        "wordperfect": "WordPerfect documents are not read; saved as docx, odt or PDF they are",
        "photoshop": "Photoshop's pictures are not read; PNG, JPEG, TIFF and WebP are",
        "autocad": "AutoCAD drawings are not read; plotted to PDF they are",
        "cab": "cab archives are not read; zip and tar archives are",
        "postscript": "PostScript is not read; converted to PDF it is",
        "xps": "XPS documents are not read; saved as PDF they are",
        "indesign": "InDesign documents are not read; exported to PDF they are",
        "idml": "InDesign documents are not read; exported to PDF they are",
        "framemaker": "FrameMaker documents are not read; saved as PDF or DITA they are",
        "publisher": "Publisher documents are not read; saved as PDF or docx they are",
        "lit": "Microsoft Reader's books are not read; converted to EPUB they are",
        "application/hwp+zip": "Hangul documents are not read; saved as docx or PDF they are",
        "opendocument": "OpenDocument databases and formulas are not read; texts, sheets, slides and drawings are",
        "office package": "this kind of Office file is not read; docx, xlsx, pptx, vsdx and PDF are",
        "ole": "this kind of compound file is not read; saved by its program as docx, xlsx, pptx or PDF it is",
        "dicom": "DICOM pictures are not read; reports saved as PDF or text are",
        "spss": "SPSS data are not read; exported as CSV or Parquet they are",
        "stata": "Stata data are not read; exported as CSV or Parquet they are",
        "sas": "SAS data are not read; exported as CSV or Parquet they are",
        "pickle": "pickles of Python are not read, as they may run code; data saved as JSON, CSV or Parquet are",
        "warc": "web archives are not read; the pages in them are, as HTML files",
        "network capture": "network captures are not read; printed by tshark as text or JSON they are",
        "disk image": "disk images are not read; the files in them are",
        "property list": "binary property lists are not read; converted to XML or JSON they are",
    }
    | dict.fromkeys(
        ("jpeg xl", "jpeg 2000", "icon", "metafile"), "pictures of this kind are not read; PNG, JPEG, TIFF and WebP are"
    )
    | dict.fromkeys(("program", "java class", "wasm", "jar"), "compiled programs are not read; their source code is")
    | {"font": "fonts are not read; documents that use them are"}
    | dict.fromkeys(
        ("wav", "avi", "mp4", "matroska", "flv", "ogg", "flac", "mp3", "au"),
        "sound and video are not read; what is said in them is, as .srt, .vtt or .txt",
    )
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OLE_STREAMS = (
    ("WordDocument", "doc"),
    ("PowerPoint Document", "ppt"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("__properties_version1.0", "msg"),
    ("__substg1.0_", "msg"),
    ("VisioDocument", "visio"),
    ("HwpSummaryInformation", "hwp"),
    ("Quill", "publisher"),
    ("EncryptedPackage", "encrypted"),
)
ZIP_FOLDERS = (
    ("word/", "docx"),
    ("ppt/", "pptx"),
    ("xl/", "xlsx"),
    ("visio/", "vsdx"),
    ("FixedDocumentSequence.fdseq", "xps"),
    ("FixedDocSeq.fdseq", "xps"),
    ("designmap.xml", "idml"),
    ("Index/Document.iwa", "iwork"),
    ("Metadata/BuildVersionHistory.plist", "iwork"),
    ("buildVersionHistory.plist", "iwork"),
    ("index.apxl", "iwork"),
    ("AndroidManifest.xml", "apk"),
    ("META-INF/MANIFEST.MF", "jar"),
    ("QuickLook/", "iwork"),
    ("META-INF/manifest.xml", "opendocument"),
    ("META-INF/container.xml", "publication"),
    ("[Content_Types].xml", "office package"),
)
OPEN_DOCUMENT = {"text": "odt", "spreadsheet": "ods", "presentation": "odp", "graphics": "odg"}
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
    for offset, signature, kind in SIGNATURES:
        if data.startswith(signature, offset):
            return kind
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
        names = {name for name, _ in OLE_STREAMS if name.encode("utf-16-le") in data}
    # The names of streams have no case (MS-CFB 2.6.4), and some programs write them in capitals.
    small = {name.lower().lstrip("\5") for name in names}  # a sign before the names of properties
    return next((kind for name, kind in OLE_STREAMS if any(one.startswith(name.lower()) for one in small)), "ole")


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
    for prefix, kind in ZIP_FOLDERS:
        if any(name.startswith(prefix) for name in names):
            return kind
    return declared.strip() if declared.startswith("application/") else "zip"


def _broken_zip_names(data: bytes) -> list[str]:
    """Return the member names of an archive with an unreadable directory, from the members' own headers."""
    names, at = [], 0
    while (at := data.find(_MEMBER, at)) >= 0:
        header, at = data[at : at + _MEMBER_HEADER], at + _MEMBER_HEADER
        length = int.from_bytes(header[_MEMBER_NAME_LENGTH], "little")
        names.append(data[at : at + length].decode("utf-8", "replace"))
    return names
