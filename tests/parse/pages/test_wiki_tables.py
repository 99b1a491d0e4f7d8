"""Tables of MediaWiki: a cell that covers rows or columns leaves the others in their own columns."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

TWO_ROWS = """{| class="wikitable"
|+ Rights
! rowspan="2" | Role !! colspan="2" | Rights
|-
! Read !! Write
|-
"""
FOLLOWED = "after the table\n"


def read(page: str) -> Parsed:
    return parse(page.encode(), FileType("mediawiki"), ParseOptions())


def rows_of(page: str) -> list[list[str]]:
    found: list[list[str]] = next(one for one in read(page).elements if one.kind == "table").attributes["cells"]
    return found


def test_a_header_of_two_rows_names_each_column() -> None:
    page = TWO_ROWS + '| rowspan="2" | Editor || yes || [[a|no]]\n|-\n| no\n| yes\n|}\n' + FOLLOWED
    assert rows_of(page) == [
        ["Role", "Rights Read", "Rights Write"],
        ["Editor", "yes", "no"],
        ["Editor", "no", "yes"],
    ]
    assert read(page).text.endswith(FOLLOWED.strip())


@pytest.mark.parametrize("span", ["0", "99999999", "x"])
def test_a_span_may_claim_any_number(span: str) -> None:
    page = f'{{|\n! rowspan="{span}" | Role !! Read\n|-\n| Editor\n|}}\n{FOLLOWED}'
    assert "Editor" in read(page).text
    assert len(rows_of(page)[0]) == 2


def test_a_table_within_a_cell_has_columns_of_its_own() -> None:
    page = TWO_ROWS + "| Editor || yes ||\n{|\n! inner !! own\n|-\n| 1 || 2\n|}\n|-\n| Owner || a || b\n|}\n"
    assert [row for row in rows_of(page) if row[0] == "Owner"] == [["Owner", "a", "b"]]


def test_a_row_without_text_below_a_header_is_no_second_header() -> None:
    page = "{|\n! Name !! colspan=2 | Address\n|-\n| Ann || Mill Lane || Leeds\n|}\n"
    assert rows_of(page) == [["Name", "Address", "Address"], ["Ann", "Mill Lane", "Leeds"]]
