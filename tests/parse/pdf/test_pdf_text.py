"""Text of PDFs: paragraphs, words, items, notes, code and headings, told by how they are set."""

import pytest

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.pdf.list_marks import marker_of
from docmill.tasks.parse.pdf.text.characters import LEVEL, LOWERED, MARKED, RAISED, scripts_of
from docmill.tasks.parse.pdf.text.pdfium_calls import NOTHING, text_of
from tests.kit.pdf_pages import LEFT, RIGHT, page, parts, read
from tests.kit.writers.pdf import Pdf, text_width

UP, DOWN = 4.0, -1.5  # points, in text of 10 points
PHRASES = {
    "10^6^ of them": ("10", "^6", " of them"),
    "in 25 m^2^ of it": ("in 25 m", "^2", " of it"),
    "H~2~O runs": ("H", "_2", "O runs"),
    "CO~2~ in 10^-3^ parts": ("CO", "_2", " in 10", "^-", "^3", " parts"),
    "Na^+^ ions": ("Na", "^+", " ions"),
    "x~i~^2^ is": ("x", "_i", "^2", " is"),
    "the 3rd mill": ("the 3", "^rd", " mill"),
    "and 1/2 of it": ("and ", "^1", "/", "_2", " of it"),
}


def test_a_paragraph_goes_on_over_columns_and_pages() -> None:
    pdf = Pdf({})
    for number, lines in enumerate(
        (
            ["It begins where nobody expects it to, and it is then inter-"],
            ["rupted by the end of a page.", "Then it ends."],
        )
    ):
        pdf.add_page()
        pdf.text(290, 30, str(number + 1), 9)
        pdf.lines(60, 700, lines)
    parsed = read(pdf)
    expected = "It begins where nobody expects it to, and it is then interrupted by the end of a page. Then it ends."
    assert [(one.kind, one.page) for one in parsed.elements] == [("furniture", 1), ("paragraph", 1), ("furniture", 2)]
    assert parts(parsed, "paragraph") == [expected]


def test_text_of_double_spacing_is_whole_and_short_paragraphs_stand_alone() -> None:
    pdf = page()
    first = [
        "The mill was built in the year of the great flood, when",
        "the water stood as high as the second window of the",
    ]
    second = [
        "When the promise fell due, the horse was dead, and the",
        "baker had learned to grind so finely that people came",
    ]
    for number, (x, text) in enumerate(
        [
            (84, first[0]),
            (60, first[1]),
            (60, "church."),
            (84, "He was short."),
            (84, second[0]),
            (60, second[1]),
            (60, "from three valleys to buy what he had baked in the"),
            (60, "morning."),
        ]
    ):
        pdf.text(x, 740 - 24 * number, text, 10)
    whole = " ".join([*second, "from three valleys to buy what he had baked in the morning."])
    assert parts(read(pdf)) == [" ".join([*first, "church."]), "He was short.", whole]


def test_a_hyphen_that_the_document_writes_elsewhere_stays() -> None:
    pdf = page()
    pdf.lines(
        60,
        700,
        ["A well-known rule is broken here, and a well-", "known one is kept, and the inter-", "pretation too."],
    )
    assert parts(read(pdf)) == [
        "A well-known rule is broken here, and a well-known one is kept, and the interpretation too."
    ]


def test_a_word_of_three_parts_cut_at_its_first_hyphen_keeps_it() -> None:
    pdf = page()
    pdf.lines(60, 700, ["A ready-to-eat meal is eaten by those who like meals ready-", "to-eat, and by nobody else."])
    assert parts(read(pdf)) == [
        "A ready-to-eat meal is eaten by those who like meals ready-to-eat, and by nobody else."
    ]


def test_hyphens_of_names_are_kept_at_the_end_of_a_line() -> None:
    pdf = page()
    pdf.lines(
        60,
        740,
        ["The event is called mill.{station-", "type} and is sent to the inter-", "preter of mill-", "log.stones."],
    )
    assert parts(read(pdf)) == [
        "The event is called mill.{station-type} and is sent to the interpreter of mill-log.stones."
    ]


def test_words_from_right_to_left_that_are_drawn_from_the_left_are_read_from_the_right() -> None:
    drawn, x = ["/ReversedChars BMC"], 200
    for word in ("\u0633\u0644\u0627\u0645", "\u0639\u0627\u0644\u0645"):
        x -= 27
        for place, letter in enumerate(reversed(word)):  # as browsers print it
            says = f"/Span << /ActualText <FEFF{ord(letter):04X}> >> BDC"
            drawn.append(f"{says} BT /F0 12 Tf {x + 6 * place} 700 Td (x) Tj ET EMC")
    pdf = page()
    pdf.pages[-1] += [*drawn, "EMC"]
    assert read(pdf).text == "\u0633\u0644\u0627\u0645 \u0639\u0627\u0644\u0645"


def test_a_dash_within_a_sentence_begins_no_item() -> None:
    pdf = page()
    pdf.lines(
        60, 700, ["The miller, who never slept and never ate", "- or so it was told in all of the towns -", "was thin."]
    )
    assert parts(read(pdf)) == [
        "The miller, who never slept and never ate - or so it was told in all of the towns - was thin."
    ]


def test_items_have_the_depth_of_their_indent() -> None:
    pdf = page()
    for number, (x, text) in enumerate(((60, "one"), (80, "two"), (100, "three"), (80, "four"), (60, "five"))):
        pdf.text(x, 740 - 14 * number, f"\u2022 {text}")
    assert [one.level for one in read(pdf).elements] == [1, 2, 3, 2, 1]


def test_a_list_may_begin_within_an_item() -> None:
    pdf = page()
    for y, x, text in (
        (740, 60, "1. Mount the mast"),
        (727, 84, "a. dig"),
        (714, 84, "b. set the foot"),
        (701, 60, "2. Rest"),
    ):
        pdf.text(x, y, text)
    assert [(one.kind, one.level) for one in read(pdf).elements] == [("list_item", n) for n in (1, 2, 2, 1)]


def test_a_list_after_a_colon_may_begin_where_the_text_of_its_item_does() -> None:
    pdf = page()
    for y, x, text in ((760, 60, "1."), (760, 90, "Rivers are measured in one of"), (748, 90, "these ways:")):
        pdf.text(x, y, text)
    for y, mark, text in ((736, "a.", "by boat"), (724, "b.", "on foot")):
        pdf.text(90, y, mark)
        pdf.text(110, y, text)
    assert parts(read(pdf)) == ["1. Rivers are measured in one of these ways:", "a. by boat", "b. on foot"]


def test_bullets_that_are_drawn_make_items_and_other_dots_do_not() -> None:
    pdf = page()
    pdf.text(60, 740, "Three things are carried up to the station:")
    for number, (x, text) in enumerate(((80, "the mast,"), (100, "in two parts"), (80, "the probes"))):
        pdf.text(x, 720 - 14 * number, text)
        pdf.box(x - 9, 722.5 - 14 * number, 3, 3)
    pdf.text(60, 640, "Everything else is there.")
    for x, y in ((400, 400), (300, 500), (300, 450), (-4, 300), (-4, 200)):
        pdf.box(x, y, 5, 5)
    pdf.text(408, 400, "a mark in a drawing")
    pdf.text(10, 300, "text at the edge of the page")
    parsed = read(pdf)
    items = [(one.kind, one.level, parsed.text[one.start_char : one.end_char]) for one in parsed.elements]
    assert items == [
        ("paragraph", 0, "Three things are carried up to the station:"),
        ("list_item", 1, "- the mast,"),
        ("list_item", 2, "- in two parts"),
        ("list_item", 1, "- the probes"),
        ("paragraph", 0, "Everything else is there."),
        ("paragraph", 0, "a mark in a drawing"),
        ("paragraph", 0, "text at the edge of the page"),
    ]


def test_footnotes_are_named_where_the_text_refers_to_them() -> None:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    x = 60.0
    for text, size, rise in (("The last word on it", 10, 0), ("1", 6, 4), (" is not said, and x", 10, 0), ("2", 6, 4)):
        pdf.text(x, 650 + rise, text, size)
        x += text_width(text, size)
    pdf.text(60, 100, "1", 5)
    pdf.text(64, 98, "It was said in 1911 by a miller.", 8)
    parsed = read(pdf)
    assert "The last word on it[^1] is not said, and x^2^" in parsed.text
    note = parsed.elements[-1]
    assert parsed.text[note.start_char : note.end_char] == "[^1]: It was said in 1911 by a miller."
    assert note.attributes == {"footnote": "1"}


def test_code_keeps_its_lines_and_indents() -> None:
    pdf = page()
    pdf.lines(60, 740, ["The function that follows is what all of this is about:"])
    pdf.text(70, 715, "def area(side):", 9, "mono")
    pdf.text(70 + 4 * 5.4, 703, "if side < 0:", 9, "mono")
    pdf.text(70 + 8 * 5.4, 691, "return None", 9, "mono")
    pdf.text(70 + 4 * 5.4, 667, "return side ** 2", 9, "mono")
    expected = "```\ndef area(side):\n    if side < 0:\n        return None\n\n    return side ** 2\n```"
    assert parts(read(pdf), "code") == [expected]


def test_code_goes_on_over_blank_lines_and_pages() -> None:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    for y, text in ((640, "first()"), (604, "second()")):
        pdf.text(60, y, text, 10, "mono")
    pdf.add_page()
    pdf.text(60, 740, "third()", 10, "mono")
    pdf.lines(60, 700, RIGHT)
    assert parts(read(pdf), "code") == ["```\nfirst()\n\nsecond()\nthird()\n```"]


@pytest.mark.parametrize(("apart", "whole"), [(20, True), (20.4, False)])
def test_pieces_of_code_that_are_whole_letters_apart_are_its_lines(apart: float, whole: bool) -> None:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    for y, name, meaning in ((640, "Terminal", "no retry will help"), (628, "+-- Rejected", "cannot be used")):
        pdf.text(60, y, name, 10, "mono")
        pdf.text(60 + 6 * apart, y, meaning, 10, "mono")
    expected = "```\nTerminal            no retry will help\n+-- Rejected        cannot be used\n```"
    assert (parts(read(pdf), "code") == [expected]) == whole


def test_an_address_in_a_font_of_one_width_is_no_code() -> None:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    pdf.text(60, 640, "miller@example.org", font="mono")
    pdf.text(60, 600, "grind --fine", font="mono")
    assert [one.kind for one in read(pdf).elements] == ["paragraph", "paragraph", "code"]


@pytest.mark.parametrize("scale", [0.75, 0.24, 0.06, 2])
def test_a_page_that_is_drawn_at_another_scale_reads_the_same(scale: float) -> None:
    plain, scaled = page(), page()
    scaled.pages[-1].append(f"{scale} 0 0 {scale} 0 0 cm")
    for pdf, unit in ((plain, 1.0), (scaled, 1 / scale)):
        for y, text, size in (
            (760, "The mill", 16),
            (736, "A mill grinds what the farmers bring to it, and it", 10),
            (724, "takes a tenth of it, which is 3 cm", 10),
            (728, "2", 6),
            (706, "Another paragraph begins after a gap that is small.", 10),
        ):
            x = 60 + (text == "2") * text_width("takes a tenth of it, which is 3 cm", 10)
            pdf.text(x * unit, y * unit, text, size * unit)
    assert read(scaled).text == read(plain).text
    assert read(scaled).text.startswith(
        "# The mill\n\nA mill grinds what the farmers bring to it, and it takes a tenth"
    )
    assert "3 cm^2^\n\nAnother" in read(scaled).text


def test_the_size_of_a_font_that_is_scaled_for_each_line_is_known() -> None:
    pdf = page()
    for x, y, size, text in (
        (60, 740, 14, "The mill"),
        (60, 715, 10, "It grinds what is brought to"),
        (60, 703, 10, "it, and no more"),
        (60 + text_width("it, and no more", 10), 707, 6, "2"),
    ):
        pdf.pages[-1].append(f"BT /F0 1 Tf {size} 0 0 {size} {x:.2f} {y} Tm ({text}) Tj ET")
    assert read(pdf).text == "# The mill\n\nIt grinds what is brought to it, and no more^2^"


def test_code_is_no_measure_of_the_text_and_headings_may_be_set_as_code() -> None:
    pdf = page()
    pdf.text(60, 760, "mill.grind", 14, "mono-bold")
    pdf.lines(60, 740, ["Grind what is in the hopper."], 11)
    for number in range(12):
        pdf.text(60, 715 - 10 * number, f"call_number_{number}(of='the mill', with_all='its words')", 8, "mono")
    pdf.text(60, 580, "mill.stop", 10, "mono-bold")
    pdf.lines(60, 565, ["Stop the stones."], 11)
    parsed = read(pdf)
    found = [(one.kind, one.level) for one in parsed.elements]
    assert found == [("title", 1), ("paragraph", 0), ("code", 0), ("title", 2), ("paragraph", 0)]


def test_a_list_of_contents_in_bold_is_no_heading_and_figures_are_no_note() -> None:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    pdf.text(60, 640, "What mills are ............................ 4", 10, "bold")
    pdf.text(60, 600, "2 4 6 8 10", 7)
    pdf.text(60 + text_width(LEFT[-1], 10), 740 - 12.5 * 4 + 4, "2", 6)
    assert [one.kind for one in read(pdf).elements] == ["paragraph"] * 3
    assert "[^2]:" not in read(pdf).text


def written(pdf: Pdf, x: float, y: float, parts: tuple[str, ...]) -> None:
    """Write parts of a line one after another: those that begin with ^ higher, with _ lower, and both smaller."""
    for part in parts:
        text = part.lstrip("^_")
        size, rise = (10, 0.0) if text == part else (6, UP if part[0] == "^" else DOWN)
        pdf.text(x, y + rise, text, size)
        x += text_width(text, size)


@pytest.mark.parametrize("said", PHRASES)
def test_what_is_raised_or_lowered_is_marked(said: str) -> None:
    pdf = page()
    pdf.text(60, 760, "There is a sentence above it.")
    written(pdf, 60, 740, PHRASES[said])
    assert said in read(pdf).text


def test_what_is_raised_in_a_cell_is_marked() -> None:
    pdf = page()
    pdf.table(60, 720, (80, 80), [["what", "area"], ["mill", ""], ["barn", ""]])
    for number, said in enumerate((("12 km", "^2"), ("10", "^5"))):
        written(pdf, 143, 720 - 16 * (number + 1) - 11.5, said)
    table = next(one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"] == [["what", "area"], ["mill", "12 km^2^"], ["barn", "10^5^"]]


def test_letters_of_a_brand_and_of_an_initial_are_no_scripts() -> None:
    pdf = page()
    x = 60.0
    for text, size, rise in (("L", 10, 0), ("A", 7, 2), ("TEX is how it is set.", 10, 0)):
        pdf.text(x, 740 + rise, text, size)
        x += text_width(text, size)
    pdf.text(60, 680, "T", 36)
    pdf.text(60 + text_width("T", 36), 696, "he mill stands at the river.", 10)
    assert not {"^", "~"} & {*read(pdf).text}


def test_the_lines_beside_an_initial_are_those_of_a_paragraph() -> None:
    pdf = page()
    pdf.text(60, 780, "The mill at the river", 18, "bold")
    pdf.text(150, 690, "T", 44)
    beside = 150 + text_width("T", 44)
    for at, line in enumerate(LEFT):
        pdf.text(beside if at < 3 else 150, 700 - 12 * at, line.removeprefix("T"))
    pdf.text(60, 700, "A. Miller")
    parsed = read(pdf)
    assert parsed.title == "The mill at the river"
    assert parts(parsed, "title") == ["# The mill at the river"]
    assert " ".join(LEFT) in parts(parsed, "paragraph")


def test_scripts_of_scripts_have_one_mark() -> None:
    found = MARKED.fullmatch(f"{LOWERED}a{LEVEL}{LOWERED}b{LEVEL}")
    assert found is not None
    assert found[1] == LOWERED
    assert MARKED.sub("", f"{RAISED}2{LEVEL}{LOWERED}i{LEVEL}") == ""


def test_a_script_beside_another_stands_beside_what_that_does() -> None:
    settings = {"x": (10.0, 100.0), "i": (6.0, 102.0), "2": (6.0, 96.0)}
    text = "xi2 is"
    found = scripts_of(text, [1, 2], lambda place: settings.get(text[place], (10.0, 100.0)))
    assert [(one.first, one.end, one.mark, one.beside) for one in found] == [(1, 2, LOWERED, 0), (2, 3, RAISED, 0)]


def test_a_letter_of_a_formula_outside_the_first_plane_is_an_ordinary_one() -> None:
    assert text_of([0x61, 0xD835, 0xDC65, 0x62]) == f"ax{NOTHING}b"
    assert text_of([0xD835, 0x62]) == "\ufffdb"


def test_lines_in_a_font_that_states_no_depth_are_as_high_as_others() -> None:
    pdf = page()
    for at in range(5):
        pdf.lines(
            60, 740 - 60 * at, ["A mill that stands by (some) water, and the men who run it,", "see no sea", "now."]
        )
    font = b"/BaseFont /ABCDEF+Flat /FontDescriptor << /Type /FontDescriptor /FontName /ABCDEF+Flat /Flags 34 /StemV 80"
    font += b" /ItalicAngle 0 /FontBBox [-166 -225 1000 931] /Ascent 450 /Descent 0 /CapHeight 718 >> /Encoding"
    flat = parse(pdf.to_bytes().replace(b"/BaseFont /Helvetica /Encoding", font, 1), FileType("pdf"), ParseOptions())
    assert parts(flat) == ["A mill that stands by (some) water, and the men who run it, see no sea now."] * 5
    (box, *_) = (one.box for one in flat.elements)
    assert box is not None
    assert box[3] - box[1] > 2 * 12.5 + 10  # two steps from line to line, and a line


def test_a_letter_of_unknown_meaning_before_a_line_is_the_sign_of_an_item() -> None:
    pdf = page()
    for number, (sign, line) in enumerate((("\x02", "The gate is open."), ("\x01", "The road is dry."))):
        pdf.text(60, 740 - 40 * number, f"{sign} {line}")
    assert [one.kind for one in read(pdf).elements] == ["list_item"] * 2
    assert "\ufffd" not in read(pdf).text


@pytest.mark.parametrize("sign", [*"\u2022\u25ba\u2756\u2794\u2605\u2212\uff72\uf0b7\ufffd"])
def test_signs_of_items_are_shapes_dashes_and_letters_of_symbol_fonts(sign: str) -> None:
    assert marker_of(f"{sign} the gate") is not None
    assert marker_of(f"{sign}the gate") is None


@pytest.mark.parametrize("sign", [*"\u2610\u2612\u27a5\u221aA1="])
def test_boxes_to_tick_references_and_operators_are_no_signs_of_items(sign: str) -> None:
    assert marker_of(f"{sign} the gate") is None


def test_small_letters_in_the_middle_of_a_line_do_not_end_its_paragraph() -> None:
    pdf = page()
    pdf.text(60, 740, "It begins where nobody expects it to be, at a mill of oak,")
    left = 60.0
    for text, size in (("and it goes on with ", 10), ("SMALL CAPITALS IN IT", 8), (" for a while,", 10)):
        pdf.text(left, 727.5, text, size)
        left += text_width(text, size)
    pdf.text(60, 715, "and then it ends at the old weir.")
    text = "of oak, and it goes on with SMALL CAPITALS IN IT for a while, and then it ends at the old weir."
    assert parts(read(pdf), "paragraph") == [f"It begins where nobody expects it to be, at a mill {text}"]
