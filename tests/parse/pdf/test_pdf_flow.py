"""What stands between the lines of PDFs: lists of contents, small print, accents, and hyphens of compounds."""

import pytest

from docmill.tasks.parse.pdf.list_marks import marker_of
from docmill.tasks.parse.pdf.text.characters import clean
from docmill.tasks.parse.pdf.text.line import Font, TextLine, Vocabulary, cuts_within_words, joined, texts_to_join
from docmill.tasks.parse.titles.inferred_headings import in_capitals
from tests.kit.pdf_pages import LEFT, RIGHT, page, parts, read
from tests.kit.writers.pdf import text_width

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


def test_a_page_number_that_ends_between_two_columns_does_not_join_them() -> None:
    pdf = page()
    for top in (700, 600):
        for at, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
            pdf.text(56, top - 12 * at, left)
            pdf.text(300, top + 5 - 12 * at, right)
    pdf.text(279, 500, "2192")
    assert parts(read(pdf)) == [" ".join(LEFT)] * 2 + [" ".join(RIGHT)] * 2 + ["2192"]


@pytest.mark.parametrize(("name", "kind"), [("Contents", "toc"), ("What the stations count", "table")])
def test_a_table_of_rising_pages_below_its_name_is_a_list_of_contents(name: str, kind: str) -> None:
    pdf = page()
    pdf.text(60, 760, name, 16, "bold")
    rows = {4: "The river and the mill", 7: "The road to the pass", 12: "The inn", 16: "The church", 30: "The flood"}
    for number, (at, title) in enumerate(rows.items()):
        pdf.text(60, 730 - 14 * number, str(at), font="bold")
        pdf.text(90, 730 - 14 * number, title)
    assert [one.kind for one in read(pdf).elements] == ["title", kind]


def test_tables_below_the_name_of_a_list_of_contents_are_parts_of_it() -> None:
    pdf = page()
    pdf.text(60, 780, "Contents", 16, "bold")
    y = 750.0
    for number, (chapter, sections) in enumerate(
        {"The river": ["Sources", "Mouth"], "The road": ["Tolls", "Inns"]}.items(), 1
    ):
        for place, title in ((str(number), chapter), *((f"  {number}.{n}", one) for n, one in enumerate(sections, 1))):
            pdf.text(60, y, place, font="bold" if title == chapter else "regular")
            pdf.text(90, y, title + " . . . . . . . ." * (title != chapter))
            pdf.text(300, y, str(3 * number), font="bold" if title == chapter else "regular")
            y -= 14
        y -= 20
    pdf.lines(60, y, LEFT)
    parsed = read(pdf)
    assert not parts(parsed, "table")
    assert " ".join(parts(parsed, "toc")).split()[-1] == "6"


@pytest.mark.parametrize(
    ("end", "begins", "whole"),
    [
        ("and the millers say that he has a mind of the mill.", "docmill knows of that, too, and tells it.", True),
        ("and the millers say that he has a mind of the mills", "Board and of the river, as of old.", True),
        ("and the millers say that he has a mind of the mill.", "The road has none.", False),
        ("and the millers say so.", "docmill knows of that, too, and tells it.", False),
    ],
)
def test_a_text_goes_on_in_the_next_column_where_its_last_line_is_full(end: str, begins: str, whole: bool) -> None:
    pdf = page()
    pdf.lines(60, 740, ["and the millers say that he has a mind of the mill,"] * 4 + [end])
    pdf.lines(320, 740, [begins, *RIGHT])
    assert (f"{end} {begins}" in parts(read(pdf), "paragraph")[0]) is whole


@pytest.mark.parametrize(("before", "mark"), [("x", "x^1^"), ("5 km", "5 km^1^"), ("the mill", "the mill[^1]")])
def test_an_exponent_is_no_mark_of_a_note(before: str, mark: str) -> None:
    pdf = page()
    pdf.text(60, 740, before)
    pdf.text(60 + text_width(before, 10), 744, "1", 6)
    pdf.lines(60, 700, ["as the miller said", "of his stones"])
    pdf.text(60 + text_width("of his stones", 10), 691.5, "1", 6)
    pdf.text(60, 60, "1", 5)
    pdf.text(64, 57, "He said so in spring.", 8)
    assert mark in read(pdf).text


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


@pytest.mark.parametrize("titled", [True, False])
def test_a_table_of_the_titles_and_pages_of_the_document_is_a_list_of_contents_without_a_name(titled: bool) -> None:
    titles = ["Before you go up", "Foundation and mast", "Probes and wiring", "Troubleshooting"]
    pdf = page()
    for at, title in enumerate(titles):
        for x, cell in ((60, str(at + 1)), (90, title), (500, str(at + 2))):
            pdf.text(x, 740 - 20 * at, cell, 11)
    for at, title in enumerate(titles):
        pdf.add_page()
        pdf.text(60, 740, f"{at + 1} {title if titled else 'Of the station'}", 16, "bold")
        pdf.lines(60, 700, ["The station stands on a ridge, and a path leads up to it."])
    (first, *_) = read(pdf).elements
    assert first.kind == ("toc" if titled else "table")


def test_a_cell_of_a_table_refers_to_a_footnote_too() -> None:
    pdf = page()
    pdf.lines(60, 800, LEFT)
    for at, (mill, built, miller) in enumerate(
        [("Mill", "Built", "Miller"), ("Upper", "1911", "Ansel"), ("Low", "1880", "Ida")]
    ):
        pdf.text(60, 700 - 15 * at, mill)
        if at == 1:
            pdf.text(60 + text_width(mill, 10), 689, "1", 6)
        pdf.text(160, 700 - 15 * at, built)
        pdf.text(260, 700 - 15 * at, miller)
    pdf.text(60, 100, "1", 5)
    pdf.text(64, 98, "It was built by a miller.", 8)
    parsed = read(pdf)
    assert "| Upper[^1] | 1911 | Ansel |" in parsed.text
    assert parsed.elements[-1].attributes == {"footnote": "1"}


def test_lines_of_two_columns_that_a_program_draws_as_one_are_two() -> None:
    """pdfium reads what is drawn right first, and then left of it a little lower, as one line."""
    pdf = page()
    for at, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        pdf.text(310, 740 - 14 * at, right)
        pdf.text(60, 737 - 14 * at, left)
    assert parts(read(pdf)) == [" ".join(LEFT), " ".join(RIGHT)]


def test_lines_of_scripts_without_spaces_are_joined_without_one() -> None:
    lines = ["這是一個", "句子。用", "Python", "寫成。"]
    assert joined(lines, Vocabulary()) == "這是一個句子。用 Python 寫成。"
    assert joined(["ภาษา", "ไทย"], Vocabulary()) == "ภาษาไทย"
    assert joined(["Я", "нет"], Vocabulary()) == "Я нет"


KOREAN = "보험에서는 이 \r\n경우 보장금액이 \r\n" * 2 + "책정되어 있다 보\r\n니 이것을 \r\n보고 있는 \r\n것이다."


def test_a_line_of_korean_without_a_space_at_its_end_is_cut_within_a_word() -> None:
    cut = KOREAN.index("보\r\n니")
    assert cuts_within_words(KOREAN) == {cut}
    assert cuts_within_words(KOREAN.replace(" \r", "\r")) == frozenset(), "the program draws no space at all"
    few = KOREAN.replace("이것을 ", "이것을,")
    assert cuts_within_words(few) == frozenset(), "one space fewer may be by chance"


def test_only_full_lines_are_joined_within_a_word() -> None:
    font = Font()
    long, short = ((60.0, 0.0, right, 10.0) for right in (300.0, 200.0))
    lines = [TextLine("있다 보", 10, font, box, 1, 0, 3, cut=True) for box in (long, short, long)]
    assert texts_to_join(lines) == ["있다 보\u2060", "있다 보", "있다 보\u2060"]
    assert joined(texts_to_join(lines), Vocabulary()) == "있다 보있다 보 있다 보"


def test_a_name_in_capitals_does_not_make_a_line_of_capitals() -> None:
    assert in_capitals("THE MILL 12")
    assert in_capitals("ÜBER DAS MÜHLRAD")
    assert not in_capitals("코로나바이러스 COVID-19 확진자는")


@pytest.mark.parametrize("sign", ["\x84", "\uf06f", "→", "✓", "•"])
def test_a_sign_of_a_font_of_signs_begins_an_item(sign: str) -> None:
    assert marker_of(f"{sign} Yes, at the national level")
    assert not marker_of(f"{sign}Yes")


def test_a_text_in_a_font_that_says_no_letters_is_no_item() -> None:
    assert marker_of("\uf041 \uf042\uf043 \uf044") is None


def test_the_number_of_a_clause_on_a_line_of_its_own_begins_its_clause() -> None:
    pdf = page()
    y = 760.0
    for number in ("1.1", "1.2", "(a)"):
        pdf.text(60, y, number)
        y = pdf.lines(100, y - 15, LEFT) - 12
    assert parts(read(pdf), "paragraph") == [f"{number} {' '.join(LEFT)}" for number in ("1.1", "1.2", "(a)")]


def test_short_paragraphs_are_told_apart_by_the_distance_of_lines_elsewhere_in_the_document() -> None:
    pdf = page()
    for at, line in enumerate(LEFT * 2):
        pdf.text(60, 760 - 11 * at, line)
    pdf.add_page()
    for at, line in enumerate(("Write the page as files.", "Open one of them in a browser.", "List all of them.")):
        pdf.text(60, 760 - 15 * at, line)
    assert len(parts(read(pdf), "paragraph")) == 4
