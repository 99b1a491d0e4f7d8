"""Times that documents state are compared as points in time, wherever one asks, and their texts are kept."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.read.facets import facet_counts
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.current_folder import publish
from docmill.storage.timestamps import INSTANT, instant, instants, with_instants
from docmill.tasks.parse.metadata import as_date
from tests.kit.drawing import examples
from tests.kit.workbench import Workbench
from tests.store.files.test_growth import age

pytestmark = pytest.mark.usefixtures("fake_model")

MAIL = "From: a@x.org\nTo: b@x.org\nSubject: {0}\nDate: {1}\nContent-Type: text/plain\n\nzebra {0} mail\n"
FRONT = "---\ncreated: {}\n---\n\n# Note\n\nA zebra note.\n"
DOCUMENTS = {
    "early.eml": MAIL.format("early", "Thu, 14 Jan 2027 01:00:00 +0000"),
    "later.eml": MAIL.format("later", "Wed, 13 Jan 2027 23:30:00 -0500"),
    "day.md": FRONT.format("2027-01-14"),
    "naive.md": FRONT.format("2027-01-14 03:00:00"),
    "year.md": FRONT.format("2027"),
    "never.md": "# Never\n\nA zebra without a date.\n",
}
ORDER = ["year.md", "day.md", "early.eml", "naive.md", "later.eml", "never.md"]
STATED = {
    "early.eml": "2027-01-14T01:00:00+00:00",
    "later.eml": "2027-01-13T23:30:00-05:00",
    "day.md": "2027-01-14",
    "naive.md": "2027-01-14T03:00:00",
    "year.md": "2027",
    "never.md": "",
}
FROM_TWO = ["later.eml", "naive.md"]
SAME_TIME = ("2027-01-14T02:00:00", "2027-01-14 02:00", "2027-01-14T04:00:00+02:00", "2027-01-13T21:00:00-05:00")
OFFSETS = st.timedeltas(timedelta(hours=-14), timedelta(hours=14)).map(
    lambda some: timezone(timedelta(minutes=some // timedelta(minutes=1)))
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    bench = Workbench(tmp_path_factory.mktemp("made"))
    bench.write(DOCUMENTS)
    bench.ingest()
    return bench


@pytest.fixture(params=["today's", "an older docmill's"])
def bench(made: Workbench, tmp_path: Path, request: pytest.FixtureRequest) -> Workbench:
    """A store whose documents have instants, and one whose documents have only the texts."""
    copy = made.copy(tmp_path)
    if request.param != "today's":
        age(copy.root, {"documents": ["created_at", "modified_at"]})
        publish(open_folder(copy.root).read())
    return copy


def in_views(bench: Workbench, statement: str) -> list[str]:
    """Return the first column of a statement on the views of a store, in a DuckDB that was set to another time zone."""
    with closing(duckdb.connect()) as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        connection.execute(f"SET VARIABLE docmill_store = '{bench.root}'")
        connection.execute((bench.root / "views.sql").read_text())
        return [row[0] for row in connection.execute(statement).fetchall()]


def in_sql(bench: Workbench, statement: str) -> list[str]:
    with bench.store as store:
        found: list[str] = store.sql(statement).column(0).to_pylist()
        return found


def test_documents_are_in_the_order_of_time(bench: Workbench) -> None:
    for ask in (in_sql, in_views):
        assert ask(bench, "SELECT uri FROM documents ORDER BY created, uri") == ORDER
        assert ask(bench, "SELECT uri FROM documents_at(1) ORDER BY created, uri") == ORDER
        assert ask(bench, "SELECT uri FROM freshness ORDER BY stated, uri") == ORDER


@pytest.mark.parametrize("time", SAME_TIME)
def test_a_time_of_any_offset_is_compared_alike_at_every_door(bench: Workbench, time: str) -> None:
    where = f"created >= '{time}'"
    for ask in (in_sql, in_views):
        assert ask(bench, f"SELECT uri FROM documents WHERE {where} ORDER BY uri") == FROM_TWO
    with bench.store as store:
        assert [row.uri for row in store.documents(where)] == FROM_TWO
        assert sorted(hit.uri for hit in store.search("zebra", k=10, where=where)) == FROM_TWO
        store.export(bench.folder / "rows.jsonl", where=where)
    rows = map(json.loads, (bench.folder / "rows.jsonl").read_text().splitlines())
    assert sorted({row["uri"] for row in rows}) == FROM_TWO


def test_the_stated_text_is_kept_beside_the_time(bench: Workbench) -> None:
    with bench.store as store:
        rows = store.sql("SELECT uri, created, created_stated FROM documents").to_pylist()
        assert {row["uri"]: row["created_stated"] for row in rows} == STATED
        assert {row["uri"]: row["created"] for row in rows} == {uri: instant(text) for uri, text in STATED.items()}
        assert store.sql("SELECT created FROM documents").schema.field("created").type == INSTANT
        assert {row.uri: row.created for row in store.documents()} == STATED


def test_facets_count_by_the_year_in_utc(made: Workbench, tmp_path: Path) -> None:
    bench = made.copy(tmp_path)
    bench.write({"eve.eml": MAIL.format("eve", "Thu, 31 Dec 2026 23:30:00 -0500")})
    bench.ingest()
    with bench.store as store:
        (years,) = ([one["chunks"] for one in facet_counts(store.stored) if one["value"] == "2027"],)
        assert years == [6]
        assert "eve.eml" in in_sql(bench, "SELECT uri FROM documents WHERE year(created) = 2027")


def test_the_next_commit_writes_the_times_of_an_older_docmill(made: Workbench, tmp_path: Path) -> None:
    bench = made.copy(tmp_path)
    age(bench.root, {"documents": ["created_at", "modified_at"]})
    bench.write({"new.md": FRONT.format("2028-01-01")})
    bench.ingest()
    table = read_table(open_folder(bench.root).read(), "documents")
    (path,) = (bench.root / "current" / "documents").iterdir()
    assert pq.read_schema(path).field("created_at").type == INSTANT
    found = dict(zip(table.column("uri").to_pylist(), table.column("created_at").to_pylist(), strict=True))
    assert found == {uri: instant(text) for uri, text in {**STATED, "new.md": "2028-01-01"}.items()}


TEXTS = st.one_of(
    st.datetimes(timezones=st.one_of(st.none(), st.just(UTC), OFFSETS)).map(
        lambda time: time.isoformat(timespec="seconds")
    ),
    st.dates().map(str),
    st.dates().map(lambda day: str(day)[:7]),
    st.dates().map(lambda day: str(day)[:4]),
    st.text(max_size=12),
    st.sampled_from(["", "2027-13-01", "2027-02-30", "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-10:00"]),
)


@examples(50)
@given(st.lists(TEXTS.map(as_date), min_size=1, max_size=20))
def test_sql_makes_the_same_of_a_text_as_python(texts: list[str]) -> None:
    nothing = pa.nulls(len(texts), INSTANT)
    column = pa.array(texts, pa.string())
    table = pa.table({"created_at": nothing, "modified_at": nothing, "created": column, "modified": column})
    with closing(duckdb.connect()) as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        connection.register("rows_of_a_store", table)
        found = connection.sql(f"SELECT epoch_us(created) FROM ({with_instants('FROM rows_of_a_store')})").fetchall()
    ours = instants(pa.chunked_array([column])).cast(pa.int64()).to_pylist()
    assert [one for (one,) in found] == ours


def test_a_time_beyond_the_years_of_python_is_null() -> None:
    assert instant("0001-01-01T00:00:00+05:00") is None
    assert instant("0001-01-01T00:00:00+00:00") == datetime(1, 1, 1, tzinfo=UTC)
    assert instant("9999-12-31T23:59:59-10:00") is None
