"""Box Notes: what of them is read, and what is told from other JSON."""

import json

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.parsed import found


def deep(levels: int) -> dict[str, object]:
    node: dict[str, object] = {"type": "paragraph", "content": [{"type": "text", "text": "At the bottom."}]}
    for _ in range(levels):
        node = {"type": "blockquote", "content": [node]}
    return {
        "doc": {"type": "doc", "content": [{"type": "heading", "content": [{"type": "text", "text": "Top"}]}, node]}
    }


def test_a_note_is_known_by_its_content_and_old_notes_are_read() -> None:
    old = json.dumps({"atext": {"text": "Gates\n*upper\n*lower\n", "attribs": ""}, "pool": {}}).encode()
    assert detect_file_type("note.json", old) == FileType("boxnote")
    parsed = parse(old, FileType("boxnote"), ParseOptions())
    assert found(parsed) == [("paragraph", "Gates"), ("list_item", "- upper"), ("list_item", "- lower")]
    assert detect_file_type("note", json.dumps(deep(1)).encode()) == FileType("boxnote")
    other = b'{"doc": "a doc", "content": ["none"], "atext": 3}'
    assert detect_file_type("note.json", other) == FileType("json")
    with pytest.raises(Rejected, match="neither"):
        parse(other, FileType("boxnote"), ParseOptions())


def test_a_note_that_is_nested_without_end_keeps_what_can_be_read() -> None:
    parsed = parse(json.dumps(deep(300)).encode(), FileType("boxnote"), ParseOptions())
    assert found(parsed) == [("title", "# Top")]


def test_raised_letters_of_a_note_are_marked() -> None:
    raised = {"type": "text", "text": "6", "marks": [{"type": "superscript"}]}
    texts = [{"type": "text", "text": "10"}, raised, {"type": "text", "text": " W"}]
    note = {"doc": {"type": "doc", "content": [{"type": "paragraph", "content": texts}]}}
    assert parse(json.dumps(note).encode(), FileType("boxnote"), ParseOptions()).text == "10^6^ W"


def test_pieces_of_notion_are_read_whatever_their_type() -> None:
    pieces = [{"type": "text", "text": {"content": said}, "plain_text": said} for said in ("Open the ", "valve")]
    pieces.append({"type": "equation", "equation": {"expression": "x^2"}, "plain_text": " x^2"})
    block = {"object": "block", "type": "paragraph", "paragraph": {"rich_text": pieces}}
    data = json.dumps({"object": "list", "results": [block]}).encode()
    assert parse(data, FileType("json"), ParseOptions()).text == "Open the valve x^2"
