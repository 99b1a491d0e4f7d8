"""Files that docmill does not read: each is rejected with what it is and what would be read instead."""

import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.writers.compound import compound_file

PREVIEW = Path(__file__).parents[2] / "golden" / "pdf" / "columns.pdf"
REST = bytes(range(256))


def zipped(*names: str) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


FOREIGN = {
    "a.7z": (b"7z\xbc\xaf\x27\x1c", "7z archives"),
    "a.rar": (b"Rar!\x1a\x07\x01", "rar archives"),
    "a.heic": (b"\0\0\0\x18ftypheic", "HEIC"),
    "a.jxl": (b"\0\0\0\x0cJXL \r\n", "PNG"),
    "a.emf": (b"\1\0\0\0l\0\0\0" + b"\0" * 32 + b" EMF", "PNG"),
    "a.mp3": (b"\xff\xfb\x90\x44", "sound"),
    "a.mp4": (b"\0\0\0\x18ftypisom", "video"),
    "a.djvu": (b"AT&TFORM", "PDF"),
    "a.ps": (b"%!PS-Adobe-3.0\n(Hello) show\n", "PostScript"),
    "a.xps": (zipped("[Content_Types].xml", "FixedDocumentSequence.fdseq"), "XPS"),
    "a.indd": (b"\x06\x06\xed\xf5\xd8\x1d\x46\xe5", "InDesign"),
    "a.idml": (zipped("designmap.xml"), "InDesign"),
    "a.fm": (b"<MakerFile 7.0>\n", "FrameMaker"),
    "a.mobi": (b"x" * 60 + b"BOOKMOBI", "EPUB"),
    "a.chm": (b"ITSF", "HTML"),
    "a.one": (b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d", "OneNote"),
    "a.accdb": (b"\0\1\0\0Standard ACE DB\0", "Access"),
    "a.h5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "a.sav": (b"$FL2@(#) SPSS", "SPSS"),
    "a.dta": (b"<stata_dta><header>", "Stata"),
    "a.sas7bdat": (b"\0" * 12 + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf", "SAS"),
    "a.pkl": (b"\x80\x04\x95", "pickles"),
    "a.dcm": (b"\0" * 128 + b"DICM", "DICOM"),
    "a.pcap": (b"\xd4\xc3\xb2\xa1", "captures"),
    "a.iso": (b"\0" * 32769 + b"CD001", "disk images"),
    "a.exe": (b"MZ\x90\0", "source code"),
    "a.ttf": (b"\0\1\0\0\0", "fonts"),
    "a.hwp": (b"HWP Document File V3.00 \x1a", "Hangul"),
    "a.warc": (b"WARC/1.0\r\n", "web archives"),
    "a.wmf": (b"\1\0\x09\0\0\3", "pictures"),
    "a.plist": (b"bplist00", "property lists"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_rejected_with_what_would_be_read(name: str) -> None:
    data, said = FOREIGN[name]
    with pytest.raises(Rejected, match=said) as why:
        detect_file_type(name, data if data.startswith(b"PK") else data + REST)
    assert why.value.reason == "unsupported"
    assert "not read" in why.value.message


def test_a_hangul_document_is_known_by_a_stream_whose_name_begins_with_a_sign() -> None:
    with pytest.raises(Rejected, match="Hangul"):
        detect_file_type("a", compound_file({"\x05HwpSummaryInformation": REST, "FileHeader": REST}))


PARTS = {  # of Numbers and Keynote, of today, of 2013 and of before
    "a.numbers": ("Index/Document.iwa", "Index/Tables/DataList.iwa", "preview.jpg"),
    "b.key": ("Index/Document.iwa", "Index/Slide-1.iwa"),
    "c.key": ("Index.zip", "Metadata/BuildVersionHistory.plist"),
    "d.numbers": ("index.xml", "buildVersionHistory.plist"),
    "e.key": ("index.apxl", "thumbs/st0.tiff"),
    "f.key": ("Talk.key/Index.zip", "Talk.key/Metadata/Properties.plist"),  # a folder that the Finder packed
}


@pytest.mark.parametrize("name", PARTS)
def test_numbers_and_keynote_are_read_by_their_preview_or_say_what_would_be(name: str) -> None:
    data = zipped(*PARTS[name])
    assert detect_file_type(name, data) == FileType("iwork")
    with pytest.raises(Rejected, match="exported to docx, xlsx, pptx or PDF") as why:
        parse(data, FileType("iwork"), ParseOptions())
    assert why.value.reason == "unsupported"
    buffer = BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("QuickLook/Preview.pdf", PREVIEW.read_bytes())
    assert parse(buffer.getvalue(), FileType("iwork"), ParseOptions()).title == "Two columns"
