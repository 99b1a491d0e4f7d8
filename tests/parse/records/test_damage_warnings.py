"""Damaged JSON and XML: what can be read is, and a warning says what cannot."""

import json

import pytest

from docmill.storage.sql.document_warnings import messages_of
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions


@pytest.mark.parametrize(
    ("form", "data", "kept", "message"),
    [
        ("json", '{"name": "mill", "parts": [{"id": 1}, {"id": 2, "is": "whe', "name: mill", "JSON up to its damage"),
        ("jsonl", "\n".join(['{"name": "mill"}'] * 20 + ["{oops"]), "{oops", "read as JSON lines, 1 of them as text"),
        ("xml", "<d><t>Mill &gear; house</t><p>Five &nbsp;&euro; each.</p></d>", "€", "written: gear"),
        ("xml", "<d><t>Mill house</t><p>Five &nbsp;&euro; each.</p></d>", "€", ""),
        ("json", '{"name": "mill"}', "mill", ""),
        ("json", '{"name": "mill\nhouse"}', "name: mill\nhouse", ""),
        ("ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Open the ga", "Open the ga", "cut off"),
        ("ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Open\nEND:VEVENT\nEND:VCALENDAR", "Open", ""),
        ("vcf", "BEGIN:VCARD\nFN:Ann Mil", "Ann Mil", "cut off"),
        ("vcf", "BEGIN:VCARD\nFN:Ann\nEND:VCARD", "Ann", ""),
        ("emlx", "500\nFrom: a@x.org\nSubject: Mill\n\nThe wheel tu", "wheel tu", "cut off"),
        ("emlx", "44\nFrom: a@x.org\nSubject: Mill\n\nThe wheel turns", "wheel", ""),
    ],
)  # fmt: skip
def test_what_can_be_read_is_with_a_warning(form: str, data: str, kept: str, message: str) -> None:
    parsed = parse(data.encode(), FileType(form), ParseOptions())
    assert kept in parsed.text
    said = messages_of(json.dumps(parsed.metadata))
    assert message in " ".join(said)
    assert bool(said) == bool(message)


def test_settings_that_begin_with_a_comment_are_json() -> None:
    data = b'// Of the mill\n/* and its\nhouse */\n{"gate": "open",}\n'
    assert detect_file_type("mill.json", data) == FileType("json")
    assert parse(data, FileType("json"), ParseOptions()).text == "gate: open"
