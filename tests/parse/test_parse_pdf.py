"""PDF: reading order, what goes on over columns and pages, tables, code, footnotes, links, furniture."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import Rejected
from storage.schema import Parsed
from tasks.parse import FileType, ParseOptions, parse
from tasks.parse.pdf import opened
from tests.drawing import examples
from tests.writers.pdf import Pdf, text_width

LEFT = [
    "The left column tells of a river that rises in the",
    "hills and runs through three towns before it turns",
    "to the sea. Nobody has ever walked along all of it.",
    "Its water is brown in spring and green in autumn,",
    "and the millers say that it has a mind of its own.",
]
RIGHT = [
    "The right column tells of the road beside it, which",
    "was built by soldiers and paid for by nobody at all.",
    "It floods each March. Carts then take the long way",
    "over the pass, and the inn there does well out of it",
    "until the end of May.",
]


def read(pdf: Pdf) -> Parsed:
    return parse(pdf.to_bytes(), FileType("pdf"), ParseOptions())


def parts(parsed: Parsed, *kinds: str) -> list[str]:
    return [parsed.text[one.start : one.end] for one in parsed.elements if not kinds or one.kind in kinds]


def page() -> Pdf:
    pdf = Pdf({})
    pdf.add_page()
    return pdf


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


ROWS = [
    ["Part", "Pieces", "Weight"],
    ["Mast section", "2", "17 kg"],
    ["Ground anchor", "4", "3 kg"],
    ["Rope", "", "1 kg"],
]


@pytest.mark.parametrize("ruled", [True, False])
def test_a_table_keeps_its_cells(ruled: bool) -> None:
    pdf = page()
    pdf.text(60, 740, "What has to be carried up is listed here:")
    if ruled:
        pdf.table(60, 720, (120, 60, 80), ROWS)
    else:
        for number, row in enumerate(ROWS):
            for x, cell in zip((60, 200, 300), row, strict=True):
                pdf.text(x, 708 - 14 * number, cell) if cell else None
    pdf.text(60, 620, "Nothing else is needed.")
    table = next(one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes == {"cells": ROWS, "header_rows": 1}
    assert [one.kind for one in read(pdf).elements] == ["paragraph", "table", "paragraph"]


def test_upright_rules_part_what_stands_close_together() -> None:
    pdf = page()
    header, widths = ["Part of it", "Pieces to carry", "Weight"], (49, 77, 40)
    pdf.table(60, 720, widths, [header])
    for number, row in enumerate(ROWS[1:]):
        for x, cell in zip((60, 112, 190), row, strict=True):
            pdf.text(x, 692 - 14 * number, cell.split()[0]) if cell else None
    table = next(one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"][:2] == [header, ["Mast", "2", "17"]]


def test_cells_over_several_columns_and_rows() -> None:
    pdf = page()
    pdf.box(60, 680, 200, 20)
    pdf.text(65, 686, "Both")
    pdf.box(60, 640, 100, 40)
    pdf.text(65, 655, "Tall")
    for y, word in ((660, "up"), (640, "down")):
        pdf.box(160, y, 100, 20)
        pdf.text(165, y + 6, word)
    pdf.table(60, 640, (100, 100), [["one", "two"], ["three", "four"]])
    table = next(one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"] == [
        ["Both", ""],
        ["Tall", "up"],
        ["Tall", "down"],
        ["one", "two"],
        ["three", "four"],
    ]


def cells_of(parsed: Parsed) -> list[list[list[str]]]:
    return [one.attributes["cells"] for one in parsed.elements if one.kind == "table"]


@pytest.mark.parametrize("ruled", [True, False])
def test_a_rule_under_its_header_makes_few_rows_a_table(ruled: bool) -> None:
    pdf = page()
    for y, left, right in ((740, "Part", "What it is for"), (722, "Mast", "It holds all the rest up")):
        pdf.text(60, y, left)
        pdf.text(200, y, right)
    if ruled:
        pdf.rule(58, 735, 300)
    pdf.text(60, 690, "Nothing else is needed.")
    assert cells_of(read(pdf)) == (
        [[["Part", "What it is for"], ["Mast", "It holds all the rest up"]]] if ruled else []
    )


def test_cells_of_several_lines_are_whole_wherever_they_stand_in_their_rows() -> None:
    pdf = page()
    for y, name, lines in (
        (740, "Part", ["What it is for"]),
        (712, "Mast", ["It holds all the rest up, and", "is held by three ropes"]),
        (676, "Anchor", ["It holds", "one of the ropes that hold", "the mast"]),
    ):
        pdf.text(60, y, name, font="bold" if y == 740 else "regular")
        pdf.lines(200, y + 6.25 * (len(lines) - 1), lines, font="bold" if y == 740 else "regular")
    for y, lines in ((644, ["Ground", "screw"]), (608, ["Rope"])):
        pdf.lines(60, y, lines)
        pdf.text(200, y, "See the drawing")
    assert cells_of(read(pdf)) == [
        [
            ["Part", "What it is for"],
            ["Mast", "It holds all the rest up, and is held by three ropes"],
            ["Anchor", "It holds one of the ropes that hold the mast"],
            ["Ground screw", "See the drawing"],
            ["Rope", "See the drawing"],
        ]
    ]


def test_a_first_cell_of_three_lines_is_whole_and_a_header_is_cut_as_its_cells() -> None:
    pdf = page()
    x = 60 + text_width("Name of the part", 10) + 5
    pdf.text(60, 760, "Name of the part")
    pdf.text(x, 760, "What it is for")
    pdf.rule(58, 755, 300)
    for y, lines in ((740, ["MAST_OF", "THE_UPPER", "STATION"]), (690, ["ROPE"])):
        pdf.lines(60, y, lines)
        pdf.text(x, y, "See the drawing")
    assert cells_of(read(pdf)) == [
        [
            ["Name of the part", "What it is for"],
            ["MAST_OF THE_UPPER STATION", "See the drawing"],
            ["ROPE", "See the drawing"],
        ]
    ]


def test_a_narrow_gap_parts_cells_where_those_above_and_below_begin() -> None:
    pdf = page()
    names = ["Part", "Mast", "Galvanised shackle", "Rope"]
    x = 60 + text_width(names[2], 10) + 6
    for number, name in enumerate(names):
        pdf.text(60, 740 - 16 * number, name)
        pdf.text(x, 740 - 16 * number, ["Count", "1", "12 of them", "3"][number])
        pdf.text(300, 740 - 16 * number, ["Weight", "17 kg", "1 kg", "2 kg"][number])
    assert cells_of(read(pdf))[0][2] == ["Galvanised shackle", "12 of them", "1 kg"]


def test_a_name_beside_several_rows_is_a_cell_of_the_first() -> None:
    pdf = page()
    rows = [["Kind", "Model", "Score"], ["", "A", "41"], ["", "B", "42"], ["", "C", "43"]]
    for number, row in enumerate(rows):
        for x, cell in zip((60, 160, 260), row, strict=True):
            pdf.text(x, 740 - 14 * number, cell) if cell else None
        if number == 0:
            pdf.text(60, 740 - 28, "Single")
    assert cells_of(read(pdf)) == [
        [["Kind", "Model", "Score"], ["Single", "A", "41"], ["", "B", "42"], ["", "C", "43"]]
    ]


def test_tables_that_stand_apart_are_two() -> None:
    pdf = page()
    for number, row in enumerate(ROWS + ROWS):
        for x, cell in zip((60, 200, 300), row, strict=True):
            pdf.text(x, 740 - 16 * number - 12 * (number > 3), cell or "-")
    assert [len(cells) for cells in cells_of(read(pdf))] == [4, 4]


def test_a_list_of_contents_and_a_frame_are_no_tables() -> None:
    pdf = page()
    pdf.box(50, 500, 480, 300)
    for number, title in enumerate(("Before you go up", "The mast", "Probes", "Wiring", "Care")):
        pdf.text(60, 740 - 16 * number, title)
        pdf.text(500, 740 - 16 * number, str(number + 2))
    assert not [one for one in read(pdf).elements if one.kind == "table"]


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


def test_a_dash_within_a_sentence_begins_no_item() -> None:
    pdf = page()
    pdf.lines(
        60, 700, ["The miller, who never slept and never ate", "- or so it was told in all of the towns -", "was thin."]
    )
    assert parts(read(pdf)) == [
        "The miller, who never slept and never ate - or so it was told in all of the towns - was thin."
    ]


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


def test_code_keeps_its_lines_and_indents() -> None:
    pdf = page()
    pdf.lines(60, 740, ["The function that follows is what all of this is about:"])
    pdf.text(70, 715, "def area(side):", 9, "mono")
    pdf.text(70 + 4 * 5.4, 703, "if side < 0:", 9, "mono")
    pdf.text(70 + 8 * 5.4, 691, "return None", 9, "mono")
    pdf.text(70 + 4 * 5.4, 667, "return side ** 2", 9, "mono")
    expected = "```\ndef area(side):\n    if side < 0:\n        return None\n\n    return side ** 2\n```"
    assert parts(read(pdf), "code") == [expected]


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
    assert parsed.text[note.start : note.end] == "[^1]: It was said in 1911 by a miller."
    assert note.attributes == {"footnote": "1"}


def test_links_are_attributes_of_the_text_that_they_lie_on() -> None:
    pdf = page()
    pdf.text(60, 740, "Read the manual before you go.")
    pdf.link(60, 740, 78, "https://example.org/manual")
    pdf.text(60, 640, "Nothing here leads anywhere.")
    first, second = read(pdf).elements
    assert first.attributes == {"links": [{"text": "Read the manual", "url": "https://example.org/manual"}]}
    assert second.attributes == {}


def test_items_have_the_depth_of_their_indent() -> None:
    pdf = page()
    for number, (x, text) in enumerate(((60, "one"), (80, "two"), (100, "three"), (80, "four"), (60, "five"))):
        pdf.text(x, 740 - 14 * number, f"\u2022 {text}")
    assert [one.level for one in read(pdf).elements] == [1, 2, 3, 2, 1]


def test_bullets_that_are_drawn_make_items_and_other_dots_do_not() -> None:
    pdf = page()
    pdf.text(60, 740, "Three things are carried up to the station:")
    for number, (x, text) in enumerate(((80, "the mast,"), (100, "in two parts"), (80, "the probes"))):
        pdf.text(x, 720 - 14 * number, text)
        pdf.box(x - 9, 722.5 - 14 * number, 3, 3)
    pdf.text(60, 640, "Everything else is there.")
    pdf.box(400, 400, 5, 5)
    pdf.text(408, 400, "a mark in a drawing")
    parsed = read(pdf)
    items = [(one.kind, one.level, parsed.text[one.start : one.end]) for one in parsed.elements]
    assert items == [
        ("paragraph", 0, "Three things are carried up to the station:"),
        ("list_item", 1, "- the mast,"),
        ("list_item", 2, "- in two parts"),
        ("list_item", 1, "- the probes"),
        ("paragraph", 0, "Everything else is there."),
        ("paragraph", 0, "a mark in a drawing"),
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


def test_an_address_in_a_font_of_one_width_is_no_code() -> None:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    pdf.text(60, 640, "miller@example.org", font="mono")
    pdf.text(60, 600, "grind --fine", font="mono")
    assert [one.kind for one in read(pdf).elements] == ["paragraph", "paragraph", "code"]


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


def test_code_goes_on_over_blank_lines_and_pages() -> None:
    pdf = page()
    pdf.lines(60, 740, LEFT)
    for y, text in ((640, "first()"), (604, "second()")):
        pdf.text(60, y, text, 10, "mono")
    pdf.add_page()
    pdf.text(60, 740, "third()", 10, "mono")
    pdf.lines(60, 700, RIGHT)
    assert parts(read(pdf), "code") == ["```\nfirst()\n\nsecond()\nthird()\n```"]


def filled(name: str, value: str) -> str:
    return f"/Subtype /Widget /FT /Tx /T ({name}) /V ({value})"


def ticked(name: str, state: str) -> str:
    return f"/Subtype /Widget /FT /Btn /T ({name}) /V /{state} /AS /{state}"


def test_what_is_filled_into_a_form_is_read_where_it_stands() -> None:
    pdf = page()
    for x, y, text in ((60, 740, "Name:"), (80, 700, "Lives at the mill"), (80, 680, "Keeps bees")):
        pdf.text(x, y, text)
    pdf.table(60, 660, (100, 100), [["Wheel", "Turns"], ["Upper", ""]])
    pdf.field(100, 740, 150, filled("name", "Agathe Miller"))
    pdf.field(60, 700, 10, ticked("lives", "Yes"))
    pdf.field(60, 680, 10, ticked("bees", "Off"))
    pdf.field(165, 633, 80, filled("turns", "12 a minute"))
    pdf.field(60, 560, 200, "/Subtype /FreeText /Contents (Seen by the miller.)")
    pdf.field(60, 540, 200, filled("hidden", "secret") + " /F 2")
    pdf.field(60, 520, 200, filled("password", "secret") + " /Ff 8192")
    text = read(pdf).text
    assert "Name: Agathe Miller" in text
    assert "\u2612 Lives at the mill" in text
    assert "\u2610 Keeps bees" in text
    assert "| Upper | 12 a minute |" in text
    assert text.endswith("Seen by the miller.")
    assert "secret" not in text


def test_empty_boxes_to_tick_are_no_text() -> None:
    pdf = page()
    pdf.field(60, 680, 10, ticked("bees", "Off"))
    with pytest.raises(Rejected, match="no_text"):
        read(pdf)


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
    with pytest.raises(Rejected, match="too_large: more characters on 2 pages than the limit, 300"):
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
    assert opened._prepared("S\u00aa\u00adL\u2003x") == "SaL x"
    assert opened._prepared("plain") == "plain"


def test_a_lock_that_leaves_strings_open_is_named() -> None:
    """pdfium takes every password for wrong where strings and streams are not locked alike."""
    lock = (
        b"/Encrypt << /Filter /Standard /V 4 /R 4 /Length 128 /P -4 /CF << /StdCF << /CFM /AESV2 /Length 16 >> >> "
        b"/StmF /StdCF /StrF /Identity /O <" + b"11" * 32 + b"> /U <" + b"22" * 32 + b"> >> /ID [<33> <33>] /Root"
    )
    data = page().to_bytes().replace(b"/Root", lock)
    with pytest.raises(Rejected, match="encrypted: its streams are locked and its strings are not"):
        parse(data, FileType("pdf"), ParseOptions(passwords=("sesame",)))


@pytest.mark.parametrize("scale", [0.75, 0.24, 2])
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
