"""Headings, code, lines and tables that Word documents state otherwise than by the names that pandoc knows."""

from collections.abc import Sequence
from io import BytesIO

import pytest
from docx import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.parsed import found

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MONO = "<w:rPr><w:rFonts w:ascii='Courier New'/></w:rPr>"
PROSE = "The miller opens the gate in the morning, and the wheel begins to turn when the water has reached it."


def paragraph(text: str, properties: str = "", run: str = "") -> str:
    return f"<w:p {W}><w:pPr>{properties}</w:pPr><w:r>{run}<w:t xml:space='preserve'>{text}</w:t></w:r></w:p>"


def read(*xml: str, outlines: Sequence[tuple[str, int]] = ()) -> Parsed:
    word, buffer = Document(), BytesIO()
    for name, level in outlines:
        style = word.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        style.element.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {W} w:val="{level}"/>'))
    end = word.element.body.sectPr
    for one in xml:
        end.addprevious(parse_xml(one))
    word.save(buffer)
    return parse(buffer.getvalue(), FileType("docx"), ParseOptions())


def titles(parsed: Parsed) -> list[tuple[int, str]]:
    return [(one.level, one.attributes["text"]) for one in parsed.elements if one.kind == "title"]


def test_paragraphs_with_an_outline_level_are_headings() -> None:
    parsed = read(
        paragraph("Die Mühle", '<w:pStyle w:val="Kapitel"/>'),
        paragraph(PROSE),
        paragraph("Der Bach", '<w:outlineLvl w:val="1"/>'),
        paragraph(PROSE, '<w:outlineLvl w:val="1"/>'),
        paragraph("No heading", '<w:pStyle w:val="Kapitel"/><w:outlineLvl w:val="9"/>'),
        outlines=[("Kapitel", 0)],
    )
    assert titles(parsed) == [(1, "Die Mühle"), (2, "Der Bach")]


def test_lines_in_a_monospaced_font_are_code() -> None:
    lines = [paragraph(text, run=MONO) for text in ("def turn(wheel):", "    wheel.angle += 1")]
    parsed = read(paragraph(PROSE), *lines, paragraph(PROSE), paragraph(PROSE, run=MONO))
    assert [text for kind, text in found(parsed) if kind == "code"] == [
        "```\ndef turn(wheel):\n    wheel.angle += 1\n```"
    ]


def test_the_font_of_a_typewritten_document_is_no_sign_of_code() -> None:
    letter = [paragraph(text, run=MONO) for text in ("Dear Ada,", "thank you (again!) for 2 sacks.", "Bo")]
    assert {kind for kind, _ in found(read(*letter))} == {"paragraph"}


@pytest.mark.parametrize("grid", ["", "<w:tblGrid><w:gridCol w:w='9'/></w:tblGrid>"])
def test_cells_beyond_the_declared_columns_are_read(grid: str) -> None:
    cell = "<w:tc><w:tcPr>{}</w:tcPr><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>".format
    wide = cell('<w:gridSpan w:val="2"/>', "Mass")
    rows = cell("", "Bird") + wide, "".join(cell("", text) for text in ("Kestrel", "156 g", "252 g"))
    parsed = read(f"<w:tbl {W}>{grid}{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>")
    cells = next(one.attributes["cells"] for one in parsed.elements if one.kind == "table")
    assert cells == [["Bird", "Mass", ""], ["Kestrel", "156 g", "252 g"]]


def test_carriage_returns_end_lines_and_double_lines_strike() -> None:
    struck = "<w:r><w:rPr><w:dstrike/></w:rPr><w:t>3 EUR</w:t></w:r>"
    parsed = read(f"<w:p {W}><w:r><w:t>Fee</w:t><w:cr/><w:t>now </w:t></w:r>{struck}</w:p>")
    assert parsed.text.strip() == "Fee\nnow ~~3 EUR~~"


def test_prompts_of_empty_controls_are_left_out_and_tabs_to_a_margin_part_words() -> None:
    empty, filled = "<w:sdtPr><w:showingPlcHdr/></w:sdtPr>", ""
    controls = (
        f"<w:sdt>{state}<w:sdtContent><w:r><w:t>{said}</w:t></w:r></w:sdtContent></w:sdt>"
        for state, said in ((empty, "Click here."), (filled, "Ada"))
    )
    ends = "<w:r><w:t>Name</w:t><w:ptab w:relativeTo='margin' w:alignment='right' w:leader='none'/></w:r>"
    assert read(f"<w:p {W}>{ends}{''.join(controls)}</w:p>").text.strip() == "Name Ada"
