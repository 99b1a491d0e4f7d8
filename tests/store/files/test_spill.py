"""Rows that wait on disk come back as they went there, and a commit of them is that of rows in memory."""

from pathlib import Path

import pyarrow as pa
import pytest

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.tables import tables
from docmill.storage.tables.spill import parts, spill
from docmill.storage.tables.tables import replace_documents
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
    monkeypatch.setattr(tables, "_ROWS_AT_ONCE", at_once)
    spilled = spill(tmp_path / "rows.arrow", CHUNKS, cut(rows(DOCUMENTS), 11))
    assert replace_documents(tmp_path, base, "chunks", 8, gone, spilled) == wanted
