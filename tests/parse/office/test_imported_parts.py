"""Other documents within a Word document: each is read where the document names it."""

import io

import docx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.parsed import found

KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk"
SPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
HTML = "<html><body><h2>Sails</h2><p>Four sails turn.</p></body></html>"
SAVED = f"MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{HTML}\r\n"
RICH = "{\\rtf1\\ansi {\\outlinelevel1 Sails\\par}{Four sails turn.\\par}}"
IN_IT = [("title", "## Sails"), ("paragraph", "Four sails turn.")]


def read(name: str, content: str) -> Parsed:
    document = docx.Document()
    document.add_paragraph("Before it.")
    part = Part(PackURI(f"/word/{name}"), "text/html", content.encode(), document.part.package)
    number = document.part.relate_to(part, KIND)
    document.add_paragraph("After it.")._p.addprevious(parse_xml(f'<w:altChunk {SPACES} r:id="{number}"/>'))
    document.save(buffer := io.BytesIO())
    return parse(buffer.getvalue(), FileType("docx"), ParseOptions())


@pytest.mark.parametrize(("name", "content"), [("a.html", HTML), ("a.mht", SAVED), ("a.rtf", RICH)])
def test_a_part_is_read_where_the_document_names_it(name: str, content: str) -> None:
    assert found(read(name, content)) == [("paragraph", "Before it."), *IN_IT, ("paragraph", "After it.")]


def test_a_part_of_plain_text_is_its_paragraphs() -> None:
    assert read("a.txt", "Four sails turn.\n\nSlowly.").text == "Before it.\n\nFour sails turn.\n\nSlowly.\n\nAfter it."


def test_a_part_that_cannot_be_read_is_named_and_costs_nothing_else() -> None:
    parsed = read("a.odd", "?")
    assert parsed.text == "Before it.\n\nAfter it."
    assert parsed.metadata["read_as"] == "Word without a.odd: unsupported: parts of the kind .odd are not read"


def test_a_part_within_a_cell_is_read_below_the_table() -> None:
    document = docx.Document()
    part = Part(PackURI("/word/a.html"), "text/html", HTML.encode(), document.part.package)
    chunk = parse_xml(f'<w:altChunk {SPACES} r:id="{document.part.relate_to(part, KIND)}"/>')
    table = document.add_table(2, 2)
    for number, cell in enumerate(table._cells):
        cell.text = f"cell {number}"
    table.cell(0, 0).paragraphs[0]._p.addprevious(chunk)
    document.add_paragraph("After it.")
    document.save(buffer := io.BytesIO())
    kinds = found(parse(buffer.getvalue(), FileType("docx"), ParseOptions()))
    assert kinds[0][0] == "table"
    assert kinds[1:] == [*IN_IT, ("paragraph", "After it.")]
