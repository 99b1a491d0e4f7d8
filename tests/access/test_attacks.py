"""Attacks: what somebody asks who wants to know of hidden documents, over SQL, HTTP and MCP, and what they are told."""

import json
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from docmill.flows.serving.access import Access, TokenFile
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from docmill.storage.errors import DocmillError, QueryError
from docmill.storage.snapshots.read.store import Store, open_store
from tests.access.company import files, founded, visible
from tests.kit.workbench import Workbench
from tests.serving.http_server import running

pytestmark = pytest.mark.usefixtures("fake_model")

ASKER = ["all"]
TOKEN = "0123456789abcdef"
SECRETS = re.compile(
    r"zeppelin(?!100)\d|Only (sales|board|sealed)|sealed/|sales/|board/(?!public)|Vertrag", re.IGNORECASE
)
"""Words of documents that the asker may not see."""
OF_FILES = (
    "FROM read_parquet('{root}/tables/documents/*.parquet')",
    "FROM '{root}/tables/chunks/*.parquet'",
    "FROM read_text('{root}/snapshots/*')",
    "FROM read_blob('{root}/artifacts/texts/*')",
    "FROM read_csv('{root}/cache/*')",
    "FROM read_json('{root}/snapshots/*.json')",
    "FROM glob('{root}/**')",
    "FROM glob('/tmp/docmill-*/**')",
    "FROM parquet_metadata('{root}/tables/documents/*.parquet')",
    "FROM parquet_schema('{root}/tables/documents/*.parquet')",
    "FROM sniff_csv('{root}/docmill.toml')",
    "FROM read_text('/proc/self/environ')",
    "FROM query('FROM read_text(''/etc/passwd'')')",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''/etc/passwd'')'))",
    "WITH x AS (COPY (SELECT 1) TO '{root}/x.csv') SELECT 1",
    "COPY documents TO '{root}/x.csv'",
    "ATTACH '{root}/x.db' AS x",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET enable_external_access = true",
    "CALL enable_logging()",
    "EXPORT DATABASE '{root}/x'",
    "SELECT getenv('HOME')",
    "FROM arrow_scan(0::POINTER, 0::POINTER, 0::POINTER)",
    "FROM pandas_scan(0::POINTER)",
    "FROM duckdb_secrets(redact = false)",
)
"""Statements that read what is no table of the store."""
OF_ROWS = (
    "EXPLAIN SELECT * FROM documents",
    "EXPLAIN ANALYZE SELECT * FROM documents",
    "SUMMARIZE SELECT uri, chunks FROM documents",
    "DESCRIBE documents",
    "SHOW TABLES",
    "SELECT table_name, table_type FROM information_schema.tables ORDER BY ALL",
    "SELECT table_name, column_name FROM information_schema.columns ORDER BY ALL",
    "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
    "SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY ALL",
    "SELECT database_name, path FROM duckdb_databases() ORDER BY ALL",
    "SELECT count(*) FROM stored_documents",
    "SELECT uri FROM query_table('stored_chunks') ORDER BY ALL",
    "SELECT uri FROM documents_at(1) ORDER BY ALL",
    "SELECT uri FROM documents_at(0)",
    "SELECT uri FROM documents_at('1; DROP')",
    "SELECT uri FROM documents_at_31",
    "SELECT error(string_agg(text, ' ' ORDER BY chunk_id)) FROM chunks",
    "SELECT CAST(min(text) AS INTEGER) FROM chunks",
    "SELECT min(uri), max(uri), approx_count_distinct(uri) FROM documents",
    "SELECT count(*) FROM chunks WHERE regexp_matches(text, 'zeppelin[0-9]+')",
    "SELECT count(*) FROM deleted",
    "FROM judgements",
    "FROM evaluations",
    "FROM costs",
    "SELECT histogram(bar) FROM (SELECT bar(chunks, 0, 10) AS bar FROM documents)",
    "SELECT rowid FROM documents ORDER BY ALL",
)
WHERES = (
    "uri IN (SELECT uri FROM stored_documents)",
    "EXISTS (FROM read_text('/etc/passwd'))",
    "true) OR (true",
    "true) --",
    "CAST(uri AS INTEGER) > 0",
    "error(text) IS NULL",
    "access <> ['all']",
    "list_contains(access, 'board')",
    "metadata.team = 'sealed'",
    "metadata.colour = 'red'",
    "(SELECT count(*) FROM documents) > 20",
)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    return founded(tmp_path_factory.mktemp("company"), files())


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    return founded(tmp_path_factory.mktemp("alone"), visible(files(), ASKER))


@pytest.fixture(scope="module")
def both(company: Workbench, alone: Workbench) -> Iterator[tuple[Store, Store]]:
    with open_store(company.root, principals=ASKER) as narrowed, open_store(alone.root) as store:
        yield narrowed, store


def answer(store: Store, statement: str) -> Any:
    try:
        told = json.dumps(store.sql(statement).to_pylist(), default=str)
        return json.loads(re.sub(r"__duckdb_source_\w+", "", told))
    except DocmillError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("statement", OF_FILES)
def test_sql_reads_no_file_whoever_asks(both: tuple[Store, Store], company: Workbench, statement: str) -> None:
    found = answer(both[0], statement.format(root=company.root))
    assert isinstance(found, str), found
    assert found.startswith("QueryError")
    assert not SECRETS.search(found)
    assert not [*company.root.glob("x*")]
    assert answer(both[0], "SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize("statement", OF_ROWS)
def test_sql_tells_what_the_visible_documents_alone_tell(both: tuple[Store, Store], statement: str) -> None:
    found, truth = (answer(store, statement) for store in both)
    assert found == truth
    assert not SECRETS.search(re.sub(r"'zeppelin\[", "", json.dumps(found)))


def test_sql_has_no_rows_of_what_belongs_to_no_document(both: tuple[Store, Store]) -> None:
    for name in ("runs", "costs", "rejects", "deleted", "evaluations", "judgements"):
        assert both[0].sql(f"FROM {name}").num_rows == 0
    assert both[1].sql("FROM runs").num_rows == 1


@pytest.mark.parametrize("where", WHERES)
def test_conditions_tell_what_the_visible_documents_alone_tell(both: tuple[Store, Store], where: str) -> None:
    def asked(store: Store) -> Any:
        told: list[Any] = []
        for ask in (
            lambda: [hit.uri for hit in store.search("mill", k=50, where=where)],
            lambda: [row.uri for row in store.documents(where)],
            lambda: store.facets("team", where=where),
        ):
            try:
                told.append(ask())
            except QueryError as error:
                told.append(str(error))
        return told

    found, truth = map(asked, both)
    assert found == truth
    assert not SECRETS.search(json.dumps(found).replace("sealed'", ""))


def requests(company: Workbench) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield requests that try to be somebody else, or to name what is hidden."""
    hidden = next(row for row in company.chunks() if row.uri == "board/only-board.md")
    for name in ("principals", "principal", "access", "as", "token", "user"):
        yield "GET", f"/documents?limit=1000&{name}=board", {}
        yield "POST", "/search", {"json": {"query": "zeppelin300", name: ["board"]}}
    for head in ("X-Forwarded-User", "X-Remote-User", "X-Principals", "X-Original-URL", "Authorization2"):
        yield "POST", "/search", {"json": {"query": "zeppelin300", "k": 50}, "headers": {head: "board"}}
    for uri in ("board/only-board.md", "board%2Fonly-board.md", "open/../board/only-board.md", "./board/only-board.md",
                "BOARD/only-board.md", "board//only-board.md", "board/only-board.md%00", "absent.md"):  # fmt: skip
        yield "GET", f"/documents/{uri}", {}
        yield "GET", f"/outline?uri={uri}", {}
        yield "GET", f"/original?uri={uri}", {}
        yield "POST", "/trial", {"json": {"uri": uri, "strategy": "recursive", "options": {"size": 60}}}
    for chunk in (hidden.chunk_id, hidden.chunk_id.upper(), "0" * 32, "*", "' OR true --"):
        yield "GET", f"/chunks/{quote(chunk)}?before=50&after=50&parent=true", {}
        yield "GET", f"/near/{quote(chunk)}", {}
        yield "GET", f"/figures/{quote(chunk)}", {}
        yield "POST", "/judgements", {"json": {"query": "mill", "chunk_id": chunk, "relevant": True, "by": "eve"}}
    for uri in ("board/only-board.md", "absent.md"):
        yield "POST", "/judgements", {"json": {"query": "q", "uri": uri, "quotation": "Only", "relevant": True}}
    for at in ("0", "2", "-1", "x", "../1", "1"):
        yield "GET", f"/documents?limit=1000&at={at}", {}
        yield "GET", f"/diff/{quote(at, safe='')}/1?text=true", {}
        yield "POST", "/sql", {"json": {"query": f"SELECT uri FROM chunks_at('{at}') ORDER BY ALL", "max_rows": 1000}}
    for where in WHERES:
        yield "GET", f"/facets/team?query=mill&where={quote(where)}", {}
        yield "GET", f"/documents?limit=1000&where={quote(where)}", {}
    for facet in ("team", "tags", "access", "uri", "declared", "described", "colour"):
        yield "GET", f"/facets/{facet}", {}
    yield "GET", "/documents?prefix=board/&after=board/&limit=1000", {}
    yield "GET", "/openapi.json", {}
    yield "GET", "/status?store=other", {}
    yield "POST", "/search", {"json": {"query": "zeppelin300 Vertrag", "k": 100, "mode": "keyword"}}
    yield "POST", "/judgements/" + "0" * 32 + "/withdrawn", {}
    yield "GET", "/judgements", {}


_APART = re.compile(r'"(created|run_id|judgement_id|judged_at|at_time)": ?"[^"]*"|"(bytes|similarity)": ?[\d.e+-]+')
_MEASURED = re.compile(r"\d+\.\d{5,}")


def bare(told: httpx.Response, root: Path) -> tuple[int, str]:
    """Return an answer without what any two stores differ in."""
    text = _APART.sub("", told.text.replace(str(root), "STORE"))
    return told.status_code, _MEASURED.sub(lambda one: f"{float(one[0]):.4f}", text)


def test_http_tells_what_the_visible_documents_alone_tell(company: Workbench, alone: Workbench, tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({TOKEN: ASKER}))
    access = Access(port=0, tokens=TokenFile(path))
    head = {"Authorization": f"Bearer {TOKEN}"}
    apps = [
        http_app(OpenStores({"handbook": bench.root}, access.without_asker), Searching({}), access)
        for bench in (company, alone)
    ]
    with running(apps[0], access) as one, running(apps[1], access) as other, httpx.Client(timeout=60) as client:
        for method, where, more in requests(company):
            sent = {**more, "headers": {**head, **more.get("headers", {})}}
            told, truth = (client.request(method, url + where, **sent) for url in (one, other))
            assert bare(told, company.root) == bare(truth, alone.root), (where, more)
            echoed = json.dumps([where, more]) if told.status_code != 200 else ""
            assert echoed or not SECRETS.search(re.sub("zeppelin300( Vertrag)?", "", told.text)), (
                where,
                told.text[:500],
            )
        assert client.get(f"{one}/metrics", headers=head).status_code == 403
        assert client.get(f"{one}/documents").status_code == 401


@pytest.mark.soak
def test_a_search_for_a_hidden_word_takes_as_long_as_one_for_no_word(tmp_path: Path) -> None:
    often = {f"board/{number}.md": f"# {number}\n\n{'The zeppelin lands. ' * 40}" for number in range(400)}
    bench = founded(
        tmp_path, {**often, "board/_metadata.toml": 'access = ["board"]\n', "open.md": "# A\n\nThe mill.\n"}
    )

    def time_of(store: Store, word: str) -> float:
        began = time.perf_counter()
        store.search(word, mode="keyword")
        return time.perf_counter() - began

    with open_store(bench.root, principals=ASKER) as store:
        times = [(time_of(store, "zeppelin"), time_of(store, "qwertzui")) for _ in range(400)]
    hidden, absent = (statistics.median(column) for column in zip(*times, strict=True))
    assert hidden < 1.1 * absent
