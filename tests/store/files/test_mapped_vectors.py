"""Vectors of single rows from the files of a table: what LanceDB has, to the last bit, or none at all."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from docmill.storage.search.vectors import index_kind, mapped_vectors, vectors
from docmill.storage.search.vectors.vectors import VectorIndex, VectorState
from tests.retrieval.vectors.vector_rows import SPACE, Vectors

ROWS, NEW, HITS = 3000, 40, 30


def unit(rows: int, dimension: int, seed: int) -> Vectors:
    found = np.random.default_rng(seed).standard_normal((rows, dimension))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def batches(prefix: str, matrix: Vectors) -> Iterator[pa.RecordBatch]:
    ids = pa.array([f"{prefix}{place:05d}" for place in range(len(matrix))])
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1])
    yield pa.RecordBatch.from_arrays([ids, ids, column], ["chunk_id", "document_id", "vector"])


def built(root: Path, dimension: int, monkeypatch: pytest.MonkeyPatch) -> tuple[VectorState, Any]:
    """Return an indexed table of several files with removed, repeated and new rows."""
    monkeypatch.setattr(index_kind, "INDEX_ROWS", 1000)
    space, matrix = replace(SPACE, dimension=dimension), unit(ROWS, dimension, 1)
    matrix[100:120] = matrix[100]  # their order is that of their ids
    state = vectors.rebuild(root, space, batches("c", matrix), "one")
    gone = [f"c{place:05d}" for place in range(0, ROWS, 50)]
    state = vectors.update(root, state, space, gone, batches("n", unit(NEW, dimension, 2)), "two")
    return state, space


def searched(root: Path, state: VectorState, space: Any) -> tuple[VectorIndex, list[list[tuple[str, float]]]]:
    """Return an index that has read single rows by itself, and the hits of queries before and after."""
    index, queries = VectorIndex(root, state, space), unit(vectors._IDS_AFTER, space.dimension, 3)
    queries[0] = unit(ROWS, space.dimension, 1)[100]
    found = [[index.search(query, HITS) for query in queries] for _ in range(2)]
    assert found[0] == found[1]
    assert "_mapped" in vars(index)
    return index, found[1]


@pytest.mark.parametrize("dimension", [64, 100, 384])
def test_hits_and_scores_are_those_of_lancedb_to_the_last_bit(
    tmp_path: Path, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, space = built(tmp_path, dimension, monkeypatch)
    index, found = searched(tmp_path, state, space)
    assert index._mapped is not None, "this LanceDB lays its files out in another way"
    assert (len(index._mapped._fragments), len(index._mapped.unindexed)) == (2, NEW)
    assert [key for key, _ in found[0][:19]] == [f"c{place:05d}" for place in range(101, 120)]
    assert len({score for _, score in found[0][:19]}) == 1


def test_rows_that_a_compaction_has_moved_and_indexed_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, space = built(tmp_path, 384, monkeypatch)
    before = searched(tmp_path, state, space)[1]
    state = vectors.clean(tmp_path, state, space, {}, "three")
    index, found = searched(tmp_path, state, space)
    assert index._mapped is not None
    assert len(index._mapped.unindexed) == 0
    assert [hits[:3] for hits in found] == [hits[:3] for hits in before]


def test_very_many_new_rows_are_left_to_lancedb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, space = built(tmp_path, 384, monkeypatch)
    monkeypatch.setattr(vectors, "_MOST_UNINDEXED", NEW - 1)
    assert searched(tmp_path, state, space)[0]._mapped is None


def test_every_row_is_read_from_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, space = built(tmp_path, 384, monkeypatch)
    index, _ = searched(tmp_path, state, space)
    assert index._mapped is not None
    rows = index._table.search().select(["vector"]).with_row_id(True).limit(state.rows).to_arrow()
    flat = rows.column("vector").combine_chunks().flatten().to_numpy().reshape(state.rows, -1)
    assert np.array_equal(index._mapped.at(rows.column("_rowid").to_numpy()), flat)


def test_a_table_of_float16_is_left_to_lancedb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_kind, "INDEX_ROWS", 1000)
    space = replace(SPACE, dimension=384, indexed="float16")
    state = vectors.rebuild(tmp_path, space, batches("c", unit(ROWS, 384, 1)), "one")
    assert searched(tmp_path, state, space)[0]._mapped is None


@pytest.mark.parametrize("change", ["other layout", "other place"])
def test_files_of_another_layout_are_left_to_lancedb(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, space = built(tmp_path, 384, monkeypatch)
    right = searched(tmp_path, state, space)[1]
    if change == "other layout":
        monkeypatch.setattr(mapped_vectors, "MAGIC", b"ELSE")
    else:  # a page that is somewhere else has vectors, too, but none that LanceDB has in these rows
        pages = mapped_vectors._pages
        moved = lambda *given: [one._replace(offset=one.offset + 4) for one in pages(*given)]  # noqa: E731
        monkeypatch.setattr(mapped_vectors, "_pages", moved)
    index, found = searched(tmp_path, state, space)
    assert index._mapped is None
    assert found == right
