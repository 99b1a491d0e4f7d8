"""The readers of XML, JSON, notebooks, subtitles, chats and logs."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.parser import faults
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.kit.drawing import examples
from tests.kit.parsed import found, turns


def read(form: str, text: str | bytes) -> Parsed:
    return parse(text.encode() if isinstance(text, str) else text, FileType(form), ParseOptions())


def test_numbers_of_json_stand_as_they_are_written() -> None:
    assert read("json", '{"a": 1.50, "b": 1e400, "c": 123456789012345678901234567890}').text == (
        "a: 1.50\nb: 1e400\nc: 123456789012345678901234567890"
    )


def test_a_key_that_occurs_twice_keeps_both_values() -> None:
    assert read("json", '{"a": "one", "a": "two"}').text == "a: two\na (0): one"


def test_large_parts_of_json_stand_below_headings_of_their_keys() -> None:
    value = {"name": "x", "shops": [{"name": "north", "text": "a " * 900, "open": {"mon": 9}}, {"name": "south"}]}
    parsed = read("json", json.dumps(value))
    assert [text[:20] for _, text in found(parsed)] == [
        "name: x",
        "# shops",
        "## north",
        "name: north\ntext: a ",
        "name: south",
    ]
    assert [one.attributes.get("path") for one in parsed.elements][-2:] == ["$.shops[0]", "$.shops[1]"]


def test_json_with_comments_and_last_commas_is_read_and_other_json_is_corrupt() -> None:
    assert read("json", '{"url": "http://a", /* no */ "b": [1, 2,], // end\n}').text == "url: http://a\nb: 1, 2"
    damaged = read("json", "[1 true]")
    assert damaged.text == "1\n\ntrue]"
    assert damaged.metadata["damaged"] == "not JSON from line 1 on: Expecting ',' delimiter"
    with pytest.raises(Rejected, match="corrupt: not JSON: Expecting value: line 1 column 2"):
        read("json", "[tru")


def test_halves_of_characters_in_escapes_harm_no_other_text() -> None:
    assert (
        read("json", r'{"a": "x\ud83dy", "b": "\ud83d\ude00", "c": "\\ud83d"}').text
        == "a: x\ufffdy\nb: \U0001f600\nc: \\ud83d"
    )


def test_damaged_lines_are_kept_and_counted_if_they_are_few() -> None:
    lines = ['{"a": 1}'] * 20
    parsed = read("jsonl", "\n".join([*lines, '{"a": ']))
    assert parsed.text.endswith('a: 1\n\n{"a":')
    assert (parsed.metadata["records"], parsed.metadata["bad_lines"]) == (21, 1)
    short = read("jsonl", '{"a": 1}\n{"a": 2}\n{"a"')
    assert (short.text, short.metadata["bad_lines"]) == ('a: 1\n\na: 2\n\n{"a"', 1)
    with pytest.raises(Rejected, match="corrupt: 2 of 3 lines are not JSON; line 2"):
        read("jsonl", '{"a": 1}\n{\n{')


@pytest.mark.parametrize(
    "export",
    [
        [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]}],
        {"messages": [{"from": "user", "text": "Hi."}, {"from": "assistant", "text": ["Yes", {"text": "?"}]}]},
        [
            {
                "messages": [
                    {"author": {"name": "user"}, "content": "Hi."},
                    {"author": {"name": "assistant"}, "content": "Yes?"},
                ]
            }
        ],
        {"conversations": [{"from": "user", "value": "Hi."}, {"from": "assistant", "value": "Yes?"}]},
    ],
)
def test_chats_of_many_programs_become_turns(export: Any) -> None:
    assert turns(read("json", json.dumps(export))) == [
        ("", "user", "user: Hi."),
        ("", "assistant", "assistant: Yes?"),
    ]


def test_articles_with_authors_are_no_chat() -> None:
    articles = [{"author": "Ann", "title": "On mills", "content": "They turn."}] * 3
    assert turns(read("json", json.dumps(articles))) == []


def test_entities_of_xml_cannot_grow_beyond_measure_and_nothing_outside_is_read() -> None:
    bomb = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "lol"}">' for i in range(12))
    with pytest.raises(Rejected, match="corrupt: not well-formed XML: Maximum entity amplification"):
        read("xml", f"<!DOCTYPE a [{bomb}]><a>before &l11; after</a>")
    assert read("xml", '<!DOCTYPE a [<!ENTITY x "inside">]><a>before &x; after</a>').text == "a: before inside after"
    outside = '<!DOCTYPE a SYSTEM "a.dtd" [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>before &x; after &hearts;</a>'
    assert read("xml", outside).text == "before &x; after \u2665"


def test_lists_and_tables_inside_of_a_paragraph_are_not_run_together() -> None:
    parsed = read(
        "xml", "<d><p>Check: <list><item>one</item><item>two</item></list> then go.</p><p>More words here.</p></d>"
    )
    assert found(parsed) == [
        ("paragraph", "Check:"),
        ("list_item", "- one"),
        ("list_item", "- two"),
        ("paragraph", "then go."),
        ("paragraph", "More words here."),
    ]


def test_an_item_of_a_feed_stands_below_its_title() -> None:
    feed = "<rss><channel><title>News</title><item><link>http://a</link><title>Snow</title><description>&lt;p&gt;Much.&lt;/p&gt;"
    parsed = read("xml", feed + "</description></item><item><title>Sun</title></item></channel></rss>")
    assert found(parsed) == [
        ("title", "# News"),
        ("title", "## Snow"),
        ("text", "link: http://a\ndescription: Much."),
        ("title", "## Sun"),
    ]
    assert parsed.elements[2].attributes["path"] == "/rss/channel/item[1]"


def test_xml_that_is_not_in_its_declared_encoding_is_read_in_the_one_it_is_in() -> None:
    text = '<?xml version="1.0" encoding="utf-8"?><a>' + "Grüße aus Zürich und schöne Wünsche für Böden. " * 5 + "</a>"
    parsed = read("xml", text.encode("cp1252"))
    assert parsed.text.startswith("a: Grüße aus Zürich")
    assert parsed.metadata["encoding"] == "cp1252"


def test_a_notebook_of_the_old_form_is_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": "x = 1", "language": "python"},
    ]
    parsed = read("ipynb", json.dumps({"worksheets": [{"cells": cells}], "metadata": {}, "nbformat": 3}))
    assert found(parsed) == [("title", "## Old"), ("code", "```python\nx = 1\n```")]
    assert [one.attributes["cell"] for one in parsed.elements] == [1, 2]


def test_cues_are_joined_to_sentences_and_parted_by_speakers_and_pauses() -> None:
    cues = [(1, "This is one"), (2, "long sentence."), (60, "Another."), (61, "ANN: Mine."), (62, "- Who?\n- I.")]
    text = "".join(
        f"{i}\r\n00:00:{s % 60:02},000 --> 00:00:{s % 60:02},900\r\n{t}\r\n\r\n" for i, (s, t) in enumerate(cues)
    )
    parsed = read("subtitles", text.replace("00:00:00", "00:01:00").replace("00:00:01,000", "00:00:01,000"))
    assert [text for _, _, text in turns(parsed)][:2] == ["This is one long sentence.", "Another."]
    assert turns(parsed)[2][1:] == ("ANN", "ANN: Mine.")
    assert [text for _, _, text in turns(parsed)][3:] == ["Who?", "I."]


def test_without_a_cue_it_is_no_subtitle_file() -> None:
    with pytest.raises(Rejected, match="corrupt: no cue"):
        read("subtitles", "WEBVTT\n\nNOTE nothing here\n")


def test_a_stack_trace_stays_with_its_entry_and_newlines_stay_as_they_are() -> None:
    text = "May  1 09:14:00 host app[1]: ok\r\n"
    text += "May  1 09:14:01 host app[1]: <error> bad\r\n\tat a.b(C.java:1)\r\nCaused by: x\r\n"
    parsed = read("log", text)
    assert parsed.text == text
    assert [one.attributes for one in parsed.elements] == [
        {"time": "May  1 09:14:00"},
        {"time": "May  1 09:14:01", "level": "ERROR"},
    ]
    assert parsed.text[parsed.elements[1].start_char : parsed.elements[1].end_char].endswith("Caused by: x")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)
WORDS = st.sampled_from(
    [
        "[01:02] ",
        "<ann> ",
        "ann: ",
        "\n",
        "\r\n",
        "\r",
        " ",
        "00:00:01,000 --> 00:00:02,000\n",
        "ERROR ",
        "2024-05-01 ",
        "===",
        "* ",
    ]
)


@examples(60)
@given(VALUES)
def test_every_plain_value_of_json_is_in_its_text(value: Any) -> None:
    with suppress(Rejected):
        parsed = read("json", json.dumps(value))
        assert faults(parsed) == []
        missing = [word for word in words_in(value) if word not in parsed.text]
        assert missing == []


def words_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for one in value.values() for word in words_in(one)]
    if isinstance(value, list):
        return [word for one in value for word in words_in(one)]
    return (
        [word for word in value.split() if word.isalnum() and word.isascii()]
        if isinstance(value, str)
        else [json.dumps(value)]
    )


@examples(80)
@given(
    st.sampled_from(["chat", "log"]),
    # Bytes with zeros may be UTF-16, and two of them are; terminal codes, which begin with an escape, are left out, and
    # so are controls, which may be letters of Windows.
    st.lists(WORDS | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=10), max_size=40).map(
        "".join
    ),
)
def test_chats_and_logs_keep_the_file_and_leave_no_text_out(form: str, text: str) -> None:
    with suppress(Rejected):
        parsed = read(form, text)
        assert parsed.text.encode("utf-8", "replace") == text.removeprefix("\ufeff").encode("utf-8", "replace")
        assert faults(parsed) == []
        covered = {i for one in parsed.elements for i in range(one.start_char, one.end_char)}
        assert not [i for i, sign in enumerate(parsed.text) if not sign.isspace() and i not in covered]


TREES = st.recursive(
    st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=12).map(
        lambda text: text.replace("&", "&amp;").replace("<", "&lt;")
    ),
    lambda inner: st.tuples(
        st.sampled_from(["a", "p", "list", "item", "title", "table", "tr", "td", "b"]), st.lists(inner, max_size=4)
    ).map(lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"),
    max_leaves=15,
)


@examples(80)
@given(TREES)
def test_words_of_any_xml_are_in_its_text(tree: str) -> None:
    with suppress(Rejected):
        parsed = read("xml", f"<r>word1 {tree} word2</r>")
        assert faults(parsed) == []
        assert "word1" in parsed.text
        assert "word2" in parsed.text


@examples(60)
@given(st.lists(WORDS | st.text(max_size=10), max_size=30).map("".join))
def test_any_subtitles_have_exact_spans(text: str) -> None:
    with suppress(Rejected):
        assert faults(read("subtitles", text)) == []


def test_dialogue_of_substation_alpha_is_read_in_the_order_of_its_times() -> None:
    top = "[Script Info]\n; by hand\n\n[Events]\nFormat: Layer, Start, End, Style, Name, L, R, V, Effect, Text\n"
    late = "Dialogue: 0,0:00:09.00,0:00:12.50,Default,Ann,0,0,0,,It turns, {\\i1}slowly{\\i0}.\\NAnd well.\n"
    early = "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{a note}The mill.\n"
    remark = "Comment: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,No.\n"
    assert detect_file_type("mill.ass", (top + late).encode()) == FileType("subtitles")
    parsed = read("subtitles", top + late + early + remark)
    assert parsed.text == "The mill.\n\nAnn: It turns, slowly. And well."
    assert [one.attributes["time"] for one in parsed.elements] == ["00:00:01", "00:00:09"]
