"""Presentations: titles, lists, tables and notes of slides, in the order in which they are read."""

import zipfile
from io import BytesIO
from typing import Any

import pytest
from lxml import etree

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.office.open_xml import read_part
from tests.kit.making.make_golden import FOLDER
from tests.kit.writers.workbook import with_members


def _deck() -> Any:
    from pptx import Presentation

    return Presentation()


def _bytes(deck: Any) -> bytes:
    buffer = BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def _read(deck: Any) -> Parsed:
    return parse(_bytes(deck), FileType("pptx"), ParseOptions())


def _box(shapes: Any, text: str, left: float, top: float) -> Any:
    from pptx.util import Inches

    box = shapes.add_textbox(Inches(left), Inches(top), Inches(1), Inches(1))
    box.text_frame.text = text
    return box


def test_shapes_are_read_by_rows_and_groups_stay_together() -> None:
    deck = _deck()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    _box(slide.shapes, "bottom", 0, 6)
    _box(slide.shapes, "top right", 4, 2)
    _box(slide.shapes, "top left", 1, 2.1)
    group = slide.shapes.add_group_shape()
    _box(group.shapes, "in group, below", 2, 5)
    _box(group.shapes, "in group, above", 2, 4)
    slide.shapes.title.text = "Title"
    assert _read(deck).text.split("\n\n") == [
        "## Title", "top left", "top right", "in group, above", "in group, below", "bottom"
    ]  # fmt: skip


def test_a_group_that_is_scaled_stands_where_it_is_shown() -> None:
    deck = _deck()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    _box(group.shapes, "second", 0, 0)
    _box(slide.shapes, "first", 0, 1)
    group.top = 3_000_000
    assert _read(deck).text == "## first\n\nsecond"


def test_a_slide_without_title_is_named_by_its_number_and_an_empty_one_left_out() -> None:
    deck = _deck()
    for text in ("", "a long text " * 20, ""):
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        if text:
            _box(slide.shapes, text, 1, 1)
    parsed = _read(deck)
    assert parsed.text.startswith("## Slide 2\n\na long text")
    assert {one.page for one in parsed.elements} == {2}


def test_numbers_of_a_list_count_by_level() -> None:
    from pptx.oxml import parse_xml

    space = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    deck = _deck()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Steps"
    frame = slide.placeholders[1].text_frame
    for text, level, mark in (("a", 0, "Auto"), ("b", 1, "Auto"), ("c", 1, "Auto"), ("d", 0, "Auto"), ("e", 0, "None")):
        line = frame.add_paragraph()
        line.text, line.level = text, level
        more = '<a:buAutoNum %s type="arabicPeriod"/>' if mark == "Auto" else "<a:buNone %s/>"
        line._p.get_or_add_pPr().append(parse_xml(more % space))
    assert _read(deck).text == "## Steps\n\n1. a\n  1. b\n  2. c\n2. d\n\ne"


def test_cells_merged_over_rows_are_repeated() -> None:
    from pptx.util import Inches

    deck = _deck()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Huts"
    table = slide.shapes.add_table(3, 2, *[Inches(2)] * 4).table
    for number, text in enumerate(("hut", "bed", "A", "1", "", "2")):
        table.cell(number // 2, number % 2).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    assert [one.attributes["cells"] for one in _read(deck).elements if one.kind == "table"] == [
        [["hut", "bed"], ["A", "1"], ["A", "2"]]
    ]


def test_damaged_presentations_are_corrupt_or_read_without_the_part() -> None:
    data = (FOLDER / "pptx/plan.pptx").read_bytes()
    slide = "ppt/slides/slide2.xml"
    with zipfile.ZipFile(BytesIO(data)) as archive:
        cut = archive.read(slide)[:900]
        members = {name: archive.read(name) for name in archive.namelist() if name != slide}
    for broken in (with_members(data, {slide: cut}), with_members(data, {"ppt/presentation.xml": b"<p"}), data[:5_000]):
        with pytest.raises(Rejected, match="corrupt"):
            parse(broken, FileType("pptx"), ParseOptions())
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    text = parse(buffer.getvalue(), FileType("pptx"), ParseOptions()).text
    assert "Costs" in text
    assert "Stations" not in text


def test_shapes_nested_too_deeply_are_corrupt() -> None:
    data = (FOLDER / "pptx/plan.pptx").read_bytes()
    deep = '<p:sld xmlns:p="p"><p:spTree>' + "<p:grpSp>" * 5_000 + "</p:grpSp>" * 5_000 + "</p:spTree></p:sld>"
    with pytest.raises(Rejected, match="corrupt"):
        parse(with_members(data, {"ppt/slides/slide2.xml": deep}), FileType("pptx"), ParseOptions())


def test_links_stand_with_their_lines_and_tables() -> None:
    from pptx.util import Inches

    deck = _deck()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Title"
    paragraph = _box(slide.shapes, "See ", 0, 2).text_frame.paragraphs[0]
    for text in ("the ", "manual"):  # a program cuts a link where its style changes
        run = paragraph.add_run()
        run.text, run.hyperlink.address = text, "https://example.org/m"
    paragraph.add_run().text = " first"
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(4), Inches(4), Inches(1)).table
    run = table.cell(0, 1).text_frame.paragraphs[0].add_run()
    table.cell(0, 0).text, run.text, run.hyperlink.address = "Name", "a site", "https://example.org/a"
    _, line, cells = _read(deck).elements
    assert line.attributes == {"links": [{"text": "the manual", "url": "https://example.org/m"}]}
    assert cells.attributes["links"] == [{"text": "a site", "url": "https://example.org/a"}]


def test_columns_are_read_one_after_the_other_where_they_were_drawn_so() -> None:
    deck = _deck()
    comparison = deck.slides.add_slide(deck.slide_layouts[4])
    comparison.shapes.title.text = "Mills"
    for text, holder in zip(
        ("Wind", "It blows.", "Water", "It flows."), list(comparison.placeholders)[1:], strict=True
    ):
        holder.text = text
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Grid"
    for text, left, top in (("oak", 0, 2), ("elm", 4, 2), ("hard", 0, 4), ("soft", 4, 4)):
        _box(slide.shapes, text, left, top)
    text = _read(deck).text
    assert text.split("\n\n") == [
        "## Mills", "Wind", "- It blows.", "Water", "- It flows.", "## Grid", "oak", "elm", "hard", "soft"
    ]  # fmt: skip


def test_a_header_of_two_rows_names_the_columns() -> None:
    from pptx.util import Inches

    deck = _deck()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(1), Inches(6), Inches(2)).table
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 1).merge(table.cell(0, 2))
    for row, column, text in (
        (0, 0, "Type"),
        (0, 1, "Output"),
        (1, 1, "min"),
        (1, 2, "max"),
        (2, 0, "oak"),
        (2, 1, "5"),
    ):
        table.cell(row, column).text = text
    drawn = next(one for one in _read(deck).elements if one.kind == "table")
    assert drawn.attributes["cells"] == [["Type", "Output min", "Output max"], ["oak", "5", ""]]


def test_a_layout_is_read_once_for_all_slides_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    deck = _deck()
    for layout, text in ((5, "one"), (5, "two"), (1, "three"), (5, "four")):
        deck.slides.add_slide(deck.slide_layouts[layout]).shapes.title.text = text
    asked: list[str] = []

    def told(container: zipfile.ZipFile, part: str) -> Any:
        asked.append(part)
        return read_part(container, part)

    monkeypatch.setattr("docmill.tasks.parse.office.slides.powerpoint.read_part", told)
    assert _read(deck).text.split("\n\n") == ["## one", "## two", "## three", "## four"]
    layouts = [part for part in asked if part.startswith("ppt/slideLayouts/")]
    assert sorted(layouts) == ["ppt/slideLayouts/slideLayout2.xml", "ppt/slideLayouts/slideLayout6.xml"]


@pytest.mark.parametrize("newer", [False, True])
def test_comments_of_a_slide_name_their_authors(newer: bool) -> None:
    deck = _deck()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Mills"
    said = "<txBody><p><r><t>{}</t></r></p></txBody>" if newer else "<text>{}</text>"
    reply = f'<replyLst><reply authorId="2">{said.format("Soon.")}</reply></replyLst>' if newer else ""
    comment = f'<cmLst><cm authorId="1">{said.format("How high?")}{reply}</cm></cmLst>'
    people = '<l><a id="1" name="Ann"/><a id="2" name="Bo"/></l>'.replace("<a", "<author" if newer else "<cmAuthor")
    links = "ppt/slides/_rels/slide1.xml.rels"
    data = _bytes(deck)
    with zipfile.ZipFile(BytesIO(data)) as container:
        stated = container.read(links).decode()
    link = '<Relationship Id="rId9" Type="http://x/relationships/comments" Target="../comments/comment1.xml"/>'
    parts = {
        links: stated.replace("</Relationships>", f"{link}</Relationships>"),
        "ppt/comments/comment1.xml": comment,
        "ppt/authors.xml" if newer else "ppt/commentAuthors.xml": people,
    }
    parsed = parse(with_members(data, parts), FileType("pptx"), ParseOptions())
    assert parsed.text.split("\n\n")[1:] == ["Ann: How high?", "Bo: Soon."][: 1 + newer]


def test_the_number_of_a_slide_is_no_text_of_it() -> None:
    deck = _deck()
    box = _box(deck.slides.add_slide(deck.slide_layouts[6]).shapes, "The mill", 1, 1)
    for said in ("", "Slide "):
        paragraph = box.text_frame.add_paragraph()
        paragraph.text = said
        name = paragraph._p.tag.removesuffix("}p")
        field = etree.SubElement(paragraph._p, f"{name}}}fld", {"id": "{1}", "type": "slidenum"})
        etree.SubElement(field, f"{name}}}t").text = "7"
    assert _read(deck).text.splitlines()[-1] == "Slide 7"
    assert "\n7" not in _read(deck).text
