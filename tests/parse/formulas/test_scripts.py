"""Raised and lowered text and formulas: 10⁶ is not 106 in any format, and the mark of a note is no part of a word."""

import zipfile
from importlib import import_module
from io import BytesIO
from pathlib import Path

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.superscripts import raised, script_of
from tests.kit.writers.workbook import zipped


def read(form: str, data: str | bytes) -> Parsed:
    return parse(data.encode() if isinstance(data, str) else data, FileType(form), ParseOptions())


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("10<sup>6</sup> m<sup>2</sup> of H<sub>2</sub>O", "10^6^ m^2^ of H~2~O"),
        ("<sup>1</sup>&frasl;<sub>2</sub> and 2<sup>3</sup>/<sub>4</sub>", "1/2 and 2 3/4"),
        ("the 1<sup>st</sup> of the XX<sup>e</sup>, N<sup>o</sup> 4", "the 1st of the XXe, No 4"),
        ("Acme<sup>®</sup> x<sup>n + <i>1</i></sup>", "Acme® x^n + 1^"),
        ("see<sup> [1]</sup> a<sup></sup>b", "see [1] ab"),
        ("one<sup>,</sup> two<sup>2,3</sup> Na<sup>+</sup>", "one, two^2,3^ Na^+^"),
        ("<math><msup><mn>10</mn><mn>6</mn></msup></math>", "$10^{6}$"),
        ("<sup>all of a passage that is set in small letters</sup>", "all of a passage that is set in small letters"),
    ],
)
def test_raised_and_lowered_text_of_a_page_is_marked(html: str, text: str) -> None:
    assert read("html", f"<p>{html}</p>").text == text


def test_cells_of_a_table_have_marks_and_code_has_none() -> None:
    page = "<table><tr><th>in</th><th>m<sup>2</sup></th></tr><tr><td>a</td><td>10<sup>6</sup></td></tr></table>"
    page += "<pre><code>a<sup>b</sup></code></pre>"
    assert read("html", page).text == "| in | m^2^ |\n| --- | --- |\n| a | 10^6^ |\n\n```\nab\n```"


def test_the_mark_of_a_note_on_a_page_is_no_part_of_the_word_and_names_the_note() -> None:
    page = (
        '<p>word<sup><a href="#fn1">1</a></sup>, other<a href="#n2"><sup>2</sup></a> and<sup><a href="#c">[3]</a></sup>'
    )
    notes = '<ol><li id="fn1"><p>First. <a href="#r">↩</a></p></li><li id="n2">Second.</li><li id="c">Third.</li></ol>'
    parsed = read("html", page + notes)
    assert parsed.text == "word[^1], other[^2] and[3]\n\n[^1]: First.\n\n[^2]: Second.\n\n3. Third."
    assert [one.attributes.get("footnote") for one in parsed.elements] == [None, "1", "2", None]


def test_the_next_block_after_an_empty_note_is_none() -> None:
    page = '<p>a<sup><a href="#n">1</a></sup></p><p id="n"></p><p>text</p>'
    assert read("html", page).text == "a[^1]\n\ntext"


@pytest.mark.parametrize("said", ["1. At sea level.", "[1] At sea level.", "1 At sea level."])
def test_a_note_of_a_page_that_begins_with_its_own_number_says_it_once(said: str) -> None:
    page = f'<p>It opens.<sup><a href="#n">1</a></sup></p><p id="n">{said}</p>'
    assert read("html", page).text == "It opens.[^1]\n\n[^1]: At sea level."


def test_raised_text_of_an_article_in_xml_is_marked_and_data_of_that_name_is_not() -> None:
    article = "<article><body><p>10<sup>6</sup> as found<xref><sup>1</sup></xref></p></body></article>"
    assert read("xml", article).text == "10^6^ as found^1^"
    assert read("xml", "<rows><row><sub>12</sub><sup>x</sup></row></rows>").text == "row.sub: 12\nrow.sup: x"


def test_names_with_underscores_in_org_are_no_subscripts() -> None:
    assert read("org", "snake_case 10^6 x^{2} H_{2}O").text == "snake_case 10^6 x^2^ H~2~O"


def test_raised_and_lowered_text_of_a_word_document_is_marked() -> None:
    from docx import Document

    document = Document()
    paragraph = document.add_paragraph("10")
    paragraph.add_run("6").font.superscript = True
    paragraph.add_run(" H")
    paragraph.add_run("2").font.subscript = True
    paragraph.add_run("O, the 1")
    paragraph.add_run("st").font.superscript = True
    buffer = BytesIO()
    document.save(buffer)
    assert read("docx", buffer.getvalue()).text == "10^6^ H~2~O, the 1st"


def test_text_that_a_word_document_moves_by_points_and_makes_smaller_is_raised() -> None:
    from docx import Document
    from docx.oxml import parse_xml

    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    document = Document()
    paragraph = document.add_paragraph("10")
    for text, place, size in (("6", "8", 19), (" H", "", 0), ("2", "-2", 19), ("O ", "", 0), ("high", "8", 0)):
        run = paragraph.add_run(text)
        properties = run._r.get_or_add_rPr()
        for name, value in (("position", place), ("sz", size)):
            if value:
                properties.append(parse_xml(f'<w:{name} {space} w:val="{value}"/>'))
    buffer = BytesIO()
    document.save(buffer)
    assert read("docx", buffer.getvalue()).text == "10^6^ H~2~O high"


def test_lowered_text_of_rich_text_is_marked() -> None:
    assert read("rtf", r"{\rtf1 10{\up8 6} H{\dn2 2}O x{\dn i} a{\dn0 b}}").text == "10^6^ H~2~O x~i~ ab"


def test_a_formula_of_an_open_document_is_kept_however_its_place_is_written(tmp_path: Path) -> None:
    path = tmp_path / "it.odt"
    import_module("pypandoc").convert_text("so $7^9$ follows", "odt", "markdown", outputfile=str(path))
    assert b'"Formula-0/"' in zipfile.ZipFile(path).read("content.xml")
    assert read("odt", path.read_bytes()).text == "so $$7^{9}$$ follows"


def test_raised_and_lowered_text_of_an_open_document_is_marked() -> None:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "style")
    )
    position = '<style:text-properties style:text-position="{0}"/>'
    position = f'<style:style style:name="{{0}}" style:family="text">{position}</style:style>'
    styles = "".join(position.format(f"{where} 58%") for where in ("super", "sub"))
    span = '<text:span text:style-name="{} 58%">{}</text:span>'.format
    body = f"<text:p>10{span('super', 6)} H{span('sub', 2)}O</text:p>"
    members = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"<office:document-content {spaces}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>",
        "styles.xml": f"<office:document-styles {spaces}/>",
    }
    assert read("odt", zipped(members)).text == "10^6^ H~2~O"


def test_raised_and_lowered_text_of_a_book_is_marked_and_its_notes_are_notes() -> None:
    page = "10<sup>6</sup>, word<sup><a href='#n1'>1</a></sup>, <a href='#n2'><sup>2</sup></a>"
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        "b.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>',
        "a.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{page}</p></body></html>',
    }
    assert read("epub", zipped(members)).text == "10^6^, word[^1], [^2]"


def test_raised_and_lowered_text_of_a_slide_is_marked() -> None:
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    paragraph = slide.shapes.add_textbox(*map(Inches, (1, 1, 4, 4))).text_frame.paragraphs[0]
    for text, baseline in (("10", ""), ("1", "30000"), ("2", "30000"), (" H", ""), ("2", "-25000"), ("O, ", "0")):
        run = paragraph.add_run()
        run.text = text
        if baseline:
            run._r.get_or_add_rPr().set("baseline", baseline)
    buffer = BytesIO()
    deck.save(buffer)
    assert read("pptx", buffer.getvalue()).text.endswith("10^12^ H~2~O,")


def test_what_is_raised_keeps_its_spaces_outside_of_the_marks() -> None:
    assert raised(" 6 ", "10") == " ^6^ "


def test_letters_that_style_sheets_raise_or_lower_are_marked() -> None:
    sheet = "<style>.c1{vertical-align:super;font-size:8pt}.c2{vertical-align:sub}.c3{color:red}</style>"
    text = '10<span class="c1">6</span> H<span class="c2 c3">2</span>O <span class="c3">red</span>'
    assert read("html", f"{sheet}<p>{text}</p>").text == "10^6^ H~2~O red"
    assert read("html", '<p>x<span style="vertical-align: super">n</span></p>').text == "x^n^"


@pytest.mark.parametrize(
    ("style", "script"),
    [
        ("vertical-align: super", "sup"),
        ("position: relative; top: -0.33em; font-size: 0.8em", "sup"),
        ("position: relative; top: 0.08em; font-size: 0.8em", "sub"),
        ("position: relative; bottom: -.2em; font-size: 75%", "sub"),
        ("top: -0.5em", ""),
        ("vertical-align: middle; font-size: 0.8em", ""),
    ],
)
def test_properties_tell_what_is_raised(style: str, script: str) -> None:
    assert script_of(style) == script
