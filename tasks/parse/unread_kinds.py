"""Unread kinds: files that docmill knows and does not read, their signs, and what to give instead."""

from typing import NamedTuple

from docmill.tasks.parse.format import Signature


class UnreadKind(NamedTuple):
    """A kind of file, what to give instead if it holds text, and its signs, as those of `Format`."""

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
"""Of those that fit a file, the first one counts; the most general ones are the last."""

INSTEAD = {kind.name: kind.instead for kind in UNREAD if kind.instead}
