"""Rows that wait on disk come back as they went there, and a commit of them is that of rows in memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.snapshots.artifacts.packs import pack_embeddings, write_pack
from docmill.storage.snapshots.tables import rewrite_buckets
from docmill.storage.snapshots.tables.rewrite_buckets import replace_documents
from docmill.storage.snapshots.tables.spill import parts, spill
from docmill.storage.snapshots.write.vector_rows import vector_rows
from tests.store.files.test_tables import DOCUMENTS, rows


def cut(table: pa.Table, size: int) -> list[pa.Table]:
    return [table.slice(first, size) for first in range(0, table.num_rows, size)]


@pytest.mark.parametrize("size", [1, 7, 80])
def test_what_was_spilled_comes_back_column_by_column(tmp_path: Path, size: int) -> None:
    held = rows(DOCUMENTS)
    spilled = spill(tmp_path / "new" / "rows.arrow", CHUNKS, cut(held, size))
    assert spilled.num_rows == held.num_rows
    for columns in (CHUNKS.names, ["uri"], ["text", "ordinal", "chunk_id"]):
        found = list(parts(spilled, columns))
        assert max(part.num_rows for part in found) <= size
        assert pa.concat_tables(found).equals(held.select(columns))
        assert pa.concat_tables(parts(held, columns)).equals(held.select(columns))


def test_nothing_can_be_spilled(tmp_path: Path) -> None:
    assert list(parts(spill(tmp_path / "rows.arrow", CHUNKS, []), ["uri"])) == []


@pytest.mark.parametrize("at_once", [1, 9, 1000])
def test_tables_of_spilled_rows_are_those_of_rows_in_memory(
    tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows({f"{i}.md": [f"{i}"] for i in range(25, 60)})
    base = replace_documents(tmp_path, (), "chunks", 8, [], before)
    gone = before["document_id"].to_pylist()[:15]
    wanted = replace_documents(tmp_path, base, "chunks", 8, gone, rows(DOCUMENTS))
    monkeypatch.setattr(rewrite_buckets, "_ROWS_AT_ONCE", at_once)
    spilled = spill(tmp_path / "rows.arrow", CHUNKS, cut(rows(DOCUMENTS), 11))
    assert replace_documents(tmp_path, base, "chunks", 8, gone, spilled) == wanted


def test_vectors_of_spilled_rows_are_read_many_at_a_time(tmp_path: Path) -> None:
    parts = [chunk_rows(number, number * 7 + 5) for number in range(9)]
    every = pa.concat_tables(parts)
    keys = every.column("embedding_key").to_pylist()
    vectors = np.arange(len(keys) * 2, dtype=np.float32).reshape(-1, 2)
    pack = tmp_path / "pack.parquet"
    write_pack(pack, pack_embeddings(keys[::-1], vectors[::-1]), "embeddings")
    rows = spill(tmp_path / "rows.arrow", every.schema, parts)
    batches = list(vector_rows([pack], rows, at_once=100))
    assert [batch.num_rows for batch in batches] == [100, 100, 97]
    whole = pa.Table.from_batches(batches)
    assert whole.column("chunk_id").to_pylist() == every.column("chunk_id").to_pylist()
    assert np.array_equal(np.array(whole.column("vector").to_pylist(), np.float32), vectors)
    some = every.column("chunk_id").combine_chunks()[::3]
    assert [batch.num_rows for batch in vector_rows([pack], rows, some, at_once=100)] == [99]


def chunk_rows(document: int, count: int) -> pa.Table:
    """Return the columns of chunks that vectors are found by."""
    names = [f"{document:03}{number:04}" for number in range(count)]
    columns = {"chunk_id": names, "document_id": [f"{document:03}"] * count, "embedding_key": [f"k{n}" for n in names]}
    none = pa.array([[]] * count, pa.list_(pa.string()))
    return pa.table({**columns, "part_keys": none})
