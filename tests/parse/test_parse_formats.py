"""Each format: what its parser reads out of documents made for the purpose."""

import re
import zipfile
from base64 import b85decode
from collections.abc import Callable
from io import BytesIO
from typing import Any
from zlib import decompress

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pandoc.word.word import draw_elements
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.kit.writers.pdf import Pdf


def loaded_after_a_document(_: int) -> list[str]:
    import sys

    buffer = BytesIO()
    _docx().save(buffer)
    parse(buffer.getvalue(), FileType("docx"), ParseOptions())
    with zipfile.ZipFile(buffer) as origin:
        draw_elements(buffer.getvalue(), Canvas(), origin)  # by unstructured, which would download a model
    return [name for name in ("spacy", "torch", "prefect", "lancedb") if name in sys.modules]


@pytest.mark.usefixtures("cold")
def test_parsing_needs_no_network_and_no_language_model() -> None:
    with Pool(Limits(workers=1)) as pool:  # whose workers have no network
        assert list(pool.map(loaded_after_a_document, [0])) == [[]]


def _docx() -> Any:
    from docx import Document

    document = Document()
    document.core_properties.author = "Ann"
    document.sections[0].header.paragraphs[0].text = "Running header"
    document.add_heading("Report", 1)
    document.add_paragraph("Some text of the report.")
    document.add_heading("Parts", 2)
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("inner", style="List Bullet 2")
    document.add_paragraph("counted", style="List Number")
    table = document.add_table(2, 2)
    for cell, text in zip([cell for row in table.rows for cell in row.cells], ["Name", "Size", "a", "1"], strict=True):
        cell.text = text
    return document


def test_text_boxes_of_a_word_document_are_not_lost() -> None:
    from docx.oxml import parse_xml

    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    inside = "<w:txbxContent><w:p><w:r><w:t>In the box</w:t></w:r></w:p></w:txbxContent>"
    document = _docx()
    document.add_paragraph("Above")._p.append(parse_xml(f"<w:r {space}><w:pict>{inside}</w:pict></w:r>"))
    assert _parsed(document).text.endswith("Above\n\nIn the box")


def test_a_word_document_of_the_strict_variant_is_read_like_any_other() -> None:
    usual = BytesIO()
    _docx().save(usual)
    strict = BytesIO()
    with zipfile.ZipFile(usual) as before, zipfile.ZipFile(strict, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            pattern = rb"http://schemas.openxmlformats.org/(?!package/)(\w+)/2006/"
            after.writestr(name, re.sub(pattern, rb"http://purl.oclc.org/ooxml/\1/", content))
    parsed = parse(strict.getvalue(), FileType("docx"), ParseOptions())
    assert parsed.text == _parsed(_docx()).text


def _parsed(document: Any) -> Parsed:
    buffer = BytesIO()
    document.save(buffer)
    return parse(buffer.getvalue(), FileType("docx"), ParseOptions())


def test_a_word_document_keeps_headings_lists_tables_and_furniture() -> None:
    buffer = BytesIO()
    _docx().save(buffer)
    data = buffer.getvalue()
    parsed = parse(data, detect_file_type("anything.bin", data), ParseOptions())
    assert parsed.text.split("\n\n") == [
        "Running header",
        "# Report",
        "Some text of the report.",
        "## Parts",
        "- first\n  - inner\n1. counted",
        "| Name | Size |\n| --- | --- |\n| a | 1 |",
    ]
    assert parsed.elements[0].kind == "furniture"
    assert (parsed.title, parsed.metadata["author"]) == ("Report", "Ann")


Rows = list[list[str]]


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("a;b\n1,5;2\n2,5;3\n", [["a", "b"], ["1,5", "2"], ["2,5", "3"]]),
        ("a\tb\r\n1\t2\r\n", [["a", "b"], ["1", "2"]]),
        ('a,b\n"1, ""x""",2\n', [["a", "b"], ['1, "x"', "2"]]),
        ('a,b\n"one\ntwo",2\n', [["a", "b"], ["one two", "2"]]),
        ("a,b,c\n1\n1,2,3\n", [["a", "b", "c"], ["1", "", ""], ["1", "2", "3"]]),
        ("name\nx|y\n", [["name"], ["x|y"]]),
    ],
)
def test_delimited_values_become_one_table_with_a_line_for_each_row(text: str, cells: Rows) -> None:
    parsed = parse(text.encode(), FileType("csv"), ParseOptions())
    (table,) = parsed.elements
    assert table.attributes == {"cells": cells, "header_rows": 1}
    assert len(parsed.text.splitlines()) == len(cells) + 1


def test_a_table_of_numbers_has_no_header() -> None:
    parsed = parse(b"1,2\n3,4\n", FileType("csv"), ParseOptions())
    assert parsed.text == "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"
    assert parsed.elements[0].attributes["header_rows"] == 0


def test_years_may_name_the_columns_of_a_table() -> None:
    parsed = parse(b"Country,2019,2020\nA,5,6\nB,7,8\n", FileType("csv"), ParseOptions())
    assert parsed.text.startswith("| Country | 2019 | 2020 |\n| --- |")
    assert parse(b"A,5,6\nB,7,8\n", FileType("csv"), ParseOptions()).elements[0].attributes["header_rows"] == 0


@pytest.mark.parametrize(
    ("make", "encoding"),
    [
        (lambda text: text.encode(), "utf-8"),
        (lambda text: text.encode("utf-8-sig"), "utf-8"),
        (lambda text: text.encode("utf-16"), "utf-16-le"),
        (lambda text: text.encode("utf-16-be"), "utf-16-be"),
        (lambda text: text.encode("utf-32"), "utf-32-le"),
        (lambda text: text.encode("cp1252"), "cp1252"),
    ],
)
def test_encodings_are_found_and_recorded(make: Callable[[str], bytes], encoding: str) -> None:
    text = "Grüße aus Zürich: der Fluß fließt größer, schöner, früher und kühler als gewöhnlich.\n" * 3
    parsed = parse(make(text), FileType("text"), ParseOptions())
    assert (parsed.text, parsed.metadata) == (text, {"encoding": encoding})


def test_controls_that_were_letters_of_windows_are_these() -> None:
    found = decode("Ä \x91Rose\x92 \x96 here\x85".encode())
    assert found.text == "Ä \u2018Rose\u2019 \u2013 here\u2026"
    assert decode("line\x85line ä".encode()).text == "line\x85line ä"  # the end of a line on other systems


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a,b\n'x, y',1\n'it''s','z'\n'u',2\n", ["x, y", "1"]),
        ('a, b\n"x", "y, z"\n', ["x", "y, z"]),
        ("a,b\n'twas,x\n", ["'twas", "x"]),
    ],
)
def test_fields_may_be_between_single_quotation_marks_and_behind_a_blank(text: str, row: list[str]) -> None:
    parsed = parse(text.encode(), FileType("csv"), ParseOptions())
    assert parsed.elements[0].attributes["cells"][1] == row


def test_japanese_mail_encoding_is_told_by_its_escapes_and_colours_are_none() -> None:
    text = "これは日本語の文章です。\n"
    parsed = parse(text.encode("iso2022_jp"), FileType("text"), ParseOptions())
    assert (parsed.text, parsed.metadata) == (text, {"encoding": "iso2022_jp_2"})
    assert parse(b"\x1b[31mred\x1b[0m\n", FileType("text"), ParseOptions()).metadata == {"encoding": "utf-8"}


def test_bytes_that_would_be_a_text_of_control_characters_are_no_text() -> None:
    with pytest.raises(Rejected, match="undecodable"):
        parse(b"\0\1\2\3" * 50, FileType("text"), ParseOptions())


def test_a_few_spoilt_bytes_in_utf8_are_told_and_not_guessed_away() -> None:
    text = "Привет, мир. " * 50
    parsed = parse(text.encode() + b"\xff", FileType("text"), ParseOptions())
    assert parsed.text == text + "\ufffd"
    assert parsed.metadata == {"encoding": "utf-8", "undecodable_bytes": 1}


def test_paragraphs_and_chapters_of_a_plain_text_are_elements() -> None:
    text = "CHAPTER I\r\n\r\nIt was a day.\r\nIt rained.\r\n \r\nChapter two of this was better.\n"
    parsed = parse(text.encode(), FileType("text"), ParseOptions())
    assert [(one.kind, parsed.text[one.start_char : one.end_char], one.line) for one in parsed.elements] == [
        ("title", "CHAPTER I", 1),
        ("paragraph", "It was a day.\r\nIt rained.", 3),
        ("paragraph", "Chapter two of this was better.", 6),
    ]


def _manual() -> Pdf:
    pdf = Pdf({"Author": "Ann", "CreationDate": "D:20250102030405Z", "Title": "manual.docx"})
    for number in (1, 2, 3):
        pdf.add_page()
        pdf.text(64, 800, "The manual", 9)
        pdf.text(64, 30, f"Page {number} of 3", 9)
        pdf.text(64, 740, f"{number} Chapter", 18, "bold")
        pdf.text(64, 700, "A paragraph that was cut into lines and that goes", 10)
        pdf.text(64, 687, "on for a whole second line of its own.", 10)
        pdf.text(64, 650, "\u2022 an item", 10)
    return pdf


def test_a_pdf_has_pages_boxes_headings_items_and_furniture() -> None:
    data = _manual().to_bytes()
    parsed = parse(data, detect_file_type("x", data), ParseOptions())
    page = [one for one in parsed.elements if one.page == 2]
    assert [(one.kind, parsed.text[one.start_char : one.end_char]) for one in page] == [
        ("furniture", "The manual"),
        ("furniture", "Page 2 of 3"),
        ("title", "# 2 Chapter"),
        ("paragraph", "A paragraph that was cut into lines and that goes on for a whole second line of its own."),
        ("list_item", "- an item"),
    ]
    left, top, right, bottom = page[2].box or (0, 0, 0, 0)
    assert 60 < left < 70 < right < 200
    assert 80 < top < 102 < bottom < 110  # 842 - 740, from the top
    assert parsed.title == ""  # "manual.docx" is what a program wrote, and "1 Chapter" is one of several
    stated = {"author": "Ann", "created": "2025-01-02T03:04:05", "language": "en"}
    assert parsed.metadata == stated | {"pages": 3, "furniture": 6}


def test_an_outline_decides_on_headings() -> None:
    pdf = Pdf({"Title": "Set by hand"})
    pdf.add_page()
    pdf.text(64, 740, "Plain heading", 10)
    pdf.text(64, 700, "Text below the heading, of the same size.", 10)
    pdf.outline = [(0, "Part", 0, 800), (1, "Plain heading", 0, 750)]
    parsed = parse(pdf.to_bytes(), FileType("pdf"), ParseOptions())
    assert [(one.kind, one.level) for one in parsed.elements] == [("title", 2), ("paragraph", 0)]
    assert parsed.title == "Set by hand"


def test_a_pdf_without_text_asks_for_ocr() -> None:
    pdf = Pdf({})
    pdf.add_page()
    with pytest.raises(Rejected, match="no_text: none of 1 pages holds text"):
        parse(pdf.to_bytes(), FileType("pdf"), ParseOptions())


LOCKED = """\
c-o~@zi-qq6s7}0vIHw59(n^qiS5{lElwx(*9k<?Ro4Oos)Q5296?7?k{q-Mff$+Dm>4=RbO4D7{sP2MsVtr8#>jveanidIkq!qWi{Iz>zVAK1
XSY_Dx^wiBi&|d~_r4&C2~LB1sNF`+`t~MZXHge=m=2J$st1r`W*z#->5YnEoLE~O*(*93;CASRVFz_O2oh7Wum)R2f}Cry$?<LMmce)fIg9Bi
DKM>tx+jK~S!7^c$7x&#6YGU^%W@I>3nj4RtYqv%o{qB6W>_+GQyWt)2<AtjU5dqc#jrPCx!A8(ovI3(R#I5C9Loth&W<;-D;1ElHVTT$EJ2E#
1)W2s?OcK3Lnz`<BWF1YQxn_sa&E=Re3Hi#pe7*xU0`k@9h&J>y#G+?1;hBk2&NPA|60gSL>5Cf9lfm4uRt;=?qZLX`+1RpzK_nH`F8njG4pg!
L>q^*`}kmH_Qi)gKYo5X_vpgw^^fNL%&C{BKkx58;l;C^gY$3pE<W$W{O+qApM7t?D^<osV?EU<XL28ENl{Ywii;uOwg|w0HVh>3>lcOA@7+zz
?EGT)xE9K!9em80;>z=xvfJHwSU`rIwL&LGXSUxx+y(^^Gaf*wNJtgo6g*~(rdmqLxB}n-fb@A_0vb|a!nisNb>wm|G-P(-Z{W7#hN&=!ICv2W
R49cCT?N`xT>E|`nJo7NaPWoHoO+xPYkN@?X+nvt*R_>FgorHwk>d}0Lbw7)_!y&h+N+)9H>TVMMg?nNZh6XoV4V03Oc2$;JjxrGe}bQ6w22AX
z!a(FS7bUK+W9RTx)wi%@(i4Qn%Y<H=&iY$L@BOjq%@Z73)ZGl**7BtWt1@zJV9;iL*|>nw$<}H)3|I@S0>xuv`TdHY~_W{imDluQi)ov<z5&4
0*qR!VE
"""


def test_a_locked_pdf_names_encryption_and_opens_with_its_password() -> None:
    data = decompress(b85decode("".join(LOCKED.split())))
    with pytest.raises(Rejected, match="encrypted: the pdf needs a password; none of 1 passwords opens it"):
        parse(data, FileType("pdf"), ParseOptions(passwords=("abra",)))
    parsed = parse(data, FileType("pdf"), ParseOptions(passwords=("abra", "sesame")))
    assert parsed.text == "The key is under the mat."


@pytest.mark.parametrize(
    ("text", "cells", "above"),
    [
        ("sep=;\r\nA;B\r\n1;2,5\r\n", [["A", "B"], ["1", "2,5"]], []),
        ("Sales 2024\n\nid,name\n1,a\n2,b\n", [["id", "name"], ["1", "a"], ["2", "b"]], ["Sales 2024"]),
        ("# made by us\nid\tname\n1\ta\n", [["id", "name"], ["1", "a"]], ["made by us"]),
        ("Sum,,\nid,name,n\n1,a,5\n2,b,6\n", [["id", "name", "n"], ["1", "a", "5"], ["2", "b", "6"]], ["Sum"]),
        ("To;9\nSum;5 EUR\n\nDay;For;Sum\n1;a;2\n", [["Day", "For", "Sum"], ["1", "a", "2"]], ["To 9", "Sum 5 EUR"]),
        ("From,9,\n,,\nid,name,n\n1,a,5\n\n,,5\n", [["id", "name", "n"], ["1", "a", "5"], ["", "", "5"]], ["From 9"]),
        ("id,name\n\nA,B\n\nC,D\n", [["id", "name"], ["A", "B"], ["C", "D"]], []),
        ("x\na,b\nc,\nd,\n", [["x", ""], ["a", "b"], ["c", ""], ["d", ""]], []),
    ],
)
def test_what_stands_above_a_table_is_no_row_of_it(text: str, cells: list[list[str]], above: list[str]) -> None:
    parsed = parse(text.encode(), FileType("csv"), ParseOptions())
    assert parsed.elements[-1].attributes["cells"] == cells
    assert [parsed.text[one.start_char : one.end_char] for one in parsed.elements[:-1]] == above
