"""Tables of figures without rules, told by where the figures stand and not by the order in which they were drawn."""

import pytest

from tests.kit.pdf_pages import LEFT, page, parts, read
from tests.kit.writers.pdf import Pdf, text_width
from tests.parse.pdf.tables.test_pdf_looks import cells_of

HEADER = ("District totals", "FY 2007", "FY 2008", "FY 2009")
ROWS = [
    ("Matters received", "426", "365", "285"),
    ("People charged", "290", "259", "235"),
    ("Cases charged", "217", "197", "173"),
    ("No prison term", "148", "107", "126"),
]
XS = (60, 220, 300, 380)


def _cell(pdf: Pdf, column: int, y: float, text: str) -> None:
    pdf.text(XS[column] + (40 - text_width(text, 10) if column else 0), y, text) if text else None


def _by_columns(rows: list[tuple[str, ...]], step: float = 24) -> Pdf:
    pdf = page()
    for column in range(4):
        for at, row in enumerate(rows):
            _cell(pdf, column, 700 - step * at, row[column])
    return pdf


def test_a_table_that_is_drawn_by_columns_is_read_by_rows() -> None:
    pdf = _by_columns([HEADER, *ROWS])
    pdf.lines(60, 760, LEFT[:2])
    parsed = read(pdf)
    assert cells_of(parsed) == [[[*row] for row in (HEADER, *ROWS)]]
    assert parts(parsed, "paragraph") == [" ".join(LEFT[:2])]


def test_names_of_two_lines_above_and_below_their_figures_stand_once_in_their_row() -> None:
    pdf = _by_columns([HEADER, *[("", *row[1:]) for row in ROWS]], 30)
    for at, (name, *_) in enumerate(ROWS):
        pdf.lines(60, 676 - 30 * at, [name, "by courts of all districts"])
    (cells,) = cells_of(read(pdf))
    assert [row[0] for row in cells[1:]] == [f"{name} by courts of all districts" for name, *_ in ROWS]


@pytest.mark.parametrize("words", [2, 12])
def test_years_in_lines_of_text_are_no_table(words: int) -> None:
    pdf = page()
    text = " ".join(["river"] * words)
    for at in range(6):
        pdf.text(60, 700 - 14 * at, f"In 19{at}0 the {text} of 19{at}5 was low, and 19{at}7 too.")
    assert not cells_of(read(pdf))


def test_words_behind_figures_are_a_column_too() -> None:
    pdf = _by_columns([(*row[:3], "") for row in ROWS])
    for at, note in enumerate(("by courts", "by states", "estimated", "by courts")):
        pdf.text(380, 700 - 24 * at, note)
    (cells,) = cells_of(read(pdf))
    assert cells[2] == ["Cases charged", "217", "197", "estimated"]


def test_figures_in_a_listing_are_code() -> None:
    pdf = page()
    pdf.lines(60, 760, LEFT)
    for at, row in enumerate(ROWS):
        for x, cell in zip(XS, row, strict=True):
            pdf.text(x, 660 - 12 * at, cell, 8, "mono")
    assert not cells_of(read(pdf))


def test_a_head_between_blocks_of_rows_is_a_row_of_its_own() -> None:
    pdf = page()
    y = 700.0
    for at, row in enumerate([HEADER, *ROWS, ("", "Best practice", "", ""), *ROWS]):
        for column, cell in enumerate(row):
            _cell(pdf, column, y, cell) if at != 5 else None
        if at == 5:
            pdf.text(230, y, "Best practice in all districts", font="bold")
        y -= 14
    (cells,) = cells_of(read(pdf))
    assert cells[5] == ["Best practice in all districts", "", "", ""]
    assert cells[6] == [*ROWS[0]]


def test_a_name_over_several_columns_is_a_row_of_the_header() -> None:
    pdf = _by_columns([("Measure", "2007", "2008", "2009"), *ROWS])
    pdf.text(329 - text_width("Year", 10) / 2, 713, "Year")
    (table,) = [one for one in read(pdf).elements if one.kind == "table"]
    assert table.attributes["cells"][:2] == [["", "Year", "", ""], ["Measure", "2007", "2008", "2009"]]
    assert [0, 1, 1, 3] in table.attributes["spans"]


def test_a_table_within_a_column_of_text_is_read_there_with_its_header_in_two_lines() -> None:
    pdf = page()
    for at in range(12):
        pdf.text(60, 760 - 12 * at, f"The left column goes on in its line {at}, and ends there.")
    pdf.lines(330, 760, ["The allowances of a year changed.", "For the coming year they are:"])
    pdf.text(500, 734, "One", 9)
    rows = [("Payroll period", "allowance"), ("Weekly", "71.15"), ("Monthly", "308.33"), ("Quarterly", "925.00")]
    for at, (name, figure) in enumerate([*rows, ("Annually", "3,700.00")]):
        pdf.text(334, 724 - 15 * at, name, 9)
        pdf.text(500, 724 - 15 * at, figure, 9)
    pdf.lines(330, 640, ["If a period is not named, that of a", "week holds."])
    parsed = read(pdf)
    (cells,) = cells_of(parsed)
    assert (cells[0], cells[-1]) == (["Payroll period", "One allowance"], ["Annually", "3,700.00"])
    assert parts(parsed)[0].endswith("line 11, and ends there.")


def test_signs_of_currencies_far_before_their_figures_are_no_column() -> None:
    pdf = page()
    for at, (name, one, other, _) in enumerate([HEADER, *ROWS]):
        y = 700 - 24 * at
        for column, cell in enumerate((name, one, other)):
            _cell(pdf, column, y, cell)
        for column in (1, 2) if at in (1, 4) else ():
            pdf.text(XS[column] - 30, y, "$")
    (cells,) = cells_of(read(pdf))
    assert cells[:3] == [[*HEADER[:3]], ["Matters received", "$ 426", "$ 365"], ["People charged", "290", "259"]]


def test_names_behind_dates_are_columns_of_a_statement_drawn_by_columns() -> None:
    pdf = page()
    days = ("02/07", "03/07", "06/07", "07/07")
    columns = (
        days,
        ("Urban Transit", "Morning Cafe", "Arctic Market", "Harvest"),
        ("SG", "SG", "MY", "SG"),
        [one for _, one, *_ in ROWS],
    )
    for x, column in zip((60, 160, 300, 420), columns, strict=True):
        for at, cell in enumerate(column):
            pdf.text(x, 700 - 14 * at, cell)
    pdf.lines(60, 600, LEFT[:2])
    (cells,) = cells_of(read(pdf))
    assert cells[-2:] == [["06/07", "Arctic Market", "MY", "217"], ["07/07", "Harvest", "SG", "148"]]


def test_names_in_the_middle_of_wide_columns_are_those_of_figures_at_their_right() -> None:
    pdf = page()
    for x, name in zip((210, 300, 390), HEADER[1:], strict=True):
        pdf.text(x, 700, name, font="bold")
    for at, (name, *figures) in enumerate(ROWS):
        pdf.text(60, 676 - 18 * at, name)
        for x, figure in zip((282, 372, 462), figures, strict=True):
            pdf.text(x - text_width(figure, 10), 676 - 18 * at, figure)
    (cells,) = cells_of(read(pdf))
    assert cells[:2] == [["", *HEADER[1:]], [*ROWS[0]]]


def test_rows_of_half_the_cells_that_stand_in_no_column_end_a_table() -> None:
    pdf = page()
    names = ("Sluice gates", "Lanterns of the old weir", "Rope", "Oars")
    rows = [(name, "north", wood, "kept") for name, wood in zip(names, ("oak", "ash", "elm", "yew"), strict=True)]
    for at, row in enumerate(rows):
        for x, cell in zip((60, 240, 360, 460), row, strict=True):
            pdf.text(x, 700 - 18 * at, cell)
    for at, (x, name) in enumerate(((300, "Some of it"), (350, "Ax"), (330, "To be seen by all"))):
        pdf.text(x, 628 - 18 * at, name)
        pdf.text(460, 628 - 18 * at, "lost")
    assert cells_of(read(pdf)) == [[[*row] for row in rows]]
