"""What stands between the lines of PDFs: lists of contents, small print, accents, and hyphens of compounds."""

import pytest

from docmill.tasks.parse.pdf.letters.special_characters import clean
from docmill.tasks.parse.pdf.text.hyphens import Vocabulary, joined
from tests.kit.pdf_pages import LEFT, RIGHT, page, parts, read

CONTENTS = [
    "1 The river .......... 2",
    "2 The road and those who",
    "built it .......... 7",
    "3 The inn . . . . . . . . 12",
]


def test_a_list_of_contents_is_an_element_of_its_own() -> None:
    pdf = page()
    pdf.text(60, 780, "Contents", 16, "bold")
    pdf.lines(60, 750, CONTENTS)
    pdf.text(60, 640, "1 The river", 16, "bold")
    pdf.lines(60, 610, LEFT)
    parsed = read(pdf)
    assert [one.kind for one in parsed.elements] == ["toc", "title", "paragraph"]
    assert parts(parsed, "toc") == ["\n".join(["Contents", *CONTENTS])]


def test_prices_with_leaders_are_no_contents() -> None:
    pdf = page()
    pdf.lines(60, 750, ["Coffee .......... 3", "Tea .......... 2", "Cake .......... 5"])
    pdf.lines(60, 610, LEFT)
    assert not parts(read(pdf), "toc")


def test_small_print_at_the_foot_of_a_column_parts_no_sentence() -> None:
    pdf = page()
    pdf.lines(60, 740, [*LEFT[:4], "and the millers say that it has a mind of"])
    pdf.lines(60, 640, ["Copyright 1911 by the board. Permission to copy", "this page is granted to all members."], 7)
    pdf.lines(320, 740, ["its own, which nobody has ever changed.", *RIGHT])
    paragraphs = parts(read(pdf), "paragraph")
    assert "a mind of its own, which nobody" in paragraphs[0]
    assert paragraphs[1].startswith("Copyright 1911")


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ("Universit\u00b4e de Li\u00b4ege", "Universit\u00e9 de Li\u00e9ge"),
        ("G\u00a8odel and Erd\u02ddos", "G\u00f6del and Erd\u0151s"),
        ("na\u00a8\u0131ve \u02c7Capek", "na\u00efve \u010capek"),
        ("re\u0301sume \u0301", "r\u00e9sum\u00e9"),
        ("20 \u00b4 north", "20 \u00b4 north"),
    ],
)
def test_accents_are_joined_to_their_letters(drawn: str, said: str) -> None:
    assert clean(drawn) == said


def test_a_compound_of_two_words_of_the_document_keeps_its_hyphen() -> None:
    words = Vocabulary("a decision was made while making bread, and they understand under which stand it lies")
    assert joined(["It is decision-", "making at its best,"], words) == "It is decision-making at its best,"
    assert (
        joined(["They under-", "stand it and", "the bread-", "winner"], words)
        == "They understand it and the breadwinner"
    )


def test_paragraphs_a_little_apart_are_told_by_the_distance_of_their_feet() -> None:
    pdf = page()
    first = [
        "The mill stands where the river leaves the hills, and",
        "nobody remembers when it was built or who it was,",
        "since the papers of the village were all lost in the",
        "flood that took the church away in one long night.",
    ]
    second = [
        "The inn is older and stands further up, at the road",
        "to the pass, and its papers are there to this day.",
    ]
    for number, line in enumerate([*first, *second]):
        pdf.text(60, 740 - 12 * number - 5 * (number > 3), line)
    assert parts(read(pdf), "paragraph") == [" ".join(first), " ".join(second)]
