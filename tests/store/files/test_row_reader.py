"""A search reads of a row what it shows, and of a column that is blank throughout nothing but its statistics."""

import resource
from pathlib import Path

import pyarrow as pa
import pytest

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS
from docmill.storage.keys import bucket_of, document_key
from docmill.storage.schema_evolution import conform
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.keywords.segments.state import KeywordState
from docmill.storage.search.rank.candidates.hit import Candidate
from docmill.storage.search.vectors.vectors import VectorState
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.snapshots import Snapshot, StoredFile
from docmill.storage.snapshots.tables import row_reader, tables
from docmill.storage.snapshots.tables.rewrite_buckets import replace_documents
from docmill.storage.snapshots.tables.row_reader import OpenedTable

BUCKETS = 8
SHOWN = ("chunk_id", "document_id", "start_char", "end_char", "text", "page")


def opened(folder: Path, name: str, pieces: tuple[StoredFile, ...], buckets: int = BUCKETS) -> OpenedTable:
    """Return a table of a snapshot that has no other."""
    space = EmbeddingSpace("tests", "0" * 32, 4, True, 256)
    snapshot = Snapshot(1, "", "", buckets, {name: pieces}, {}, space, VectorState("", 1, 0), KeywordState())
    return OpenedTable(StoredSnapshot(StoreFolder(folder), snapshot), name)


def documents(addresses: dict[str, str]) -> pa.Table:
    """Return rows of documents, from uri and URL."""
    named = [{"document_id": document_key(uri), "uri": uri, "source_url": url} for uri, url in addresses.items()]
    return conform(pa.Table.from_pylist(named), DOCUMENTS)


def of_snapshot(folder: Path, addresses: dict[str, str]) -> OpenedTable:
    rows = documents(addresses)
    return opened(folder, "documents", replace_documents(folder, (), "documents", BUCKETS, [], rows))


def test_only_files_that_hold_a_value_are_read_for_a_column(tmp_path: Path) -> None:
    addresses = {f"{number}.md": "" for number in range(40)} | {"9.md": "https://shop.example/9"}
    table, ids = of_snapshot(tmp_path, addresses), [*map(document_key, addresses)]
    own = bucket_of(document_key("9.md"), BUCKETS)
    found = table.filled("source_url", ids)
    assert sorted(found) == sorted(key for key in ids if bucket_of(key, BUCKETS) == own)
    assert 0 < len(found) < len(ids)
    assert of_snapshot(tmp_path / "other", dict.fromkeys(addresses, "")).filled("source_url", ids) == []
    assert table.filled("source_url", []) == []
    assert table.filled("column of tomorrow", ids) == []


def test_a_file_without_statistics_may_hold_any_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_BOUNDED", ("document_id",))  # as 0.2.0 wrote it
    addresses = {f"{number}.md": "" for number in range(9)}
    ids = sorted(map(document_key, addresses))
    assert sorted(of_snapshot(tmp_path, addresses).filled("source_url", ids)) == ids


def test_rows_apart_and_rows_that_follow_each_other_are_found(tmp_path: Path) -> None:
    named = [{"chunk_id": f"{n:032}", "document_id": "0" * 32, "ordinal": n, "text": f"{n}"} for n in range(300)]
    pieces = replace_documents(tmp_path, (), "chunks", 1, [], conform(pa.Table.from_pylist(named), CHUNKS))
    table = opened(tmp_path, "chunks", pieces, buckets=1)
    for wanted in ([5], [5, 6, 7], [5, 7], [127, 128], [0, 299], []):
        found = table.rows("chunk_id", [f"{n:032}" for n in wanted], SHOWN)
        assert sorted(map(int, found["text"].to_pylist())) == wanted


@pytest.mark.parametrize(
    ("allowed", "kept"), [(1024, 256), (2400, 600), (1 << 20, 1024), (resource.RLIM_INFINITY, 1024)]
)
def test_as_many_files_stay_open_as_the_limit_of_the_process_allows(
    monkeypatch: pytest.MonkeyPatch, allowed: int, kept: int
) -> None:
    monkeypatch.setattr(row_reader, "getrlimit", lambda _: (allowed, allowed))
    assert row_reader._kept() == kept


def test_a_note_fills_in_numbers_and_leaves_braces_of_a_query_alone() -> None:
    one = Candidate("a", score=0.5)
    one.note("expand", "asked as 'set{:.3f}'")
    one.note("linear", "{:.3f} from the vectors and {:.3f} from the keywords", 0.25, 0.25)
    assert [(step.step, step.score, step.said) for step in one.steps()] == [
        ("expand", 0.5, "asked as 'set{:.3f}'"),
        ("linear", 0.5, "0.250 from the vectors and 0.250 from the keywords"),
    ]
