"""Tables of PDFs: by rules, by the rule under a header, and by how their cells stand."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.pdf.layout.cuts import parted
from docmill.tasks.parse.pdf.reader import open_pdf, opened_page
from docmill.tasks.parse.pdf.text import pdfium_calls
from docmill.tasks.parse.pdf.text.pdfium_calls import calls
from docmill.tasks.parse.pdf.text.text_layer import TextLayer
from tests.kit.pdf_pages import page, read
from tests.kit.writers.pdf import text_width

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


def test_the_objects_of_a_page_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, objects_of = list[int](), pdfium_calls.objects_of

    def ask(at: int) -> tuple[list[pdfium_calls.Handle], list[int]]:
        asked.append(at)
        return objects_of(at)

    monkeypatch.setattr(pdfium_calls, "objects_of", ask)
    pdf = page()
    pdf.table(60, 720, (120, 60, 80), ROWS)
    assert len(read(pdf).elements) == 1
    assert len(asked) == 1


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
        ["", "down"],
        ["one", "two"],
        ["three", "four"],
    ]
    assert table.attributes["spans"] == [[0, 0, 1, 2], [1, 0, 2, 1]]


@pytest.mark.parametrize("width", [16, 60])
def test_marks_that_a_program_spaces_out_stand_in_their_own_columns(width: int) -> None:
    """A row of marks written as one word, each letter moved to its column by the space between letters."""
    pdf = page()
    pdf.table(60, 740, (100, *[width] * 4), [["May", "a", "b", "c", "d"], ["Guest", "", "", "", ""], ["Host", *"    "]])
    x = 160 + 3
    pdf.pages[-1].append(f"BT /F0 10 Tf {width - 6.67:.2f} Tc {x} 712.5 Td (XX) Tj ET")
    pdf.pages[-1].append(f"BT /F0 10 Tf {2 * width - 6.67:.2f} Tc {x + width} 696.5 Td (XX) Tj ET")
    (table,) = [one for one in read(pdf).elements if one.kind == "table"]
    assert table.attributes["cells"] == [
        ["May", "a", "b", "c", "d"],
        ["Guest", "X", "X", "", ""],
        ["Host", "", "X", "", "X"],
    ]


def test_a_word_over_a_rule_stays_whole() -> None:
    pdf = page()
    pdf.table(60, 740, (40, 60), [["Part", "Use"], ["", "x"], ["Rope", "y"]])
    pdf.text(63, 712.5, "Groundwork")
    (table,) = [one for one in read(pdf).elements if one.kind == "table"]
    assert [row[0].split()[0] for row in table.attributes["cells"]] == ["Part", "Groundwork", "Rope"]


def test_a_text_beside_many_rows_stands_once_with_its_span() -> None:
    pdf = page()
    said = "To be filled in by the office that receives this form"
    pdf.box(60, 740 - 16 * 6, 120, 16 * 6)
    pdf.lines(63, 728, ["To be filled in by the", "office that receives", "this form"])
    pdf.table(180, 740, (60, 60), [[f"line {number}", "x"] for number in range(6)])
    (table,) = [one for one in read(pdf).elements if one.kind == "table"]
    assert [row[0] for row in table.attributes["cells"]] == [said, "", "", "", "", ""]
    assert table.attributes["spans"] == [[0, 0, 6, 1]]


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


@pytest.mark.parametrize("sign", ["-", "\u2022", "A."])
def test_items_whose_signs_are_drawn_apart_are_a_list(sign: str) -> None:
    pdf = page()
    for at, text in enumerate(("Before you go up", "The mast", "Probes", "Wiring", "Care")):
        pdf.text(60, 740 - 16 * at, sign)
        pdf.text(90, 740 - 16 * at, text)
    assert not [one for one in read(pdf).elements if one.kind == "table"]


def test_a_list_of_contents_and_a_frame_are_no_tables() -> None:
    pdf = page()
    pdf.box(50, 500, 480, 300)
    for number, title in enumerate(("Before you go up", "The mast", "Probes", "Wiring", "Care")):
        pdf.text(60, 740 - 16 * number, title)
        pdf.text(500, 740 - 16 * number, str(number + 2))
    assert not [one for one in read(pdf).elements if one.kind == "table"]


def test_marks_that_pdfium_reads_as_one_word_stand_in_their_rows() -> None:
    pdf = page()
    roles = ("Guest", "Clerk", "Buyer")
    pdf.table(60, 740, (100, 16, 16, 16), [["May", "a", "b", "c"], *([role, "", "", ""] for role in roles)])
    for row, (column, marks) in enumerate(((0, "X"), (0, "XX"), (1, "XX")), 1):
        x, y = 163 + 16 * column, 740 - 16 * row - 11.5
        pdf.pages[-1].append(f"BT /F0 10 Tf {16 - text_width('X', 10):.2f} Tc {x} {y} Td ({marks}) Tj ET")
    table = next(one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"][1:] == [["Guest", "X", "", ""], ["Clerk", "X", "X", ""], ["Buyer", "", "X", "X"]]


def test_rows_between_the_rule_under_the_header_and_the_last_one_are_several() -> None:
    pdf = page()
    rows = [("Label", "Meaning"), ("gate.resource.id", "The number that the gate has"), ("gate.name", "Its name")]
    for y in (752, 736, 700):
        pdf.rule(58, y, 400)
    for at, row in enumerate(rows):
        for x, cell in zip((60, 200), row, strict=True):
            pdf.text(x, 740 - 16 * at, cell, 10, "regular" if at else "bold")
    (table,) = (one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"] == [[*row] for row in rows]


def test_cells_that_are_no_further_apart_than_words_are_told_by_the_space_that_the_page_does_not_draw() -> None:
    pdf = page()
    rows = [
        ("key", "what it is made of", "what leaves it as it is"),
        ("source", "the name in the settings", "a move of the folder"),
        ("a hash of content", "each byte of the file itself", "a rename or a copy of it"),
        ("chunk", "the text and its context", "an edit of other text"),
    ]
    xs = (60, 63.5 + text_width(rows[2][0], 10), 67 + text_width(rows[2][0] + rows[2][1], 10))
    for at, row in enumerate(rows):
        for x, cell in zip(xs, row, strict=True):
            pdf.text(x, 740 - 14 * at, cell)
    (table,) = (one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"] == [[*row] for row in rows]


def test_a_bold_header_of_one_row_may_leave_out_a_column() -> None:
    pdf = page()
    for y, font, cells in (
        (740, "bold", ("argument", "", "meaning")),
        (725, "regular", ("folder", "optional", "where it is")),
    ):
        for x, cell in zip((60, 130, 200), cells, strict=True):
            pdf.text(x, y, cell, 10, font) if cell else None
    (table,) = (one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"] == [["argument", "", "meaning"], ["folder", "optional", "where it is"]]


def test_a_cell_one_space_before_the_next_is_parted_where_cells_above_and_below_begin() -> None:
    rows = [("csharp", ".cs, .csx"), ("swift", ".swift"), ("objectivec", ".m, .mm"), ("ruby", ".rake"), ("php", ".php")]
    pdf = page()
    for at, row in enumerate(rows):
        for x, cell in zip((60, 60 + text_width("objectivec ", 10, "mono")), row, strict=True):
            pdf.text(x, 740 - 15 * at, cell, 10, "mono")
        pdf.text(250, 740 - 15 * at, "a language", 10)
    (table,) = (one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"] == [[*row, "a language"] for row in rows]


def test_a_piece_of_a_line_that_is_cut_again_stays_apart_from_the_piece_behind_it() -> None:
    pdf = page()
    pdf.text(60, 740, "one two three")
    document = open_pdf(pdf.to_bytes(), ())
    with opened_page(document, 1) as opened:
        text_page = calls()["FPDFText_LoadPage"](opened)
        layer = TextLayer(text_page, (1, 0, 0, -1, 0, 842), 1)
        first, last = parted(layer.lines()[0], [96.0], layer)
        pieces = [*parted(first, [79.0], layer), last]
        calls()["FPDFText_ClosePage"](text_page)
    document.close()
    assert [(piece.text, piece.ruled) for piece in pieces] == [("one", True), ("two", True), ("three", False)]


def test_rows_that_are_drawn_large_and_scaled_down_are_rows() -> None:
    pdf = page()
    pdf.pages[-1].append("0.06 0 0 0.06 0 0 cm")
    rows = [("strategy", "does"), ("fixed", "Makes windows of one size."), ("page", "Makes a chunk of each page.")]
    for at, row in enumerate(rows):
        for x, text in zip((70, 154), row, strict=True):
            pdf.text(x / 0.06, (700 - 20 * at) / 0.06, text, 9 / 0.06, "bold" if at == 0 else "regular")
    pdf.text(70 / 0.06, 600 / 0.06, "What follows is a paragraph again, with a line of its own", 9 / 0.06)
    pdf.text(70 / 0.06, 588 / 0.06, "and another.", 9 / 0.06)
    table, paragraph = read(pdf).elements
    assert [*map(tuple, table.attributes["cells"])] == rows
    assert paragraph.kind == "paragraph"


def test_names_beside_numbers_that_go_down_are_a_table_and_titles_beside_pages_are_contents() -> None:
    names = ["Dropping out of training", "Staff with formal qualifications", "Staff that is being trained", "Visits"]
    for numbers, kind in ((["15", "13", "6", "4"], "table"), (["4", "6", "13", "15"], "toc")):
        pdf = page()
        pdf.text(60, 760, "These are the figures of the year, as they were said.")
        for at, row in enumerate(zip(names, numbers, strict=True)):
            for x, cell in zip((60, 320), row, strict=True):
                pdf.text(x, 730 - 16 * at, cell)
        assert [one.kind for one in read(pdf).elements] == ["paragraph", kind]


@pytest.mark.parametrize(("x", "wide", "over"), [(277, 120, [["", "", "Error (cm)", ""]]), (300, 300, [])])
def test_a_name_in_the_middle_of_some_columns_is_a_row_of_the_header(x: int, wide: int, over: list[list[str]]) -> None:
    pdf = page()
    pdf.text(60, 780, "The error of each sensor in two winters.")
    pdf.rule(60, 762, 300)
    pdf.text(x, 750, "Error (cm)")
    pdf.rule(360 - wide, 746, wide)
    rows = [["Site", "Sensor", "2022", "2023"], ["Davos", "US-100", "1.4", "1.2"], ["Chur", "US-200", "2.3", "2.1"]]
    for at, row in enumerate(rows):
        for x, text in zip((60, 150, 250, 330), row, strict=True):
            pdf.text(x, 734 - 14 * at, text)
    pdf.rule(60, 730, 300)
    pdf.rule(60, 702, 300)
    table = next(one for one in read(pdf).elements if one.kind == "table")
    assert table.attributes["cells"] == [*over, *rows]
    assert table.attributes["header_rows"] == len(over) + 1


def test_groups_of_rows_below_gaps_and_the_names_between_them_are_one_table() -> None:
    pdf = page()
    columns, y = (60, 240, 320, 400), 740
    groups = [
        [
            ["Kind of business", "Shops", "Sales", "Wages"],
            ["Car dealers", "122", "645", "29"],
            ["Tyres", "17", "19", "3"],
        ],
        [["Furniture", "64", "71", "9"], ["Floors", "16", "16", "2"], ["Lamps", "35", "30", "4"]],
        [["Hardware and"], ["gardens", "93", "227", "25"], ["Paint", "8", "7", "1"], ["Seeds", "16", "27", "3"]],
    ]
    for group in groups:
        for row in group:
            for x, cell in zip(columns, row, strict=False):
                pdf.text(x, y, cell)
            y -= 14
        y -= 16
    tables = [one for one in read(pdf).elements if one.kind == "table"]
    assert [(one.attributes["header_rows"], len(one.attributes["cells"])) for one in tables] == [(1, 10)]
    assert tables[0].attributes["cells"][6:8] == [["Hardware and", "", "", ""], ["gardens", "93", "227", "25"]]
