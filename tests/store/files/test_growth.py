"""A store that an older docmill wrote opens, answers and takes an ingest: columns only come."""

import json
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docmill.storage.arrow_schema import CHUNKS, SCHEMAS
from docmill.storage.errors import StoreError
from docmill.storage.files import hash_file
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import EVERYONE
from docmill.storage.schema_evolution import blank, blank_sql, conform
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.artifacts.packs import FIGURES, TEXTS
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.tables.tables import read_table
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")

FIXTURES = Path(__file__).parents[2] / "fixtures"
RELEASES = sorted(FIXTURES.glob("store-format-*.tar.gz"))
DOCUMENTS = {"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n", "empty.txt": ""}
OLDER = {
    "chunks": ["line", "headings", "strategy"],
    "documents": ["metadata", "language", "created_at", "modified_at"],
    "runs": ["parsed"],
}


def age(root: Path, lacking: Mapping[str, Sequence[str]]) -> None:
    """Take columns out of every table of a store, as if a docmill that had none of them had written it."""
    for path in (root / "snapshots").iterdir():
        state = json.loads(path.read_bytes())
        for name, columns in lacking.items():
            for piece in state["tables"][name]:
                file = root / piece["file"]["path"]
                pq.write_table(pq.read_table(file, partitioning=None).drop_columns(list(columns)), file)
                digest = hash_file(file)
                file.rename(file.with_name(f"{digest}.parquet"))
                piece["file"] = {"path": f"tables/{name}/{digest}.parquet", "bytes": 0, "hash": digest}
                piece["file"]["bytes"] = (root / piece["file"]["path"]).stat().st_size
        state["keywords"]["analyser"] = 1  # of a time when the index knew no fields such as headings
        path.write_text(json.dumps(state | {"columns": ""}))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    bench = Workbench(tmp_path_factory.mktemp("made"))
    bench.write(dict(DOCUMENTS))
    bench.ingest()
    age(bench.root, OLDER)
    return bench


@pytest.fixture
def aged(made: Workbench, tmp_path: Path) -> Workbench:
    return made.copy(tmp_path)


def test_a_reader_finds_blanks_where_an_older_file_has_no_column(aged: Workbench) -> None:
    table = read_table(open_folder(aged.root).read(), "chunks")
    assert table.schema.equals(CHUNKS)
    assert set(table.column("line").to_pylist()) == {0}
    assert table.column("headings").to_pylist() == [[], []]
    assert aged.store.search("red knob", k=1)[0].headings == ()
    assert aged.store.document("guide.md").row.metadata == ""
    asked = "SELECT DISTINCT language, metadata FROM documents UNION ALL SELECT DISTINCT strategy, uri[:0] FROM chunks"
    assert aged.store.sql(asked).to_pylist() == 2 * [{"language": "", "metadata": ""}]
    assert verify(aged.root, deep=True) == []


def test_the_first_commit_brings_every_file_to_todays_columns(aged: Workbench) -> None:
    aged.write({"new.txt": "Something new.\n"})
    aged.ingest()
    for name, schema in SCHEMAS.items():
        for path in (aged.root / "current" / name).iterdir():
            assert pq.read_schema(path).equals(schema), f"a plain glob over current/{name} finds two schemas"
    assert verify(aged.root, deep=True) == []
    assert open_store(aged.root, at=1).search("knob", k=1)[0].uri == "guide.md"


def test_a_commit_by_the_same_docmill_rewrites_nothing(aged: Workbench) -> None:
    aged.write({"new.txt": "Something new.\n"})
    aged.ingest()
    before = aged.files("chunks")
    (aged.docs / "new.txt").touch()
    assert aged.ingest().snapshot is None
    assert aged.files("chunks") == before


def test_a_document_of_an_older_store_can_move_without_work(aged: Workbench) -> None:
    (aged.docs / "guide.md").rename(aged.docs / "manual.md")
    assert summary(aged.ingest()) == {"moved": 1, "unchanged": 1, "rejected": 1}


def test_a_column_that_only_a_newer_docmill_knows_is_refused_and_not_lost() -> None:
    newer = pa.table({"chunk_id": ["a"], "mood": ["good"]})
    with pytest.raises(StoreError, match="newer docmill wrote the columns mood"):
        conform(newer, CHUNKS)


@pytest.mark.parametrize("field", [field for schema in SCHEMAS.values() for field in schema], ids=lambda f: f.name)
def test_every_column_has_a_blank(field: pa.Field) -> None:
    assert blank(field) in ("", 0, [], [EVERYONE], None)


def test_staged_batches_with_other_columns_are_swept(aged: Workbench) -> None:
    folder = aged.root / staging.FOLDER / "run" / "batch-00000"
    tables = {"documents": staging.DOCUMENTS, "chunks": staging.DRAFTS, "texts": TEXTS, "figures": FIGURES}
    staging.write_batch(folder, *(schema.empty_table() for schema in tables.values()))
    assert staging.take_over(aged.root)
    assert len(staging.batches(aged.root)) == 1
    chunks = staging.DRAFTS.empty_table().drop_columns(["line"])
    pq.write_table(chunks, folder / "chunks.parquet")
    assert staging.take_over(aged.root)
    assert staging.batches(aged.root) == []


def check_columns_of_today(bench: Workbench) -> None:
    """The first snapshot has today's columns in SQL, here and in any DuckDB; no page is null."""
    here = bench.store.sql("SELECT uri, start_char, end_char, page FROM chunks_at(1) ORDER BY ALL").to_pylist()
    with closing(duckdb.connect()) as connection:
        connection.execute((bench.root / "views.sql").read_text())
        asked = "SELECT uri, start_char, end_char, page FROM chunks_at(1) ORDER BY ALL"
        assert connection.sql(asked).to_arrow_table().to_pylist() == here
        regions = "SELECT unnest(regions, recursive := true) FROM documents_at(1)"
        found = connection.sql(regions).to_arrow_table()
    assert {row["page"] for row in here} == {None}
    assert {"start_char", "end_char"} <= {*found.column_names}
    assert found.column("end_char").null_count == 0
    assert bench.store.sql("SELECT start_char FROM routing").num_rows > 0


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_store_of_every_release_opens_and_takes_an_ingest(release: Path, tmp_path: Path) -> None:
    with tarfile.open(release) as tar:
        tar.extractall(tmp_path, filter="data")
    bench = Workbench(tmp_path)
    assert verify(bench.root, deep=True) == []
    assert {hit.uri for hit in bench.store.search("blue knob", k=1, mode="keyword")} == {"guide.md"}
    assert {hit.uri for hit in open_store(bench.root, at=1).search("red knob", k=1)} == {"guide.md"}
    held = bench.store.sql("SELECT count(*) AS documents, sum(chunks) AS chunks FROM documents").to_pylist()
    assert held == [{"documents": 5, "chunks": 5}]
    texts = {row["uri"]: bench.store.document(row["uri"]).text for row in bench.store.sql("FROM documents").to_pylist()}
    for chunk in bench.chunks():
        assert texts[chunk.uri][chunk.start_char : chunk.end_char] == chunk.text
    bench.write({"deep/notes.txt": texts["deep/notes.txt"], "new.md": "# New\n\nA page about rain.\n"})
    report = bench.ingest(allow_delete=True)
    assert report.snapshot == 3
    check_columns_of_today(bench)
    assert (report.documents.added, report.documents.deleted) == (1, 4)
    assert verify(bench.root, deep=True) == []
    assert repair(bench.root, lambda texts: pytest.fail(f"embedded {texts}")).done == []


def test_a_value_that_may_be_none_is_null_in_the_rows_of_an_older_store() -> None:
    older = CHUNKS.empty_table().drop_columns(["page", "tokens"])
    row = pa.table({name: pa.nulls(1, older.schema.field(name).type) for name in older.column_names})
    assert conform(row, CHUNKS).select(["page", "tokens"]).to_pylist() == [{"page": None, "tokens": 0}]
    assert [blank_sql(CHUNKS.field(name)) for name in ("page", "tokens")] == ["NULL", "0"]
