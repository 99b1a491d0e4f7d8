"""What messages of chats say outside of their texts, and chats in the forms of other programs."""

import json
from typing import Any

import pytest

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.records.chat_json import further_words
from tests.kit.parsed import turns


def read(value: Any) -> list[tuple[str, str, str]]:
    return turns(parse(json.dumps(value).encode(), FileType("json"), ParseOptions()))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "Wheel stopped"}}]}, "Wheel stopped"),
        (
            {
                "blocks": [
                    {
                        "type": "rich_text",
                        "elements": [
                            {
                                "type": "rich_text_section",
                                "elements": [
                                    {"type": "text", "text": "See "},
                                    {"type": "link", "url": "https://mill.example"},
                                    {"type": "emoji", "name": "wheel"},
                                ],
                            }
                        ],
                    }
                ]
            },
            "See https://mill.example:wheel:",
        ),
        (
            {
                "attachments": [
                    {"fallback": "In short", "title": "Report", "fields": [{"title": "Owner", "value": "ann"}]}
                ]
            },
            "Report\nOwner\nann",
        ),
        ({"attachments": [{"fallback": "In short", "id": 1}]}, "In short"),
        (
            {"files": [{"id": "F1", "name": "plan.pdf", "mimetype": "application/pdf", "url_private": "https://x"}]},
            "plan.pdf",
        ),
        (
            {"embeds": [{"title": "Build 7", "description": "failed", "footer": {"text": "by ci"}, "color": 3}]},
            "Build 7\nfailed\nby ci",
        ),
        (
            {"tool_calls": [{"id": "c", "function": {"name": "weigh", "arguments": '{"grain": "rye"}'}}]},
            'weigh\n{"grain": "rye"}',
        ),
        ({"content": [{"type": "tool_use", "name": "weigh", "input": {"grain": "rye"}}]}, 'weigh\n{"grain": "rye"}'),
        ({"poll": {"question": "When?", "options": [{"text": "Now"}, {"text": "Later"}]}}, "When?\nNow\nLater"),
        ({"reactions": [{"name": "thumbsup", "users": ["U1"]}], "user_profile": {"name": "ann"}}, ""),
        ({"image": {"content": "data:image/png;base64,AAAA"}}, ""),
        ({"name": "Ann", "caption": "The wheel"}, "The wheel"),
    ],
)
def test_words_in_other_fields_are_said_once_each(message: dict[str, Any], words: str) -> None:
    assert further_words(message, "") == words
    assert further_words(message, f"Before. {words.replace(chr(10), ' ')} After.") == ""


def test_a_message_of_nothing_but_an_attachment_is_a_turn() -> None:
    said = [{"user": "ann", "text": "Good morning", "ts": "1770112800.1"}]
    alert = {"username": "Alerts", "ts": "1770112900.1", "attachments": [{"title": "Wheel stopped"}]}
    assert [text for _, _, text in read([*said, *said, alert])][-1] == "[2026-02-03T10:01:40Z] Alerts: Wheel stopped"


@pytest.mark.parametrize(
    "value",
    [
        {
            "value": [
                {
                    "createdDateTime": "2026-02-03T10:00:00Z",
                    "from": {"user": {"displayName": "Ann"}},
                    "body": {"contentType": "html", "content": "<p>Is the <b>wheel</b> free?</p>"},
                }
            ]
        },
        [
            {
                "name": "Mills",
                "chat_messages": [
                    {
                        "sender": "Ann",
                        "created_at": "2026-02-03T10:00:00Z",
                        "text": "Is the wheel free?",
                        "content": [{"type": "text", "text": "Is the wheel free?"}],
                    }
                ],
            }
        ],
        {
            "messages": [
                {"creator": {"name": "Ann"}, "created_date": "2026-02-03T10:00:00Z", "text": "Is the wheel free?"}
            ]
        },
        {
            "messages": [
                {"u": {"username": "Ann"}, "ts": {"$date": "2026-02-03T10:00:00Z"}, "msg": "Is the wheel free?"}
            ]
        },
        {
            "MessageList": [
                {
                    "displayName": "Ann",
                    "originalarrivaltime": "2026-02-03T10:00:00Z",
                    "content": "Is the <b>wheel</b> free?",
                }
            ]
        },
        {"messages": [{"sender_full_name": "Ann", "timestamp": "1770112800", "content": "<p>Is the wheel free?</p>"}]},
    ],
)
def test_exports_of_other_programs_are_turns_without_tags(value: Any) -> None:
    assert read(value) == [("2026-02-03T10:00:00Z", "Ann", "[2026-02-03T10:00:00Z] Ann: Is the wheel free?")]


@pytest.mark.parametrize(
    "value",
    [
        {"value": [{"displayName": "Rye", "value": "7"}, {"displayName": "Oats", "value": "5"}]},
        [{"name": "rye", "attachments": [], "price": 7}, {"name": "oats", "attachments": [], "price": 5}],
    ],
)
def test_lists_of_names_and_values_are_no_chats(value: Any) -> None:
    assert read(value) == []


def test_a_call_of_a_tool_in_printed_objects_is_said() -> None:
    said = [
        {"role": "user", "content": "How heavy?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "weigh", "arguments": "{}"}}],
        },
        {"role": "user", "content": "Well?"},
    ]
    parsed = parse(repr(said).encode(), FileType("json"), ParseOptions())
    assert [text for _, _, text in turns(parsed)] == ["user: How heavy?", "assistant: weigh\n{}", "user: Well?"]


def test_calls_of_tools_between_messages_are_turns() -> None:
    entries = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Find the ledger"}]},
        {"type": "function_call", "name": "lookup", "arguments": '{"town": "Ulm"}', "call_id": "1"},
        {"type": "function_call_output", "call_id": "1", "output": "42 pages"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It has 42 pages."}]},
    ]
    said = [(speaker, text) for _, speaker, text in read(entries)]
    assert [speaker for speaker, _ in said] == ["user", "assistant", "tool", "assistant"]
    assert "lookup" in said[1][1]
    assert "Ulm" in said[1][1]
    assert said[2][1].endswith("42 pages")
    logged = [{"timestamp": "2026-01-01T10:00:00Z", "type": "response_item", "payload": one} for one in entries]
    assert [speaker for _, speaker, _ in read(logged)] == ["user", "assistant", "tool", "assistant"]


def test_an_attached_text_is_part_of_its_message() -> None:
    asked = {"sender": "human", "text": "What is this?", "attachments": [{"extracted_content": "Breaking load 40 kg"}]}
    replied = {"sender": "assistant", "text": "A rope."}
    assert "Breaking load 40 kg" in str(read({"chat_messages": [asked, replied]}))
