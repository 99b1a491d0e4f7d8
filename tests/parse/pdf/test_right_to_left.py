"""Arabic and Hebrew in PDFs: lines read from the right, with numbers and Latin words from the left."""

from pathlib import Path

import pytest

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pdf.text.characters import LEVEL, RAISED
from docmill.tasks.parse.pdf.text.gaps import groups_of_words
from docmill.tasks.parse.pdf.text.right_to_left import (
    in_reading_order,
    is_right_to_left,
    marked,
    set_apart,
    without_cuts,
    word_in_reading_order,
)

Letter = tuple[str, tuple[float, float, float, float]]

SENTENCE = (
    "الأولاد يلعبون في الحديقة والسلام عليكم. لا بد من قراءة الإعلان الأخير قبل الاجتماع في القاعة الكبرى، ولا يسمح"
)
SENTENCE += " بالتأخير (بزيادة 12.5%) في New York لأي سبب."


def drawn(text: str, ligatures: bool = False) -> list[Letter]:
    """Return the letters of a right-to-left text where they are drawn; lam and alef as one glyph, if wanted."""
    letters: list[Letter] = []
    right, at = 500.0, 0
    while at < len(text):
        size = 2 if ligatures and text[at : at + 2] == "لا" else 1
        letters += [(sign, (right - 5, 0, right, 10)) for sign in text[at : at + size]]
        right, at = right - (3 if text[at] == " " else 5), at + size
    return letters


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
@pytest.mark.parametrize("ligatures", [True, False])
def test_a_line_is_read_from_the_right_in_whatever_order_its_letters_come(order: slice, ligatures: bool) -> None:
    line = "لا بد من قراءة السلام"
    nowhere = (0.0, 0.0, 0.0, 0.0)  # pdfium does not know the places of spaces
    letters = [(sign, nowhere if sign == " " else box) for sign, box in drawn(line, ligatures)]
    assert in_reading_order(letters[order]) == line


@pytest.mark.parametrize(
    ("seen", "read"),
    [  # as drawn, from the right
        ("ב:05:01 שעה", "ב:10:50 שעה"),
        ("סך 052,1 ש", "סך 1,250 ש"),
        ("ב kroY weN היום", "ב New York היום"),
        ("בגינה )היום( בשעה", "בגינה (היום) בשעה"),
        ("כן )ASU(. לא", "כן (USA). לא"),
        ("%5.21 או 52% לא", "12.5% או 25% לא"),
    ],
)
def test_numbers_latin_words_and_brackets_are_written_as_people_do(seen: str, read: str) -> None:
    assert in_reading_order(drawn(seen)) == read


def test_points_stay_on_the_letters_that_they_are_drawn_over() -> None:
    letters: list[Letter] = [("\u05d1", (20, 0, 25, 9)), ("\u05b0", (27, 0, 27, 9)), ("\u05e9", (25, 0, 30, 9))]
    assert word_in_reading_order(letters) == "\u05e9\u05b0\u05d1"


def test_most_letters_tell_the_direction_of_a_line() -> None:
    assert is_right_to_left(SENTENCE)
    assert not is_right_to_left("The word שלום in a sentence of English.")
    assert not is_right_to_left("1,250")


@pytest.mark.parametrize(
    ("seen", "raised", "read"),
    [  # as drawn, from the right; the places of raised figures
        ("גשר21 גבה", {3, 4}, "גשר^12^ גבה"),
        ("שנת 213202 לפי", {4, 5}, "שנת 2023^12^ לפי"),
        ("ב-2m בלבד", {2}, "ב-m^2^ בלבד"),
        ("1 ראו את", {0}, "^1^ ראו את"),
    ],
)
def test_raised_figures_stay_behind_what_they_follow(seen: str, raised: set[int], read: str) -> None:
    letters = [(sign, box) for sign, (_, box) in zip(set_apart(seen, raised), drawn(seen), strict=True)]
    for order in (slice(None), slice(None, None, -1)):
        assert marked(in_reading_order(letters[order])).replace(RAISED, "^").replace(LEVEL, "^") == read


def test_a_mark_that_the_page_parts_from_its_word_makes_no_further_word() -> None:
    spaced = [(sign, box) for sign, box in drawn("גשר2 גבה")]
    spaced.insert(3, (" ", (0.0, 0.0, 0.0, 0.0)))  # pdfium sees a space before what is raised
    figures = set_apart("".join(sign for sign, _ in spaced), {4})
    letters = [(sign, box) for sign, (_, box) in zip(figures, spaced, strict=True)]
    assert marked(in_reading_order(letters)) == f"גשר{RAISED}2{LEVEL} גבה"


def test_words_from_the_right_make_one_group_however_they_come() -> None:
    words = [
        ((0, 1), (276.0, 0.0, 288.0, 10.0)),
        ((3, 6), (291.0, 0.0, 325.0, 10.0)),
        ((8, 11), (246.0, 0.0, 277.0, 10.0)),
    ]
    assert groups_of_words(words, 12, leftward=True) == [(0, 11)]
    assert groups_of_words(words, 12) == [(0, 6), (8, 11)]


def test_strokes_that_draw_out_a_justified_line_are_no_letters() -> None:
    # As LibreOffice prints it: its strokes come as the control character 4.
    page = Path(__file__).parents[2] / "fixtures" / "justified-arabic.pdf"
    parsed = parse(page.read_bytes(), FileType("pdf"), ParseOptions())
    assert " ".join(parsed.text.split()) == (
        "الأولاد يلعبون في الحديقة والسلام عليكم لا بد من قراءة الإعلان الأخير قبل الاجتماع في القاعة الكبرى ولا يسمح"
        " بالتأخير لأي سبب إلا الآن خلال الأسبوع الماضي والآخرون سبب قبل بد الحديقة قراءة 1204"
    )
    assert "warnings" not in parsed.metadata


def test_an_arabic_word_is_not_cut_by_the_code_of_a_stroke() -> None:
    assert without_cuts("س\x02\x02بب") == "س\x04\x04بب"
    assert without_cuts("mill\x02stone, سبب\x02\n") == "mill\x02stone, سبب\x02\n"
