"""Files embedded in documents of Office and attached to PDFs: documents of their own beside the one that holds them."""

import io
from pathlib import Path

import pypdfium2
import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.archive.archive_kinds import may_hold
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.contents import ContainedFile, Contents, unlisted
from docmill.tasks.archive.listing import list_contents
from docmill.tasks.paths.local_file import LocalFile
from docmill.tasks.sources.archive_source import failed
from tests.kit.workbench import Workbench
from tests.kit.writers.archives import Files, zipped
from tests.kit.writers.compound import compound_file

SMALL = ArchiveOptions(members=50, total_bytes=5_000_000, ratio=100, depth=3, member_bytes=2_000_000)
BODY = '<w:p xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>'
SHEET = zipped({"xl/workbook.xml": "<workbook/>"})


def word(embedded: Files) -> bytes:
    return zipped({"word/document.xml": BODY} | {f"word/embeddings/{name}": data for name, data in embedded.items()})


def native(name: str, content: bytes) -> bytes:
    names = name.encode() + b"\0" + b"C:\\tmp\\" + name.encode() + b"\0" + b"\0\0\3\0"
    sized = [len(one).to_bytes(4, "little") + one for one in (b"C:\\tmp\\x\0", content)]
    return compound_file({"\x01Ole10Native": b"\0\0\0\0\2\0" + names + b"".join(sized)})


def pdf(attached: dict[str, bytes]) -> bytes:
    document = pypdfium2.PdfDocument.new()
    document.new_page(200, 200)
    for name, data in attached.items():
        document.new_attachment(name).set_data(data)
    document.save(written := io.BytesIO())
    return written.getvalue()


def contents(data: bytes, name: str, folder: Path, options: ArchiveOptions = SMALL) -> Contents:
    path = folder / "file"
    path.write_bytes(data)
    return list_contents(LocalFile(str(path)), name, options)


def names(found: Contents) -> list[tuple[str, str, str]]:
    return [(one.name, one.parent, one.reason) for one in found.entries]


@pytest.mark.parametrize(
    ("folder", "main"),
    [("word", "word/document.xml"), ("ppt", "ppt/presentation.xml"), ("xl", "xl/workbook.xml")],
)
def test_documents_of_office_hold_embedded_files(tmp_path: Path, folder: str, main: str) -> None:
    found = contents(zipped({main: "<a/>", f"{folder}/embeddings/Sheet1.xlsx": SHEET}), "x", tmp_path)
    assert (found.kind, names(found)) == ("document", [("Sheet1.xlsx", "", "")])


def test_a_pdf_holds_its_attachments_and_one_without_is_not_opened(tmp_path: Path) -> None:
    assert may_hold("offer.pdf", pdf({})) == "document"
    found = contents(pdf({"prices.csv": b"a,b\n1,2\n", "../up.txt": b"up"}), "offer.pdf", tmp_path)
    assert found.kind == "document"
    assert names(found) == [("../up.txt", "", "unsafe_path"), ("prices.csv", "", "")]
    assert contents(pdf({}), "offer.pdf", tmp_path) == Contents("")


def test_the_data_of_charts_and_drawings_are_parts_of_the_document(tmp_path: Path) -> None:
    made = zipped(
        {
            "ppt/presentation.xml": "<a/>",
            "ppt/charts/_rels/chart1.xml.rels": '<a Target="../embeddings/Chart.xlsx"/>',
            "ppt/embeddings/Chart.xlsx": SHEET,
            "ppt/embeddings/oleObject1.bin": compound_file({"Equation Native": b"x" * 64}),
            "ppt/embeddings/own.docx": word({}),
        }
    )
    assert names(contents(made, "x.pptx", tmp_path)) == [("own.docx", "", "")]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (native("notes.txt", b"The mill."), "notes.txt"),
        (native("..\\..\\notes.txt", b"The mill."), "notes.txt"),
        (compound_file({"Package": SHEET}), "oleObject1.xlsx"),
        (compound_file({"CONTENTS": pdf({})}), "oleObject1.pdf"),
        (compound_file({"WordDocument": b"x" * 5_000}), "oleObject1.doc"),
    ],
    ids=["packaged", "hostile", "package", "pdf", "old"],
)
def test_files_come_out_of_the_containers_of_ole(tmp_path: Path, data: bytes, named: str) -> None:
    assert names(contents(word({"oleObject1.bin": data}), "x.docx", tmp_path)) == [(named, "", "")]


def test_embedded_files_hold_further_ones_to_the_depth_of_archives(tmp_path: Path) -> None:
    deep = word({"b.docx": word({"c.docx": word({"d.xlsx": SHEET})})})
    assert names(contents(zipped({"a.docx": deep}), "x.zip", tmp_path)) == [
        ("a.docx", "", ""),
        ("a.docx/b.docx", "a.docx", ""),
        ("a.docx/b.docx/c.docx", "a.docx/b.docx", ""),
        ("a.docx/b.docx/c.docx/d.xlsx", "a.docx/b.docx/c.docx", "too_large"),
    ]


def test_a_document_over_a_limit_stays_and_says_so(tmp_path: Path) -> None:
    bomb = word({"zeros.xlsx": zipped({"xl/workbook.xml": bytes(40_000_000)})})
    found = contents(bomb, "x.docx", tmp_path, ArchiveOptions(total_bytes=10_000))
    assert [(one.name, one.reason, one.skipped) for one in found.entries] == [("attachments", "too_large", True)]
    assert found.kind == "document"
    assert failed(unlisted("document", Rejected("memory", "too little")))
    assert unlisted("document", Rejected("memory", "x")).entries == (
        ContainedFile((0,), "attachments", reason="memory", message="x", skipped=True),
    )


@pytest.mark.usefixtures("fake_model")
def test_a_run_reads_the_document_and_what_is_in_it(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"offer.pdf": pdf({"terms.txt": b"The wheel turns at dawn.\n"}), "a.md": "# A\n\nText.\n"})
    report = bench.ingest()
    found = bench.store.sql("SELECT uri, parent FROM documents ORDER BY uri").to_pylist()
    assert [tuple(row.values()) for row in found][-1] == ("offer.pdf/terms.txt", "offer.pdf")
    assert bench.store.document("offer.pdf/terms.txt").text.startswith("The wheel")
    assert bench.ingest().parsed == 0
    assert report.documents.added >= 2
