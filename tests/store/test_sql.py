"""SQL over the tables, the ways out of its sandbox, and the views for other DuckDBs."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS, SCHEMAS
from docmill.storage.errors import QueryError, StoreError
from docmill.storage.snapshots.write.current_folder import prepare_folders
from docmill.storage.sql import sandbox
from docmill.storage.sql.derived_views import OF_QUERIES, OF_ROWS, OF_VECTORS
from docmill.storage.sql.statement import SqlLimits, Statement
from docmill.storage.sql.statement_pool import query, select_ids
from docmill.storage.sql.views import ViewedStore, views_sql


def rows(schema: pa.Schema, count: int, **columns: list[Any]) -> pa.Table:
    """Make `count` rows, empty or zero where `columns` say nothing."""

    def blank(kind: pa.DataType) -> Any:
        return "" if pa.types.is_string(kind) else [] if pa.types.is_list(kind) else 0

    data = {field.name: columns.get(field.name, [blank(field.type)] * count) for field in schema}
    return pa.table(data, schema=schema)


@dataclass(frozen=True)
class Shelf:
    """A folder of tables as a store has them, and a secret beside them."""

    root: Path

    @property
    def files(self) -> dict[str, list[Path]]:
        return {name: sorted((self.root / "current" / name).glob("*.parquet")) for name in SCHEMAS}

    @property
    def chunk_file(self) -> Path:
        return self.files["chunks"][0]

    @property
    def secret(self) -> Path:
        return self.root.parent / "secret.csv"

    def ask(self, sql: str, **limits: float) -> list[dict[str, Any]]:
        extra = {"snapshots": pa.table({"snapshot": [1, 2], "created": ["2027-01-14T02:00:00+00:00"] * 2})}
        found: list[dict[str, Any]] = query(self.files, extra, sql, SqlLimits(**limits)).to_pylist()  # type: ignore[arg-type]
        return found

    def ids(self, where: str) -> set[str]:
        return set(select_ids(self.files["chunks"], self.files["documents"], where, {}))

    def state(self) -> dict[str, str]:
        """Hash every file below the folder that holds the store."""
        files = (path for path in self.root.parent.rglob("*") if path.is_file())
        return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path / "store")
    folders = {name: made.root / "current" / name for name in SCHEMAS}
    for folder in folders.values():
        folder.mkdir(parents=True)
    pq.write_table(
        rows(CHUNKS, 3, chunk_id=["a", "b", "c"], document_id=["d1", "d1", "d2"], tokens=[10, 20, 30],
             content_type=["code", "narrative", "code"], headings=[["x"], [], ["x", "y"]]),
        folders["chunks"] / "part-0.parquet",
    )  # fmt: skip
    pq.write_table(rows(CHUNKS, 1, chunk_id=["d"], document_id=["d3"]), folders["chunks"] / "part-1.parquet")
    pq.write_table(
        rows(DOCUMENTS, 2, document_id=["d1", "d2"], title=["One", "Two"], content_type=["technical", "code"]),
        folders["documents"] / "part-0.parquet",
    )
    for name in SCHEMAS.keys() - {"documents", "chunks"}:
        pq.write_table(SCHEMAS[name].empty_table(), folders[name] / "part-0.parquet")
    made.secret.write_text("word\nxyzzy\n")
    before = made.state()
    yield made
    assert made.state() == before, "SQL wrote to the disk"


def test_the_tables_can_be_asked(shelf: Shelf) -> None:
    assert shelf.ask("SELECT content_type, count(*) AS n FROM chunks GROUP BY 1 ORDER BY ALL") == [
        {"content_type": "", "n": 1},
        {"content_type": "code", "n": 2},
        {"content_type": "narrative", "n": 1},
    ]
    committed = datetime(2027, 1, 14, 2, tzinfo=UTC)
    assert shelf.ask("FROM snapshots") == [{"snapshot": 1, "created": committed}, {"snapshot": 2, "created": committed}]
    joined = (
        "SELECT title, list_sum(list(tokens)) AS t FROM chunks JOIN documents USING (document_id) GROUP BY 1 ORDER BY 1"
    )
    assert shelf.ask(joined) == [{"title": "One", "t": 30}, {"title": "Two", "t": 30}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS n;",
        "SELECT 1 AS n -- why",
        "/* ; */ SELECT 1 AS n",
        "WITH x AS (SELECT 1 AS n) FROM x",
        "VALUES (1)",
    ],
)
def test_any_way_to_write_one_select_is_taken(shelf: Shelf, sql: str) -> None:
    assert [list(row.values()) for row in shelf.ask(sql)] == [[1]]


def test_the_order_that_is_asked_for_is_kept(shelf: Shelf) -> None:
    found = shelf.ask("SELECT hash(range) AS h FROM range(200000) ORDER BY h")
    assert found == sorted(found, key=lambda row: row["h"])


SHOWN_AS = {"created_at": "created_stated", "modified_at": "modified_stated"}  # `created` is the time, not the text


def test_tables_without_files_are_empty_and_have_their_columns() -> None:
    for name, schema in SCHEMAS.items():
        found = query({name: []}, {}, f"FROM {name}")
        derived = ["warnings"] if name == "documents" else []
        names = [SHOWN_AS.get(column, column) for column in schema.names]
        assert (found.num_rows, sorted(found.schema.names)) == (0, sorted([*names, *derived]))
    assert select_ids([], [], "tokens > 3", {}) == set()


def test_a_column_that_an_older_file_lacks_is_blank_and_not_null(shelf: Shelf) -> None:
    older = pq.read_table(shelf.chunk_file).drop_columns(["line", "strategy", "headings"])
    extra = shelf.root.parent / "older.parquet"
    pq.write_table(older, extra)
    found = query({"chunks": [extra, shelf.chunk_file]}, {}, "FROM chunks ORDER BY tokens, len(headings)")
    assert found.schema.names == CHUNKS.names
    rows = found.select(["line", "strategy", "headings", "tokens"]).to_pylist()
    assert rows[0] == {"line": 0, "strategy": "", "headings": [], "tokens": 10}
    assert rows[1] == {"line": 0, "strategy": "", "headings": ["x"], "tokens": 10}
    assert select_ids([extra], [], "line = 0 AND strategy = ''", {}) == {"a", "b", "c"}
    extra.unlink()


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT contnt_type FROM chunks", '"content_type"'),
        ("SELECT * FROM chunk", 'Did you mean "chunks"'),
        ("SELEC 1", "syntax error"),
        ("SELECT ?", "parameter"),
        ("", "got 0 statements"),
        ("SELECT 1; SELECT 2", "got 2 statements"),
        ("PIVOT chunks ON content_type USING count(*)", r"PIVOT t ON column IN \('a', 'b'\)"),
    ],
)
def test_a_wrong_statement_says_what_would_be_right(shelf: Shelf, sql: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        shelf.ask(sql)


def test_where_takes_columns_of_chunks_and_documents(shelf: Shelf) -> None:
    assert shelf.ids("content_type = 'code'") == {"a", "c"}
    assert shelf.ids("document_content_type = 'code'") == {"c"}
    assert shelf.ids("title = 'One' AND tokens < 15") == {"a"}
    assert shelf.ids("title IS NULL") == {"d"}
    assert shelf.ids("list_contains(chunks.headings, 'x') -- both") == {"a", "c"}
    assert shelf.ids("document_id IN (SELECT document_id FROM documents WHERE title = 'Two')") == {"c"}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("contnt_type = 'code'", '"content_type"'),
        ("tokens > 1) OR (true", "one SQL predicate"),
        ("true; DROP TABLE chunks", "one SQL predicate"),
        ("", "one SQL predicate"),
        ("title", "Could not convert string"),
    ],
)
def test_a_wrong_predicate_says_what_would_be_right(shelf: Shelf, where: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        shelf.ids(where)


def test_a_lost_file_is_an_error_of_the_store(shelf: Shelf) -> None:
    with pytest.raises(StoreError, match=r"part-9\.parquet is missing"):
        query({"chunks": [shelf.root / "part-9.parquet"]}, {}, "FROM chunks")


STATEMENTS = [
    "COPY chunks TO '{out}'",
    "COPY (SELECT 1) TO '{chunks}' (USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{chunks}' (USE_TMP_FILE false)",
    "EXPORT DATABASE '{out}'",
    "ATTACH '{out}' AS other",
    "ATTACH '{chunks}' AS other",
    "CREATE TABLE t AS FROM chunks",
    "INSERT INTO chunks SELECT * FROM chunks",
    "DROP VIEW chunks",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET memory_limit",
    "PRAGMA database_list",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{secret}'",
    "CREATE SECRET s (TYPE s3)",
    "CALL pragma_version()",
    "PREPARE p AS SELECT 1",
    "BEGIN",
    "CHECKPOINT",
    "SELECT 1; COPY chunks TO '{out}'",
]
SELECTS = [
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM '{chunks}'",
    "SELECT * FROM read_parquet('{chunks}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM parquet_schema('{chunks}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM 'https://example.com/x.parquet'",
    "SELECT * FROM 's3://bucket/x.parquet'",
    "SELECT * FROM query('FROM read_text(''{secret}'')')",
    "WITH x AS (COPY (SELECT 1) TO '{chunks}' (USE_TMP_FILE false)) SELECT 1",
    "WITH x AS (COPY chunks TO '{out}') SELECT 1",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
    "$$WITH x AS (COPY (SELECT 1) TO '{chunks}' (USE_TMP_FILE false)) SELECT 1$$))",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql($$FROM read_text('{secret}')$$))",
    "SELECT * FROM enable_logging(storage_path = '{out}')",
    "SELECT * FROM enable_profiling()",
    "SELECT getenv('HOME')",
    "SELECT * FROM xyzzy_of_the_caller",
    "SELECT * FROM read_duckdb('{out}')",
    "SELECT * FROM sqlite_scan('{secret}', 't')",
    "SELECT * FROM query_table('{chunks}')",
    "SELECT * FROM query_table(['{secret}'])",
    "SELECT * FROM chunks_at('{chunks}')",
    """SELECT * FROM chunks_at('" UNION ALL FROM read_text(''{secret}'') --')""",
    "SELECT * FROM chunks_at((SELECT content FROM read_text('{secret}')))",
    "CREATE MACRO chunks_at(n) AS TABLE FROM read_text('{secret}')",
    "WITH x AS (CREATE MACRO f() AS TABLE FROM read_text('{secret}')) SELECT 1",
]


@pytest.mark.parametrize("sql", [*STATEMENTS, *SELECTS])
def test_there_is_no_way_out_of_the_sandbox(shelf: Shelf, sql: str) -> None:
    xyzzy_of_the_caller = pa.table({"word": ["xyzzy"]})  # DuckDB can see its caller's variables
    assert xyzzy_of_the_caller.num_rows == 1
    places = {"out": shelf.root / "out", "chunks": shelf.chunk_file, "secret": shelf.secret, "folder": shelf.root}
    with pytest.raises(QueryError):
        shelf.ask(sql.format(**places))


@pytest.mark.parametrize("sql", [sql for sql in SELECTS if "{" in sql])
def test_there_is_no_way_out_of_a_predicate(shelf: Shelf, sql: str) -> None:
    places = {"out": shelf.root / "out", "chunks": shelf.chunk_file, "secret": shelf.secret, "folder": shelf.root}
    with pytest.raises(QueryError):
        shelf.ids(f"EXISTS ({sql.format(**places)})")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000000)",
        "SELECT count(*) FROM chunks, range(1000000000000) WHERE hash(range) = tokens",
    ],
)
def test_a_long_statement_is_stopped(shelf: Shelf, sql: str) -> None:
    with pytest.raises(QueryError, match=r"more than 0\.3 s"):
        shelf.ask(sql, seconds=0.3)


def test_a_large_statement_is_stopped(shelf: Shelf) -> None:
    with pytest.raises(QueryError, match="more than 100 MB"):
        shelf.ask("SELECT list(range || 'some text that is long') FROM range(20000000)", memory_mb=100)


def test_a_result_larger_than_the_limit_of_memory_is_stopped_on_its_way(shelf: Shelf) -> None:
    assert len(shelf.ask("SELECT range FROM range(100000)", memory_mb=100)) == 100_000
    with pytest.raises(QueryError, match="the result has more than 100 MB; ask for fewer rows or columns"):
        shelf.ask("SELECT range, range AS again FROM range(1000000000)", memory_mb=100)
    with pytest.raises(QueryError, match=r"ran for more than 0\.5 s"):
        shelf.ask("SELECT 1::TINYINT FROM range(1000000000) a, range(1000) WHERE a.range % 1000 = 0", seconds=0.5)
    with pytest.raises(QueryError, match="Could not convert string"):
        shelf.ask("SELECT CAST(CASE WHEN range > 90000 THEN 'x' ELSE '1' END AS INT) FROM range(100000)")


def test_nothing_outlives_a_statement(shelf: Shelf) -> None:
    for _ in range(2):
        with pytest.raises(QueryError):
            shelf.ask("SELECT * FROM t")
        with pytest.raises(QueryError):
            shelf.ask("CREATE TABLE t AS SELECT 1")


def command_line(script: Path, sql: str) -> str:
    """Run the DuckDB command line as a stranger would, in another folder."""
    tool = shutil.which("duckdb", path=str(Path(sys.executable).parent)) or shutil.which("duckdb")
    assert tool, "the development dependency duckdb-cli is not installed"
    command = [tool, "-init", str(script), "-csv", "-noheader", "-c", sql]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SNAPSHOT = """{
 "number": %d, "created": "2026-01-01", "run_id": "r", "space": {"token_limit": 256},
 "tables": {"documents": [{"rows": 2, "bucket": 0}, {"rows": 3, "bucket": 1}], "chunks": [], "rejects": [{"rows": 1}]},
 "vectors": {"table": "t", "version": 7, "rows": 5}, "keywords": {"segments": [{"rows": 1}, {"rows": 2}]}
}"""


@pytest.mark.parametrize("name", ["store", "a store", "it's", "year=2026", "[a]b", "what?", "a*b"])
def test_views_work_from_anywhere_and_in_any_folder(shelf: Shelf, tmp_path: Path, name: str) -> None:
    root = tmp_path / "moved" / name
    shutil.copytree(shelf.root, root)
    (root / "snapshots").mkdir()
    for number in (1, 2):
        (root / "snapshots" / f"{number:06d}.json").write_text(SNAPSHOT % number)
    prepare_folders(root)
    (root / "views.sql").write_text(views_sql(ViewedStore(root, "views.sql", 3, {})))
    assert command_line(root / "views.sql", "SELECT name FROM (SHOW TABLES)").split() == sorted(
        [
            *SCHEMAS,
            *OF_ROWS,
            *OF_QUERIES,
            *OF_VECTORS,
            "embeddings",
            "evaluations",
            "asked_questions",
            "judgements",
            "queries",
            "learned",
            "snapshots",
        ]
    )
    assert command_line(root / "views.sql", "SELECT sum(tokens), count(*) FROM chunks") == "60,4"
    assert command_line(root / "views.sql", "SELECT count(*) FROM rejects, runs, documents") == "0"
    assert command_line(root / "views.sql", "FROM snapshots").splitlines() == [
        f"{number},2026-01-01 00:00:00+00,r,5,0,1,7,2,0,256" for number in (1, 2)
    ]
    columns = command_line(root / "views.sql", "SELECT column_name FROM (DESCRIBE chunks)").split()
    assert columns == CHUNKS.names
    shutil.rmtree(tmp_path / "moved")


def test_views_show_what_current_shows(shelf: Shelf, tmp_path: Path) -> None:
    root = tmp_path / "live"
    shutil.copytree(shelf.root, root)
    (root / "snapshots").mkdir()
    (root / "snapshots" / "000001.json").write_text(SNAPSHOT % 1)
    script = tmp_path / "live" / "views.sql"
    prepare_folders(root)
    script.write_text(views_sql(ViewedStore(root, "views.sql", 3, {})))
    part = root / "current" / "chunks" / "part-1.parquet"
    part.unlink()
    assert command_line(script, "SELECT count(*) FROM chunks") == "3"
    shutil.rmtree(root)


def test_views_are_made_once_a_statement_may_name_them(shelf: Shelf) -> None:
    kept = sandbox.KeptConnections()

    def views_after(sql: str) -> set[str]:
        with sandbox.answered(Statement(sql, shelf.files), {}, kept) as (_, batches):
            assert [*batches]
        ((_, views),) = kept._kept.items()
        found = views.connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        return {name for (name,) in found if not name.startswith("stored_")}

    assert views_after("SELECT count(*) FROM Chunks") == {"chunks"}
    assert views_after("SELECT count(*) FROM lengths") == {"chunks", "documents", "lengths"}
    assert views_after("SELECT count(*) FROM query_table('rej' || 'ects')") >= {*shelf.files, "routing", "warnings"}
    kept = sandbox.KeptConnections()
    assert views_after("SELECT count(*) FROM information_schema.tables") >= {*shelf.files, "routing", "warnings"}


def test_a_connection_is_kept_for_statements_of_the_same_files_until_one_fails(shelf: Shelf) -> None:
    kept, extra = sandbox.KeptConnections(), {"snapshots": pa.table({"snapshot": [1], "created": ["2026"]})}
    count = Statement("SELECT count(*) FROM chunks", shelf.files)

    def connection(statement: Statement) -> int:
        with kept.connection(statement, extra) as opened:
            return id(opened)

    def answer(statement: Statement, more: dict[str, pa.Table] = extra) -> int:
        with sandbox.answered(statement, more, kept) as (_, batches):
            return int(next(batches).column(0)[0].as_py())

    first = connection(count)
    assert (answer(count), answer(replace(count, sql="SELECT max(snapshot) FROM snapshots"))) == (4, 1)
    newer = {"snapshots": pa.table({"snapshot": [7], "created": ["2027"], "run_id": ["r"]})}
    assert answer(replace(count, sql="SELECT max(snapshot) FROM snapshots"), newer) == 7
    assert connection(count) == first
    assert answer(replace(count, files={**shelf.files, "chunks": shelf.files["chunks"][:1]})) == 3
    assert connection(replace(count, limits=SqlLimits(seconds=3))) != first
    with pytest.raises(QueryError), sandbox.answered(replace(count, sql="SELECT nothing"), extra, kept):
        pass
    assert sandbox._key(count, extra) not in kept._kept
    assert answer(count) == 4
    place = shelf.chunk_file
    away = place.rename(shelf.root / "away")
    with pytest.raises(StoreError, match="missing"), kept.connection(count, extra):
        pass
    away.rename(place)
