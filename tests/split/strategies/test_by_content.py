"""Strategies for one kind of content keep together what belongs together."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docmill.storage.schema import Draft, Element, Parsed
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.split.general.recursive import BEGINNINGS, beginnings
from docmill.tasks.split.spans.span import Span
from tests.kit.documents import document, tokenizer
from tests.kit.drawing import examples

FILLER = "The mill grinds the grain that the farmers bring down from the hills in autumn. "


def split(parsed: Parsed | str, strategy: str, **options: Any) -> list[Draft]:
    parsed = Parsed(parsed, ()) if isinstance(parsed, str) else parsed
    return chunk(parsed, "", Route(strategy, options), tokenizer(), ChunkOptions(256))


def texts(parsed: Parsed | str, strategy: str, **options: Any) -> list[str]:
    return [draft.text for draft in split(parsed, strategy, **options)]


def table(rows: list[list[str]]) -> tuple[str, str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "table", "\n".join([lines[0], "| --- " * len(rows[0]) + "|", *lines[1:]])


def with_cells(parsed: Parsed, rows: list[list[str]]) -> Parsed:
    elements = [
        Element("table", e.start_char, e.end_char, attributes={"cells": rows, "header_rows": 1})
        if e.kind == "table"
        else e
        for e in parsed.elements
    ]
    return Parsed(parsed.text, tuple(elements), parsed.title)


def test_rows_of_a_table_stay_whole_and_say_their_header() -> None:
    rows = [["Part", "Note"], *[[f"P-{i}", FILLER[: 20 + i]] for i in range(60)]]
    parsed = with_cells(document(("paragraph", FILLER), table(rows), ("paragraph", FILLER)), rows)
    found = split(parsed, "table")
    groups = [draft for draft in found if draft.text.startswith("|")]
    assert len(groups) > 3
    assert [line for draft in groups for line in draft.text.split("\n")] == table(rows)[1].split("\n")
    assert all(draft.context.endswith("Part | Note") for draft in groups[1:])
    assert [found[0].text, found[-1].text] == [FILLER.strip()] * 2


SMALL = st.lists(
    st.tuples(st.just("title"), st.just("## Works"), st.integers(1, 3))
    | st.tuples(st.just("paragraph"), st.just(FILLER.strip()))
    | st.builds(table, st.integers(1, 3).map(lambda rows: [["Part", "Note"], *[["P-1", "ground"]] * rows])),
    min_size=1,
    max_size=8,
)


@examples(40)
@given(SMALL)
@example([("title", "## Works", 2), ("title", "## Works", 1), *[("paragraph", FILLER.strip())] * 2])
def test_no_heading_stands_alone_beside_small_sections_and_tables(blocks: list[tuple[str, str]]) -> None:
    parsed = document(*blocks, ("paragraph", FILLER.strip()))
    found = split(parsed, "table")
    assert all(any(not line.startswith("##") for line in draft.text.splitlines() if line) for draft in found)
    tables = [e.start_char for e in parsed.elements if e.kind == "table"]
    assert all(sum(draft.start_char <= start < draft.end_char for start in tables) < 2 for draft in found)
    assert not any("|" in draft.text and "mill" in draft.text for draft in found), "a table shares with headings only"


@pytest.mark.parametrize("strategy", ["sentence", "hierarchical", "table", "structure"])
@examples(20)
@given(columns=st.integers(1, 5), dashes=st.integers(3, 9), more=st.integers(0, 40))
def test_the_rule_below_a_header_is_whole_where_it_fits(strategy: str, columns: int, dashes: int, more: int) -> None:
    cells = [f"column {i}" for i in range(columns)]
    rule = "|" + f" {'-' * dashes} |" * columns
    rows = [f"| {' | '.join(row)} |" for row in (cells, *[["value"] * columns] * 3)]
    parsed = document(("title", "# Works", 1), ("table", "\n".join([rows[0], rule, *rows[1:]])))
    size = max(16, len(tokenizer().encode(rule, add_special_tokens=False))) + more
    options = {"size": size, "paragraph": size} if strategy == "hierarchical" else {"size": size}
    first = parsed.text.index(rule)
    cuts = {place for draft in split(parsed, strategy, **options) for place in (draft.start_char, draft.end_char)}
    assert not cuts & set(range(first + 1, first + len(rule)))


def test_a_group_has_as_many_rows_as_asked_for() -> None:
    parsed = document(table([["a", "b"], *[[str(i), str(i)] for i in range(7)]]))
    assert [text.count("\n") + 1 for text in texts(parsed, "table", rows=3)] == [5, 3, 1]


def test_a_row_that_alone_is_too_long_is_cut_between_cells_first() -> None:
    found = texts(document(table([["a", "b", "c"], ["one", FILLER * 9, FILLER * 9]])), "table")
    assert [text.startswith("The mill") for text in found] == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        "Q: What is rye?\nA: A grain.\n\nQ: What is bran?\nA: The husk.",
        "**Q1. What is rye?**\n\nA grain.\n\n**Q2. What is bran?**\n\nThe husk.",
        "Question: What is rye?\n\nAnswer: A grain.\n\nQuestion: What is bran?\n\nAnswer: The husk.",
    ],
)
def test_pairs_of_questions_and_answers_are_found_in_lines(text: str) -> None:
    first, second = texts(text, "qa")
    assert all(word in first for word in ("rye", "grain"))
    assert all(word in second for word in ("bran", "husk"))
    assert texts(text, "qa", together=True) == [text]


def test_a_heading_without_text_is_no_question() -> None:
    text = "What does the mill do? It grinds."
    parsed = Parsed(text, (Element("title", 0, 0, 1), Element("paragraph", 0, len(text))))
    assert texts(parsed, "qa") == [text]


def test_headings_that_ask_begin_a_pair_and_other_headings_stay_above() -> None:
    parsed = document(
        ("title", "# FAQ", 1),
        ("title", "## Grain", 2),
        ("title", "### What is rye", 3),
        ("paragraph", "A grain."),
        ("title", "### Is bran sold?", 3),
        ("paragraph", "Yes."),
        ("title", "## Water", 2),
        ("title", "### Who owns the dam?", 3),
        ("paragraph", "The town."),
    )
    assert [text.split("\n")[-3] for text in texts(parsed, "qa")] == [
        "### What is rye", "### Is bran sold?", "### Who owns the dam?",
    ]  # fmt: skip


def test_every_part_of_a_long_answer_says_its_question() -> None:
    found = split(f"Q: What does the mill do?\n\nA: {FILLER * 60}\n\nQ: Else?\n\nA: No.", "qa")
    assert found[0].text.startswith("Q: What does the mill do?\n\nA: The mill grinds")
    assert len(found) > 4
    assert all(draft.context == "Q: What does the mill do?" for draft in found[1:-1])
    assert found[-1].context == ""


def test_rows_of_questions_and_answers_are_one_chunk_each() -> None:
    rows = [["Question", "Answer"], ["What is rye?", "A grain."], ["What does it do?", FILLER * 40]]
    found = split(with_cells(document(table(rows)), rows), "qa")
    assert found[0].text.endswith("| What is rye? | A grain. |")
    assert found[1].text.startswith("| What does it do? | The mill")
    assert all("What does it do?" in draft.text + draft.context for draft in found[1:])


def test_turns_are_grouped_until_a_pause() -> None:
    lines = [f"[10:{i:02}] <{'ann' if i % 3 else 'bob'}> {FILLER[:30]}" for i in range(6)]
    later = [f"[15:{i:02}] <cem> {FILLER[:30]}\n   and more of it" for i in range(3)]
    assert texts("\n".join(lines + later), "chat") == ["\n".join(lines), "\n".join(later)]
    assert len(texts("\n".join(lines + later), "chat", gap=1)) == 9
    assert all(text.startswith("[1") for text in texts("\n".join(lines * 9), "chat", size=60))


def test_turns_of_the_parser_count_as_well() -> None:
    turns = [("turn", f"{'Ann' if i < 4 else 'Bob'}: {FILLER * 3}") for i in range(8)]
    found = texts(document(*turns), "chat", size=120)
    assert all(text.startswith(("Ann: ", "Bob: ")) for text in found)


MAIL = """From: Ann <ann@mill.example>
To: bob@mill.example
Date: Tue, 14 Jan 2025 09:12:44 +0100
Subject: The sluice

Bob, the sluice is shut again.

On Mon, 13 Jan 2025 at 18:40, Bob wrote:
> Please look at the sluice.
>
> > It was open on Sunday.

I shall look tomorrow.
"""


def test_new_text_and_quoted_text_are_apart_and_headers_stay_with_the_new() -> None:
    first, quoted, last = split(MAIL, "email")
    assert (first.text[:9], first.text[-11:]) == ("From: Ann", "shut again.")
    assert (quoted.text[:6], quoted.text[-7:]) == ("On Mon", "Sunday.")
    assert last.text == "I shall look tomorrow."
    assert last.context.startswith("From: Ann <ann@mill.example> | Date: Tue, 14 Jan 2025")


def test_long_quoted_text_says_who_wrote_it_and_outlook_quotes_to_the_end() -> None:
    found = split("Hello,\n\nOn Mon, 13 Jan 2025, Bob wrote:\n" + f"> {FILLER}\n" * 40, "email")
    assert found[2].context == "On Mon, 13 Jan 2025, Bob wrote:"
    outlook = "New words.\n\n-----Original Message-----\nFrom: Bob\nSent: Monday\n\nOld words."
    assert texts(outlook, "email") == ["New words.", outlook[12:]]


def test_a_stack_trace_stays_with_its_entry_and_windows_of_time_are_apart() -> None:
    trace = '2025-01-14 09:12:44 ERROR failed\nTraceback (most recent call last):\n  File "mill.py", line 3\nValueError'
    entries = [f"2025-01-14 09:1{i}:00 INFO turned {i} times" for i in range(3)]
    evening = "2025-01-14 19:00:00 INFO stopped"
    assert texts("\n".join([*entries, trace, evening]), "log") == ["\n".join([*entries, trace]), evening]
    assert len(texts("\n".join([*entries, trace, evening]), "log", window=0)) == 1
    assert [text for text in texts("\n".join([*entries * 9, trace]), "log", size=50) if trace in text] != []


def test_clauses_are_not_joined_across_their_headings_and_parts_say_where_they_stand() -> None:
    text = (
        'ARTICLE 1 DEFINITIONS\n\n"Mill" means the building.\n\n"Dam" means the wall.\n\n'
        "ARTICLE 2 DUTIES\n\n  2.1 The miller shall grind.\n\n(a) wheat;\n\n"
        f"(b) {FILLER * 40}\n\n2.2 The miller shall rest."
    )
    found = split(text, "legal")
    assert found[0].text.endswith("the wall.")
    assert not any("ARTICLE 1" in draft.text and "ARTICLE 2" in draft.text for draft in found)
    inner = [draft for draft in found if draft.text.startswith("The mill")]
    assert inner
    assert not any(draft.context.endswith(draft.text[:20]) for draft in found)
    assert all(draft.context.startswith("ARTICLE 2 DUTIES / 2.1 The miller shall grind. / (b)") for draft in inner)


def test_pages_are_apart_unless_they_are_small() -> None:
    parsed = document(*[("paragraph", FILLER * 4)] * 2, ("paragraph", "Short."), ("paragraph", "Small."))
    pages = tuple(Element("paragraph", e.start_char, e.end_char, page=i + 1) for i, e in enumerate(parsed.elements))
    parsed = Parsed(parsed.text, pages)
    assert texts(parsed, "page") == [FILLER.strip() + (" " + FILLER.strip()) * 3] * 2 + ["Short.\n\nSmall."]
    assert len(texts(parsed, "page", small=0)) == len(texts(parsed, "slides")) == 4
    assert texts("one\ftwo\fthree", "page", small=0) == ["one", "two", "three"]


def test_slides_begin_after_rules_or_at_their_headings() -> None:
    assert texts("# One\n\nA.\n\n---\n\n# Two\n\nB.", "slides") == ["# One\n\nA.", "---\n\n# Two\n\nB."]
    parsed = document(("title", "# Talk", 1), ("title", "## A", 2), ("paragraph", "a"), ("title", "## B", 2))
    assert texts(parsed, "slides") == ["# Talk", "## A\n\na", "## B"]
    assert texts(parsed, "slides", small=60) == [parsed.text]


PYTHON = """import os

LIMIT, LEAST = 300, 30

# What a mill is.
@final
class Mill:
    def grind(self):
        return "flour" * LIMIT

def main():
    Mill().grind()
"""


@pytest.mark.parametrize("language", ["python", "py"])
def test_code_is_cut_at_the_beginnings_of_its_language_with_what_describes_them(language: str) -> None:
    code = Parsed(PYTHON, (Element("code", 0, len(PYTHON), attributes={"language": language}),))
    found = texts(code, "recursive", size=30)
    assert [text.split("\n")[0] for text in found] == ["import os", "# What a mill is.", "def main():"]


def test_recursive_cuts_at_headings_before_paragraphs() -> None:
    parsed = document(
        ("title", "# A", 1), ("paragraph", FILLER * 3), ("title", "## B", 2), ("paragraph", FILLER * 3),
        ("paragraph", FILLER * 3), ("title", "# C", 1), ("paragraph", FILLER * 3),
    )  # fmt: skip
    assert [text[:4].strip() for text in texts(parsed, "recursive", size=110)] == ["# A", "## B", "# C"]


@pytest.mark.parametrize("language", [*BEGINNINGS, "unknown"])
def test_beginnings_of_no_language_take_long_on_hostile_lines(language: str) -> None:
    for unit in ("a ", "a*&", "[ \n", "a.b:c ", "public static ", "(", "{ ", "@a\n"):
        text = unit * (100_000 // len(unit))
        assert len(list(beginnings(text, language, Span(0, len(text))))) <= len(text)


def test_a_clause_whose_number_stands_on_its_own_line_begins_there() -> None:
    words = "The buyer pays the price of the goods within thirty days of the date of the invoice. " * 4
    text = "\n\n".join(f"{number}\n\n{words.strip()}" for number in ("1.1", "1.2", "1.3.", "2.", "2.1"))
    for size in (60, 80, 200):
        found = split(text, "legal", size=size)
        assert len(found) > 1
        assert not any(one.text.rstrip(".")[-1].isdigit() for one in found)
        begun = [one for one in found if not one.text[0].isdigit()]
        assert all(one.context.split()[0] in text.split() and "The buyer pays" in one.context for one in begun)
    amounts = split(f"{words}\n\n12.50\n\n{words}\n\n13.50\n\n14.50\n", "legal", size=300)
    assert len(amounts) == 1
