"""Documents that pandoc reads: Word, OpenDocument, RTF, EPUB, and markup written by hand."""

import json
import re
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse import pandoc_program
from docmill.tasks.parse.dispatch.parser import faults
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.metadata import iso_date
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.kit.drawing import examples

SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
GOLDEN = Path(__file__).parents[2] / "golden"


def read(form: str, text: str | bytes) -> Parsed:
    return parse(text.encode() if isinstance(text, str) else text, FileType(form), ParseOptions())


def saved(document: Any) -> bytes:
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def kinds(parsed: Parsed) -> list[tuple[str, int, str]]:
    return [(one.kind, one.level, parsed.text[one.start_char : one.end_char]) for one in parsed.elements]


def changed(path: Path, change: Callable[[str, bytes], bytes], **more: bytes) -> bytes:
    """Return a zip container with its members changed and others added."""
    buffer = BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
        for name, content in more.items():
            new.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


def test_pages_of_a_word_document_begin_where_word_broke_them() -> None:
    document = Document()
    document.add_paragraph("one")
    document.add_paragraph("two")._p.append(parse_xml(f"<w:r {SPACE}><w:lastRenderedPageBreak/><w:t> b</w:t></w:r>"))
    document.add_paragraph()._p.append(parse_xml(f"<w:r {SPACE}><w:lastRenderedPageBreak/><w:t>three</w:t></w:r>"))
    parsed = read("docx", saved(document))
    found = [(one.page, parsed.text[one.start_char : one.end_char]) for one in parsed.elements]
    assert found == [(1, "one"), (1, "two b"), (3, "three")]


def test_a_text_box_follows_the_paragraph_that_it_hangs_on() -> None:
    document = Document()
    box = "<w:txbxContent><w:p><w:r><w:t>in the box</w:t></w:r></w:p></w:txbxContent>"
    document.add_paragraph("above")._p.append(parse_xml(f"<w:r {SPACE}><w:pict>{box}</w:pict></w:r>"))
    document.add_paragraph("below")
    assert read("docx", saved(document)).text == "above\n\nin the box\n\nbelow"


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ('<w:fldSimple {0} w:instr="SEQ Table"><w:r><w:t>3</w:t></w:r></w:fldSimple>', "Table 3"),
        ('<w:bdo {0} w:val="rtl"><w:r><w:t>\u05e9</w:t></w:r></w:bdo>', "Table \u05e9"),
        ("<w:r {0}><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>", "Table"),
        ('<w:r {0}><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>seen</w:t></w:r>', "Table seen"),
        (
            "<w:r {0}><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt>"
            "<w:rubyBase><w:r><w:t>\u6f22</w:t></w:r></w:rubyBase></w:ruby></w:r>",
            "Table \u6f22(kan)",
        ),
    ],
)
def test_a_line_of_a_word_document_says_what_it_shows(run: str, text: str) -> None:
    document = Document()
    document.add_paragraph("Table ")._p.append(parse_xml(run.format(SPACE)))
    assert read("docx", saved(document)).text == text


def test_a_chart_in_a_word_document_is_a_table_and_a_diagram_its_words() -> None:
    points = "<c:pt idx='0'><c:v>{}</c:v></c:pt><c:pt idx='1'><c:v>{}</c:v></c:pt>".format
    columns = f"<c:cat>{points('May', 'June')}</c:cat><c:val>{points('1.50', '2')}</c:val>"
    series = f"<c:ser><c:tx><c:v>Mast</c:v></c:tx>{columns}</c:ser>"
    title = '<c:title><a:p xmlns:a="urn:a"><a:r><a:t>Height</a:t></a:r></a:p></c:title>'
    chart = f'<c:chartSpace xmlns:c="urn:c"><c:chart>{title}{series}</c:chart></c:chartSpace>'
    words = "<a:p xmlns:a='urn:a'><a:r><a:t>Wind</a:t></a:r></a:p>"
    diagram = f"<d:dataModel xmlns:d='urn:d'><d:pt><d:t>{words}</d:t></d:pt></d:dataModel>"
    document = Document()
    for name, kind, content in (("chart", "chart", chart), ("dm", "diagramData", diagram)):
        uri = PackURI(f"/word/{name}.xml")
        part = Part(uri, "application/xml", content.encode(), document.part.package)
        number = document.part.relate_to(part, f"http://x/{kind}")
        run = f'<c:chart r:id="{number}"/>' if name == "chart" else f'<c:relIds r:dm="{number}"/>'
        spaces = (
            f'{SPACE} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:c="urn:c"'
        )
        document.add_paragraph(f"See {name}")._p.append(parse_xml(f"<w:r {spaces}><w:drawing>{run}</w:drawing></w:r>"))
    assert read("docx", saved(document)).text == (
        "See chart\n\nHeight\n\n|  | Mast |\n| --- | --- |\n| May | 1.5 |\n| June | 2 |\n\nSee dm\n\nWind"
    )


@pytest.mark.parametrize(("about", "text"), [("An old mill", "An old mill"), ("A ruin", "A ruin\n\nAn old mill")])
def test_a_picture_and_its_caption_say_the_same_once(about: str, text: str) -> None:
    from PIL import Image

    picture = BytesIO()
    Image.new("RGB", (4, 4)).save(picture, "PNG")
    document = Document()
    document.add_picture(picture)._inline.docPr.set("descr", about)
    document.add_paragraph("An old mill")
    assert read("docx", saved(document)).text == text


def test_a_deleted_row_of_a_word_table_is_left_out() -> None:
    document = Document()
    table = document.add_table(3, 2)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {number}"
    table.rows[1]._tr.get_or_add_trPr().append(parse_xml(f'<w:del {SPACE} w:id="1" w:author="Ann"/>'))
    (drawn,) = read("docx", saved(document)).elements
    assert drawn.attributes["cells"] == [["cell 0", "cell 1"], ["cell 4", "cell 5"]]


def test_short_rows_of_a_word_table_lose_no_cell() -> None:
    document = Document()
    table = document.add_table(2, 3)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"c{number}"
    row = table.rows[1]._tr
    row.remove(row.tc_lst[0])
    row.get_or_add_trPr().append(parse_xml(f'<w:gridBefore {SPACE} w:val="1"/>'))
    (drawn,) = read("docx", saved(document)).elements
    assert drawn.attributes["cells"] == [["c0", "c1", "c2"], ["", "c4", "c5"]]


def test_all_titles_at_the_top_of_a_word_document_are_read() -> None:
    document = Document()
    for text, style in (("Mills", "Title"), ("of the Alder", "Title"), ("A guide", "Subtitle"), ("", "Title")):
        document.add_paragraph(text, style=style)
    document.add_paragraph("It grinds.")
    document.add_paragraph("Later", style="Title")
    assert read("docx", saved(document)).text == "# Mills\n\nof the Alder\n\nA guide\n\nIt grinds.\n\nLater"


def test_in_a_word_document_without_headings_short_bold_paragraphs_are_headings() -> None:
    document = Document()
    document.add_paragraph().add_run("Scope").bold = True
    document.add_paragraph("It holds everywhere.")
    assert read("docx", saved(document)).text == "## Scope\n\nIt holds everywhere."


def test_a_word_document_that_pandoc_refuses_is_read_by_unstructured(monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document()
    document.add_heading("Report", 1)
    monkeypatch.setattr(pandoc_program, "_program", lambda: "")
    parsed = read("docx", saved(document))
    assert (parsed.text, parsed.title) == ("# Report", "Report")
    assert "pip install pypandoc_binary" in parsed.metadata["read_as"]


def test_a_word_document_that_pandoc_refuses_names_the_extra_that_may_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pandoc_program, "_program", lambda: "")
    monkeypatch.setitem(sys.modules, "unstructured.partition.docx", None)
    with pytest.raises(Rejected, match=r"^not_installed: pandoc cannot .*'docmill\[unstructured\]'"):
        read("docx", saved(Document()))


def test_without_pandoc_the_reason_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pandoc_program, "_program", lambda: "")
    with pytest.raises(Rejected, match="not_installed: odt needs pandoc: pip install pypandoc_binary"):
        read("odt", (GOLDEN / "odt" / "guide.odt").read_bytes())


def test_an_encrypted_open_document_says_so() -> None:
    def lock(name: str, content: bytes) -> bytes:
        return content.replace(b"/>", b"><manifest:encryption-data/>", 1) if "manifest.xml" in name else content

    with pytest.raises(Rejected, match="encrypted: the document is encrypted"):
        read("odt", changed(GOLDEN / "odt" / "guide.odt", lock))


def test_pages_of_an_open_document_begin_where_the_program_broke_them() -> None:
    def breaks(name: str, content: bytes) -> bytes:
        return (
            content.replace(b"Open the case", b"<text:soft-page-break/>Open the case")
            if name == "content.xml"
            else content
        )

    parsed = read("odt", changed(GOLDEN / "odt" / "guide.odt", breaks))
    pages = {parsed.text[one.start_char : one.end_char]: one.page for one in parsed.elements}
    assert (pages["## Care"], pages["1. Open the case."], pages["- the battery"]) == (1, 2, 2)


def test_a_book_locked_by_its_publisher_says_so_and_one_with_scrambled_fonts_is_read() -> None:
    book = GOLDEN / "epub" / "guide.epub"
    lock = b'<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>'
    fonts = b'<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/>'
    with pytest.raises(Rejected, match="encrypted: the book is encrypted by its publisher"):
        read("epub", changed(book, lambda _, content: content, **{"META-INF__encryption.xml": lock}))
    parsed = read("epub", changed(book, lambda _, content: content, **{"META-INF__encryption.xml": fonts}))
    assert parsed.title == "Field guide"


def test_a_chapter_without_heading_stands_below_its_title_in_the_table_of_contents() -> None:
    def plain(name: str, content: bytes) -> bytes:
        if name.endswith(".xhtml"):
            content = re.sub(rb"<h([12])[^>]*>(.*?)</h\1>", rb"<p>\2</p>", content)
        return (
            content.replace(b"<text>Care</text>", b"<text>The first chapter</text>")
            if name.endswith(".ncx")
            else content
        )

    parsed = read("epub", changed(GOLDEN / "epub" / "guide.epub", plain))
    titles = [text for kind, _, text in kinds(parsed) if kind == "title"]
    assert titles == ["# Field guide", "## The first chapter"]


def test_the_info_group_of_rich_text_is_metadata() -> None:
    info = rb"{\info{\title Gr\'fc\u223 ?e}{\author Ann}{\creatim\yr2021\mo3\dy4\hr5\min6}}"
    parsed = read("rtf", rb"{\rtf1\ansi" + info + rb"\pard Some text.\par}")
    assert parsed.title == "Gr\u00fc\u00dfe"
    assert parsed.metadata == {"author": "Ann", "created": "2021-03-04T05:06"}


@pytest.mark.parametrize(
    ("form", "text", "title"),
    [
        ("rst", "PEP: 1\nTitle: On mills\nAuthor: Ann\nStatus: Final\n\nText.\n", "On mills"),
        ("rst", "Mills\n=====\n\nText.\n", "Mills"),
        ("org", "#+TITLE: On mills\n\nText.\n", "On mills"),
        ("latex", "\\title{On \\emph{mills}}\\begin{document}\\maketitle Text.\\end{document}", "On mills"),
    ],
)
def test_the_title_of_markup_stands_above_its_text(form: str, text: str, title: str) -> None:
    parsed = read(form, text)
    assert parsed.title == title
    assert kinds(parsed) == [("title", 1, f"# {title}"), ("paragraph", 0, "Text.")]


def test_markup_that_pandoc_refuses_is_kept_as_text_and_says_so() -> None:
    text = "Some \\begin{foo text.\n"
    parsed = read("latex", text)
    assert parsed.text == text
    assert parsed.metadata["read_as"].startswith("text; cannot be read as latex: Error at")


@pytest.mark.parametrize("end", ["", "\\end{enumerate}" * 12, "% \\end{itemize}" * 12])
def test_latex_lists_that_do_not_end_are_kept_as_text_at_once(end: str) -> None:
    parsed = read("latex", "\\begin{itemize}\\item Grain. " * 12 + end)
    assert parsed.metadata["read_as"] == "text; lists or tables that begin within one another do not end"


def test_a_syntax_tree_holds_equal_words_once() -> None:
    word, space = {"t": "Str", "c": "on"}, {"t": "Space"}
    tree = {
        "meta": {"t": {"t": "MetaMap", "c": {"t": word}}},
        "blocks": [{"t": "Para", "c": [word, space, word, space]}],
    }
    loaded = pandoc_program.load_tree(json.dumps(tree).encode())
    assert loaded == tree
    assert len(set(map(id, loaded["blocks"][0]["c"]))) == 2


def test_latex_that_shows_how_lists_begin_is_no_list_without_an_end() -> None:
    shown = "\\begin{verbatim}\n" + "\\begin{itemize}\n" * 9 + "\\end{verbatim}\nThat is how."
    assert "read_as" not in read("latex", shown).metadata


def test_markup_too_long_for_pandoc_is_kept_as_text() -> None:
    parsed = read("rst", "Words.\n\n" + "word " * 700_000)
    assert [one.kind for one in parsed.elements] == ["paragraph", "paragraph"]
    assert parsed.metadata["read_as"] == "text; pandoc is too slow for more than 3000000 characters"


def test_no_file_that_a_document_names_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret words")
    for form, text in (
        ("latex", f"Text \\input{{{tmp_path}/secret.txt}} end."),
        ("rst", f"Text.\n\n.. include:: {tmp_path}/secret.txt\n"),
        ("org", f'Text.\n\n#+INCLUDE: "{tmp_path}/secret.txt"\n'),
    ):
        assert "secret words" not in read(form, text).text


def test_macros_that_call_themselves_end() -> None:
    assert read("latex", r"Text. \def\x{\x\x}\x").metadata["read_as"].startswith("text; ")


def title_of(form: str) -> str:
    return read(form, (GOLDEN / form / f"guide.{form}").read_bytes()).title


def test_pandoc_runs_inside_the_limits_of_a_worker() -> None:
    with Pool(Limits(workers=1, memory_mb=400)) as pool:
        assert list(pool.map(title_of, ["odt", "epub"])) == ["Field guide", "Field guide"]


WORDS = st.sampled_from(
    ["words", "*", "**", "`", "``", "::", "\n", "\n\n", "  ", "- ", "=====", ".. note::", "|", "[1]_", "#+"]
)


@examples(12)
@given(st.sampled_from(["rst", "org", "latex"]), st.lists(WORDS | st.text(max_size=8), max_size=30).map("".join))
def test_any_text_is_read_as_markup_with_exact_spans(form: str, text: str) -> None:
    with suppress(Rejected):
        assert faults(read(form, "begin " + text)) == []


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T10:20:30.123Z", "2024-05-01T10:20:30Z"),
        ("<2024-05-01 Wed 9:30>", "2024-05-01T09:30"),
        ("May 1, 2024", "2024-05-01"),
        ("16-Jun-2018", "2018-06-16"),
        ("June 2018", "2018-06"),
        ("Wed, 01 May 2024 10:00:00 +0200", "2024-05-01T10:00:00+02:00"),
        ("03/04/2021", "03/04/2021"),
        ("some day", "some day"),
    ],
)
def test_dates_are_written_in_one_way(written: str, expected: str) -> None:
    assert iso_date(written) == expected
