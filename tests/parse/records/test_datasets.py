"""Databases, tables of columns, calendars and address books: bounds, damage, and what is not read."""

from collections.abc import Callable

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.records.data_files import MAX_ROWS
from docmill.tasks.parse.signatures import INSTEAD
from tests.kit.making.make_golden import FOLDER
from tests.kit.writers import datasets

WRITERS: dict[str, Callable[[], bytes]] = {
    "sqlite": datasets.sqlite_file,
    "parquet": datasets.parquet_file,
    "arrow": datasets.arrow_file,
    "dbf": datasets.dbase_file,
}
TEXTS = {"ics": FOLDER / "ics" / "mill.ics", "vcf": FOLDER / "vcf" / "board.vcf", "emlx": FOLDER / "emlx" / "gate.emlx"}


def read(form: str, data: bytes, options: ParseOptions | None = None) -> Parsed:
    return parse(data, FileType(form), options or ParseOptions())


@pytest.mark.parametrize("form", WRITERS)
def test_a_file_is_known_without_its_name(form: str) -> None:
    assert detect_file_type("data", WRITERS[form]()) == FileType(form)


@pytest.mark.parametrize("form", TEXTS)
def test_a_text_is_known_without_its_name(form: str) -> None:
    assert detect_file_type("data", TEXTS[form].read_bytes()) == FileType(form)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_table_of_columns_that_is_cut_off_is_corrupt(form: str, share: float) -> None:
    whole = WRITERS[form]()
    with pytest.raises(Rejected, match="corrupt"):
        read(form, whole[: int(share * len(whole))])


def test_records_that_are_missing_are_counted() -> None:
    parsed = read("dbf", datasets.dbase_file()[:-30])
    assert parsed.metadata["missing_rows"] == 2
    assert "KS-01" in parsed.text


def test_a_damaged_database_keeps_the_tables_that_can_be_read() -> None:
    whole = datasets.sqlite_file()
    parsed = read("sqlite", whole[:512] + b"\xff" * 512 + whole[1024:])  # the page of the first table
    assert "This table cannot be read: database disk image is malformed" in parsed.text
    assert "| KS-01 | The mast" in parsed.text
    with pytest.raises(Rejected, match="corrupt: cannot be read as sqlite"):
        read("sqlite", whole[: len(whole) // 2])


@pytest.mark.parametrize("form", TEXTS)
def test_a_text_that_is_cut_off_keeps_what_it_has(form: str) -> None:
    whole = TEXTS[form].read_bytes()
    assert read(form, whole[: 2 * len(whole) // 3]).elements


def test_a_long_table_says_how_many_rows_it_has() -> None:
    parsed = read("parquet", datasets.parquet_file(MAX_ROWS))
    assert f"The first {MAX_ROWS} of {3 * MAX_ROWS} rows." in parsed.text
    assert parsed.metadata["rows"] == 3 * MAX_ROWS
    assert len(parsed.elements[-1].attributes["cells"]) == MAX_ROWS + 1


def test_a_table_larger_than_allowed_is_rejected() -> None:
    with pytest.raises(Rejected, match="too_large: the table unpacks to"):
        read("parquet", datasets.parquet_file(), ParseOptions(max_unpacked_bytes=100))
    with pytest.raises(Rejected, match="too_large: a table holds more characters than the limit, 10"):
        read("sqlite", datasets.sqlite_file(), ParseOptions(max_characters=10))


def test_a_view_without_end_is_stopped_and_named() -> None:
    import sqlite3
    from contextlib import closing

    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(f"CREATE TABLE one (a); INSERT INTO one VALUES (7); CREATE VIEW two AS {endless}")
        data = bytes(database.serialize())
    parsed = read("sqlite", data)
    assert "| 7 |" in parsed.text
    assert "This view cannot be read: interrupted" in parsed.text


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"ITSF" + bytes(60), "chm"), (b"\xffWPC" + bytes(60), "wordperfect")],
)
def test_other_kinds_are_rejected_with_what_would_be_read(data: bytes, kind: str) -> None:
    with pytest.raises(Rejected) as why:
        detect_file_type("data", data)
    assert why.value.message.startswith(INSTEAD[kind])


@pytest.mark.parametrize(
    ("text", "read_as", "rest"),
    [
        ('{"a": "oak", "b": ["x", "y', "a: oak\nb: x", '"y'),
        ('{"a": "oak", "b": {"c": 1 "d": 2}}', "a: oak\nb.c: 1", '"d": 2}}'),
        ('[{"a": 1}, {"a": nonsense}]', "a: 1", "nonsense"),
    ],
)
def test_what_can_be_read_of_damaged_json_is(text: str, read_as: str, rest: str) -> None:
    parsed = read("json", text.encode())
    assert parsed.text.startswith(read_as)
    assert rest in parsed.text
    assert str(parsed.metadata["damaged"]).startswith("not JSON from line 1 on: ")


def test_json_that_is_damaged_at_once_is_corrupt() -> None:
    with pytest.raises(Rejected, match="corrupt: not JSON"):
        read("json", b"{oak: 1}")


def test_entities_that_xml_does_not_declare_are_those_of_html_or_stand_as_written() -> None:
    parsed = read(
        "xml",
        b"<book><title>Mills &mdash; and more</title><p>Tea &amp; oak &unknown; here, &nbsp;all of it.</p></book>",
    )
    assert "Mills \u2014 and more" in parsed.text
    assert "Tea & oak &unknown; here, all of it." in parsed.text


def test_a_stream_of_arrow_is_read_as_a_file_is() -> None:
    import pyarrow

    table, sink = pyarrow.table({"part": ["gate", "wheel"], "kg": [140, None]}), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    assert detect_file_type("a.arrows", data) == FileType("arrow")
    assert "| gate | 140 |\n| wheel |  |" in parse(data, FileType("arrow"), ParseOptions()).text
