"""Presentations of PowerPoint until 2003, read from their records."""

import struct

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.writers.compound import compound_file
from tests.kit.writers.old_slides import Box, Slide, Table, old_slides, record


def _read(data: bytes) -> Parsed:
    assert detect_file_type("a.ppt", data) == FileType("ppt")
    return parse(data, FileType("ppt"), ParseOptions())


def test_shapes_are_read_by_rows_with_levels_tables_and_notes() -> None:
    body = Box([("one", 0), ("two", 1), ("Größe", 0)], 1, 900)
    slide = Slide([Box(["low"], top=3_000), body, Box(["Title"], 0), Table([["a", "b"], ["1", "2"]])], "Spoken.")
    parsed = _read(old_slides([slide, Slide([Box(["Right"], 4, 100, 900), Box(["left"], 4, 90)], hidden=True)]))
    assert parsed.text == (
        "## Title\n\n- one\n  - two\n- Größe\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nlow"
        "\n\nSpoken.\n\n## left\n\nRight"
    )
    assert [(one.page, one.attributes.get("hidden")) for one in parsed.elements if one.kind == "title"] == [
        (1, None),
        (2, True),
    ]
    assert [one.attributes for one in parsed.elements if "Spoken" in parsed.text[one.start_char : one.end_char]] == [
        {"role": "notes"}
    ]


def test_a_slide_that_is_not_found_has_the_text_that_the_document_keeps() -> None:
    slide = Slide([Box(["Shown"], 0)], outline=[Box(["Kept"], 0), Box(["item"], 1)])
    data = old_slides([slide])
    assert _read(data).text == "## Shown"
    assert data.count(b"\x0f\0\xee\x03") == 1  # the head of the slide's container
    assert _read(data.replace(b"\x0f\0\xee\x03", b"\x0f\0\xed\x03")).text == "## Kept\n\n- item"


def test_without_a_list_the_slides_of_the_stream_count() -> None:
    boxes = [record(0xF004, record(0xF00D, record(4008, text), 0, 15), 0, 15) for text in (b"First", b"Second")]
    stream = b"".join(record(1006, record(1036, record(0xF002, box, 0, 15), 0, 15), 0, 15) for box in boxes)
    assert _read(compound_file({"PowerPoint Document": stream})).text == "## First\n\n## Second"


@pytest.mark.parametrize("size", [0, 7, 300, 5_000])
def test_what_is_cut_off_is_rejected_or_read_in_part(size: int) -> None:
    with pytest.raises(Rejected, match=r"no_text|corrupt"):
        _read(compound_file({"PowerPoint Document": old_slides([])[:size].ljust(5_000, b"\xff")}))


def test_hostile_records_end() -> None:
    deep = b""
    for _ in range(3_000):
        deep = record(0xF003, record(0xF004, b"", 0, 15) + deep, 0, 15)
    slide = record(1006, record(1036, record(0xF002, deep, 0, 15), 0, 15), 0, 15)
    with pytest.raises(Rejected, match="corrupt: shapes nested more than 50 deep"):
        _read(compound_file({"PowerPoint Document": slide}))
    circle = record(4085, struct.pack("<IHBBIIIIHH", 0, 0, 0, 3, 0, 0, 1, 1, 0, 0))
    user = record(4086, struct.pack("<III", 20, 0xE391C05F, 0) + bytes(8))
    with pytest.raises(Rejected, match="no_text"):
        _read(compound_file({"Current User": user, "PowerPoint Document": circle * 2_000}))
