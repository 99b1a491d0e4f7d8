"""Rows whose cells have many lines: told by rules and fills, by the rows around, and by a header that is repeated."""

from docmill.tasks.parse.pdf.layout.cell_columns import release_header
from docmill.tasks.parse.pdf.layout.rows import PageTable
from docmill.tasks.parse.pdf.text.line import Font, TextLine
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


def test_a_cell_between_fills_is_cut_off_by_the_rows_around_however_high_these_are() -> None:
    high = (["line of a cell that is high"] * 9, ["4.5 s"], ["6 s"], ["no command"])
    rows: list[Row] = [HEADER, high, (["high"] * 9, ["12 s"], ["\u2013"], ["no command"]), high, TALL[1]]
    pdf = page()
    top = 760.0
    for at, row in enumerate(rows):
        top = in_middle(pdf, XS, top, row, filled=at % 2 == 0)
    assert rows_of(pdf) == [said(row) for row in rows]


def test_a_cell_over_two_columns_leaves_rows_between_rules_a_table() -> None:
    rows: list[Row] = [HEADER, TALL[1], TALL[3], TALL[4], TALL[1]]
    pdf = page()
    top = 760.0
    for row in rows:
        pdf.rule(58, top, 480)
        top = in_middle(pdf, XS, top, row)
    pdf.rule(58, top, 480)
    pdf.text(60, top - 14, "how many are left")
    pdf.text(360 - text_width("none", 10), top - 14, "none")
    pdf.text(400, top - 14, "not measured, as none is")
    pdf.rule(58, top - 22, 480)
    found = ["how many are left", "none", "not measured, as none is", ""]
    assert rows_of(pdf) == [*map(said, rows), found]


def test_a_repeated_header_whose_cells_touch_is_one_and_what_is_single_below_it_is_the_rest_of_a_row() -> None:
    pdf = page()
    pdf.text(60, 800, "What was found, and what was wanted of it, is said by these figures of the last run:")
    xs = (60.0, 240.0, 320.0)
    header = ("what was measured", "found", "command")
    rows = [
        ("how long it takes", "2 s", "run all"),
        ("what one of them costs", "0.1 s", "run one"),
        ("the largest process", "140 MB", "run"),
    ]
    for at, row in enumerate([header, *rows]):
        for x, cell in zip(xs, row, strict=True):
            pdf.text(x, 120 - 20 * at, cell)
    pdf.add_page()
    pdf.text(60, 800, header[0])
    pdf.text(240, 800, f"{header[1]}  {header[2]}")
    for at, line in enumerate(("on all that", "read files")):
        pdf.text(320, 780 - 12 * at, line)
    more = [("how many are gone", "none", "run all"), ("how many are left", "900", "run all")]
    for at, row in enumerate(more):
        for x, cell in zip(xs, row, strict=True):
            pdf.text(x, 720 - 20 * at, cell)
    rows[-1] = (*rows[-1][:2], "run on all that read files")
    assert rows_of(pdf) == [[*row] for row in [header, *rows, *more]]


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


def test_a_repeated_header_is_released_where_one_of_its_cells_was_taken_for_furniture() -> None:
    table = PageTable([["content type", "what it is"], ["data", "fields with values"]], 1, (60, 700, 300, 760), 1)

    def line(text: str, left: float, top: float, furniture: bool) -> TextLine:
        return TextLine(text, 10, Font(), (left, top, left + 60, top + 12), 2, 0, 0, furniture=furniture)

    for top, released in ((40, True), (90, False)):
        first = line("content type", 60, 40, True)
        release_header([first, line("what it is", 200, top, False)], table)
        assert first.furniture != released
