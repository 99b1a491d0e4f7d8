"""HTML and rich text that stand in values of data: read as text, without tags."""

import json
from typing import Any

import pytest

from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.markup.html.hypertext import page_in
from docmill.tasks.parse.office.sheets.sheet import CellBudget, Worksheet, draw_sheet
from docmill.tasks.parse.records.data_files import draw_table
from tests.kit.parsed import found


def text_of(value: Any) -> str:
    return parse(json.dumps(value).encode(), FileType("json"), ParseOptions()).text


def test_a_short_value_in_html_is_its_words_in_a_line() -> None:
    assert (
        text_of({"name": "wheel", "note": "Turn it <b>slowly</b> &amp; stop."})
        == "name: wheel\nnote: Turn it slowly & stop."
    )


def test_a_value_that_is_a_page_has_headings_and_items_below_its_name() -> None:
    page = "<h1>Care</h1><p>Oil it.</p><ul><li>daily</li><li>in frost</li></ul>"
    assert text_of({"articles": [{"title": "Wheel", "body": page}, {"title": "Stone", "body": page}]}).startswith(
        "# articles\n\n## Wheel\n\ntitle: Wheel\n\n### body\n\n#### Care\n\nOil it.\n\n- daily\n- in frost\n\n## Stone"
    )


@pytest.mark.parametrize("text", ["a < b and c > d", "List<String> names", "x <y> z", "if (a<b) then", "<b>", ""])
def test_signs_that_no_tag_closes_are_no_html(text: str) -> None:
    assert page_in(text) is None


NAMED = ("Use the <b> tag.", "A <p> begins a paragraph.", "Write '<br>' or `<hr>`.", "An <img> needs a source.")
MARKED = ("One<br>two", "One <br/> two", "<p>One", "One<p>two", "<p class='a'> One", 'See <img src="a.png"> here')


@pytest.mark.parametrize("text", NAMED)
def test_a_tag_that_a_value_names_keeps_its_signs_in_every_format(text: str) -> None:
    assert page_in(text) is None
    assert text in text_of({"note": text})
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    xml = f"<notes><note>{escaped}</note><note>{escaped}</note></notes>".encode()
    assert text in parse(xml, FileType("xml"), ParseOptions()).text
    rows = f'name,note\nwheel,"{text}"\n'.encode()
    assert text in parse(rows, FileType("csv"), ParseOptions()).text


@pytest.mark.parametrize("text", MARKED)
def test_a_tag_that_needs_no_other_makes_a_value_html(text: str) -> None:
    page = page_in(text)
    assert page is not None
    assert "<" not in page.text


def test_cells_in_html_are_their_words() -> None:
    note = "<p>Turn it <b>slowly</b> &amp; stop.</p><p>Then oil it.</p>"
    csv = parse(f'name,note\nwheel,"{note}"\nstone,a < b\n'.encode(), FileType("csv"), ParseOptions())
    said = [["name", "note"], ["wheel", "Turn it slowly & stop. Then oil it."], ["stone", "a < b"]]
    assert csv.elements[0].attributes["cells"] == said
    sheet = Worksheet("Care")
    for row, cells in enumerate((["name", "note"], ["wheel", note], ["stone", "a < b"])):
        for column, text in enumerate(cells):
            CellBudget(1_000).put(sheet, row, column, text)
    canvas = Canvas()
    draw_sheet(canvas, sheet)
    draw_table(canvas, "care", [("name", ""), ("note", "")], [("wheel", note), ("stone", "a < b")], 2)
    assert [one.attributes["cells"] for one in canvas.parsed().elements if one.kind == "table"] == [said, said]


WORDS = [{"type": "text", "text": "Oil the "}, {"type": "text", "text": "wheel", "marks": [{"type": "strong"}]}]


@pytest.mark.parametrize(
    "document",
    [
        {
            "type": "doc",
            "content": [
                {"type": "heading", "attrs": {"level": 2}, "content": [{"type": "text", "text": "Care"}]},
                {
                    "type": "bulletList",
                    "content": [{"type": "listItem", "content": [{"type": "paragraph", "content": WORDS}]}],
                },
            ],
        },
        {
            "nodeType": "document",
            "content": [
                {"nodeType": "heading-2", "content": [{"nodeType": "text", "value": "Care"}]},
                {
                    "nodeType": "unordered-list",
                    "content": [
                        {
                            "nodeType": "list-item",
                            "content": [
                                {
                                    "nodeType": "paragraph",
                                    "content": [
                                        {"nodeType": "text", "value": "Oil the "},
                                        {"nodeType": "text", "value": "wheel"},
                                    ],
                                }
                            ],
                        }
                    ],
                },
            ],
        },
        {
            "root": {
                "type": "root",
                "children": [
                    {"type": "heading", "tag": "h2", "children": [{"type": "text", "text": "Care"}]},
                    {
                        "type": "list",
                        "listType": "bullet",
                        "children": [
                            {
                                "type": "listitem",
                                "children": [{"type": "text", "text": "Oil the "}, {"type": "text", "text": "wheel"}],
                            }
                        ],
                    },
                ],
            }
        },
        [
            {"type": "heading-two", "children": [{"text": "Care"}]},
            {
                "type": "bulleted-list",
                "children": [{"type": "list-item", "children": [{"text": "Oil the "}, {"text": "wheel"}]}],
            },
        ],
        [
            {"_type": "block", "style": "h2", "children": [{"_type": "span", "text": "Care"}]},
            {
                "_type": "block",
                "style": "normal",
                "listItem": "bullet",
                "children": [{"_type": "span", "text": "Oil the "}, {"_type": "span", "text": "wheel"}],
            },
        ],
        {
            "object": "list",
            "results": [
                {
                    "object": "block",
                    "type": "heading_2",
                    "heading_2": {"rich_text": [{"type": "text", "plain_text": "Care"}]},
                },
                {
                    "object": "block",
                    "type": "bulleted_list_item",
                    "bulleted_list_item": {
                        "rich_text": [
                            {"type": "text", "plain_text": "Oil the "},
                            {"type": "text", "plain_text": "wheel"},
                        ]
                    },
                },
            ],
        },
        {
            "ops": [
                {"insert": "Care"},
                {"insert": "\n", "attributes": {"header": 2}},
                {"insert": "Oil the "},
                {"insert": "wheel", "attributes": {"bold": True}},
                {"insert": "\n", "attributes": {"list": "bullet"}},
            ]
        },
        {
            "time": 1,
            "version": "2",
            "blocks": [
                {"type": "header", "data": {"text": "Care", "level": 2}},
                {"type": "list", "data": {"style": "unordered", "items": ["Oil the wheel"]}},
            ],
        },
    ],
)
def test_rich_text_of_each_editor_is_drawn_with_its_headings_and_items(document: Any) -> None:
    parsed = parse(json.dumps({"key": "M-1", "description": document}).encode(), FileType("json"), ParseOptions())
    assert found(parsed)[0] == ("text", "key: M-1")
    assert [(kind, text.lstrip("# ")) for kind, text in found(parsed)[-2:]] == [
        ("title", "Care"),
        ("list_item", "- Oil the wheel"),
    ]


def test_blocks_of_editor_js_are_drawn_by_their_types() -> None:
    blocks = [
        {"type": "paragraph", "data": {"text": "Open the <b>valve</b> &amp; wait."}},
        {"type": "delimiter", "data": {}},
        {
            "type": "list",
            "data": {
                "style": "ordered",
                "items": [{"content": "One <i>turn</i>", "items": [{"content": "slowly"}]}, {"content": "Rest"}],
            },
        },
        {"type": "table", "data": {"withHeadings": True, "content": [["Bird", "Mass"], ["Wren", "9"]]}},
        {"type": "warning", "data": {"title": "Note:", "message": "Hot stone"}},
    ]
    parsed = parse(json.dumps({"version": "2", "blocks": blocks}).encode(), FileType("json"), ParseOptions())
    assert found(parsed) == [
        ("paragraph", "Open the valve & wait."),
        ("list_item", "1. One turn"),
        ("list_item", "1. slowly"),
        ("list_item", "2. Rest"),
        ("table", "| Bird | Mass |\n| --- | --- |\n| Wren | 9 |"),
        ("paragraph", "Note:\nHot stone"),
    ]


def test_the_pieces_of_a_text_in_data_are_one_text() -> None:
    title = [{"type": "text", "plain_text": "Open "}, {"type": "text", "plain_text": "slowly", "href": None}]
    assert "Name.title: Open slowly" in text_of({"properties": {"Name": {"type": "title", "title": title}}})


def test_lists_of_records_are_no_rich_text() -> None:
    records = [{"type": "mill", "children": 3, "text": "old"}, {"type": "weir", "children": 0, "text": "new"}]
    assert "type: mill" in text_of(records)
