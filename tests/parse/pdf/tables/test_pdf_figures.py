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
