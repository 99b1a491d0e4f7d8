"""Files of SQL results: the suffix names the format, and a workbook holds what was asked for and no formula."""

import io
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest

from docmill.flows.cli.terminal.table_formats import TableFormat, format_of, render
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.sql.statement_pool import query


def cells(sql: str) -> list[list[object]]:
    """Return the cells of a result that went through a workbook."""
    book = openpyxl.load_workbook(io.BytesIO(render(query({}, {}, sql), TableFormat.xlsx)))
    return [[cell.value for cell in row] for row in book.active.iter_rows()]


@pytest.mark.parametrize("form", [form for form in TableFormat if form is not TableFormat.table])
def test_the_suffix_names_the_format(form: TableFormat) -> None:
    assert format_of(None, Path(f"x.{form.value}")) is form
    assert format_of(None, Path(f"X.{form.value.upper()}")) is form
    assert format_of(TableFormat.csv, Path(f"x.{form.value}")) is TableFormat.csv


def test_without_a_file_it_is_a_table_and_an_unknown_suffix_names_those_there_are() -> None:
    assert format_of(None, None) is TableFormat.table
    for name in ("x.txt", "x", "x.xls"):
        with pytest.raises(ConfigError, match=r"\.json, \.csv, \.parquet, \.xlsx; or choose a format with --format"):
            format_of(None, Path(name))


def test_a_workbook_holds_numbers_and_texts() -> None:
    sql = "SELECT 1.5 AS d, 7 AS n, 'a' AS t, true AS b, NULL AS x, [1] AS l, 'inf'::FLOAT AS f"
    assert cells(sql) == [
        ["d", "n", "t", "b", "x", "l", "f"],
        [1.5, 7, "a", True, None, "[1]", "inf"],
    ]
    assert cells("SELECT 9007199254740993 AS n") == [["n"], ["9007199254740993"]]


@pytest.mark.parametrize(
    ("sql", "cell"),
    [
        ("DATE '2026-01-02'", datetime(2026, 1, 2)),
        ("TIMESTAMP '2026-01-02 03:04:05'", datetime(2026, 1, 2, 3, 4, 5)),
        ("TIMESTAMPTZ '2026-01-02 03:04:05+02'", datetime(2026, 1, 2, 1, 4, 5)),
        ("DATE '1899-12-31'", "1899-12-31"),
        ("DATE 'infinity'", "infinity"),
        ("'1970-01-01 00:00:00.000000001'::TIMESTAMP_NS", "1970-01-01 00:00:00.000000001"),
        ("'2026-01-02'", "2026-01-02"),
    ],
)
def test_a_workbook_holds_days_and_times_where_excel_has_them(sql: str, cell: object) -> None:
    assert cells(f"SELECT {sql} AS at") == [["at"], [cell]]


def test_a_column_of_times_is_as_wide_as_they_are() -> None:
    sql = "SELECT TIMESTAMP '2026-01-02 03:04:05' AS at UNION ALL SELECT NULL"  # narrower, Excel shows ####
    sheet = openpyxl.load_workbook(io.BytesIO(render(query({}, {}, sql), TableFormat.xlsx))).active
    assert sheet.column_dimensions["A"].width >= len(sheet["A2"].number_format)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "https://x.example", "\x1b[31m"]
)
def test_no_text_of_a_document_is_a_formula_or_a_link(text: str) -> None:
    book = openpyxl.load_workbook(
        io.BytesIO(render(query({}, {}, f"SELECT '{text.replace(chr(39), chr(39) * 2)}' AS t"), TableFormat.xlsx))
    )
    cell = book.active["A2"]
    assert (cell.data_type, cell.hyperlink) == ("s", None)
    assert cell.value in (text, text.replace("\x1b", "_x001B_"))


def test_a_text_too_long_for_a_cell_is_said_and_not_cut() -> None:
    with pytest.raises(QueryError, match=r"a cell of 40,000 characters in row 1; shorten it: left\(text, 32767\)"):
        render(query({}, {}, "SELECT repeat('x', 40000) AS t"), TableFormat.xlsx)


def test_without_the_extra_a_workbook_names_it() -> None:
    code = (
        "import sys; sys.modules['xlsxwriter'] = None; import pyarrow as pa;"
        "from docmill.flows.cli.terminal.table_formats import TableFormat, render;"
        "render(pa.table({'a': [1]}), TableFormat.xlsx)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'docmill[xlsx]'" in done.stderr
