"""The automatic numbers of Word: what it shows before paragraphs and keeps nowhere in their text."""

import zipfile
from io import BytesIO
from typing import Any

import pytest
from docx import Document
from docx.oxml import parse_xml
from lxml import etree

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.office.open_xml import read_member
from docmill.tasks.parse.pandoc.inlines import NUMBER
from docmill.tasks.parse.pandoc.word.numbering_part import read_numbering
from docmill.tasks.parse.pandoc.word.paragraph_numbers import write_numbers, written

SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
Levels = list[tuple[str, str] | tuple[str, str, str]]  # form, text, and further properties
CLAUSES: Levels = [("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)")]


def abstract(name: int, levels: Levels, more: str = "") -> str:
    drawn = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{one[0]}"/>{"".join(one[2:])}'
        f'<w:lvlText w:val="{one[1]}"/></w:lvl>'
        for at, one in enumerate(levels)
    )
    return f'<w:abstractNum w:abstractNumId="{name}">{more}{drawn}</w:abstractNum>'


def num(name: int, of: int, starts: dict[int, int] | None = None) -> str:
    overrides = "".join(
        f'<w:lvlOverride w:ilvl="{at}"><w:startOverride w:val="{start}"/></w:lvlOverride>'
        for at, start in (starts or {}).items()
    )
    return f'<w:num w:numId="{name}"><w:abstractNumId w:val="{of}"/>{overrides}</w:num>'


def listed(level: int, name: int = 1, more: str = "", text: str = "x") -> str:
    place = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{name}"/></w:numPr>'
    return f"<w:p><w:pPr>{place}{more}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def styled(style: str, more: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{more}</w:pPr><w:r><w:t>x</w:t></w:r></w:p>'


def labels(numbering: str, *paragraphs: str, styles: str = "") -> list[str]:
    """Return the numbers that paragraphs of a document begin with, "-" for one without."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        container.writestr("word/numbering.xml", f"<w:numbering {SPACE}>{numbering}</w:numbering>")
        container.writestr("word/styles.xml", f"<w:styles {SPACE}>{styles}</w:styles>")
        body = etree.fromstring(f"<w:document {SPACE}><w:body>{''.join(paragraphs)}</w:body></w:document>")
        write_numbers(body, read_numbering(container, read_member(container, "word/styles.xml")))
    found = [NUMBER.search("".join(one.itertext())) for one in body.iter("{*}p")]
    return [one[1] if one else "-" for one in found]


def at(*levels: int) -> list[str]:
    return [listed(level) for level in levels]


def test_clauses_count_within_the_clauses_above_them() -> None:
    between = "<w:p><w:r><w:t>text between</w:t></w:r></w:p>"
    found = labels(abstract(5, CLAUSES) + num(1, 5), *at(0, 1, 2, 2, 1, 2), between, *at(0, 1))
    assert found == ["1.", "1.1", "(a)", "(b)", "1.2", "(a)", "-", "2.", "2.1"]


def test_a_level_below_one_that_did_not_occur_begins_that() -> None:
    assert labels(abstract(5, CLAUSES) + num(1, 5), *at(1, 1, 0, 1)) == ["1.1", "1.2", "2.", "2.1"]


def test_lists_of_one_definition_count_on_and_those_with_a_start_of_their_own_begin_there() -> None:
    numbering = abstract(5, CLAUSES) + num(1, 5) + num(2, 5) + num(3, 5, {0: 7})
    found = labels(numbering, *(listed(0, name) for name in (1, 1, 2, 3, 3, 1)))
    assert found == ["1.", "2.", "3.", "7.", "8.", "9."]
    numbering = abstract(5, CLAUSES) + num(1, 5) + num(2, 5, {0: 9, 1: 7})
    found = labels(numbering, *at(0), *(listed(level, 2) for level in (1, 1, 0, 1)))
    assert found == ["1.", "1.7", "1.8", "9.", "9.1"]


@pytest.mark.parametrize(
    ("restart", "expected"),
    [("", "(a) (b) (a) (a)"), ("0", "(a) (b) (c) (d)"), ("1", "(a) (b) (c) (a)")],
)
def test_a_level_restarts_after_the_level_that_it_names(restart: str, expected: str) -> None:
    more = f'<w:lvlRestart w:val="{restart}"/>' if restart else ""
    levels: Levels = [*CLAUSES[:2], ("lowerLetter", "(%3)", more)]
    found = labels(abstract(5, levels) + num(1, 5), *at(0, 1, 2, 2, 1, 2, 0, 1, 2))
    assert " ".join(found[index] for index in (2, 3, 5, 8)) == expected


def test_a_legal_level_shows_all_numbers_in_digits() -> None:
    levels: Levels = [("upperRoman", "Article %1"), ("decimalZero", "Section %1.%2", "<w:isLgl/>"), CLAUSES[2]]
    assert labels(abstract(5, levels) + num(1, 5), *at(0, 0, 1, 2)) == ["Article I", "Article II", "Section 2.1", "(a)"]


def test_styles_number_their_paragraphs() -> None:
    def style(name: str, based: str, numbers: str) -> str:
        return (
            f'<w:style w:type="paragraph" w:styleId="{name}"><w:basedOn w:val="{based}"/>'
            f"<w:pPr><w:numPr>{numbers}</w:numPr></w:pPr></w:style>"
        )

    levels: Levels = [("decimal", "%1", '<w:pStyle w:val="H1"/>'), ("decimal", "%1.%2", '<w:pStyle w:val="H2"/>')]
    styles = style("H1", "N", '<w:numId w:val="1"/>') + style("H2", "H1", "") + style("H2b", "H2", "")
    styles += style("Step", "N", '<w:ilvl w:val="1"/><w:numId w:val="1"/>')
    styles += style("Plain", "H1", '<w:numId w:val="0"/>')
    none = '<w:numPr><w:numId w:val="0"/></w:numPr>'
    deeper = '<w:numPr><w:ilvl w:val="1"/></w:numPr>'
    found = labels(
        abstract(5, levels) + num(1, 5),
        *map(styled, ("H1", "H2", "H2b", "Step", "Plain")),
        styled("H1", none),
        styled("H1", deeper),
        styled("H1"),
        styles=styles,
    )
    assert found == ["1", "1.1", "1.2", "1.3", "-", "-", "1.4", "2"]


def test_a_list_that_names_a_style_counts_by_the_list_of_that_style() -> None:
    styles = (
        '<w:style w:type="numbering" w:styleId="Legal"><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>'
    )
    link = '<w:numStyleLink w:val="Legal"/>'
    numbering = abstract(5, [], link) + abstract(6, CLAUSES, '<w:styleLink w:val="Legal"/>') + num(1, 5) + num(2, 6)
    assert labels(numbering, listed(0), listed(0, 2), listed(1), styles=styles) == ["1.", "2.", "2.1"]


def test_deleted_and_hidden_paragraphs_do_not_count_and_empty_ones_do() -> None:
    deleted, hidden = "<w:rPr><w:del/></w:rPr>", "<w:rPr><w:vanish/></w:rPr>"
    gone = listed(0, more=hidden).replace("<w:r>", "<w:r><w:rPr><w:vanish/></w:rPr>")
    found = labels(
        abstract(5, CLAUSES) + num(1, 5), listed(0), listed(0, more=deleted), gone, listed(0, text=""), *at(0)
    )
    assert found == ["1.", "-", "-", "-", "3."]


def test_text_boxes_count_apart() -> None:
    box = f"<w:p><w:r><w:pict><w:txbxContent>{listed(0)}</w:txbxContent></w:pict></w:r></w:p>"
    found = labels(abstract(5, CLAUSES) + num(1, 5), *at(0, 0), box, *at(0))
    assert found[0:2] + found[3:] == ["1.", "2.", "1.", "3."]


def test_bullets_have_no_number_and_hidden_ones_show_nothing() -> None:
    hidden = "<w:rPr><w:vanish/></w:rPr>"
    levels: Levels = [("bullet", "•"), ("decimal", "%1%2)"), ("none", "Note:"), ("decimal", "%4", hidden)]
    assert labels(abstract(5, levels) + num(1, 5), *at(0, 1, 2, 3, 8)) == ["-", "1)", "Note:", "", "-"]


def test_a_form_that_shows_its_first_members_is_padded() -> None:
    custom = (
        '<w:lvl w:ilvl="0"><w:start w:val="9"/><mc:AlternateContent '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice><w:numFmt w:val="custom" '
        'w:format="001, 002, 003, ..."/></mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback>'
        '</mc:AlternateContent><w:lvlText w:val="R%1"/></w:lvl>'
    )
    numbering = f'<w:abstractNum w:abstractNumId="5">{custom}</w:abstractNum>' + num(1, 5)
    assert labels(numbering, *at(0, 0)) == ["R009", "R010"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("decimal", {1: "1", 1204: "1204"}),
        ("lowerLetter", {1: "a", 26: "z", 28: "bb", 54: "bbb"}),
        ("upperRoman", {4: "IV", 49: "XLIX"}),
        ("ordinal", {1: "1st", 12: "12th", 23: "23rd", 111: "111th"}),
        ("cardinalText", {3: "Three", 15: "Fifteen", 40: "Forty", 42: "Forty-two", 120: "120"}),
        ("ordinalText", {1: "First", 12: "Twelfth", 20: "Twentieth", 42: "Forty-second"}),
        ("decimalEnclosedCircle", {3: "③", 21: "21"}),
        ("chineseCounting", {9: "九", 10: "十", 12: "十二", 45: "四十五", 110: "一百一十"}),
        ("ideographDigital", {20: "二〇"}),
        ("russianUpper", {4: "Г"}),
        ("a form of tomorrow", {3: "3"}),
    ],
)
def test_numbers_are_written_in_the_form_of_their_level(form: str, expected: dict[int, str]) -> None:
    assert {number: written(number, form) for number in expected} == expected


@pytest.mark.parametrize(
    "damage",
    [
        '<w:num w:numId="1"/>',
        '<w:num w:numId="1"><w:abstractNumId w:val="9"/></w:num>',
        '<w:abstractNum w:abstractNumId="5"><w:numStyleLink w:val="Gone"/></w:abstractNum>' + num(1, 5),
        '<w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="many"><w:start w:val="-1"/></w:lvl></w:abstractNum>'
        + num(1, 5),
        abstract(5, CLAUSES) + num(1, 5).replace('w:val="5"', 'w:val=""'),
    ],
)
def test_damaged_lists_number_nothing(damage: str) -> None:
    assert labels(damage, *at(0, 8)) == ["-", "-"]


def _numbered(document: Any, levels: Levels) -> None:
    part = document.part.numbering_part.element
    part.insert(0, parse_xml(abstract(77, levels).replace("<w:abstractNum", f"<w:abstractNum {SPACE}", 1)))
    part.append(parse_xml(num(77, 77).replace("<w:num", f"<w:num {SPACE}", 1)))


def _add(document: Any, text: str, level: int, style: str | None = None) -> Any:
    paragraph = document.add_paragraph(text, style)
    place = f'<w:numPr {SPACE}><w:ilvl w:val="{level}"/><w:numId w:val="77"/></w:numPr>'
    paragraph._p.get_or_add_pPr().append(parse_xml(place))
    return paragraph


def test_the_text_of_a_contract_says_what_word_shows() -> None:
    document = Document()
    _numbered(document, CLAUSES)
    _add(document, "Fees", 0, "Heading 1")
    _add(document, "Scope", 1, "Heading 2")
    _add(document, "The fees are due.", 1)
    _add(document, "at once", 2)
    document.add_paragraph("Between clauses.")
    reference = _add(document, "Except as in ", 1)._p
    field = '<w:r {0}><w:fldChar w:fldCharType="{1}"/></w:r>'.format
    reference.append(parse_xml(field(SPACE, "begin")))
    reference.append(parse_xml(f"<w:r {SPACE}><w:instrText> REF _Ref1 \\r \\h </w:instrText></w:r>"))
    reference.append(parse_xml(field(SPACE, "separate")))
    reference.append(parse_xml(f"<w:r {SPACE}><w:t>1.2(a)</w:t></w:r>"))
    reference.append(parse_xml(field(SPACE, "end")))
    cell = document.add_table(2, 2).cell(0, 0)
    cell.paragraphs[0].text = "Term"
    cell.paragraphs[0]._p.get_or_add_pPr().append(
        parse_xml(f'<w:numPr {SPACE}><w:ilvl w:val="0"/><w:numId w:val="77"/></w:numPr>')
    )
    document.tables[0].cell(0, 1).text = "one year"
    document.tables[0].cell(1, 1).text = "two"
    buffer = BytesIO()
    document.save(buffer)
    assert parse(buffer.getvalue(), FileType("docx"), ParseOptions()).text == (
        "# 1. Fees\n\n## 1.1 Scope\n\n1.2 The fees are due.\n  (a) at once\n\nBetween clauses.\n\n"
        "1.3 Except as in 1.2(a)\n\n| 2. Term | one year |\n| --- | --- |\n|  | two |"
    )


def test_a_page_that_begins_with_a_number_begins_before_it() -> None:
    document = Document()
    _numbered(document, CLAUSES)
    document.add_paragraph("before")
    paragraph = _add(document, "Fees", 0)
    paragraph.runs[0]._r.insert(0, parse_xml(f"<w:lastRenderedPageBreak {SPACE}/>"))
    buffer = BytesIO()
    document.save(buffer)
    parsed = parse(buffer.getvalue(), FileType("docx"), ParseOptions())
    assert [(one.page, one.kind) for one in parsed.elements] == [(1, "paragraph"), (2, "list_item")]
    assert parsed.text == "before\n\n1. Fees"
