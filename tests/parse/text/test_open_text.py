"""OpenDocument texts: what stands in boxes, fields and pictures, and which paragraph is the title."""

import pytest
from lxml import etree

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pandoc.formats.odt import keep_used_styles
from tests.kit.writers.workbook import zipped

_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in (
        ("office", "office"),
        ("text", "text"),
        ("draw", "drawing"),
        ("style", "style"),
        ("svg", "svg-compatible"),
        ("table", "table"),
    )
)


def read(body: str, styles: str = "") -> Parsed:
    content = f"<office:document-content {_SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
    content += f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    members = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": content,
        "styles.xml": f"<office:document-styles {_SPACES}/>",
    }
    return parse(zipped(members), FileType("odt"), ParseOptions())


BOX = "<draw:frame><draw:text-box><text:p>In one.</text:p><text:p>In two.</text:p></draw:text-box></draw:frame>"
SHAPE = "<draw:custom-shape><text:p>In a shape.</text:p></draw:custom-shape>"
PICTURE = "<draw:frame><draw:image/><svg:title>mill</svg:title><svg:desc>An old mill</svg:desc></draw:frame>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<text:p>Before {BOX}after.</text:p><text:p>End.</text:p>", "Before after.\n\nIn one.\n\nIn two.\n\nEnd."),
        (f"{BOX}<text:p>End.</text:p>", "In one.\n\nIn two.\n\nEnd."),
        (f"<text:p>So{SHAPE}.</text:p>", "So.\n\nIn a shape."),
        (f"<text:p>See{PICTURE}.</text:p>", "See An old mill ."),
        ("<text:p>On <text:date>1 May</text:date>, <text:author-name>Ann</text:author-name></text:p>", "On 1 May, Ann"),
        (
            "<text:p><text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>kan</text:ruby-text></text:ruby>"
            "</text:p>",
            "漢(kan)",
        ),
        ("<text:numbered-paragraph><text:p>First.</text:p></text:numbered-paragraph>", "First."),
        (
            "<text:bibliography><text:bibliography-source><text:index-title-template>Books</text:index-title-template>"
            "</text:bibliography-source><text:index-body><text:p>Ann: Mills.</text:p></text:index-body>"
            "</text:bibliography>",
            "Ann: Mills.",
        ),
        ("<text:p>a<text:page-number>3</text:page-number>b</text:p>", "ab"),
    ],
)
def test_words_in_boxes_fields_and_pictures_are_kept(body: str, text: str) -> None:
    assert read(body).text == text


@pytest.mark.parametrize("style", ["Title", "P1"])
def test_the_first_paragraph_is_the_title_by_its_style(style: str) -> None:
    deleted = "<text:tracked-changes><text:changed-region><text:deletion><text:p>Gone</text:p></text:deletion>"
    deleted += "</text:changed-region></text:tracked-changes>"
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    body = f'{deleted}<text:p text:style-name="{style}">On mills</text:p><text:h text:outline-level="1">Sails</text:h>'
    parsed = read(body, styles)
    assert (parsed.title, parsed.text) == ("On mills", "# On mills\n\n## Sails")


def row(*cells: str) -> str:
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


def cell(held: str, spanned: str = "") -> str:
    content = held if held.startswith("<") else f"<text:p>{held}</text:p>"
    return f"<table:table-cell {spanned}>{content}</table:table-cell>"


def test_a_row_with_spanned_cells_keeps_its_last_cell() -> None:
    wide = cell("Mill", 'table:number-columns-spanned="2"') + "<table:covered-table-cell/>"
    body = f"<table:table>{row(wide, cell('Year'), cell('Tons'))}{row(*map(cell, 'abcd'))}</table:table>"
    assert read(body).text == "| Mill |  | Year | Tons |\n| --- | --- | --- | --- |\n| a | b | c | d |"


def test_a_table_within_a_cell_is_a_list_in_it() -> None:
    inner = f"<table:table>{row(cell('Rye'), cell('40'))}{row(cell('Oats'), cell('12'))}</table:table>"
    body = f"<table:table>{row(cell('Crop'), cell('Year'))}{row(cell(inner), cell('1911'))}</table:table>"
    assert read(body).text.endswith("| Rye, 40; Oats, 12 | 1911 |")


NAMED_STYLES = """
    <style:font-face style:name="Used font"/><style:font-face style:name="Other font"/>
    <style:font-face style:name="Base"/>
    <style:style style:name="Used" style:parent-style-name="Parent"/><style:style style:name="Parent"
    style:list-style-name="Used list"/><style:style style:name="Unused" style:parent-style-name="Used"/>
    <text:list-style style:name="Used list"><text:list-level style:font-name="Used font"/></text:list-style>
    <text:list-style style:name="A &amp;quot; list"/><text:list-style style:name="Unused list"/>
    <style:default-style><style:text-properties style:font-name="Base"/></style:default-style>
"""


def test_styles_are_those_named_with_what_they_name() -> None:
    root = etree.fromstring(f"<office:styles {_SPACES}><office:styles>{NAMED_STYLES}</office:styles></office:styles>")
    keep_used_styles(root, b'<text:p text:style-name="Used"/><text:list text:style-name="A &amp;quot; list"/>')
    kept = [value for node in root.iter("{*}style", "{*}list-style", "{*}font-face") for value in node.attrib.values()]
    assert kept == [
        "Used font", "Base", "Used", "Parent", "Parent", "Used list", "Used list", "A &quot; list"
    ]  # fmt: skip
    assert root[0][-1].tag.endswith("default-style")


def test_what_is_not_shown_is_left_out() -> None:
    hidden = (
        '<style:style style:name="T1" style:family="text"><style:text-properties text:display="none"/></style:style>'
    )
    section = '<text:section text:display="none"><text:p>Secret.</text:p></text:section>'
    body = f'{section}<text:p>All <text:span text:style-name="T1">is not </text:span>well.</text:p>'
    assert read(body, hidden).text == "All well."
