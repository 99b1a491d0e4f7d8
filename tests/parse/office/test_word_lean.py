"""What pandoc is not given of a Word document: unused styles, looks, and runs that are parted for no reason."""

import zipfile
from io import BytesIO

from docx import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from lxml import etree

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.format import FileType, ParseOptions
from docmill.tasks.parse.pandoc.word.used_styles import keep_used_styles, used_styles
from docmill.tasks.parse.pandoc.word.word import make_lean

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RUNS = (
    '<w:r><w:rPr><w:lang w:val="en-GB"/></w:rPr><w:t xml:space="preserve">The </w:t></w:r><w:proofErr/>'
    '<w:r><w:t>upp</w:t></w:r><w:r><w:rPr><w:color w:val="111111"/></w:rPr><w:t>er</w:t></w:r>'
    "<w:r><w:rPr><w:b/></w:rPr><w:t> race</w:t></w:r><w:r><w:tab/><w:t>runs</w:t></w:r><w:r><w:t>.</w:t></w:r>"
)


def read(data: bytes) -> Parsed:
    return parse(data, FileType("docx"), ParseOptions())


def document() -> bytes:
    word, buffer = Document(), BytesIO()
    own = word.styles.add_style("Clause & head", WD_STYLE_TYPE.PARAGRAPH)
    own.base_style = word.styles["Heading 2"]
    word.add_paragraph("The race", own)
    paragraph = word.add_paragraph()
    for run in parse_xml(f"<w:p {W}>{RUNS}</w:p>"):
        paragraph._p.append(run)
    table = word.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    for column, text in enumerate("abc"):
        table.cell(1, column).text = text
    word.save(buffer)
    return buffer.getvalue()


def test_inherited_headings_joined_words_and_wide_cells_are_read() -> None:
    parsed = read(document())
    titles = [(one.level, one.attributes["text"]) for one in parsed.elements if one.kind == "title"]
    assert titles == [(2, "The race")]
    assert "The upper race runs." in parsed.text
    cells = next(one.attributes["cells"] for one in parsed.elements if one.kind == "table")
    assert cells == [["wide", "wide", ""], ["a", "b", "c"]]


def test_styles_are_those_used_with_what_they_are_based_on() -> None:
    with zipfile.ZipFile(BytesIO(document())) as container:
        kept = etree.fromstring(container.read("word/styles.xml"))
        keep_used_styles(kept, used_styles(container))
    names = {one.get(f"{{{kept.nsmap['w']}}}styleId") for one in kept.iterchildren("{*}style")}
    assert {"Heading2", "Normal", "TableNormal"} <= names
    assert any(name.startswith("Clause") for name in names)
    assert "Heading3" not in names
    assert len(names) < 20
    assert kept.find("{*}latentStyles") is None


def test_runs_are_joined_where_nothing_but_their_looks_differs() -> None:
    paragraph = etree.fromstring(f"<w:p {W}>{RUNS}</w:p>")
    make_lean(paragraph)
    runs = ["".join(run.itertext()) for run in paragraph.iter("{*}r")]
    assert runs == ["The upper", " race", "runs", "."]
