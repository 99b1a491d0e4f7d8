"""Heads, feet and page numbers of PDFs against the numbers of clauses, which stand at the tops of pages, too."""

import pytest

from docmill.tasks.parse.pdf.furniture import counts, edge_number, form, is_clause, is_lone, numbers
from tests.kit.pdf_pages import LEFT, RIGHT, parts, read
from tests.kit.writers.pdf import WIDTH, Pdf

CLAUSES = ["1.1", "2.2", "4.1", "4.3", "7.2", "18.13"]
GOODS = ["pumps", "valves", "pipes", "meters", "filters", "tanks"]
MONTHS = ["March", "April", "May", "June", "July", "August"]
FEET = {
    "number": "{page}",
    "dashes": "- {page} -",
    "words": "Page {page} of {pages}",
    "title": "SUPPLY AGREEMENT Page {page} of {pages}",
    "annex": "A-{page}",
}


def _contract(clauses: list[str], foot: str, first: int = 1) -> Pdf:
    """Return a contract with a clause at the top of each page, its number set apart from its text."""
    pdf = Pdf({})
    for at, clause in enumerate(clauses):
        pdf.add_page()
        pdf.text(60, 760, clause, 10)
        pdf.text(140, 760, f"The {GOODS[at]} shall be delivered within thirty days.", 10)
        pdf.lines(140, 747, [f"What was paid for {GOODS[at]} is returned if they are late."])
        pdf.text(280, 30, foot.format(page=at + first, pages=len(clauses)), 9)
    return pdf


@pytest.mark.parametrize("foot", FEET)
def test_numbers_of_clauses_stay_where_they_are_and_feet_go(foot: str) -> None:
    parsed = read(_contract(CLAUSES, FEET[foot]))
    assert parts(parsed, "furniture") == [FEET[foot].format(page=n, pages=len(CLAUSES)) for n in range(1, 7)]
    for clause in CLAUSES:
        assert f"{clause} The " in parsed.text


@pytest.mark.parametrize("number", ["{}.", "({})", "Section 3.0{}"])
def test_numbers_of_clauses_that_go_up_by_one_a_page_stay(number: str) -> None:
    clauses = [number.format(at) for at in range(1, 7)]
    parsed = read(_contract(clauses, "{page}", first=7))
    assert parts(parsed, "furniture") == ["7", "8", "9", "10", "11", "12"]
    assert all(clause in parsed.text for clause in clauses)


def test_pages_to_sign_stay_though_they_are_alike() -> None:
    pdf = _contract(CLAUSES[:4], "{page}")
    for party in ("Ann Ltd", "Bert plc", "Carol GmbH", "Dora SA", "Emil AG"):
        pdf.add_page()
        pdf.text(60, 760, "IN WITNESS WHEREOF the parties have signed.", 10)
        for at, line in enumerate((f"For {party}", "By: ________", "Name: ________", "Title: ________")):
            pdf.text(60, 690 - 30 * at, line, 10)
    parsed = read(pdf)
    assert parts(parsed, "furniture") == ["1", "2", "3", "4"]
    assert parsed.text.count("IN WITNESS WHEREOF") == 5


def test_pages_that_count_anew_in_each_part_are_numbered() -> None:
    pdf = Pdf({})
    for page in range(1, 13):
        pdf.add_page()
        pdf.lines(60, 700, [f"Page {page} of the file has a text of its own."])
        pdf.text(280, 30, str((page - 1) % 4 + 1), 9)
    assert parts(read(pdf), "furniture") == ["1", "2", "3", "4"] * 3


def test_forms_and_their_numbers() -> None:
    assert form("Page 4 of XVIII") == "page # of #"
    assert numbers("Page 4 of XVIII") == (4, 18)
    assert numbers("xiv") == (14,)
    assert [text for text in ("2.2", "4.", "(3)", "18.13", "4", "- 8 -") if is_clause(form(text))] == [
        "2.2",
        "4.",
        "(3)",
        "18.13",
    ]
    lone = ("12", "- 8 -", "Page 4 of 18", "A-3", "3/7", "2.2", "4.", "12 The river")
    assert [text for text in lone if is_lone(form(text))] == ["12", "- 8 -", "Page 4 of 18", "A-3", "3/7"]
    edges = {"12  The river": 12, "Chapter 1 4": 4, "Annex F-3": 3, "2. The order": None, "Section 3.01": None}
    assert {text: edge_number(text) for text in edges} == edges


def test_numbers_count_if_most_go_up_as_pages_do() -> None:
    assert counts([1, 2, 3, 5, 6], [1, 2, 3, 1, 2])
    assert not counts([1, 2, 3, 4], [1, 3, 4, 9])
    assert not counts([1], [1])


def test_signs_of_code_in_the_margins_are_no_numbers() -> None:
    pdf = Pdf({})
    for at in range(4):
        pdf.add_page()
        pdf.text(60, 800, "#" if at else "# 1", 10, "mono")
        pdf.lines(60, 600, [f"The {GOODS[at]} are delivered within thirty days."])
    assert parts(read(pdf), "paragraph") == [f"The {one} are delivered within thirty days." for one in GOODS[:4]]
    assert form("# 12") == "\u266f #"


def test_what_is_drawn_beside_a_page_is_not_read() -> None:
    pdf = Pdf({})
    pdf.add_page()
    pdf.text(60, 860, "The end of a row that stands on the page before.")
    pdf.text(60, 700, "The only line that is seen.")
    pdf.text(60, -30, "The beginning of another row.")
    pdf.text(WIDTH + 60, 700, "The right page of a spread.")
    pdf.text(-WIDTH + 60, 700, "The left page of a spread.")
    assert parts(read(pdf)) == ["The only line that is seen."]


def test_the_number_in_the_middle_of_the_foot_of_a_single_page_is_furniture_and_parts_no_columns() -> None:
    pdf = Pdf({})
    pdf.add_page()
    pdf.lines(60, 740, LEFT)
    pdf.lines(310, 740, RIGHT)
    pdf.text(WIDTH / 2 - 3, 90, "1")
    parsed = read(pdf)
    assert parts(parsed, "furniture") == ["1"]
    assert parts(parsed, "paragraph") == [" ".join(LEFT), " ".join(RIGHT)]


def test_a_number_below_a_short_text_is_furniture_if_it_counts() -> None:
    pdf = Pdf({})
    for number in range(1, 5):
        pdf.add_page()
        pdf.lines(60, 600, [f"{line} {number}" for line in LEFT])
        pdf.text(300, 200, str(number))
    assert parts(read(pdf), "furniture") == ["1", "2", "3", "4"]


def test_a_head_that_only_the_first_of_a_few_pages_lacks_is_furniture_with_what_stands_beside_it() -> None:
    pdf = Pdf({})
    for number, chapter in enumerate(("", "1 DUTIES", "2 WINTER")):
        pdf.add_page()
        if number:
            pdf.text(60, 742, "Handbook of gates", 10)
            pdf.text(400, 742, chapter, 10)
        pdf.lines(60, 680, [f"{line} {number}" for line in LEFT])
    assert parts(read(pdf), "furniture") == ["Handbook of gates 1 DUTIES", "Handbook of gates 2 WINTER"]


def test_the_first_sentence_of_a_letter_to_several_people_is_text() -> None:
    pdf = Pdf({})
    sentence = ["Your water tariff changes on 1 March. The standing charge rises to 4.60 a", "month for each house."]
    for name in ("Anna Berg", "Ben Cole", "Cara Dunn"):
        pdf.add_page()
        pdf.text(60, 800, "Riverton Water Board")
        pdf.text(60, 770, f"Dear {name},")
        pdf.lines(60, 740, sentence)
    parsed = read(pdf)
    assert parts(parsed, "furniture") == 3 * ["Riverton Water Board"]
    assert parts(parsed, "paragraph")[1::2] == 3 * [" ".join(sentence)]


def _single(*lines: tuple[float, float, str, float]) -> Pdf:
    """Return one page of two paragraphs and some lines, each its place, text and size."""
    pdf = Pdf({})
    pdf.add_page()
    pdf.lines(60, 780, LEFT)
    pdf.lines(60, 600, RIGHT)
    for x, y, text, size in lines:
        pdf.text(x, y, text, size)
    return pdf


@pytest.mark.parametrize("number", ["Page 3 of 14", "Página 3", "3 sur 14", "- Page 3 -"])
def test_what_says_that_it_numbers_the_page_is_the_foot_of_a_single_page(number: str) -> None:
    pdf = _single((60, 40, "THE MILLS OF THE COUNTY", 14), (440, 40, number, 14), (60, 26, "An offer in brief", 9))
    assert parts(read(pdf), "furniture") == [f"THE MILLS OF THE COUNTY {number}", "An offer in brief"]


@pytest.mark.parametrize("text", ["page 30.", "Page 3 tells of the sea", "3 of 14 mills"])
def test_a_line_that_only_names_a_page_stays(text: str) -> None:
    assert parts(read(_single((60, 810, text, 10))), "furniture") == []


@pytest.mark.parametrize(
    ("x", "y", "number", "count"),
    [
        (540, 30, "118003", 0),
        (540, 30, "7", 1),
        (540, 30, "1", 1),
        (290, 180, "7", 1),
        (540, 180, "7", 0),
        (540, 528, "7", 0),
        (540, 528, "1", 0),
    ],
)
def test_a_number_at_the_foot_of_a_single_page_is_furniture_far_below_its_text(
    x: float, y: float, number: str, count: int
) -> None:
    assert parts(read(_single((x, y, number, 8))), "furniture") == [number] * count


def _parts(head: str, pages: int, size: float = 9, below: float = 740) -> Pdf:
    """Return ten pages, a few of which have the head of their part; the text of all begins at a height."""
    pdf = Pdf({})
    for number in range(10):
        pdf.add_page()
        if 2 <= number < 2 + pages:
            pdf.text(60, 770, head, size)
            pdf.text(500, 770, GOODS[number % 6], size)
        pdf.lines(60, below, [f"In {word} {7 * number} {GOODS[number % 6]} were dear." for word in MONTHS])
    return pdf


@pytest.mark.parametrize(
    ("pages", "size", "below", "count"), [(4, 9, 740, 4), (2, 9, 740, 0), (4, 14, 740, 0), (4, 9, 757, 0)]
)
def test_the_head_of_a_part_stands_apart_on_three_pages_and_more(
    pages: int, size: float, below: float, count: int
) -> None:
    parsed = read(_parts("Mills and weirs", pages, size, below))
    heads = [one for one in parts(parsed, "furniture") if one.startswith("Mills")]
    assert heads == [f"Mills and weirs {GOODS[(2 + at) % 6]}" for at in range(count)]


@pytest.mark.parametrize(("y", "size"), [(690, 10), (100, 14)])
def test_a_lone_number_far_from_the_edge_or_large_at_the_foot_counts(y: float, size: float) -> None:
    pdf = Pdf({})
    for number in range(6):
        pdf.add_page()
        pdf.text(290, y, str(40 + number), size)
        pdf.lines(150, 660, [f"In {month} the {GOODS[number]} were dear." for month in MONTHS])
    assert parts(read(pdf), "furniture") == [str(40 + number) for number in range(6)]
