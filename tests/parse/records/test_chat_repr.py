"""Chats that a program printed as Python dicts, or that ChatGPT exported, are turns."""

import json
import time

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.formats import FORMATS, ParseOptions
from docmill.tasks.parse.records.chat_json import messages_in

SAID = [
    {"role": "user", "content": 'It\'s "windy".\nIs the mast safe?'},
    {"role": "assistant", "content": "Yes, up to 180 km/h."},
    {"role": "user", "content": "Thank you."},
]


def parse(name: str, text: str) -> Parsed:
    kind = detect_file_type(name, text.encode())
    return FORMATS[kind.format].parse(text.encode(), ParseOptions())


def turns(found: Parsed) -> list[tuple[str, str]]:
    kept = (one for one in found.elements if one.kind == "turn")
    return [(one.attributes["speaker"], found.text[one.start_char : one.end_char]) for one in kept]


DRAWN = [
    ("user", 'user: It\'s "windy".\nIs the mast safe?'),
    ("assistant", "assistant: Yes, up to 180 km/h."),
    ("user", "user: Thank you."),
]


@pytest.mark.parametrize("name", ["chat.txt", "chat.md", "chat.json", "chat.jsonl", "chat.log", "chat"])
@pytest.mark.parametrize(
    "text",
    [
        repr(SAID),
        "\n".join(map(repr, SAID)),
        f"{SAID[:2]!r}\n{SAID[2:]!r}\n",
        f"{SAID!r}\n[{{'role': 'user', 'content': 'I",
    ],
)
def test_printed_dicts_are_turns(name: str, text: str) -> None:
    assert turns(parse(name, text)) == DRAWN


def test_a_message_that_was_cut_off_is_kept_as_text() -> None:
    found = parse("chat.txt", f"{SAID!r}\n[{{'role': 'user'")
    assert turns(found) == DRAWN
    last = found.elements[-1]
    assert (last.kind, found.text[last.start_char : last.end_char]) == ("text", "{'role': 'user'")


def test_a_list_of_other_dicts_or_a_program_is_no_chat() -> None:
    assert messages_in("[{'name': 'mast', 'height': 12}, {'name': 'vane', 'height': 3}]") == []
    assert messages_in("{'role': 'user', 'content': 'a'}\nimport os\nos.system('x')\nprint('more and more')\n") == []
    assert messages_in("[{'role': 'user', 'content': __import__('os')}]") == []
    assert messages_in("[{'role': 'user', 'content': '\\x4'}]") == []


def test_hostile_texts_take_no_time() -> None:
    began = time.process_time()
    for text in (
        "{'" * 200_000,
        "[" * 200_000,
        "{'a': '" + "\\'" * 200_000,
        "{'a':'b'," * 50_000,
        "{'a': 1" + "." * 99_999,
    ):
        assert messages_in(text) == []
    assert time.process_time() - began < 5


def test_an_export_of_chatgpt_is_a_conversation() -> None:
    def node(role: str, text: str) -> dict[str, object]:
        content = {"content_type": "text", "parts": [text]}
        return {"message": {"author": {"role": role}, "content": content, "create_time": 1_714_557_600.5}}

    said = {
        "root": {"message": None},
        "0": node("system", ""),
        "1": node("user", "Safe?"),
        "2": node("assistant", "Yes."),
    }
    found = parse("conversations.json", json.dumps([{"title": "Mast", "mapping": said}]))
    assert [speaker for speaker, _ in turns(found)] == ["user", "assistant"]
    assert turns(found)[1][1] == "[2024-05-01T10:00:00Z] assistant: Yes."
    assert "# Mast" in found.text
