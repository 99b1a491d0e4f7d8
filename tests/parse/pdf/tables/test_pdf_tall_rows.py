"""Rows whose cells have many lines: told by rules and fills, and by the rows around."""

from tests.kit.pdf_pages import page, read
from tests.kit.writers.pdf import Pdf, text_width

LINE = 11.25  # points from one line of a cell to the next
MARGIN = 5.0  # points above and below the cells of a row

Row = tuple[list[str], ...]


def rows_of(pdf: Pdf) -> list[list[str]]:
    return [row for one in read(pdf).elements if one.kind == "table" for row in one.attributes["cells"]]


def said(row: Row) -> list[str]:
    return [" ".join(cell) for cell in row]


def in_middle(pdf: Pdf, xs: tuple[float, ...], top: float, row: Row, filled: bool = False) -> float:
    """Write a row whose cells stand in its middle, those behind the first ending where others do; return its foot."""
    high = LINE * max(map(len, row)) + 2 * MARGIN
    if filled:
        pdf.pages[-1].append(f"0.9 g 58 {top - high:.2f} 480 {high:.2f} re f 0 g")
    for column, cell in enumerate(row):
        y = top - (high - LINE * len(cell)) / 2 - 9
        for at, line in enumerate(cell):
            x = xs[column] - (text_width(line, 10) if column in (1, 2) else 0)
            pdf.text(x, y - LINE * at, line) if line else None
    return top - high


XS = (60.0, 360.0, 430.0, 438.0)
HEADER: Row = (["what was measured"], ["found"], ["bound"], ["command"])
TALL: list[Row] = [
    (
        ["how long it takes to read all of the files of a", "folder anew, once they were all changed"],
        ["2.5, 2.7, and", "2.9 seconds"],
        ["3 s of", "wall time"],
        ["run all", "folders twice"],
    ),
    (["what one of them costs"], ["0.1 s"], ["0.3 s"], ["the same"]),
    (
        [
            "how much memory the largest of the processes",
            "takes that read the files of such a folder, of",
            "all of them",
        ],
        ["140, 150 and", "170 MB"],
        ["\u2013"],
        ["the same"],
    ),
    (["how many are read again"], ["0; 0"], ["0; 0"], ["the same"]),
    (["how many of these are gone"], ["12 of 900"], ["\u2013"], ["see above"]),
    (
        ["how long a second run takes over a folder in", "which nothing has changed since the first"],
        ["0.3, 0.4, and", "0.2 s"],
        ["1 s of", "wall time"],
        ["run all", "folders twice"],
    ),
]


def test_a_cell_of_many_lines_begins_above_the_one_line_of_the_first_cell() -> None:
    pdf = page()
    rows: list[Row] = [
        (["artifact"], [f"{word} takes time to make, and is" for word in ("A result", "A text", "A vector")]),
        (["bucket"], [f"{word} of which there are as many" for word in ("One", "Two", "Three", "Four", "Five")]),
        (["mirror"], [f"{word} of a store that is kept" for word in ("The copy", "The state", "The name", "The list")]),
        (["strategy"], ["what cuts a text"]),
    ]
    top = 760.0
    for row in rows:
        top = in_middle(pdf, (60.0, 420.0), top, row)
    assert rows_of(pdf) == [said(row) for row in rows]
