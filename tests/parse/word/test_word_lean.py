"""What pandoc is not given of a Word document: unused styles, looks, and runs that are parted for no reason."""

import re
import zipfile
from io import BytesIO
from typing import Any

import pytest
from docx import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pandoc.word import word
from docmill.tasks.parse.pandoc.word.used_styles import keep_used_styles, used_styles, without_unused_styles
from docmill.tasks.parse.pandoc.word.word import make_lean

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RUNS = (
    '<w:r><w:rPr><w:lang w:val="en-GB"/></w:rPr><w:t xml:space="preserve">The </w:t></w:r><w:proofErr/>'
    '<w:r><w:t>upp</w:t></w:r><w:r><w:rPr><w:color w:val="111111"/></w:rPr><w:t>er</w:t></w:r>'
    "<w:r><w:rPr><w:b/></w:rPr><w:t> race</w:t></w:r><w:r><w:tab/><w:t>runs</w:t></w:r><w:r><w:t>.</w:t></w:r>"
)


def read(data: bytes) -> Parsed:
    return parse(data, FileType("docx"), ParseOptions())


def document(own_style: str = "Clause & head") -> bytes:
    word, buffer = Document(), BytesIO()
    own = word.styles.add_style(own_style, WD_STYLE_TYPE.PARAGRAPH)
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


def test_styles_are_cut_before_they_are_parsed_as_after() -> None:
    with zipfile.ZipFile(BytesIO(document("Clause"))) as container:
        content, used = container.read("word/styles.xml"), used_styles(container)
    cut = without_unused_styles(content, used)
    assert len(cut) < len(content) / 4
    roots = [etree.fromstring(one) for one in (content, cut)]
    for root in roots:
        keep_used_styles(root, used)
    assert "Clause" in used
    assert [etree.tostring(style) for style in roots[0]] == [etree.tostring(style) for style in roots[1]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<w:style ", b"<!-- </w:style> --><w:style "),
        (b'w:styleId="Heading9"', b"w:styleId='Heading9'"),
        (b'w:styleId="Heading9"', b'w:styleId="Heading&#57;"'),
        (b'w:styleId="Heading9"', b'w:styleId="Heading8"'),
        (b'<w:basedOn w:val="Normal"/>', b'<w:basedOn w:val="Norm&#97;l"/>'),
        (b'<w:basedOn w:val="Normal"/>', b"<w:basedOn w:val='Normal'/>"),
        (b"<w:style ", b'<w:style xmlns:w="urn:other" '),
        (b"wordprocessingml/2006/main", b"wordprocessingml/2007/main"),
    ],
    ids=["comment", "quotes", "entity", "twice", "parent", "based", "namespace", "unknown"],
)
def test_styles_that_are_written_in_another_way_are_left_to_the_parser(old: bytes, new: bytes) -> None:
    with zipfile.ZipFile(BytesIO(document("Clause"))) as container:
        content, used = container.read("word/styles.xml"), used_styles(container)
    other = content.replace(old, new)
    assert other != content
    assert without_unused_styles(other, used) == other


def test_what_pandoc_does_not_read_is_not_unpacked_but_there_for_the_second_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[bytes] = []

    def refuse(data: bytes, _: str) -> Any:
        given.append(data)
        raise Rejected("corrupt", "it is refused")

    monkeypatch.setattr(word, "read_tree", refuse)
    parsed = read(document())
    assert "The upper race" in parsed.text
    assert "it is refused" in parsed.metadata["read_as"]
    with zipfile.ZipFile(BytesIO(given[0])) as prepared, zipfile.ZipFile(BytesIO(document())) as whole:
        assert prepared.namelist() == whole.namelist()
        empty = {name for name in whole.namelist() if whole.read(name) and not prepared.read(name)}
    assert {"docProps/core.xml", "word/theme/theme1.xml", "word/stylesWithEffects.xml"} <= empty
    assert not [
        name for name in empty if re.match(r"word/(?:document|styles|numbering|settings)\.xml|word/_rels", name)
    ]


def test_runs_are_joined_where_nothing_but_their_looks_differs() -> None:
    paragraph = etree.fromstring(f"<w:p {W}>{RUNS}</w:p>")
    make_lean(paragraph)
    runs = ["".join(run.itertext()) for run in paragraph.iter("{*}r")]
    assert runs == ["The upper", " race", "runs", "."]
