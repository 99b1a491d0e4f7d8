"""The files that a manifest of LanceDB names are all that its version needs."""

import shutil
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import BTree, IvfRq

from docmill.storage.errors import StoreError
from docmill.storage.remote.objects.lance_manifest import version_files
from docmill.storage.search.vectors.fence import schema

DIMENSION = 16


def rows(first: int, count: int) -> pa.Table:
    values = np.random.default_rng(first).random(count * DIMENSION, dtype=np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION)
    ids = [f"c{number}" for number in range(first, first + count)]
    return pa.table([pa.array(ids), pa.array(ids), vectors], schema=schema(DIMENSION))


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """Return a table with deletions, indices, and a version that was taken back."""
    made = lancedb.connect(tmp_path / "here").create_table("t", schema=schema(DIMENSION))
    made.add(rows(0, 600))
    made.delete("chunk_id IN ('c1', 'c2')")
    made.create_index("chunk_id", config=BTree())
    made.create_index("vector", config=IvfRq(distance_type="dot", num_partitions=2))
    made.add(rows(600, 50))
    made.delete("chunk_id IN ('c3', 'c601')")
    kept = made.version
    made.add(rows(900, 5))
    made.checkout(kept)
    made.restore()
    return made


def test_a_version_is_whole_without_the_files_of_the_others(table: Any, tmp_path: Path) -> None:
    for version in range(2, int(table.version) + 1):
        table.checkout(version)
        there = tmp_path / str(version)
        for file in version_files(tmp_path / "here" / "t.lance", version):
            target = there / file.relative_to(tmp_path / "here")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        twin = lancedb.connect(there).open_table("t")
        assert int(twin.version) == version
        assert twin.to_arrow().sort_by("chunk_id") == table.to_arrow().sort_by("chunk_id")
        assert [one.name for one in twin.list_indices()] == [one.name for one in table.list_indices()]
        query = np.ones(DIMENSION, dtype=np.float32)
        assert len(twin.search(query).limit(5).to_arrow()) == 5
        twin.add(rows(5000, 3))
        assert twin.count_rows() == table.count_rows() + 3


def test_a_version_that_lacks_a_file_is_refused(table: Any, tmp_path: Path) -> None:
    folder = tmp_path / "here" / "t.lance"
    needed = version_files(folder, int(table.version))
    next(file for file in needed if file.parent.name == "data").unlink()
    with pytest.raises(StoreError, match="missing"):
        version_files(folder, int(table.version))
    with pytest.raises(StoreError, match="version 99 of t"):
        version_files(folder, 99)
