"""Names of columns of tables that stand further above the rows, in several lines, or above several blocks of rows."""

from itertools import chain

import pytest

from docmill.storage.schema import Element
from tests.kit.pdf_pages import page, read
from tests.kit.writers.pdf import Pdf, text_width
from tests.parse.pdf.tables.test_pdf_looks import cells_of

XS = (60, 200, 280, 360)
YEARS = [[str(year), f"5{year}", f"3{year}", f"1{year}"] for year in range(1996, 2002)]
NAMES = [["Year", "All", "Public", "Private"]]


def _rows(rows: list[list[str]], y: float = 700, step: float = 12) -> Pdf:
    """Return a page of rows whose figures end below one another; a row of one cell is a bold head."""
    pdf = page()
    for at, row in enumerate(rows):
        for x, cell in zip(XS, row, strict=False):
            right = x + 40 - text_width(cell, 10) if x > XS[0] else x
            pdf.text(right, y - step * at, cell, font="bold" if len(row) == 1 else "regular")
    return pdf


def _table(pdf: Pdf) -> Element:
    (table,) = [one for one in read(pdf).elements if one.kind == "table"]
    return table


def test_a_header_above_several_blocks_of_rows_names_the_columns_of_all() -> None:
    table = _table(_rows([*NAMES, ["Actual"], *YEARS[:3], ["Projected"], *YEARS[3:]]))
    heads = [["Actual", "", "", ""], ["Projected", "", "", ""]]
    assert table.attributes["cells"] == [*NAMES, heads[0], *YEARS[:3], heads[1], *YEARS[3:]]
    assert table.attributes["header_rows"] == 1


def test_a_heading_in_larger_letters_between_tables_is_no_head_of_rows() -> None:
    pdf = _rows([*NAMES, *YEARS[:3], [], [], *NAMES, *YEARS[3:]])
    pdf.text(60, 642, "The years after", 14, "bold")
    assert cells_of(read(pdf)) == [[*NAMES, *YEARS[:3]], [*NAMES, *YEARS[3:]]]


def test_rows_of_figures_alone_have_no_names() -> None:
    assert not [one for one in read(_rows(YEARS)).elements if one.attributes.get("header_rows")]


def test_a_cell_that_reaches_into_the_next_column_is_cut_off_there() -> None:
    words = ["Karls GmbH", "Santa, Klaus", "Ackermann und Soehne und weitere", "Horn, Ein", "Klinik"]
    rows = [[name, f"2{at}", f"5{at}", f"7{at}"] for at, name in enumerate(words)]
    pdf = page()
    for at, row in enumerate([["Name", "Number", "Bill", "Due"], *rows]):
        for x, cell in zip((60, 190, 280, 360), row, strict=True):
            pdf.text(x, 700 - 14 * at, cell)
    (cells,) = cells_of(read(pdf))
    assert cells[1:] == rows


def test_names_in_several_lines_are_whole() -> None:
    pdf = _rows([["Year", "Islander", "Native", "races"], *YEARS])
    for y, texts in ((711, ["Pacific", "Indian", "more"]), (722, ["Asian/", "American", "Two or"])):
        for x, text in zip(XS[1:], texts, strict=True):
            pdf.text(x + 40 - text_width(text, 10), y, text)
    names = ["Year", "Asian/ Pacific Islander", "American Indian Native", "Two or more races"]
    assert _table(pdf).attributes["cells"] == [names, *YEARS]


def test_a_row_with_figures_where_others_have_them_is_no_header() -> None:
    for more in (["NA", "NA"], ["NA"]):
        rows = [[f"Share of mill {number}", f"1{number}", *more] for number in range(5)]
        assert _table(_rows(rows)).attributes["header_rows"] == 0


def test_names_that_hold_figures_and_stand_as_close_as_words_are_a_header_above_a_rule() -> None:
    words = ["Average", "Less than", "$10,000-", "$15,000-", "$55,000"]
    gaps = ["   ", "     ", " ", " ", " "]
    line = "".join(chain.from_iterable(zip(gaps, words, strict=True))).strip()
    ends = [200 + text_width(line[: line.index(word) + len(word)], 10) for word in words]
    below = ["amount", "$10,000", "14,999", "29,999", "above"]
    rows = [[f"Place {n}", f"3{n},200", f"2{n}.5", f"1{n}.3", f"2{n}.0", f"1{n}.4"] for n in range(5)]
    pdf = page()
    pdf.text(200, 712, line)
    for at, (name, *cells) in enumerate([["Places", *below], *rows]):
        y = 700 - 12 * at - 6 * bool(at)
        pdf.text(60, y, name)
        for end, cell in zip(ends, cells, strict=True):
            pdf.text(end - text_width(cell, 10), y, cell)
    for y in (724, 692, 628):
        pdf.rule(58, y, ends[-1] - 56)
    table = _table(pdf)
    assert table.attributes["cells"] == [["", *words], ["Places", *below], *rows]
    assert table.attributes["header_rows"] == 2


def test_a_title_over_all_columns_stands_above_their_names_in_the_header() -> None:
    pdf = page()
    rows = [["Name", "Label", "Page"], ["AGE", "age of the keeper", "11"], ["GATE", "number of the gate", "12"]]
    pdf.table(60, 740, (100, 150, 60), [["", "", ""], *rows])
    pdf.text(64, 728, "All its variables")
    table = _table(pdf)
    assert table.attributes["cells"][:2] == [["All its variables", "", ""], rows[0]]
    assert table.attributes["header_rows"] == 2


@pytest.mark.parametrize(("over", "depth"), [("Schools", 2), ("(Schools in thousands)", 1)])
def test_a_name_over_several_columns_is_no_remark_in_brackets(over: str, depth: int) -> None:
    pdf = _rows([*NAMES, *YEARS])
    pdf.text((XS[2] + 15 + XS[3] + 40 - text_width(over, 10)) / 2, 714, over)
    assert _table(pdf).attributes["header_rows"] == depth


def test_each_of_several_names_is_over_its_own_columns() -> None:
    pdf = page()
    xs = [60, *(150 + 50 * column for column in range(6))]
    for at, row in enumerate([["Year", *["all", "new"] * 3], *([f"Mill {n}", *[f"{n}1{n}7"] * 6] for n in range(4))]):
        for x, cell in zip(xs, row, strict=True):
            pdf.text(x, 700 - 12 * at, cell)
    for at, over in enumerate(("Public", "Private", "Other")):
        pdf.text(185 + 100 * at - text_width(over, 10) / 2, 713, over)
    table = _table(pdf)
    assert table.attributes["cells"][0] == ["", "Public", "", "Private", "", "Other", ""]
    assert table.attributes["header_rows"] == 2


def test_numbers_that_count_on_name_columns() -> None:
    table = _table(_rows([["Year", "1", "2", "3"], *YEARS]))
    assert table.attributes["header_rows"] == 1
    assert table.attributes["cells"][0] == ["Year", "1", "2", "3"]


def test_a_line_below_the_rule_of_a_group_is_part_of_a_name_and_not_over_several_columns() -> None:
    pdf = _rows([["Year", "only", "only", "Both"], *YEARS])
    pdf.text(XS[2] + 40 - text_width("Port", 10), 711, "Port")
    pdf.rule(XS[1], 721, XS[3] + 44 - XS[1])
    pdf.text(306 - text_width("Schools", 10) / 2, 724, "Schools")
    assert _table(pdf).attributes["cells"] == [["", "Schools", "", ""], ["Year", "only", "Port only", "Both"], *YEARS]
