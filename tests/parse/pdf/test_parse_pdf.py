"""PDF: reading order, running titles, pages and files that are odd, and that no word is lost."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pdf import reader
from tests.kit.drawing import examples
from tests.kit.pdf_pages import LEFT, RIGHT, page, parts, read
from tests.kit.writers.pdf import Pdf


@pytest.mark.parametrize("by_rows", [False, True])
def test_columns_are_read_one_after_the_other_below_a_title_over_both(by_rows: bool) -> None:
    pdf = page()
    pdf.text(60, 780, "A title that reaches over both of the columns", 18, "bold")
    if by_rows:  # as some programs write a page: line by line over all columns
        for number, (one, other) in enumerate(zip(LEFT, RIGHT, strict=True)):
            pdf.text(60, 740 - 13 * number, one)
            pdf.text(320, 740 - 13 * number, other)
    else:
        pdf.lines(320, 740, RIGHT)
        pdf.lines(60, 740, LEFT)
    pdf.text(60, 640, "A line below both of the columns ends the page, and it is a wide one, as wide as the title.")
    text = read(pdf).text
    assert text.index("A title") < text.index("river") < text.index("own.")
    assert text.index("own.") < text.index("road") < text.index("until the end") < text.index("below both")


def test_three_columns_are_read_in_order() -> None:
    pdf = page()
    for column, word in ((2, "third"), (0, "first"), (1, "second")):
        pdf.lines(50 + 175 * column, 740, [f"{word} column, line {number} of it" for number in range(6)])
    text = read(pdf).text
    assert text.index("first") < text.index("second") < text.index("third")
    assert text.rindex("first") < text.index("second")
    assert text.rindex("second") < text.index("third")


def test_a_box_at_the_side_stays_together_though_its_heading_begins_further_left() -> None:
    pdf = page()
    pdf.text(340, 736, "In short", font="bold")
    pdf.lines(360, 716, ["\u2022 412 tonnes ground", "\u2022 three wheels renewed"])
    pdf.lines(60, 740, [line[:44] for line in LEFT])
    pdf.lines(
        60, 650, ["Below both stands a line that goes on over all of the width, so that nothing is beside it at all."]
    )
    text = read(pdf).text
    assert text.index("The left") < text.index("and the millers") < text.index("In short") < text.index("412 tonnes")
    assert text.index("renewed") < text.index("Below both")


def test_page_numbers_and_running_titles_are_furniture_on_left_and_right_pages() -> None:
    pdf = Pdf({})
    for number in range(1, 9):
        pdf.add_page()
        pdf.text(
            60 if number % 2 else 400,
            800,
            f"{number}  The river" if number % 2 else f"Chapter {number // 3} {number}",
            9,
        )
        pdf.lines(
            60, 700, [f"Page number {number} has a text of its own, about the {word}." for word in ("sea", "hill")]
        )
    parsed = read(pdf)
    assert len(parts(parsed, "furniture")) == 8
    assert all("text of its own" in part for part in parts(parsed, "paragraph"))


def test_what_stands_beside_a_page_number_is_furniture() -> None:
    pdf = Pdf({})
    for number, chapter in enumerate(("Sea", "Sea", "Hill", "Hill", "Road")):
        pdf.add_page()
        pdf.text(60, 30, chapter, 9)
        pdf.text(500, 30, str(number + 7), 9)
        pdf.lines(60, 700, [f"Page {number} has a text of its own."])
    parsed = read(pdf)
    assert parts(parsed, "furniture")[::2] == ["Sea 7", "Hill 9", "Road 11"]
    assert len(parts(parsed, "paragraph")) == 5


def test_a_page_that_cannot_be_read_is_told_and_the_others_are_read() -> None:
    pdf = Pdf({})
    for name in ("one", "two", "three"):
        pdf.add_page()
        pdf.text(60, 700, f"A line of page {name} that everybody can read")
    data = pdf.to_bytes()
    second = data.split(b"/Kids [")[1].split(b" 0 R")[1].strip()
    parsed = parse(data.replace(second + b" 0 obj\n<<", second + b" 0 obj\n42"), FileType("pdf"), ParseOptions())
    assert "page one" in parsed.text
    assert "page three" in parsed.text
    assert parsed.metadata["damaged_pages"] == [2]
    assert [element.page for element in parsed.elements] == [1, 3]


def test_a_page_that_is_turned_reads_as_one_that_is_not() -> None:
    upright, turned, drawn = page(), Pdf({}), page()
    turned.add_page(90)
    for number, line in enumerate(LEFT):
        upright.text(60, 700 - 13 * number, line)
        turned.text(100 + 13 * number, 60, line, up=True)
        drawn.text(100 + 13 * number, 60, line, up=True)
    assert read(upright).text == read(turned).text == read(drawn).text
    left, top, right, bottom = read(drawn).elements[0].box or (0, 0, 0, 0)
    assert right - left < 80 < 200 < bottom - top  # the box is that of the page as it is shown


def test_text_on_a_gentle_slope_has_the_size_of_its_font() -> None:
    pdf = page()
    for at in range(4):
        place = f"0.998 0.065 -0.065 0.998 60 {600 - 14 * at}"
        pdf.pages[-1].append(f"BT /F0 10 Tf {place} Tm (line {at} of a note that is longer than the others are) Tj ET")
    pdf.text(60, 400, "An ordinary line of text, as long as those of the note are.")
    assert [one.kind for one in read(pdf).elements] == ["paragraph", "paragraph"]


def test_text_without_height_is_read_all_the_same() -> None:
    pdf = page()
    pdf.pages[-1].append("BT /F0 0 Tf 60 700 Td (A line of text that nobody can see at all) Tj ET")
    pdf.pages[-1].append("BT /F0 10 Tf 1 0 0 0 60 600 Tm (A line of text that is quite flat) Tj ET")
    pdf.text(60, 500, "An ordinary line of text.")
    assert "An ordinary line of text." in read(pdf).text


def test_more_characters_than_allowed_are_rejected_before_the_last_page() -> None:
    pdf = Pdf({})
    for _ in range(3):
        pdf.add_page()
        pdf.lines(60, 740, LEFT)
    with pytest.raises(Rejected, match="too_large: 2 pages have more characters than the limit, 300"):
        parse(pdf.to_bytes(), FileType("pdf"), ParseOptions(max_characters=300))


def test_text_whose_letters_are_unknown_is_undecodable() -> None:
    pdf = page()
    pdf.text(60, 740, "plain")
    data = pdf.to_bytes().replace(b"(plain)", b"(\\001\\002\\003\\004\\005)")
    with pytest.raises(Rejected, match="undecodable: the fonts of 1 pages do not say which letters they draw"):
        parse(data, FileType("pdf"), ParseOptions())


ANYWHERE = st.tuples(st.integers(20, 560), st.integers(20, 820), st.sampled_from((7, 9, 10, 14)))
IN_ROWS = st.tuples(st.sampled_from((60, 72, 200, 212, 300, 420)), st.integers(40, 66).map(lambda row: 12 * row))
RULES = st.lists(st.tuples(st.sampled_from((58, 198)), st.integers(40, 66), st.sampled_from((130, 300))), max_size=6)


ORDERS: dict[str, Callable[[tuple[int, int, int]], tuple[int, ...]]] = {
    "as drawn": lambda _: (),
    "by rows": lambda place: (-place[1], place[0]),
    "by cells of two lines": lambda place: (-place[1] // 24, place[0], -place[1]),
}


@examples(120)
@given(
    st.lists(ANYWHERE, min_size=1, max_size=40)
    | st.lists(
        st.tuples(IN_ROWS, st.sampled_from((9, 10))).map(lambda one: (*one[0], one[1])), min_size=40, max_size=80
    ),
    RULES,
    st.sampled_from(sorted(ORDERS)),
)
def test_no_word_is_lost_or_doubled_wherever_lines_stand(
    found: list[tuple[int, int, int]], rules: list[tuple[int, int, int]], order: str
) -> None:
    pdf = page()
    found = sorted({(x // 40, y // 12): (x, y, size) for x, y, size in found}.values(), key=ORDERS[order])
    words = [f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(len(found))]
    for number, (word, (x, y, size)) in enumerate(zip(words, found, strict=True)):
        pdf.text(x, y, word if number % 3 else f"{word} of it", size, "bold" if y > 780 else "regular")
        if number % 4 == 0:
            pdf.box(x - 9, y + 2, 3, 3)
    for x, row, width in rules:
        pdf.rule(x, 12 * row - 3, width)
    text = read(pdf).text
    assert Counter({word: text.count(word) for word in words}) == Counter(words)


def test_a_password_is_prepared_as_pdf_2_has_it() -> None:
    assert reader._prepared("S\u00aa\u00adL\u2003x") == "SaL x"
    assert reader._prepared("plain") == "plain"


def test_a_lock_that_leaves_strings_open_is_named() -> None:
    """pdfium takes every password for wrong where strings and streams are not locked alike."""
    lock = (
        b"/Encrypt << /Filter /Standard /V 4 /R 4 /Length 128 /P -4 /CF << /StdCF << /CFM /AESV2 /Length 16 >> >> "
        b"/StmF /StdCF /StrF /Identity /O <" + b"11" * 32 + b"> /U <" + b"22" * 32 + b"> >> /ID [<33> <33>] /Root"
    )
    data = page().to_bytes().replace(b"/Root", lock)
    with pytest.raises(Rejected, match="encrypted: its streams are encrypted and its strings are not"):
        parse(data, FileType("pdf"), ParseOptions(passwords=("sesame",)))
