"""What SQL gives, written for people and machines: every type of DuckDB's, in every format."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docmill.flows.cli.terminal.output import write_output
from docmill.flows.cli.terminal.table_formats import TableFormat, render
from docmill.storage.errors import QueryError
from docmill.storage.sql.python_values import columns_of
from docmill.storage.sql.statement_pool import query

ODD = "DATE 'infinity' AS d, make_timestamp_ns(1) AS t, INTERVAL '2 days' AS i, true AS b, [NULL, 1] AS l"


def written(sql: str, form: TableFormat) -> str:
    return render(query({}, {}, sql), form).decode()


def test_columns_are_values_that_every_format_has_a_word_for() -> None:
    sql = (
        "SELECT DATE '0044-03-15 (BC)' AS a, make_timestamp_ns(1) AS a, {'m': MAP {'k': DATE '2026-01-02'}} AS s,"
        " 5::HUGEINT AS h, '\\xAA'::BLOB AS b, NULL::DATE AS n FROM range(2)"
    )
    found = columns_of(query({}, {}, sql))
    assert [column[0] for column in found] == [
        "0044-03-15 (BC)", "1970-01-01 00:00:00.000000001", {"m": {"k": "2026-01-02"}}, 5, "aa", None,
    ]  # fmt: skip
    assert [len(column) for column in found] == [2] * 6
    assert columns_of(query({}, {}, "SELECT DATE '2026-01-02' AS d WHERE false")) == [[]]


def test_the_process_that_shows_rows_does_not_load_duckdb() -> None:
    """Loaded there, it prints a line for each of its leaks when the process ends."""
    code = (
        "import sys; from docmill.storage.sql.python_values import columns_of\n"
        "from docmill.storage.sql.statement_pool import query\n"
        f"assert columns_of(query({{}}, {{}}, {f'SELECT {ODD}'!r}))[4] == [[None, 1]]\n"
        "assert 'duckdb' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_values_that_python_lacks_are_written_as_sql_does() -> None:
    words = ["infinity", "1970-01-01 00:00:00.000000001", "2 days"]
    assert written(f"SELECT {ODD}", TableFormat.table).splitlines()[2].split("  ") == [*words, "true", "[null, 1]"]
    assert written(f"SELECT {ODD}", TableFormat.csv).splitlines()[1] == ",".join([*words, "true", '"[null, 1]"'])
    assert list(json.loads(written(f"SELECT {ODD}", TableFormat.json))[0].values()) == [*words, True, [None, 1]]


def test_sums_and_decimals_are_numbers() -> None:
    sql = "SELECT sum(n) AS n, 1.50 AS d FROM range(4) t(n)"
    assert written(sql, TableFormat.json) == '[{"n": 6, "d": 1.5}]\n'
    assert written(sql, TableFormat.table).splitlines() == ["n     d", "─  ────", "6  1.50"]
    assert written(sql, TableFormat.csv) == "n,d\n6,1.50\n"


def test_parquet_says_what_it_cannot_hold() -> None:
    with pytest.raises(QueryError, match=r"parquet cannot hold a column .*interval.*; cast it"):
        written(f"SELECT {ODD}", TableFormat.parquet)


def test_an_output_is_its_users_alone_and_a_link_stays_one(tmp_path: Path) -> None:
    write_output(tmp_path / "page.html", b"one")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600
    (tmp_path / "page.html").chmod(0o644)
    (tmp_path / "link").symlink_to("page.html")
    write_output(tmp_path / "link", b"two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "page.html").read_bytes() == b"two"
    write_output(tmp_path / "page.html", b"three")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o644  # its user has opened it
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_output(tmp_path / "pipe", b"four")
    assert os.read(reader, 9) == b"four"
    os.close(reader)
