"""Rows that rules do not part, and what stands outside of the rules of its table."""

from collections.abc import Sequence

from tests.kit.pdf_pages import page, read
from tests.kit.writers.pdf import Pdf
from tests.parse.pdf.tables.test_pdf_looks import cells_of

XS = (60, 160, 230, 300)
ROWS = [
    ("Alabama", "187", "230", "643"),
    ("Alaska", "20", "", "646"),
    ("Arizona", "230", "123", "1257"),
    ("Delaware", "2", "215", "459"),
]
HEADER = ("State", "Permits", "Handguns", "All")


def _frame(pdf: Pdf, top: float, heights: list[float], xs: tuple[float, ...] = XS, end: float = 360) -> None:
    """Draw a grid of bands so high, from the top."""
    for height in heights:
        for left, right in zip(xs, (*xs[1:], end), strict=True):
            pdf.box(left - 4, top - height, right - left, height)
        top -= height


def _written(pdf: Pdf, y: float, rows: Sequence[tuple[str, ...]], xs: tuple[float, ...] = XS) -> None:
    for row in rows:
        for x, cell in zip(xs, row, strict=True):
            pdf.text(x, y, cell) if cell else None
        y -= 14


def test_lines_of_figures_within_one_band_of_rules_are_rows() -> None:
    pdf = page()
    _frame(pdf, 752, [15, 60])
    _written(pdf, 741, [HEADER, *ROWS])
    assert cells_of(read(pdf)) == [[[*row] for row in (HEADER, *ROWS)]]


def test_a_column_of_figures_within_one_band_may_hold_a_word() -> None:
    pdf = page()
    _frame(pdf, 752, [15, 60])
    rows = [(*ROWS[0][:3], "all"), ("Alaska", "varied", "646", "some"), ("Arizona", "230", "none", "all"), ROWS[3]]
    _written(pdf, 741, [HEADER, *rows])
    assert cells_of(read(pdf)) == [[[*row] for row in (HEADER, *rows)]]


def test_sentences_beside_one_another_within_a_band_are_cells() -> None:
    pdf = page()
    _frame(pdf, 752, [15, 42], (60, 210))
    _written(pdf, 741, [("Duty", "What it means")], (60, 210))
    pdf.lines(60, 726, ["The gates are opened by", "hand in each winter."])
    pdf.lines(210, 726, ["Each gate has a keeper, who", "reads the gauge at noon."])
    (cells,) = cells_of(read(pdf))
    assert cells[1][0] == "The gates are opened by hand in each winter."


def test_names_beside_tall_cells_stand_in_their_rows_but_a_text_stands_once() -> None:
    names = ["Alabama", "Alaska", "Arizona", "Delaware"]
    for lines, row in ((names, "Arizona"), (["All four states", "of the south"], "")):
        pdf = page()
        _frame(pdf, 752, [14] * 5, XS[1:])
        pdf.box(XS[0] - 4, 752 - 70, XS[1] - XS[0], 56)
        _written(pdf, 741, [("", *HEADER[1:]), *(("", *one[1:]) for one in ROWS)])
        for at, line in enumerate(lines):
            pdf.text(60, 727 - 14 * at, line)
        (cells,) = cells_of(read(pdf))
        assert [cells[3][0], cells[3][1]] == [row, "230"]


def test_a_sentence_above_a_grid_and_text_beside_it_are_no_cells() -> None:
    pdf = page()
    pdf.text(164, 741, "The permits of four states, of which one has none at all.")
    for at, line in enumerate(["This column of text", "stands beside a", "table and is read", "before it, whole."]):
        pdf.text(40, 733 - 11.5 * at, line)
    _frame(pdf, 738, [14] * 4, XS[1:], end=460)
    _written(pdf, 727, [("", *row[1:]) for row in ROWS])
    parsed = read(pdf)
    assert cells_of(parsed) == [[[*row[1:]] for row in ROWS]]
    assert "The permits of four states, of which one has none at all." in parsed.text


def test_a_bold_row_of_sums_is_no_header_of_another_table() -> None:
    pdf = page()
    for at, row in enumerate((HEADER, *ROWS, ("All", "439", "568", "3005"))):
        for x, cell in zip(XS, row, strict=True):
            pdf.text(x, 741 - 14 * at, cell, font="bold" if at in (0, 5) else "regular") if cell else None
    (cells,) = cells_of(read(pdf))
    assert cells[-1] == ["All", "439", "568", "3005"]


DRAWN = [
    "--------------------------------------",
    "|CARE        | All loads  | Veterans  |",
    "|------------+-----+------+-----+-----|",
    "|(missing)   |  500| 88.7%|  489|88.6%|",
    "|------------+-----+------+-----+-----|",
    "|NO          |   63| 11.2%|   62|11.2%|",
    "|------------+-----+------+-----+-----|",
    "|YES         |    1|  0.1%|    1| 0.2%|",
    "---------------------------------------",
]


def test_a_grid_goes_on_the_next_page_though_its_columns_are_rounded_otherwise() -> None:
    pdf = page()
    pdf.text(60, 800, "The permits of all states are counted in the month of May:")
    _frame(pdf, 127, [15] * 3)
    _written(pdf, 116, [HEADER, *ROWS[:2]])
    pdf.add_page()
    xs = (XS[0], *(x - 0.7 for x in XS[1:]))
    _frame(pdf, 801, [15] * 2, xs)
    _written(pdf, 790, ROWS[2:], xs)
    assert cells_of(read(pdf)) == [[[*row] for row in (HEADER, *ROWS)]]


def test_a_grid_grows_to_the_names_of_its_rows_its_header_and_its_sum() -> None:
    pdf = page()
    pdf.text(60, 762, "Permits in November, by state")
    _frame(pdf, 738, [14] * 4, XS[1:])
    _written(pdf, 741, [HEADER])
    _written(pdf, 727, ROWS)
    _written(pdf, 671, [("All", "439", "568", "3005")])
    parsed = read(pdf)
    assert cells_of(parsed) == [[[*row] for row in (HEADER, *ROWS, ("All", "439", "568", "3005"))]]
    assert parsed.text.startswith("Permits in November, by state")
