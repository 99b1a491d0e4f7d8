"""Sentence spans: what counts as a sentence, and that a text is never lost or cut within one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.search.sentences.sentence_spans import sentence_spans
from tests.kit.drawing import examples

LONG = "The tenant pays the rent on the first day of each month. " * 20


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It rains. Dr. Quist stays.\nThe mill is", ["It rains.", "Dr. Quist stays.", "The mill is"]),
        ("a line that has reached the margin of its page goes on\nhere. End.", 2),
        ("水车转动。磨坊开门。", ["水车转动。", "磨坊开门。"]),
        ("# Mill\nIt grinds.\n## Wheel\nIt turns.", ["# Mill", "It grinds.", "## Wheel", "It turns."]),
        ("- one. and more\n- two\n  goes on\n1. three", ["- one. and more", "- two\n  goes on", "1. three"]),
        ("| a | b. c |\n|---|---|\n| 1 | 2. 3 |", ["| a | b. c |\n|---|---|", "| 1 | 2. 3 |"]),
        ("Run. It:\n```sh\nmake all. && make\n\nls\n```\nDone.", 7),
        ("", []),
        (" \n\n ", []),
    ],
)  # fmt: skip
def test_rows_items_headings_and_lines_of_code_are_sentences(text: str, said: list[str] | int) -> None:
    found = [text[start:end] for start, end in sentence_spans(text)]
    assert (len(found) if isinstance(said, int) else found) == said


def test_a_long_item_is_read_as_a_paragraph_and_every_line_of_code_stands_alone() -> None:
    assert len(sentence_spans(f"1. {LONG}")) == 20
    assert len(sentence_spans("x = 1. if y else 2.\n\n    go(a. b)\n", by_line=True)) == 2


@examples(100)
@given(st.text("ab .!?。|-#`*\n\r1)\u2028\u00a0\x1c", max_size=200), st.booleans())
def test_spans_hold_the_whole_text_but_white_space(text: str, by_line: bool) -> None:
    spans = sentence_spans(text, by_line)
    edges = [0, *(place for span in spans for place in span), len(text)]
    assert edges == sorted(edges)
    assert not "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)).strip()
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
