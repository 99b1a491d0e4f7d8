"""Structural context: what stands above a chunk, what it begins within, and what the document is about."""

import pytest

from docmill.storage.schema import Draft, Element, Parsed, indexed_text
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.context.context_input import TOPIC_REACH
from docmill.tasks.context.topic_line import about
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from tests.kit.documents import tokenizer

LIMIT = 256
LONG = "The valve opens when the pressure rises above the limit that the manual gives. " * 20


def parsed(name: str, text: str) -> Parsed:
    data = text.encode()
    return parse(data, detect_file_type(name, data), ParseOptions())


def chunks(document: Parsed, size: int = 24, strategy: str = "recursive", budget: int = 48) -> list[Draft]:
    found = chunk(
        document, "", Route(strategy, {"size": size}), tokenizer(), ChunkOptions(LIMIT, context_tokens=budget)
    )
    for one in found:
        assert one.tokens == len(tokenizer().encode(indexed_text(one.context, one.text, one.unread))) <= LIMIT
        assert len(tokenizer().encode(one.context, add_special_tokens=False)) <= budget
    return found


def test_a_part_of_an_answer_says_its_question_whatever_split_it() -> None:
    text = f"question,answer\nHow do I open the valve,{LONG}\nWho sells it,Nobody.\n"
    for strategy in ("recursive", "fixed", "table", "sentence"):
        first, *rest = chunks(parsed("faq.csv", text), strategy=strategy)
        inner = [one for one in rest if one.text.startswith(("The", "valve", "pressure", "rises", "opens", "when"))]
        assert first.context == ""
        assert inner, strategy
        assert {one.context for one in inner} == {"How do I open the valve"}


def test_a_row_that_is_cut_says_its_header_and_its_first_cell() -> None:
    found = chunks(parsed("parts.csv", f"part,remark\nA-1,short\nB-2,{LONG}\n"))
    within = [one for one in found if one.text.startswith(("The valve", "valve", "opens"))]
    assert within
    assert {one.context for one in within} == {"part | remark\nB-2"}


def test_rows_after_the_first_say_the_header_and_the_caption() -> None:
    rows = "".join(f"| part {i} | {i} bar |\n" for i in range(40))
    document = parsed(
        "a.md", f"Some text.\n\nTable 3. Pressures of all parts\n\n| part | pressure |\n|---|---|\n{rows}"
    )
    *_, last = chunks(document)
    assert last.context == "Table 3. Pressures of all parts\npart | pressure"


def test_items_after_the_first_say_what_introduces_the_list_and_the_item_above() -> None:
    items = "".join(f"- Room {room}\n" + "".join(f"  - Shelf {i} of four boards\n" for i in range(9)) for room in "AB")
    document = parsed("a.md", f"# Mill\n\nIt is old. The mill has these rooms:\n\n{items}\n## End\n\nAll is well.\n")
    first, *rest = chunks(document, strategy="structure")
    said = {one.context for one in rest if one.text.startswith("- Shelf")}
    assert said == {f"Mill\nThe mill has these rooms:\nRoom {room}" for room in "AB"}
    assert (first.context, rest[-1].context) == ("", "Mill")


def test_a_paragraph_above_a_table_that_does_not_announce_it_is_no_caption() -> None:
    rows = "".join(f"| part {i} | {i} bar |\n" for i in range(40))
    *_, last = chunks(parsed("a.md", f"# Parts\n\nAll is well.\n\n| part | pressure |\n|---|---|\n{rows}"))
    assert last.context == "Parts\npart | pressure"


def test_a_turn_that_is_cut_says_who_speaks_and_when() -> None:
    head = "**Ada** (10:30): "
    text = head + LONG
    document = Parsed(text, (Element("turn", 0, len(text), attributes={"speaker": "Ada", "time": "10:30"}),), "Standup")
    first, *rest = chunks(document)
    assert first.context == "Standup"
    assert rest
    assert {one.context for one in rest} == {"Standup\nAda, 10:30"}


def test_without_title_and_headings_a_document_says_what_it_is_about() -> None:
    first, *rest = chunks(parsed("speech.txt", f"We meet today to open the new bridge. {LONG}"))
    assert first.context == ""
    assert {one.context for one in rest} == {"We meet today to open the new bridge."}


def test_a_document_with_a_title_does_not_say_more() -> None:
    _, *rest = chunks(parsed("speech.md", f"# The bridge\n\nWe meet today to open the new bridge. {LONG}"))
    assert {one.context for one in rest} == {"The bridge"}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.md", "---\ndescription: How to open a valve\n---\n\nFirst of all.\n", "How to open a valve"),
        ("a.html", "<meta name=description content='How to open a valve'><p>First of all.", "How to open a valve"),
        ("a.py", '#!/usr/bin/env python\n"""Open a valve by hand. Slowly."""\n\nx = 1\n', "Open a valve by hand."),
        ("a.py", "# Copyright 2020 Somebody and others\n\n# Opens a valve by hand.\nx = 1\n", "Opens a valve by hand."),
        (
            "a.c",
            "/*\n * Opens a valve by hand.\n */\n#include <stdio.h>\n\nint main(void) {\n    return 0;\n}\n" * 3,
            "Opens a valve by hand.",
        ),
        ("a.go", "// Package valve opens a valve.\npackage valve\n", "Package valve opens a valve."),
        ("a.rs", "//! Opens a valve by hand.\n\nuse std::fs;\n\nfn main() {}\n", "Opens a valve by hand."),
        ("a.py", "# -*- coding: utf-8 -*-\n# Opens a valve by hand.\nx = 1\n", "Opens a valve by hand."),
        ("a.yaml", "---\n# Settings of all the valves\nvalves:\n  - 1\n", "Settings of all the valves"),
        ("a.py", "x = 1\n", ""),
        (
            "A.java",
            "import a.B;\n\n/**\n * Opens a valve by hand.\n */\n@Tool\npublic class A {\n" + "  int i;\n" * 20 + "}\n",
            "Opens a valve by hand.",
        ),
        (
            "a.py",
            'import os\n\n\nclass A:\n    """Opens a valve by hand."""\n\n' + "    x = 1\n" * 20,
            "Opens a valve by hand.",
        ),
        ("a.md", "[![build](a.svg)](b) ![two words](c)\n\nOpens a valve by hand.\n", "Opens a valve by hand."),
        ("a.py", 'def f():\n    """Open a valve by hand."""\n\n' + "def g():\n    return 1\n" * 3, ""),
        ("a.c", '#include <stdio.h>\nint f() { return printf("%s is a %s, not a valve"); }\n' * 3, ""),
        ("a.toml", "[valve]\nsize = 3  # as the norm of 1999 has it\nkind = 1\n", ""),
        ("a.log", "2024-01-01 10:00:00 INFO the first valve was opened\n" * 4, ""),
        ("a.json", '[{"name": "the valve that is open"}, {"name": "the other valve"}]', ""),
        ("a.txt", "Questions\n\nQ: How do I open a valve?\nA: By hand.\n\nAnd then wait for the water.\n", ""),
        (
            "a.txt",
            "\u5f00\u5173\n\n\u8bf7\u7528\u624b\u6253\u5f00\u9600\u95e8\u3002\n",
            "\u8bf7\u7528\u624b\u6253\u5f00\u9600\u95e8\u3002",
        ),
        ("a.txt", "Notes\n\nToo short.\n\nThis is what the notes say.\n", "This is what the notes say."),
        ("a.txt", "", ""),
    ],
)
def test_a_document_says_in_one_line_what_it_is_about(name: str, text: str, line: str) -> None:
    document = parsed(name, text) if text else Parsed("", ())
    said, end = about(document)
    assert said == line
    assert end == 0 or document.text[:end].endswith(line.rsplit(" ", 1)[-1])


def test_the_budget_keeps_the_question_before_the_line_and_cuts_between_words() -> None:
    question = "How do I open the valve when " + "it is cold and " * 30
    *_, last = chunks(parsed("faq.csv", f"question,answer\n{question},{LONG}\n"), budget=16)
    assert last.context
    assert question.startswith(last.context)


def test_the_line_is_left_out_where_less_than_four_words_of_it_fit() -> None:
    signature = "def open_the_valve_that_is_at_the_end_of_the_line(pressure, temperature, speed, direction)"
    body = "".join(f"    valve_{i}.turn({i})\n" for i in range(60))
    text = f'"""Opens any valve by hand, slowly and with care."""\n\n\n{signature}:\n{body}'
    contexts = {budget: chunks(parsed("a.py", text), 64, "code", budget)[-1].context for budget in (34, 48)}
    assert contexts == {34: signature, 48: f"Opens any valve by hand, slowly and with care.\n{signature}"}


def test_what_a_heading_says_is_not_said_again() -> None:
    rows = "".join(f"| valve {i} |\n" for i in range(40))
    *_, last = chunks(parsed("a.md", f"# Valves\n\n## Valves\n\n| Valves |\n|---|\n{rows}"))
    assert last.context == "Valves"


def test_a_line_without_spaces_is_cut_between_its_signs() -> None:
    heading = "\u9600\u95e8" * 60
    *_, last = chunks(parsed("a.md", f"# {heading}\n\n{LONG}"), budget=20)
    assert len(last.context) > 10
    assert heading.startswith(last.context)


def test_no_context_where_the_budget_is_nothing() -> None:
    assert {one.context for one in chunks(parsed("faq.csv", f"question,answer\nHow,{LONG}\n"), budget=0)} == {""}


def test_a_file_of_one_long_comment_is_read_at_once() -> None:
    assert about(parsed("a.c", "/*" + "*" * 1_000_000)) == ("", 0)


def test_a_first_sentence_reaches_no_further_than_its_topic() -> None:
    first = "We meet today to open the new bridge."
    before, after = (chunks(parsed("speech.txt", f"{line} {LONG * 40}")) for line in (first, f"{first[:-1]} again."))
    told = [one for one in before if one.context]
    assert {one.context for one in told} == {first}
    assert 2 < len(told) < len(before) / 4
    assert max(one.start_char for one in told) <= len(first) + TOPIC_REACH
    changed = {(one.context, one.text) for one in after} - {(one.context, one.text) for one in before}
    assert len(changed) <= len(told) + 2
