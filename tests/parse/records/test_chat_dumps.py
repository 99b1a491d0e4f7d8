"""Messages that a program dumped, as fields of lines, in the template of a model or as Python objects, are turns."""

import json
import pprint
import time

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed, reading
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.records.chat_json import messages_in
from docmill.tasks.parse.records.chat_log import turns_of
from docmill.tasks.split.spans.reading_map import reading_of
from tests.kit.parsed import found, turns

LONG = "Yes, up to 180 km/h. Before the storm comes, take the sensor down, lower the mast by its winch, and tie it up."
SAID = [("user", "Is the mast\n\nsafe at sea?"), ("assistant", LONG), ("user", "Thank you."), ("assistant", "Well!")]
DRAWN = [(role, " ".join((f"{role}:", text)).replace("\n\n", "\n")) for role, text in SAID]
OBJECTS = [{"role": role, "content": text} for role, text in SAID]
PARTS = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in SAID]


def read(name: str, text: str) -> Parsed:
    return parse(text.encode(), detect_file_type(name, text.encode()), ParseOptions())


def lines(form: str, between: str = "") -> str:
    return between.join(form.format(role=role, text=text) for role, text in SAID)


def yaml(indent: str = "") -> str:
    said = ((role, text.replace("\n", f"\n{indent}    ")) for role, text in SAID)
    return "".join(f"{indent}- role: {role}\n{indent}  content: |\n{indent}    {text}\n" for role, text in said)


NAMES = ["chat.txt", "chat.yaml", "chat.log", "chat.jsonl", "chat"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (yaml(), "{role}\n    {text}"),
        (f"model: m\nmessages:\n{yaml('  ')}", "{role}\n    {text}"),
        (lines("role: {role}\ncontent: {text}\n"), "{role}\n{text}"),
        (lines("role: {role}\ncontent: {text}\n\n"), "{role}\n{text}"),
        (lines("role: {role}\ncontent: {text}\n", "---\n"), "{role}\n{text}"),
        (lines("content: {text}\nrole: {role}\n\n"), "{text}\n{role}"),
        (lines("**Role:** {role}\n**Content:** {text}\n\n"), "{role}\n{text}"),
        (lines("role={role}\ncontent={text}\n"), "{role}\n{text}"),
        (lines("<|im_start|>{role}\n{text}<|im_end|>\n"), "{role}\n{text}"),
        (lines("[{role}]\n{text}\n\n"), "[{role}]\n{text}"),
        (lines("{role}:\n{text}\n\n"), "{role}:\n{text}"),
        (lines("{role}: {text}\n\n"), "{role}: {text}"),
    ],
)
def test_messages_in_lines_are_turns_and_their_labels_are_not_read(text: str, seen: str) -> None:
    words = [" ".join(seen.format(role=role, text=text).split()) for role, text in SAID]
    for name in NAMES:
        parsed = read(name, text)
        said = [one for one in parsed.elements if one.kind == "turn"]
        assert [one.attributes["speaker"] for one in said] == [role for role, _ in SAID], name
        unread, own = reading_of(parsed).unread, parsed.text
        spans = [(one.start_char, one.end_char) for one in said]
        assert [" ".join(reading(own[slice(*span)], unread(*span)).split()) for span in spans] == words, name


def test_fields_tell_who_speaks_and_when_and_lines_before_them_stay() -> None:
    text = "Export of channel 3\n\n" + "".join(
        f"timestamp: 2024-05-01 10:0{i}\nspeaker: {who}\ntext: {said}\n\n"
        for i, (who, said) in enumerate([("Ann", "Windy."), ("Bo Miller", "Very."), ("Ann", "Careful.")])
    )
    parsed = read("chat.txt", text)
    assert [(at, who) for at, who, _ in turns(parsed)] == [
        ("2024-05-01 10:00", "Ann"),
        ("2024-05-01 10:01", "Bo Miller"),
        ("2024-05-01 10:02", "Ann"),
    ]
    assert found(parsed)[0] == ("text", "Export of channel 3")
    assert parsed.text == text


@pytest.mark.parametrize(
    "text",
    [
        "env:\n- name: A\n  value: b\n- name: C\n  value: d\n- name: A\n  value: e\n",
        "- text: All is wind.\n  author: Bo\n- text: So be it.\n  author: Ann\n- text: Yes.\n  author: Bo\n",
        "[user]\nname = ann\n[system]\nlevel = 3\n[tool]\nkind = x\n",
        "Model: A1\nSystem: X\n\nModel: A2\nSystem: Y\n",
        "From: Ann\nTo: Bo\nSubject: Wind\nDate: Mon, 6 May 2024 10:00:00 +0000\n\nFrom: nobody\nText: hi\n",
        "role: admin\nallowed: all\n\nrole: guest\nallowed: none\n\nrole: admin\nallowed: some\n",
        "The form has two fields.\n" * 13 + lines("role: {role}\ncontent: {text}\n"),
        lines("From: {role}\nwrote some prose.\nText: {text}\n"),
    ],
)
def test_settings_mails_and_pages_with_an_example_are_no_chats(text: str) -> None:
    assert turns_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        pprint.pformat(OBJECTS, width=40),
        "\n".join(map(pprint.pformat, OBJECTS)),
        repr(PARTS),
        "\n".join(map(repr, PARTS)),
        repr([{"id": 3, "messages": OBJECTS}]),
        repr(SAID),
        repr(OBJECTS).replace("{'role': ", "Message(role=").replace(", 'content': ", ", content=").replace("}", ")"),
        "\n".join(f"ChatCompletionMessage(content={text!r}, role={role!r}, tool_calls=None)" for role, text in SAID),
        f"{PARTS!r}\n[{{'role': 'user', 'content': [{{'type",
    ],
)
def test_objects_that_python_printed_are_turns(text: str) -> None:
    for name in ("chat.txt", "chat.json", "chat.jsonl", "chat.md", "chat.log"):
        assert [(who, said) for _, who, said in turns(read(name, text))] == DRAWN, name


def test_messages_of_classes_speak_by_their_names() -> None:
    text = "[HumanMessage(content='Safe?', additional_kwargs={}), AIMessage(content='Yes.', at=dt.time(10, 5))]"
    assert [(who, said) for _, who, said in turns(read("chat.txt", text))] == [
        ("human", "human: Safe?"),
        ("ai", "ai: Yes."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(json.dumps(one, indent=2) for one in OBJECTS),
        ",\n".join(map(json.dumps, OBJECTS)),
        "\n".join(json.dumps({"type": "x", "message": one}) for one in OBJECTS),
    ],
)
def test_json_of_messages_is_read_however_it_is_put_together(text: str) -> None:
    for name in ("chat.txt", "chat.json", "chat.jsonl"):
        assert [(who, said) for _, who, said in turns(read(name, text))] == DRAWN, name


def test_entries_of_a_log_lend_their_messages_their_time() -> None:
    text = "\n".join(json.dumps({"timestamp": f"2024-05-01T10:0{i}", "message": one}) for i, one in enumerate(OBJECTS))
    assert [at for at, _, _ in turns(read("chat.jsonl", text))] == [f"2024-05-01T10:0{i}" for i in range(4)]


def test_lines_that_are_no_json_are_still_rejected() -> None:
    with pytest.raises(Rejected, match="lines are not JSON"):
        read("a.jsonl", '{"a": 1}\n{"a": \n{"b"\n[1 2]\n')


def test_hostile_texts_take_no_time() -> None:
    began = time.process_time()
    brackets = ("{'a':[" * 50_000, "A(b=" * 50_000, "('a'" * 50_000)
    for text in (*brackets, "{'a':(" + "'b'," * 100_000, "['" + "'a' " * 99_999):
        assert messages_in(text) == []
    for text in ("role: user\n" * 50_000, "- role: " * 50_000, "<|im_start|>user" * 50_000, "a " * 200_000 + ":"):
        assert turns_of(text) == []
    assert time.process_time() - began < 3
