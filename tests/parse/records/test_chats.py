"""Chats: logs that programs for them write, and chats exported as JSON."""

import json

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.parsed import found, turns


def read(form: str, text: str) -> Parsed:
    return parse(text.encode(), FileType(form), ParseOptions())


@pytest.mark.parametrize(
    ("line", "time", "speaker"),
    [
        ("[01:02] <ann> hello", "01:02", "ann"),
        ("[2024-05-01 01:02:03] <ann> hello", "2024-05-01 01:02:03", "ann"),
        ("<ann> hello", "", "ann"),
        ("01:02 ann: hello", "01:02", "ann"),
        ("[1:02 PM] Ann Ridge: hello", "1:02 PM", "Ann Ridge"),
        ("12/01/24, 10:15 - Ann: hello", "12/01/24, 10:15", "Ann"),
        ("[12.01.24, 10:15:33] Ann: hello", "12.01.24, 10:15:33", "Ann"),
        ("[01/02/2024 10:15 AM] Ann#1234", "01/02/2024 10:15 AM", "Ann#1234"),
        ("* ann waves", "", "ann"),
        ("01:02 < ann> hello", "01:02", "ann"),
        ("(01:02:03 AM) ann: hello", "01:02:03 AM", "ann"),
        ("May 01 01:02:03 *\tann waves", "May 01 01:02:03", "ann"),
        ("2024-05-01 01:02:03\t@ann\thello", "2024-05-01 01:02:03", "ann"),
        ("**Ann:** hello", "", "Ann"),
    ],
)
def test_lines_of_a_chat_tell_who_speaks_and_when(line: str, time: str, speaker: str) -> None:
    assert turns(read("chat", f"{line}\nand more\n")) == [(time, speaker, f"{line}\nand more")]


@pytest.mark.parametrize(
    "text",
    [
        "--- Log opened Mon May 06 00:00:00 2024\n00:01 -!- ann [~a@host] has joined #mill\n"
        "00:02 <@bo> hi\n00:03 < ann> hello\n--- Day changed Tue May 07 2024\n",
        "[00:01:02] *** Joins: ann (~a@host)\n[00:02:00] <bo> hi\n"
        "[00:02:30] <ann> hello\n[00:03:00] *** Quits: bo (x)\n",
        "2024-05-06 00:01:00\t-->\tann (~a@host) has joined #mill\n2024-05-06 00:02:00\t@bo\thi\n"
        "2024-05-06 00:03:00\tann\thello\n2024-05-06 00:04:00\t<--\tbo (x) has quit\n",
    ],
)
def test_logs_of_channels_are_chats_and_who_came_and_went_is_furniture(text: str) -> None:
    assert detect_file_type("mill.log", text.encode()) == FileType("chat")
    parsed = read("chat", text)
    assert [speaker for _, speaker, _ in turns(parsed)] == ["bo", "ann"]
    assert {one.kind for one in parsed.elements} == {"turn", "furniture"}


@pytest.mark.parametrize(
    "text", ["00:00:01 <INFO> up\n" * 4, "00:00:01 main: up\n" * 4, "00:00:01\tmain\tup\n" + "x\n" * 3]
)
def test_logs_of_programs_are_no_chats(text: str) -> None:
    assert detect_file_type("mill.log", text.encode()) == FileType("log")


def test_exported_chats_are_read_beside_calls_names_and_marks() -> None:
    said = [
        {"type": "service", "date": "2024-05-06T00:01:00", "actor": "Ann", "action": "create_group"},
        {
            "type": "message",
            "date": "2024-05-06T00:02:00",
            "from": "Ann",
            "text": ["see ", {"type": "link", "text": "x.org"}],
        },
    ]
    telegram = {"chats": {"list": [{"name": "Mill", "messages": said}, {"name": "Empty", "messages": []}]}}
    assert found(read("json", json.dumps(telegram))) == [
        ("title", "# Mill"),
        ("turn", "[2024-05-06T00:02:00] Ann: see x.org"),
    ]
    slack = [
        {
            "type": "message",
            "user": "U1",
            "ts": "1714550400.0001",
            "text": "<@U2> <https://x.org|here> &amp; <#C1|mill>",
        },
        {
            "type": "message",
            "user": "U2",
            "ts": "1714550401.0001",
            "text": "a &lt; b",
            "user_profile": {"real_name": "Bo"},
        },
        {"type": "message", "user": "U2", "ts": "1714550402.0001", "text": "<!here> <https://x.org>"},
    ]
    assert [(speaker, text.partition("] ")[2]) for _, speaker, text in turns(read("json", json.dumps(slack)))] == [
        ("U1", "U1: @Bo here & #mill"),
        ("Bo", "Bo: a < b"),
        ("Bo", "Bo: @here https://x.org"),
    ]
