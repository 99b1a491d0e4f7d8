"""Tables are copy-on-write: a change writes the buckets that it touches, and equal rows make equal files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.errors import StoreError
from docmill.storage.keys import bucket_of, chunk_keys, document_key
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.keywords.segments.state import KeywordState
from docmill.storage.search.vectors.vectors import VectorState
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.snapshots import Snapshot, StoredFile
from docmill.storage.snapshots.tables import tables
from docmill.storage.snapshots.tables.rewrite_buckets import replace_documents
from docmill.storage.snapshots.tables.row_reader import OpenedTable
from docmill.storage.snapshots.tables.tables import bucket_count, partition, read_stored_file, rebucket


def rows(documents: dict[str, list[str]]) -> pa.Table:
    """Return chunk rows of documents: uri → texts."""
    columns: dict[str, list[object]] = {name: [] for name in CHUNKS.names}
    for uri, texts in documents.items():
        for ordinal, text in enumerate(texts):
            blank = {
                "headings": [],
                "children": [],
                "ordinal": ordinal,
                "document_id": document_key(uri),
                "uri": uri,
                "text": text,
            }
            for field in CHUNKS:
                columns[field.name].append(blank.get(field.name, 0 if pa.types.is_integer(field.type) else ""))
    return pa.table(columns, schema=CHUNKS)


def contents(root: Path, pieces: tuple[object, ...]) -> list[tuple[str, str]]:
    tables = [read_stored_file(root, piece) for piece in pieces]  # type: ignore[arg-type]
    return sorted(
        pair for table in tables for pair in zip(table["uri"].to_pylist(), table["text"].to_pylist(), strict=True)
    )


DOCUMENTS = {f"{i}.md": [f"{i}a", f"{i}b"] for i in range(40)}


def test_a_change_writes_only_the_buckets_that_it_touches(tmp_path: Path) -> None:
    first = replace_documents(tmp_path, (), "chunks", 8, [], rows(DOCUMENTS))
    key = document_key("7.md")
    second = replace_documents(tmp_path, first, "chunks", 8, [key], rows({"7.md": ["new"]}))
    changed = {piece.bucket for piece in set(first) ^ set(second)}
    assert changed == {bucket_of(key, 8)}
    expected = sorted((uri, text) for uri, texts in (DOCUMENTS | {"7.md": ["new"]}).items() for text in texts)
    assert contents(tmp_path, second) == expected
    assert contents(tmp_path, first) != expected


def test_of_a_file_only_the_row_groups_with_the_wanted_documents_are_read(tmp_path: Path) -> None:
    many = {f"{i}.md": [f"{i} {number}" for number in range(100)] for i in range(12)}
    (piece,) = replace_documents(tmp_path, (), "chunks", 1, [], rows(many))
    whole = read_stored_file(tmp_path, piece)
    for uri in many:
        some = read_stored_file(tmp_path, piece, ["document_id", "text"], [document_key(uri)])
        assert 100 <= some.num_rows < whole.num_rows / 3
        own = some.filter(pc.equal(some["document_id"], document_key(uri)))
        assert sorted(own["text"].to_pylist()) == sorted(many[uri])
    absent = read_stored_file(tmp_path, piece, None, [document_key("none.md")])
    assert absent.num_rows <= 128
    assert absent.schema == whole.schema
    every = read_stored_file(tmp_path, piece, None, sorted(map(document_key, many)))
    assert every.equals(whole)


def test_equal_rows_make_equal_files_whatever_came_before(tmp_path: Path) -> None:
    straight = replace_documents(tmp_path, (), "chunks", 4, [], rows(DOCUMENTS))
    half = replace_documents(tmp_path, (), "chunks", 4, [], rows(dict(list(DOCUMENTS.items())[20:])))
    rest = rows(dict(reversed(list(DOCUMENTS.items())[:20])))
    assert replace_documents(tmp_path, half, "chunks", 4, [], rest) == straight


def test_a_bucket_without_rows_has_no_file(tmp_path: Path) -> None:
    first = replace_documents(tmp_path, (), "chunks", 1, [], rows({"a.md": ["x"]}))
    assert replace_documents(tmp_path, first, "chunks", 1, [document_key("a.md")], CHUNKS.empty_table()) == ()


def test_rebucketing_keeps_every_row(tmp_path: Path) -> None:
    first = replace_documents(tmp_path, (), "chunks", 1, [], rows(DOCUMENTS))
    spread = rebucket(tmp_path, first, "chunks", 16)
    assert len(spread) > 1
    assert contents(tmp_path, spread) == contents(tmp_path, first)
    assert rebucket(tmp_path, spread, "chunks", 1) == first
    assert rebucket(tmp_path, spread, "chunks", 4) == rebucket(tmp_path, first, "chunks", 4)
    assert rebucket(tmp_path, (), "chunks", 4) == ()


@pytest.mark.parametrize("buckets", [4, 64])
def test_rebucketing_holds_only_buckets_in_memory_that_share_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buckets: int
) -> None:
    pieces = replace_documents(tmp_path, (), "chunks", 16, [], rows(DOCUMENTS))
    seen: list[int] = []
    plain = tables.partition

    def noting(table: pa.Table, count: int) -> dict[int, pa.Table]:
        seen.append(table.num_rows)
        return plain(table, count)

    monkeypatch.setattr(tables, "partition", noting)
    rebucket(tmp_path, pieces, "chunks", buckets)
    assert (len(seen), sum(seen)) == (min(buckets, len(pieces)), 80)


def test_rows_are_split_by_the_bucket_of_their_document() -> None:
    parts = partition(rows(DOCUMENTS), 8)
    assert sum(part.num_rows for part in parts.values()) == 80
    for bucket, part in parts.items():
        assert {bucket_of(key, 8) for key in part["document_id"].to_pylist()} == {bucket}


@pytest.mark.parametrize(
    ("chunks", "current", "wanted"),
    [
        *((0, 0, 1), (499, 0, 1), (501, 0, 2), (100_000, 0, 256), (1000, 1, 1), (1001, 1, 4), (225, 2, 1), (250, 2, 2)),
        *((1_000_000, 0, 2048), (1_000_000, 1024, 1024), (10_000_000, 0, 8192)),
    ],
)
def test_buckets_double_only_when_the_store_has_grown(chunks: int, current: int, wanted: int) -> None:
    assert bucket_count(chunks, current) == wanted


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (piece,) = replace_documents(tmp_path, (), "chunks", 1, [], rows({"a.md": ["x"]}))
    (tmp_path / piece.file.path).write_bytes(b"x")
    with pytest.raises(StoreError, match=rf"{piece.file.hash}.*cannot be read.*docmill verify"):
        read_stored_file(tmp_path, piece)


def stored(folder: Path, pieces: tuple[StoredFile, ...], buckets: int) -> StoredSnapshot:
    """Return a snapshot of nothing but a table of chunks."""
    space = EmbeddingSpace("tests", "0" * 32, 4, True, 256)
    snapshot = Snapshot(1, "", "", buckets, {"chunks": pieces}, {}, space, VectorState("", 1, 0), KeywordState())
    return StoredSnapshot(StoreFolder(folder), snapshot)


@pytest.mark.parametrize("bounded", [True, False])
def test_rows_are_found_by_id_in_any_file(tmp_path: Path, bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_PER_GROUP", 3)
    if not bounded:
        monkeypatch.setattr(tables, "_BOUNDED", ())  # as another program may write it
    documents = {f"{i}.md": [f"{i}a", f"{i}b"] for i in range(100)}
    held = rows(documents)
    ids = [key for uri, texts in documents.items() for key in chunk_keys(document_key(uri), texts)]
    held = held.set_column(held.schema.get_field_index("chunk_id"), "chunk_id", pa.array(ids))
    opened = OpenedTable(stored(tmp_path, replace_documents(tmp_path, (), "chunks", 4, [], held), 4), "chunks")
    for wanted in ([], ids[7:8], ids[::9], ids, ["0" * 32, ids[3]]):
        found = opened.rows("chunk_id", wanted)
        right = held.filter(pc.is_in(held["chunk_id"], value_set=pa.array(wanted, pa.string())))
        assert found.sort_by("chunk_id").to_pylist() == right.sort_by("chunk_id").to_pylist()
        assert found.schema == CHUNKS
    few = opened.rows("document_id", [document_key("7.md")])
    assert few["text"].to_pylist() == ["7a", "7b"]


def test_a_damaged_file_that_is_opened_for_a_row_is_named(tmp_path: Path) -> None:
    (piece,) = pieces = replace_documents(tmp_path, (), "chunks", 1, [], rows(DOCUMENTS))
    (tmp_path / piece.file.path).write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=rf"{piece.file.hash}.*cannot be read.*docmill verify"):
        OpenedTable(stored(tmp_path, pieces, 1), "chunks").rows("chunk_id", ["0" * 32])
