"""Tables in looks without rules and without bold headers: told by how their cells stand, and by what they leave out."""

from itertools import pairwise

from docmill.storage.schema import Parsed
from tests.kit.pdf_pages import LEFT, page, parts, read
from tests.kit.writers.pdf import Pdf, text_width

Rows = list[tuple[str | list[str], ...]]


def cells_of(parsed: Parsed) -> list[list[list[str]]]:
    return [one.attributes["cells"] for one in parsed.elements if one.kind == "table"]


def written(
    pdf: Pdf, xs: tuple[float, ...], y: float, rows: list[tuple[str | list[str], ...]], font: str = ""
) -> float:
    """Write rows, cell by cell as programs do; a cell may have several lines. Return how far down they reach."""
    for row in rows:
        lines = [[cell] if isinstance(cell, str) else cell for cell in row]
        for x, cell in zip(xs, lines, strict=True):
            pdf.lines(x, y, cell, font=font or "regular") if any(cell) else None
        y -= 12 * max(map(len, lines)) + 8
    return y


NOTES: Rows = [
    ("GET /hits", ["hits, as the command prints them; the body may set the", "options of a search"]),
    ("GET /documents", ["documents by their names: where they stand, a prefix, a", "limit, and the next page"]),
    ("GET /chunks", ["a chunk, with those before it and after it, and its parent if", "that is asked for"]),
    ("GET /status", "what the store holds, and since when, in one line"),
]


def test_cells_of_several_lines_make_a_table_of_sentences_without_a_header() -> None:
    pdf = page()
    written(pdf, (60, 180), 740, NOTES)
    (cells,) = cells_of(read(pdf))
    assert cells[0] == ["GET /hits", "hits, as the command prints them; the body may set the options of a search"]
    assert len(cells) == len(NOTES)


def test_numbered_clauses_and_speakers_beside_their_text_are_no_table() -> None:
    for names in (["1.1", "1.2", "1.3", "1.4"], ["Q:", "A:", "Q:", "A:"]):
        pdf = page()
        written(pdf, (60, 180), 740, [(name, row[1]) for name, row in zip(names, NOTES, strict=True)])
        assert not cells_of(read(pdf))


def test_a_header_may_stand_left_of_cells_that_end_at_the_right() -> None:
    pdf = page()
    written(pdf, (60, 200, 400), 740, [("name", "what the text says", "costs")])
    pdf.rule(58, 736, 420)
    for at, (name, text, costs) in enumerate(
        [("none", "nothing", "nothing"), ("all", "as before", "calls of the model")]
    ):
        written(pdf, (60, 200, 500 - text_width(costs, 10)), 720 - 16 * at, [(name, text, costs)])
    assert cells_of(read(pdf)) == [
        [
            ["name", "what the text says", "costs"],
            ["none", "nothing", "nothing"],
            ["all", "as before", "calls of the model"],
        ]
    ]


def test_rows_that_leave_out_different_cells_share_the_columns_of_all() -> None:
    pdf = page()
    rows: Rows = [
        ("query", "text", "required", "a question"),
        ("count", "number", "8", "how many"),
        ("where", "text", "", "a condition"),
        ("store", "text", "", "which one"),
        ("limit", "", "40", "at most"),
        ("after", "text", "", "the next page"),
    ]
    written(pdf, (60, 160, 260, 360), 740, rows)
    assert cells_of(read(pdf)) == [[list(row) for row in rows]]


def test_a_narrow_gap_below_a_header_parts_cells_where_it_is_the_widest_of_its_line() -> None:
    pdf = page()
    long = ["run it with Prefect, on S3, in Docker", "run it with Docker, on S3, in Prefect"]
    rows = [(long[0], "Prefect, S3"), (long[1], "Docker"), (long[0], "Docker, S3"), ("use the store", "SQL")]
    x = 60 + text_width(long[0], 10) + 5
    written(pdf, (60, x), 740, [("you want to", "read")], "bold")
    for at, row in enumerate(rows):
        written(pdf, (60, x), 724 - 20 * at, [row])
    assert cells_of(read(pdf))[0][1:] == [list(row) for row in rows]


def test_figures_far_apart_are_cells_and_columns_of_text_are_none() -> None:
    pdf = page()
    rows = [["Foehn", "70", "50"], ["Isobar", "80", "10"], ["Wind", "90", "20"]]
    for at, row in enumerate(rows):
        for x, cell in zip((60, 160, 169 + text_width("70", 10)), row, strict=True):
            pdf.text(x, 740 - 16 * at, cell)
    assert cells_of(read(pdf)) == [rows]
    pdf = page()
    for at in range(12):
        pdf.text(60, 740 - 12 * at, "The left column tells of a river that rises in the hills,")
        pdf.text(320, 740 - 12 * at, "and the right one of the road that was built beside it.")
    assert not cells_of(read(pdf))


def test_a_table_over_two_pages_is_one_with_one_header() -> None:
    pdf = page()
    pdf.text(60, 800, "What is kept, and for how long, is said by these settings of the store:")
    written(pdf, (60, 180, 420), 120, [("what", "how long", "setting")], "bold")
    written(pdf, (60, 180, 420), 100, [("a draft", "30 days, and until the next", "keep_days")])
    written(pdf, (60, 180, 420), 80, [("a file", "one hour, or as long as it", "grace_hours")])
    pdf.add_page()
    written(pdf, (60, 180, 420), 800, [("what", "how long", "setting")], "bold")
    written(pdf, (60, 180, 420), 780, [("a page", "one week, by default", "page_days")])
    pdf.text(60, 700, "Nothing else is kept any longer than the store itself.")
    assert cells_of(read(pdf)) == [
        [
            ["what", "how long", "setting"],
            ["a draft", "30 days, and until the next", "keep_days"],
            ["a file", "one hour, or as long as it", "grace_hours"],
            ["a page", "one week, by default", "page_days"],
        ]
    ]


def test_one_row_below_a_filled_or_bold_header_is_a_table() -> None:
    for filled, font in ((False, ""), (True, ""), (False, "bold")):
        pdf = page()
        if filled:
            pdf.pages[-1].append("0.9 g 58 734 340 18 re f 0 g")
        written(pdf, (60, 260), 740, [("option", "meaning")], font)
        written(pdf, (60, 260), 718, [("small", "sections share a chunk")])
        assert bool(cells_of(read(pdf))) == (filled or bool(font))


def centred(pdf: Pdf, middles: tuple[float, ...], y: float, cells: tuple[str, ...], font: str = "regular") -> None:
    for middle, cell in zip(middles, cells, strict=True):
        if cell:
            pdf.text(middle - text_width(cell, 10) / 2, y, cell, font=font)


FIELDS: Rows = [
    ("field", "type", "meaning"),
    ("number", "integer", "which of them it is"),
    ("snapshot", "integer or null", "how often it was said in all that was read before"),
    ("moved", "integer", "under another name"),
    ("gone", "text", "no longer there"),
]


def test_centred_cells_are_parted_at_the_gap_that_the_rows_around_leave_free() -> None:
    pdf = page()
    middles = 100.0, 200.0, 200 + text_width("integer or null", 10) / 2 + 8 + text_width(str(FIELDS[2][2]), 10) / 2
    for at, row in enumerate(FIELDS):
        centred(pdf, middles, 740 - 18 * at, tuple(map(str, row)))
    assert cells_of(read(pdf)) == [[list(row) for row in FIELDS]]


def test_a_heading_on_the_next_page_ends_the_table_before() -> None:
    pdf = page()
    pdf.text(60, 800, "What is kept, and for how long, is said by these settings of the store:")
    rows: Rows = [("what", "how long", "setting"), ("a draft", "30 days", "keep"), ("a file", "an hour", "grace")]
    written(pdf, (60, 180, 420), 120, rows)
    pdf.add_page()
    pdf.text(60, 800, "Costs", size=13)
    written(
        pdf, (60, 180, 420), 780, [("step", "seconds", "share"), ("to read", "20", "5 %"), ("to write", "9", "3 %")]
    )
    assert [cells[0] for cells in cells_of(read(pdf))] == [
        ["what", "how long", "setting"],
        ["step", "seconds", "share"],
    ]


def test_one_row_below_a_header_that_is_bold_or_leaves_a_column_out_is_a_table() -> None:
    pdf = page()
    y = written(pdf, (60, 160, 260), 740, [("option", "default", "meaning")], "bold")
    written(pdf, (60, 160, 260), y, [("small", "50 tokens", "sections share a chunk")])
    assert len(cells_of(read(pdf))) == 1
    pdf = page()
    written(pdf, (60, 160, 260), 740, [("option", "", "meaning")])
    pdf.rule(58, 734, 330)
    written(pdf, (60, 160, 260), 720, [("small", "50 tokens", "sections share a chunk")])
    assert cells_of(read(pdf)) == [[["option", "", "meaning"], ["small", "50 tokens", "sections share a chunk"]]]


SENTENCES = (
    "The share of the questions whose first answer is the right one",
    "What it costs to read a file again that nobody has changed since",
    "How many of the files could not be read for want of a password",
    "How often the newest answer says the same as the one before it",
)


def test_one_row_of_figures_below_four_names_or_more_is_a_table() -> None:
    def tables(*rows: tuple[str | list[str], ...]) -> list[list[list[str]]]:
        pdf = page()
        pdf.lines(60, written(pdf, (60, 150, 240, 330, 420)[: len(rows[0])], 740, [*rows]) - 20, LEFT)
        return cells_of(read(pdf))

    names = ("Start date", "End date", "Shows", "Gross sum", "Net sum")
    figures = ("12/20/24", "12/31/24", "48", "$12,500.00", "$11,250.00")
    assert tables(names[:4], figures[:4]) == [[[*names[:4]], [*figures[:4]]]]
    assert tables(names, figures) == [[[*names], [*figures]]]
    assert tables(names[:3], figures[:3]) == []
    assert tables(names, ("Ann Miller", "New York", "North", "Oak", "12 %")) == []
    assert tables(figures, figures) == []


def test_sentences_beside_figures_below_a_rule_are_rows() -> None:
    pdf = page()
    written(pdf, (60, 450, 500), 740, [("what was measured", "found", "bound")])
    pdf.rule(58, 734, 480)
    rows = [([text, f"by what {text.lower()}"], f"{at}.5", f"{at}.9") for at, text in enumerate(SENTENCES)]
    written(pdf, (60, 450, 500), 720, [*rows])
    assert cells_of(read(pdf))[0][1:] == [[" ".join(text), *figures] for text, *figures in rows]


def test_two_columns_of_sentences_are_rows_only_where_fills_part_them() -> None:
    rows: Rows = [(text[:38].strip(), text[20:].strip()) for text in SENTENCES]
    for filled in (False, True):
        pdf = page()
        if filled:
            pdf.pages[-1] += [f"0.9 g 58 {714 - 40 * at} 500 20 re f 0 g" for at in range(2)]
        written(pdf, (60, 300), 740, rows)
        found = cells_of(read(pdf))
        assert found == ([[list(row) for row in rows]] if filled else [])


def test_figures_between_the_two_lines_of_a_cell_are_of_its_row() -> None:
    pdf = page()
    for at, text in enumerate(SENTENCES):
        words, y = text.split(), 740 - 30 * at
        pdf.text(60, y, " ".join(words[:6]))
        pdf.text(60, y - 10, " ".join(words[6:]))
        for x, figure in ((300, f"{at}.5"), (400, f"{at}.9")):
            pdf.text(x, y - 5, figure)
    assert cells_of(read(pdf)) == [[[text, f"{at}.5", f"{at}.9"] for at, text in enumerate(SENTENCES)]]


def test_a_cell_whose_words_stand_far_apart_is_one() -> None:
    pdf = page()
    rows: Rows = [(f"row {at}", f"{at}0 %", "said in five words") for at in range(5)]
    written(pdf, (60, 160, 260), 740, rows)
    written(pdf, (60, 160, 260, 300), 640, [("row 5", "50 %", "drawn", "apart")])
    assert cells_of(read(pdf)) == [[*map(list, rows), ["row 5", "50 %", "drawn apart"]]]


def test_paragraphs_above_commands_stay_apart() -> None:
    pdf = page()
    y = 780.0
    for command in ("open the gate", "close the gate", "lock the gate", "paint the gate"):
        y = pdf.lines(60, y, ["Whoever wants to do this has to type what follows here, word by word, in one go."])
        y = pdf.lines(60, y - 6, [command], font="mono") - 12
    pdf.text(60, y, "This is a paragraph.")
    pdf.text(60, y - 18, "This is another one.")
    assert parts(read(pdf), "paragraph")[-2:] == ["This is a paragraph.", "This is another one."]


def test_columns_of_a_page_do_not_part_signs_from_their_items() -> None:
    pdf = page()
    for at in range(8):
        pdf.text(80, 760 - 12 * at, "The left column tells of a river,")
    for at in range(8):
        pdf.text(300, 760 - 12 * at, "and the right one of the road by it.")
    items = ["one that is short", "another that goes on and on until it is below both of the columns above", "the last"]
    for at, item in enumerate(items):
        pdf.text(80, 640 - 18 * at, "\u2022", size=12)
        pdf.text(98, 640 - 18 * at, item)
    assert parts(read(pdf), "list_item") == [f"- {item}" for item in items]


def test_a_centred_heading_between_short_lines_is_one() -> None:
    pdf = page()
    full = "The text of this page goes from its left margin to its right one, and says nothing else."
    y = pdf.lines(60, 780, [full] * 4)
    middle = 60 + text_width(full, 10) / 2
    y = pdf.lines(60, y - 10, ["So it ends here, which took a few words."] * 12)
    pdf.text(middle - text_width("What comes now", 10) / 2, y - 20, "What comes now", font="bold")
    pdf.lines(60, y - 44, ["And here it goes on for a few more of them."] * 12)
    assert "What comes now" in " ".join(parts(read(pdf), "title"))


def test_cells_as_close_as_words_are_cut_where_the_page_draws_no_space() -> None:
    rows = [
        ("model", "string", "all", "Product code, as on its plate"),
        ("near", "string", "none", "Sorts by distance"),
    ]
    rows += [
        ("state", "string", "all", "Late, or silent for six hours"),
        ("cursor", "string", "none", "From the last page"),
    ]
    pdf = page()
    pdf.lines(60, 640, LEFT)  # the spaces between these words are drawn
    ends = 150 + text_width("string", 10) + 3
    for at, row in enumerate(rows):
        for x, cell in zip((80, 150, ends, 290), row, strict=True):
            pdf.text(x, 740 - 20 * at, cell)
    assert cells_of(read(pdf)) == [[[*row] for row in rows]]


def test_a_bold_header_in_smaller_capitals_belongs_to_its_table() -> None:
    pdf = page()
    for x, name in zip((60, 200, 400), ("FIELD", "MEANING", "UNIT"), strict=True):
        pdf.text(x, 740, name, 7.5, "bold")
    rows: Rows = [("wind", "mean of ten minutes", "m/s"), ("snow", "depth of it", "cm")]
    written(pdf, (60, 200, 400), 720, rows)
    assert cells_of(read(pdf)) == [[["FIELD", "MEANING", "UNIT"], *([*row] for row in rows)]]


def test_rules_of_a_row_may_be_boxes_of_one_filled_path() -> None:
    pdf = page()
    lefts, tops = (58, 158, 228, 298), (740, 712, 696, 680)
    pdf.text(61, 730, "Mill", 9)
    pdf.text(227 - text_width("Oak wheels", 9), 720, "Oak wheels", 9)
    pdf.text(230, 720, "Read & write", 9)
    for top, row in zip(tops[1:], (("Upper", "12", "7"), ("Lower", "9", "8")), strict=False):
        for left, text in zip(lefts, row, strict=False):
            pdf.text(left + 3, top - 12, text, 9)
    for top, bottom in pairwise(tops):
        upright = [(left, bottom, 0.4, top - bottom) for left in lefts]
        level = [(lefts[0], side, lefts[-1] - lefts[0], 0.4) for side in (top, bottom)]
        pdf.pages[-1].append(" ".join(f"{x} {y} {wide} {high} re" for x, y, wide, high in upright + level) + " f")
    ((header, *rows),) = cells_of(read(pdf))
    assert header == ["Mill", "Oak wheels", "Read & write"]
    assert rows == [["Upper", "12", "7"], ["Lower", "9", "8"]]
