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


def test_long_cells_make_a_table_where_all_are_in_the_middle_of_their_rows() -> None:
    long = ["how long it takes to read all", "of the files of a folder that", "is as large as this one, anew"]
    rows: list[Row] = [
        (long * 2, ["2.5, 2.7, and 2.9", "seconds of wall"], ["less than 3 s", "of wall time"], ["run all folders"]),
        (long, ["140, 150, 170 MB", "at rest, then"], ["less than that", "is not there"], ["run one of them"]),
        (long + long[:1], ["0.3, 0.4, and 0.2", "seconds of wall"], ["1 s of wall, at"], ["run all folders"]),
    ]
    for off in (0, 1):
        pdf = page()
        top = 760.0
        for at, row in enumerate(rows):
            cells = (row[0], [*[""] * (off * (at + 1)), *row[1]], *row[2:])
            top = in_middle(pdf, (60.0, 320.0, 420.0, 460.0), top, cells)
        assert bool(rows_of(pdf) == [said(row) for row in rows]) == (not off)


def test_long_cells_without_a_header_make_a_table_where_all_begin_on_the_level_of_their_row() -> None:
    rows: list[tuple[list[str], list[str]]] = [
        (["a worker hangs, or loses its connection"], ["the others go on with what it had to do,", "after a while"]),
        (["a batch of files kills two of the workers"], ["it is halved until one file is left, which", "is not read"]),
        (["a worker dies over what it has to write", "again, or sends nothing back"], ["the driver writes it"]),
        (["the driver dies, or is stopped by someone"], ["what it asked for is called off; the next", "run goes on"]),
    ]
    for off, found in ((0.0, [said(row) for row in rows]), (7.0, [])):
        pdf = page()
        y = 760.0
        for names, text in rows:
            pdf.lines(60, y, names)
            pdf.lines(300, y - off, text)
            y -= 32
        assert rows_of(pdf) == found


def test_cells_as_close_as_words_are_cut_by_a_row_that_is_many_lines_away() -> None:
    pdf = page()
    tall = ["measuring", "everything", "that", "mills", "need", "yearly"]
    rows = [(["what"], "bound", "command"), (tall, "1.10", "read all"), (tall[::-1], "2.25", "read one")]
    y = 740.0
    for cell, bound, command in rows:
        for at, line in enumerate(cell):
            pdf.text(60, y - 12 * at, line)
        x = 300.0
        pdf.text(x - 11.5 - text_width(bound, 10), y, bound)
        for word in command.split():  # without spaces, as TeX writes them
            pdf.text(x, y, word)
            x += text_width(f"{word} ", 10)
        y -= 12 * len(cell) + 5 * (len(cell) == 1)
    for height in (750, 732, y + 8):
        pdf.rule(58, height, 320)
    assert rows_of(pdf) == [[" ".join(cell), *others] for cell, *others in rows]
