"""Vectors, neighbours, duplicates, lengths and freshness in SQL, and in `views.sql` of a store that was moved."""

import os
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.vectors.vectors import VectorIndex
from docmill.storage.snapshots.artifacts.packs import pack_embeddings, write_pack
from docmill.storage.snapshots.write.current_folder import follow
from docmill.storage.sql.statement_pool import query
from tests.kit.workbench import Workbench

SAME = "The kettle stands on the blue stove."


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path / "one")
    made.write({
        "a.md": f"# Tea\n\n{SAME}\n", "b.md": f"# Tea\n\n{SAME}\n\n",
        "c.md": "# Bread\n\nRye bread is baked slowly in a hot oven.\n", "d.txt": "Ovens are hot. Bread is not.\n",
    })  # fmt: skip
    made.ingest()
    return made


def rows_of(bench: Workbench, sql: str) -> list[dict[str, Any]]:
    with bench.store as store:
        found: list[dict[str, Any]] = store.sql(sql).to_pylist()
    return found


def elsewhere(root: Path, sql: str, is_named: bool = False, cwd: str | Path = "/") -> str:
    """Run a statement on the views of a store in DuckDB's own command line; return its output or its error."""
    tool = Path(sys.executable).parent / "duckdb"
    named = f"SET VARIABLE docmill_store = '{str(root).replace(chr(39), chr(39) * 2)}'"
    before = ["-cmd", named, "-cmd", f'.read "{root}/views.sql"'] if is_named else ["-init", root / "views.sql"]
    command = [tool, *before, "-csv", "-noheader", "-c", sql]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


def test_vectors_are_those_of_the_index_and_of_unit_length(bench: Workbench) -> None:
    found = {row["chunk_id"]: row["vector"] for row in rows_of(bench, "FROM vectors")}
    with bench.store as store:
        snapshot = store.snapshot
        table = VectorIndex(store.root, snapshot.vectors, snapshot.space).rows().to_pylist()
    assert found == {row["chunk_id"]: row["vector"] for row in table}
    assert found.keys() == {chunk.chunk_id for chunk in bench.chunks()}
    assert np.linalg.norm(list(found.values()), axis=1) == pytest.approx(1, abs=1e-5)


def test_neighbours_are_ordered_as_numpy_orders_them(bench: Workbench) -> None:
    found = {row["chunk_id"]: np.array(row["vector"]) for row in rows_of(bench, "FROM vectors")}
    wanted = min(found)
    cosines = {key: float(found[wanted] @ vector) for key, vector in found.items() if key != wanted}
    best = sorted(cosines, key=lambda key: (-round(cosines[key], 6), key))[:2]
    near = rows_of(bench, f"FROM neighbours('{wanted}', 2)")
    assert {row["chunk_id"] for row in near} == set(best)
    assert [row["similarity"] for row in near] == pytest.approx([cosines[key] for key in best], abs=1e-5)
    assert len(rows_of(bench, f"FROM neighbours('{wanted}')")) == len(found) - 1


def test_equal_chunks_of_two_documents_are_duplicates(bench: Workbench) -> None:
    same = rows_of(bench, "SELECT uri, other_uri, similarity FROM duplicates WHERE kind = 'same'")
    assert same == [{"uri": "b.md", "other_uri": "a.md", "similarity": 1.0}]


@pytest.mark.parametrize("count", [150, 700])
def test_near_duplicates_are_the_pairs_that_numpy_finds(tmp_path: Path, count: int) -> None:
    random = np.random.default_rng(5)
    vectors = random.normal(size=(count, 384)).astype(np.float32)
    vectors[::7] = vectors[1::7][: len(vectors[::7])] + 0.2 * random.normal(size=(len(vectors[::7]), 384))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [f"{number:032x}" for number in range(count)]
    blank: dict[pa.DataType, Any] = {pa.string(): "", pa.int32(): 0, pa.int64(): 0}
    columns = {field.name: [blank.get(field.type, [])] * count for field in CHUNKS}
    columns |= dict.fromkeys(("chunk_id", "document_id", "uri", "text", "embedding_key"), ids)
    pq.write_table(pa.table(columns, schema=CHUNKS), tmp_path / "chunks.parquet")
    write_pack(tmp_path / "one.parquet", pack_embeddings(ids, vectors), "embeddings")
    write_pack(tmp_path / "two.parquet", pack_embeddings(ids[:9], vectors[:9]), "embeddings")  # keys that come twice
    files = {"documents": [], "chunks": [tmp_path / "chunks.parquet"]}
    files["embeddings"] = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    found = query(files, {}, "SELECT chunk_id, other_id FROM duplicates").to_pylist()
    cosines = np.triu(vectors @ vectors.T, 1)
    expected = {(ids[b], ids[a]) for a, b in np.argwhere(cosines > 0.95).tolist()}
    assert len(expected) > count // 10
    assert sorted((row["chunk_id"], row["other_id"]) for row in found) == sorted(expected)


def test_lengths_count_every_chunk_once(bench: Workbench) -> None:
    lengths = rows_of(bench, "FROM lengths")
    chunks = bench.chunks()
    assert sum(row["chunks"] for row in lengths) == len(chunks)
    assert sum(row["tokens"] for row in lengths) == sum(chunk.tokens for chunk in chunks)
    assert all(row["least"] <= row["median"] <= row["p95"] <= row["most"] for row in lengths)


def test_freshness_is_the_age_of_the_files(bench: Workbench) -> None:
    bench.write({"old.md": "# Old\n\nAn old note.\n"})
    os.utime(bench.docs / "old.md", (0, 86400 * 365))
    bench.ingest()
    columns = "uri, status, changed AT TIME ZONE 'UTC' AS changed, age_days, contexts_due"
    oldest, *others = rows_of(bench, f"SELECT {columns} FROM freshness")
    assert (oldest["uri"], oldest["changed"], oldest["status"]) == ("old.md", datetime(1971, 1, 1), "ok")
    assert oldest["age_days"] == int(time.time() // 86400) - 365
    assert {(row["age_days"], row["contexts_due"]) for row in others} == {(0, 0)}


def test_views_of_other_duckdbs_give_the_same_rows(bench: Workbench) -> None:
    for view in ("vectors", "duplicates", "lengths"):
        ours = rows_of(bench, f"SELECT count(*) AS n FROM {view}")[0]["n"]
        assert elsewhere(bench.root, f"SELECT count(*) FROM {view}") == str(ours)
    chunk = bench.chunks()[0].chunk_id
    assert elsewhere(bench.root, f"SELECT count(*) FROM neighbours('{chunk}', 2)") == "2"


def test_a_copied_store_is_a_store_for_duckdb(bench: Workbench, tmp_path: Path) -> None:
    copy, count = tmp_path / "two [*]'s", "SELECT count(*) FROM chunks"
    shutil.copytree(bench.root, copy, symlinks=True)
    expected = str(len(bench.chunks()))
    for file in (bench.root / "current" / "chunks").iterdir():
        file.unlink()  # a statement that reads the original fails
    assert elsewhere(copy, count, cwd=copy) == expected
    assert elsewhere(copy, count, is_named=True) == expected
    named = str(copy).replace("'", "''")
    connection = duckdb.connect()
    connection.execute(f"SET VARIABLE docmill_store = '{named}'")
    connection.execute((copy / "views.sql").read_text())
    assert connection.sql("SELECT count(*) FROM vectors JOIN chunks USING (chunk_id)").fetchall() == [(int(expected),)]
    said = CliRunner().invoke(app, ["status", "--store", str(copy)])
    assert (said.exit_code, "after a copy, a move" in said.stderr) == (0, True)
    assert elsewhere(copy, count) == expected
    assert CliRunner().invoke(app, ["status", "--store", str(copy)]).stderr == ""


def test_status_makes_the_link_of_a_copy_without_links_and_waits_for_no_writer(
    bench: Workbench, tmp_path: Path
) -> None:
    copy = tmp_path / "two"
    shutil.copytree(bench.root, copy)
    (copy / "views.sql").unlink()
    folder = open_folder(copy)
    with folder.lock():
        assert not follow(open_folder(copy))
    assert not (copy / "views.sql").exists()
    assert follow(folder)
    assert (copy / "current").is_symlink()
    assert not follow(folder)
    assert elsewhere(copy, "SELECT count(*) FROM chunks") == str(len(bench.chunks()))


def test_the_views_of_a_store_that_is_gone_say_what_to_do(bench: Workbench, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    bench.root.rename(moved)
    said = elsewhere(moved, "SELECT 1")
    assert "it was moved" in said
    assert "SET VARIABLE docmill_store" in said
