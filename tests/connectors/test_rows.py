"""Rows of databases: each is a document, and only changed ones are read again."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.databases import databases
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions
from docmill.testing import SourceSuite
from tests.exports.postgres_server import postgres_server
from tests.kit.workbench import Workbench, summary

ALL = DiscoverOptions(may_be_empty=True)
MAKE = "CREATE TABLE tickets (id INTEGER, title TEXT, body TEXT, owner TEXT, url TEXT, changed TIMESTAMP)"
ROWS = [
    (1, "Gate", "The gate does not open.", "Ada", "https://desk.example.org/1", "2026-01-01 10:00:00"),
    (2, "Mill", "The mill grinds slowly.", "Ben", "https://desk.example.org/2", "2026-01-02 10:00:00"),
    (3, "Pond", "The pond is frozen.", "Eve", "https://desk.example.org/3", "2026-01-03 10:00:00"),
]
QUERY = "SELECT * FROM tickets -- all of them"
TABLE = {"query": QUERY, "text": "body", "title": "title", "link": "url"}
BY_TIME = {**TABLE, "updated_at": "changed"}


def fill(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute(MAKE)
        database.executemany("INSERT INTO tickets VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    database.close()


def run(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute(statement)
    database.close()


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    fill(tmp_path / "desk.db")
    return tmp_path / "desk.db"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows that each statement gave."""
    counts: list[int] = []
    rows = databases._Sqlite.rows

    def counted(self: Any, sql: str, values: Any = ()) -> Iterator[Any]:
        counts.append(0)
        for row in rows(self, sql, values):
            counts[-1] += 1
            yield row

    monkeypatch.setattr(databases._Sqlite, "rows", counted)
    return counts


def listed(table: dict[str, Any]) -> list[str]:
    found = open_source("sql://desk", {"desk": table}).list(ALL, Checkpoints()).found
    return [file.uri for file in found]


def test_only_changed_rows_are_read_again(desk: Path, bench: Callable[..., Workbench], asked: list[int]) -> None:
    work = bench(desk={"database": str(desk), **BY_TIME})
    assert summary(work.ingest("sql://desk")) == {"added": 3, "parsed": 3, "embedded": 3}
    assert asked == [3, 3]  # ids and times, and then the rows in one batch
    with work.store as store:
        rows = store.sql(
            "SELECT uri, title, source_url, metadata->'front_matter'->>'owner' AS owner FROM documents"
        ).to_pylist()
    assert {"uri": "desk/1.md", "title": "Gate", "source_url": ROWS[0][4], "owner": "Ada"} in rows
    asked.clear()
    assert work.ingest("sql://desk").snapshot is None
    assert asked == [3]
    run(desk, "UPDATE tickets SET body = 'The pond thaws.', changed = '2026-02-01 10:00:00' WHERE id = 3")
    asked.clear()
    assert summary(work.ingest("sql://desk")) == {"changed": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    assert asked == [3, 1]


def test_a_row_with_an_older_time_is_read_as_well(
    desk: Path, bench: Callable[..., Workbench], asked: list[int]
) -> None:
    work = bench(desk={"database": str(desk), **BY_TIME})
    work.ingest("sql://desk")
    run(desk, "UPDATE tickets SET body = 'The gate opens.', changed = '2025-01-01 10:00:00' WHERE id = 1")
    asked.clear()
    assert summary(work.ingest("sql://desk")) == {"changed": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    assert asked == [3, 1]


@pytest.mark.parametrize("time", ["NULL", "'2026-02-01 10:00:00'"])
def test_a_row_without_a_time_is_compared_by_content(
    desk: Path, bench: Callable[..., Workbench], asked: list[int], time: str
) -> None:
    run(desk, "UPDATE tickets SET changed = NULL WHERE id < 3")
    work = bench(desk={"database": str(desk), **BY_TIME})
    assert summary(work.ingest("sql://desk")) == {"added": 3, "parsed": 3, "embedded": 3}
    assert asked == [3, 2, 1]  # ids and times, the two rows without one, and the one that is new by its time
    assert work.ingest("sql://desk").snapshot is None
    run(desk, f"UPDATE tickets SET body = 'The gate opens.', changed = {time} WHERE id = 1")
    assert summary(work.ingest("sql://desk")) == {"changed": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    assert work.ingest("sql://desk").snapshot is None


def test_without_a_time_rows_are_compared_by_content(desk: Path, bench: Callable[..., Workbench]) -> None:
    work = bench(desk={"database": str(desk), **TABLE})
    assert work.ingest("sql://desk").documents.added == 3
    assert work.ingest("sql://desk").snapshot is None
    run(desk, "UPDATE tickets SET owner = 'Zoe' WHERE id = 2")
    assert work.ingest("sql://desk").documents.changed == 1


def test_a_row_that_is_gone_is_removed_and_an_error_removes_nothing(
    desk: Path, bench: Callable[..., Workbench]
) -> None:
    work = bench(desk={"database": str(desk), **BY_TIME})
    work.ingest("sql://desk")
    away = desk.rename(desk.with_suffix(".away"))
    with pytest.raises(SourceError, match=r"source 'sql://desk': database \S+ does not exist"):
        work.ingest("sql://desk", allow_delete=True)
    away.rename(desk)
    run(desk, "DELETE FROM tickets WHERE id = 1")
    with pytest.raises(SourceError, match="would lose 1 of 3"):
        work.ingest("sql://desk")
    assert work.ingest("sql://desk", allow_delete=True).documents.deleted == 1


@pytest.mark.parametrize(
    "link", ["n/a", "/tickets/2", "https://desk.example.org/a b", f"https://desk.example/{'x' * 3000}"]
)
@pytest.mark.parametrize("table", [TABLE, BY_TIME])
def test_a_link_that_is_no_url_stops_no_row(
    desk: Path, bench: Callable[..., Workbench], link: str, table: dict[str, str]
) -> None:
    run(desk, f"UPDATE tickets SET url = '{link}' WHERE id = 2")
    work = bench(desk={**table, "database": str(desk)})
    assert summary(work.ingest("sql://desk"))["added"] == 3
    with work.store as store:
        links = store.sql("SELECT source_url AS link FROM documents ORDER BY uri").column("link").to_pylist()
    assert links == ["https://desk.example.org/1", "", "https://desk.example.org/3"]


def test_bytes_are_text_only_in_the_column_of_the_text(desk: Path, bench: Callable[..., Workbench]) -> None:
    run(desk, "UPDATE tickets SET body = CAST(x'4772fcdf65' AS TEXT), owner = x'00ff' WHERE id = 1")
    run(desk, "UPDATE tickets SET body = CAST('Grüße.' AS BLOB), owner = x'00ff' WHERE id = 2")
    for table in (TABLE, BY_TIME):
        work = bench(desk={"database": str(desk), **table, "metadata": ["owner"]})
        work.ingest("sql://desk")
        with work.store as store:
            rows = store.sql(
                "SELECT metadata->'front_matter' AS front FROM documents WHERE uri < 'desk/3' ORDER BY 1"
            ).to_pylist()
        assert sorted(chunk.text for chunk in work.chunks())[:2] == ["Grüße.", "Gr��e"]
        assert [row["front"] for row in rows] == ['{"title":"Gate"}', '{"title":"Mill"}']


def test_files_of_a_folder_are_queried_and_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    pq.write_table(pa.table({"id": ["a", "b"], "text": ["An owl.", "A kite."]}), folder / "birds.parquet")
    (folder / "fish.csv").write_text("id,text\nx,A pike.\n")
    (tmp_path / "secret.csv").write_text("id,text\ns,Secret.\n")
    for updated in ({}, {"updated_at": "text"}):
        table = {"database": str(folder), **updated}
        assert listed({**table, "query": "FROM 'birds.parquet'"}) == ["desk/a.md", "desk/b.md"]
        assert listed({**table, "query": "SELECT * FROM 'fish.csv';"}) == ["desk/x.md"]
        for path in (tmp_path / "secret.csv", "../secret.csv", "https://example.org/x.csv"):
            with pytest.raises(SourceError, match=r"source 'sql://desk': exports: "):
                listed({**table, "query": f"SELECT * FROM '{path}'"})


def test_a_duckdb_file_is_read_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "birds.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE birds AS SELECT 'owl' AS id, 'It hoots.' AS text, TIMESTAMP '2026-01-01' AS at")
    table = {"database": str(path), "query": "SELECT * FROM birds", "updated_at": "at"}
    assert listed(table) == ["desk/owl.md"]
    for attack in ("DELETE FROM birds", f"SELECT 1) AS x; COPY birds TO '{tmp_path}/out.csv'; SELECT * FROM (SELECT 2"):
        with pytest.raises(SourceError, match=r"birds\.duckdb: "):
            listed({**table, "query": attack})
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"text": "txt"}, ConfigError, r"no column 'txt' \(text\); it gives id, title, body, owner, url, changed"),
        ({"id": "key"}, ConfigError, r"no column 'key' \(id\)"),
        ({"id": "key", "updated_at": "changed"}, SourceError, r"desk\.db: no such column: your_query\.key"),
        ({"metadata": ["x"]}, ConfigError, r"no column 'x' \(metadata\)"),
        ({"query": "SELECT * FROM tickets UNION ALL SELECT * FROM tickets"}, SourceError, "gives the id 1 twice"),
        ({"query": "SELEKT"}, SourceError, r"desk\.db: no such table: SELEKT"),
        ({"query": "DELETE FROM tickets"}, SourceError, r"desk\.db: near .DELETE.: syntax error"),
        ({"query": "SELECT NULL AS id, 'x' AS body, '' AS url, '' AS title"}, SourceError, "a row without id"),
        ({"database": "oracle://host/x"}, ConfigError, "oracle:// is not read; give postgresql://…, mysql://…, a file"),
        ({"database": "postgresql://me:secret@host/x"}, ConfigError, "leave the password out of `database`"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    desk: Path, more: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        listed({"database": str(desk), **TABLE, **more})
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_asked_again() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(Transient, match=r"source 'sql://desk': PostgreSQL: connection failed"):
        listed({"database": "postgresql://127.0.0.1:1/x", **TABLE})


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with postgres_server() as address:
        yield address


def statements(address: str) -> list[str]:
    """Return the statements on tickets that the server has logged."""
    log = Path(address.partition("host=")[2].partition("&")[0]) / "log"
    lines = log.read_text("utf-8", "replace").splitlines()
    return [line for line in lines if "DECLARE" in line]


def test_postgresql_is_asked_for_what_changed_alone(postgres: str, bench: Callable[..., Workbench]) -> None:
    import psycopg

    def change(statement: str) -> None:
        with psycopg.connect(postgres) as connection:
            connection.execute(statement)

    change(MAKE)
    change("ALTER DATABASE postgres SET log_statement = 'all'")
    for row in ROWS:
        change(f"INSERT INTO tickets VALUES {row}")
    work = bench(desk={"database": postgres, **BY_TIME, "query": "SELECT * FROM tickets WHERE body LIKE '%'"})
    assert work.ingest("sql://desk").documents.added == 3
    first = len(statements(postgres))
    assert first == 2
    assert work.ingest("sql://desk").snapshot is None
    assert len(statements(postgres)) == first + 1
    change("UPDATE tickets SET body = 'The pond thaws.', changed = '2026-02-01' WHERE id = 3")
    assert summary(work.ingest("sql://desk")) == {"changed": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    assert len(statements(postgres)) == first + 3
    with pytest.raises(SourceError, match=r"PostgreSQL: relation .nothing. does not exist"):
        listed({"database": postgres, **TABLE, "query": "SELECT * FROM nothing"})
    with pytest.raises(Transient, match="statement timeout; raise `timeout_s`"):
        listed({"database": postgres, **TABLE, "query": "SELECT pg_sleep(9)", "timeout_s": 0.05})
    with pytest.raises(ConfigError, match="does not exist; correct `database`"):
        listed({"database": postgres.replace("/postgres?", "/other?"), **TABLE})


class TestRows(SourceSuite):
    """The properties of all sources, with rows known by their time."""

    source = "sql://desk"
    updated: ClassVar[dict[str, str]] = {"updated_at": "changed"}

    @pytest.fixture(autouse=True)
    def _fill(self, desk: Path) -> None:
        self._desk = desk

    def table(self) -> dict[str, Any]:
        return {"database": str(self._desk), **TABLE, **self.updated}


class TestRowsByContent(TestRows):
    """The properties of all sources, with rows known by their content."""

    updated: ClassVar[dict[str, str]] = {}


@pytest.mark.parametrize("more", [{}, {"updated_at": "changed"}], ids=["compared", "by time"])
def test_a_column_says_who_may_see_a_row_and_a_change_of_it_reads_nothing_again(
    desk: Path, bench: Callable[..., Workbench], more: dict[str, str]
) -> None:
    run(desk, "ALTER TABLE tickets ADD COLUMN readers TEXT")
    run(desk, 'UPDATE tickets SET readers = \'["board", "sales"]\' WHERE id = 1')
    run(desk, "UPDATE tickets SET readers = '' WHERE id = 2")
    work = bench(desk={"database": str(desk), **TABLE, **more, "access": "readers"})
    work.settings["access"] = {"default": ["staff"]}

    def access() -> dict[str, tuple[str, ...]]:
        return {row.uri: row.access for row in work.store.documents()}

    work.ingest("sql://desk")
    assert access() == {"desk/1.md": ("board", "sales"), "desk/2.md": (), "desk/3.md": ("staff",)}
    for said, found in (("sales, board", ("board", "sales")), ("[3", ()), ("{}", ("{}",)), ("[[]]", ("[]",))):
        run(desk, f"UPDATE tickets SET readers = '{said}' WHERE id = 2")
        report = work.ingest("sql://desk")
        assert (report.parsed, report.embedded, report.documents.changed) == (0, 0, 1)
        assert access()["desk/2.md"] == found
    assert "readers" not in work.store.document("desk/2.md").text
    with pytest.raises((ConfigError, SourceError), match="reader"):
        bench(desk={"database": str(desk), **TABLE, **more, "access": "reader"}).ingest("sql://desk")
