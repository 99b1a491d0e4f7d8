"""Headers of HTML tables: those of several rows name each column, and names of rows or groups are none."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.passes.table_rows import column_names, header_depth, is_number, is_year, titles_above
from docmill.tasks.split.parts.captions import bound_captions


def read(page: str) -> Parsed:
    return parse(page.encode(), FileType("html"), ParseOptions())


def drawn(table: str) -> tuple[list[list[str]], int]:
    parsed = read(f"<h1>T</h1>{table}")
    only = next(one for one in parsed.elements if one.kind == "table")
    return only.attributes["cells"], only.attributes["header_rows"]


TWO_ROWS = """<tr><th rowspan=2>Type</th><th colspan=2>Output</th></tr><tr><th>min</th><th>max</th></tr>
<tr><td>oak</td><td>5</td><td>25</td></tr>"""
GROUPS = """<thead><tr><th>City</th><th>n</th></tr></thead><tbody><tr><th colspan=2>North</th></tr>
<tr><td>Leeds</td><td>1</td></tr></tbody>"""


@pytest.mark.parametrize(
    ("rows", "cells", "header"),
    [
        (TWO_ROWS, [["Type", "Output min", "Output max"], ["oak", "5", "25"]], 1),
        (TWO_ROWS.replace("th", "td"), [["Type", "Output min", "Output max"], ["oak", "5", "25"]], 1),
        ("<tr><td></td><th>2020</th></tr><tr><th>North</th><td>1</td></tr>", [["", "2020"], ["North", "1"]], 1),
        ("<tr><th>Team</th><td>Ops</td></tr><tr><th>Phone</th><td>5</td></tr>", [["Team", "Ops"], ["Phone", "5"]], 0),
        (
            "<tr><td><b>2019</b></td><td><b>2020</b></td></tr><tr><td>5</td><td>6</td></tr>",
            [["2019", "2020"], ["5", "6"]],
            1,
        ),
        (GROUPS, [["City", "n"], ["North", ""], ["Leeds", "1"]], 1),
    ],
)
def test_a_header_names_every_column(rows: str, cells: list[list[str]], header: int) -> None:
    assert drawn(f"<table>{rows}</table>") == (cells, header)


def test_a_header_over_all_columns_is_the_caption() -> None:
    parsed = read("<table><tr><th colspan=2>Wheels</th></tr><tr><th>Width</th><td>2 m</td></tr></table><p>x</p>")
    assert parsed.text.startswith("Wheels\n\n|")
    assert parsed.elements[1].attributes["cells"] == [["Width", "2 m"]]


def test_a_long_cell_over_several_rows_stands_once_and_a_short_one_in_each() -> None:
    long = "The miller shall keep the wheel in good order at all times, and free of weeds and ice. "
    rows = "<tr><td rowspan=3>oak</td><td rowspan=3>{0}</td><td>1</td></tr><tr><td>2</td></tr><tr><td>3</td></tr>"
    parsed = read(f"<table><tr><th>a</th><th>b</th><th>c</th></tr>{rows.format(long)}</table>")
    assert parsed.text.count("good order") == 1
    assert parsed.text.count("| oak |") == 3


def test_lists_in_lists_and_paragraphs_of_a_cell_stay_apart() -> None:
    rows = "<tr><th>a</th><th>b</th></tr><tr><td><ul><li>kg<ul><li>net</li><li>dry</li></ul></li><li>t</li></ul></td>"
    cells, _ = drawn(f"<table>{rows}<td><p>web</p><p>mail</p></td></tr></table>")
    assert cells[1] == ["kg; net; dry; t", "web; mail"]


def test_boxes_that_are_a_table_by_their_roles_are_one() -> None:
    row = "<div role=row><span role=cell>oak</span><span role=cell>12</span></div>"
    head = "<div role=row><span role=columnheader>Name</span><span role=columnheader>kg</span></div>"
    assert drawn(f"<div role=table>{head}{row}</div>") == ([["Name", "kg"], ["oak", "12"]], 1)


FIGURES = [["Leeds", "5", "7", "9", "11"], ["York", "6", "8", "10", "12"]]
GROUPED = [["City", "Wheat", "", "Rye", ""], ["", "sown", "reaped", "sown", "reaped"], *FIGURES]
NAMES = ["City", "Wheat sown", "Wheat reaped", "Rye sown", "Rye reaped"]


@pytest.mark.parametrize(
    ("rows", "depth"),
    [
        (GROUPED, 2),
        ([["City", "2023", "", "2024", ""], *GROUPED[1:]], 2),
        ([["", "Wheat", "", "Rye", ""], ["City", *GROUPED[1][1:]], *FIGURES], 2),
        ([["City", "Wheat", "", "Rye", ""], *FIGURES], 1),  # below it is data
        ([*GROUPED[:2], ["Leeds", "much", "little", "none", "all"]], 2),  # below the name of one column is a blank
        ([GROUPED[0], ["Leeds", *GROUPED[1][1:]], ["York", "much", "little", "none", "all"]], 1),  # or else figures
        ([["", "2023", "", "2024", ""], ["", "Q1", "Q2", "Q1", "Q2"], *FIGURES], 2),  # the corner has no name
        ([["City", "Grain", "", "", ""], ["", "Wheat", "", "Rye", ""], *GROUPED[1:]], 3),
        ([["City", "Land", "Use", "Soil", "Owner"], *GROUPED[1:]], 1),  # no group
        (FIGURES, 0),
        ([["1850", "1900"], ["5", "6"]], 0),
        ([["", "1850", "1900"], ["Leeds", "5", "6"]], 1),
        ([["only"]], 0),
    ],
)
def test_header_rows_are_guessed_by_one_rule(rows: list[list[str]], depth: int) -> None:
    assert header_depth(rows) == depth


def test_names_of_groups_of_groups_are_in_the_names_of_the_columns() -> None:
    rows = [["City", "Grain", "", "", ""], ["", "Wheat", "", "Rye", ""], *GROUPED[1:]]
    assert column_names(rows, 3) == ["City", *(f"Grain {name}" for name in NAMES[1:])]


NAMED = [["Gate", "Made", "Height"], ["north", "1850", "4 m"], ["south", "1860", "3 m"]]


@pytest.mark.parametrize(
    ("rows", "stated", "titles"),
    [
        ([["Gates", "", ""], *NAMED], None, 1),
        ([["Gates", "", ""], ["of the canal", "", ""], *NAMED], None, 2),
        ([["Gates"] * 3, *NAMED], 1, 1),  # of a cell of a header over all columns
        (NAMED, None, 0),
        ([["Gates", "", ""], ["north", "7", "4"], ["south", "6", "3"]], None, 0),  # the name of a group of rows
        ([["Gates", ""], ["north", "open"], ["south", "shut"]], None, 0),
        ([["Gates"] * 3], 1, 0),
        ([["Gates"] * 3] * 2, 1, 0),  # labels to cut out
    ],
)
def test_rows_above_the_names_of_columns_are_titles(rows: list[list[str]], stated: int | None, titles: int) -> None:
    assert titles_above(rows, stated) == titles


def test_a_title_in_a_table_is_its_caption_in_every_format() -> None:
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in NAMED)
    lines = "\n".join(",".join(row) for row in NAMED)
    texts = {
        "html": f"<table><tr><td colspan=3>Gates of 1850</td></tr>{rows}</table>",
        "csv": f"Gates of 1850,,\n{lines}",
    }
    for name, text in texts.items():
        parsed = parse(text.encode(), FileType(name), ParseOptions())
        table = next(one for one in parsed.elements if one.kind == "table")
        assert table.attributes["cells"][0] == NAMED[0]
        (caption,) = bound_captions(parsed).of.values()
        assert parsed.text[caption.start_char : caption.end_char] == "Gates of 1850"


def test_a_stated_row_of_groups_has_the_names_below_it_with_it_in_every_format() -> None:
    page = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in GROUPED)
    lines = "\n".join(",".join(row) for row in GROUPED)
    pipes = "\n".join("| " + " | ".join(row) + " |" for row in [GROUPED[0], ["---"] * 5, *GROUPED[1:]])
    for text, name in ((f"<h1>T</h1><table>{page}</table>", "html"), (lines, "csv"), (pipes, "markdown")):
        parsed = parse(text.encode(), FileType(name), ParseOptions())
        table = next(one for one in parsed.elements if one.kind == "table")
        assert column_names(table.attributes["cells"], table.attributes["header_rows"]) == NAMES


def test_figures_and_amounts_are_numbers_and_only_years_may_name_a_column() -> None:
    assert all(map(is_number, ("5", "-3.2", "$1,200.50", "1,200 €", "(42)", "12 %", "2021-03-05", ".5")))
    assert not any(map(is_number, ("Q3", "a5", "-", "", "km 5", "5 km")))
    assert [is_year(text) for text in ("1799", "1800", "2199", "2200", "19.5")] == [False, True, True, False, False]
    assert is_year("2023-24")
    assert is_year("1998/1999")
    assert not is_year("2300-01")


def test_a_caption_above_a_table_that_is_that_of_the_next_one_too_is_its_own() -> None:
    table = "<table><caption>Gates</caption><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    parsed = parse((table * 2).encode(), FileType("html"), ParseOptions())
    assert all(one.start_char < start for start, one in bound_captions(parsed).of.items())
    assert len(bound_captions(parsed).of) == 2
