"""Lists of contents: elements of the kind `toc` in every format, in no chunk unless settings ask for them."""

import zipfile
from io import BytesIO

import pytest
from docx import Document
from docx.oxml import parse_xml

from docmill.storage.schema import Draft, Parsed
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions, chunker_key
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.documents import tokenizer

PROSE = "The water of the upper race turns the wheel, and the wheel turns the stones by a pair of gears made of oak."
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
ODF = " ".join(f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "text"))
MARKDOWN = f"""# Mill

## Table of contents

- [Race](#race)
- [Wheel](#wheel)
  - [Gears](#gears)

## Race

{PROSE} It is [described below](#wheel).

## Wheel

{PROSE}
"""
HTML = f"""<h1>Mill</h1><div id="toc"><h2>On this page</h2><ul><li><a href="#r">1 Race</a></li></ul></div>
<p>Contents</p><p><a href="#r">Race 3</a></p><p><a href="#w">Wheel 4</a></p><p><a href="#g">Gears 7</a></p>
<h2 id="r">Race</h2><p>{PROSE} {PROSE}</p><p>See <a href="#w">the wheel</a>.</p>
<ul><li><a href="#r">Race</a></li></ul>"""
TEXT = f"""THE MILL

Contents

Race ........ 1
Wheel ....... 4
Gears ....... 9

Race

{PROSE}

{PROSE}
"""


def read(data: str | bytes, form: str) -> Parsed:
    return parse(data.encode() if isinstance(data, str) else data, FileType(form), ParseOptions())


def listed(parsed: Parsed) -> list[str]:
    return [parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind == "toc"]


def word_file() -> bytes:
    document, buffer = Document(), BytesIO()
    document.add_paragraph("Contents", "TOC Heading")
    begin = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> TOC \\o "1-3" </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    )
    entries = [
        f"{begin}<w:r><w:t>Race</w:t><w:tab/><w:t>3</w:t></w:r>",
        "<w:r><w:t>Wheel</w:t><w:tab/><w:t>5</w:t></w:r>",
    ]
    for runs in [*entries, '<w:r><w:fldChar w:fldCharType="end"/></w:r>']:
        document.element.body.insert(-1, parse_xml(f"<w:p {WORD}>{runs}</w:p>"))
    document.add_heading("Race", 1)
    document.add_paragraph(PROSE)
    document.save(buffer)
    return buffer.getvalue()


def open_text() -> bytes:
    buffer = BytesIO()
    contents = (
        "<text:table-of-content><text:table-of-content-source><text:index-title-template>T</text:index-title-template>"
        "</text:table-of-content-source><text:index-body><text:index-title><text:p>Contents</text:p></text:index-title>"
        "<text:p>Race<text:tab/>3</text:p><text:p>Wheel<text:tab/>5</text:p></text:index-body></text:table-of-content>"
    )
    body = f'{contents}<text:h text:outline-level="1">Race</text:h><text:p>{PROSE}</text:p>'
    with zipfile.ZipFile(buffer, "w") as container:
        container.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        content = f"<office:body><office:text>{body}</office:text></office:body>"
        container.writestr("content.xml", f"<office:document-content {ODF}>{content}</office:document-content>")
        container.writestr("styles.xml", f"<office:document-styles {ODF}><office:styles/></office:document-styles>")
    return buffer.getvalue()


ENTRIES = ["- [Race](#race)", "- [Wheel](#wheel)", "- [Gears](#gears)"]


@pytest.mark.parametrize(
    ("form", "data", "expected"),
    [
        ("markdown", MARKDOWN, ["## Table of contents", *ENTRIES]),
        ("html", HTML, ["On this page", "1 Race", "Contents", "Race 3", "Wheel 4", "Gears 7"]),
        ("text", TEXT, ["Contents", "Race ........ 1\nWheel ....... 4\nGears ....... 9"]),
        ("docx", word_file(), ["Contents", "Race 3", "Wheel 5"]),
        ("odt", open_text(), ["Contents", "Race 3", "Wheel 5"]),
    ],
)
def test_a_list_of_contents_is_an_element_of_its_own_kind(form: str, data: str | bytes, expected: list[str]) -> None:
    parsed = read(data, form)
    assert listed(parsed) == expected
    assert any(one.kind == "title" for one in parsed.elements)


def test_a_field_without_an_end_and_a_document_of_links_are_no_list_of_contents() -> None:
    with zipfile.ZipFile(BytesIO(word_file())) as source:
        members = {name: source.read(name) for name in source.namelist()}
    members["word/document.xml"] = members["word/document.xml"].replace(b'w:fldCharType="end"', b'w:fldCharType="none"')
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        for name, content in members.items():
            container.writestr(name, content)
    assert listed(read(buffer.getvalue(), "docx")) == ["Contents"]
    assert not listed(read("# Index\n\n" + "\n".join(ENTRIES), "markdown"))


def chunks(parsed: Parsed, *kept: str) -> list[Draft]:
    return chunk(parsed, "structured", Route("structure"), tokenizer(), ChunkOptions(token_limit=256, kept=kept))


def test_settings_make_chunks_of_what_is_in_none_by_default() -> None:
    parsed = read(MARKDOWN, "markdown")
    plain, kept = chunks(parsed), chunks(parsed, "toc")
    assert not any("[Gears]" in one.text for one in plain)
    found = [one for one in kept if one.role == "toc"]
    assert [one.text for one in found] == [
        "## Table of contents\n\n- [Race](#race)\n- [Wheel](#wheel)\n  - [Gears](#gears)"
    ]
    assert [one for one in kept if not one.role] == plain
    keys = {chunker_key(Route("structure"), ChunkOptions(256, kept=one), "t") for one in ((), ("toc",), ("furniture",))}
    assert len(keys) == 3


def test_a_running_head_is_a_chunk_once_and_a_page_number_is_none() -> None:
    page = f"<header><nav>Acme Mills handbook</nav></header><p>{PROSE}</p><footer>12</footer>"
    parsed = read(f"<h1>Mill</h1>{page}{page}", "html")
    assert [one.text for one in chunks(parsed, "furniture") if one.role] == ["Acme Mills handbook"]
