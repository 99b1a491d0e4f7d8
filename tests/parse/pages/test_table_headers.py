"""Headers of HTML tables: those of several rows name each column, and names of rows or groups are none."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.format import FileType, ParseOptions


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
