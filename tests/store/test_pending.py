"""A long run commits tables and keywords first: its vectors are pending, and follow in further commits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.storage.history import snapshots
from docmill.storage.lance.vectors import VectorIndex
from docmill.storage.tables.tables import read_table
from docmill.storage.upkeep.verify import verify
from tests.kit.counting_encoder import MANY_COMMITS, Slow, slow_model
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
PAGES = {
    f"{bird}.txt": "\n\n".join(f"The {bird} number {i} sings on tree {i * i} of the wood." for i in range(12))
    for bird in ("owl", "tit", "jay", "daw", "rook", "wren", "kite", "crow", "lark", "dove", "swan", "gull")
}
SMALL = {"routes": [{"glob": "*", "strategy": "recursive", "options": {"size": 16}}]}


@pytest.fixture(autouse=True)
def slow() -> Iterator[None]:
    with slow_model():
        yield


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "bench", {**SMALL, "run": MANY_COMMITS})
    made.write(dict(PAGES))
    return made


@pytest.fixture
def whole(bench: Workbench, tmp_path: Path) -> Workbench:
    """Return a store of the same files that was made in one commit."""
    made = bench.copy(tmp_path / "whole")
    made.settings["run"] = {"commit_every": 0}
    made.ingest()
    assert snapshots.numbers(made.root) == [1]
    return made


def states(bench: Workbench) -> Iterator[snapshots.Snapshot]:
    return snapshots.each(bench.root)


def assert_equal(one: Workbench, other: Workbench) -> None:
    """Compare two stores row for row: tables, vectors and postings."""
    for table in ("documents", "chunks", "rejects"):
        assert one.files(table) == other.files(table)
    first, second = (bench.store for bench in (one, other))
    left, right = (VectorIndex(store.root, store.snapshot.vectors, store.snapshot.space) for store in (first, second))
    assert sorted(left.rows().to_pylist(), key=str) == sorted(right.rows().to_pylist(), key=str)
    for query in ("owl number 7", "the rook sings on tree 9", "wood"):
        for mode in ("hybrid", "vector", "keyword"):
            assert [(hit.chunk_id, hit.score) for hit in first.search(query, k=20, mode=mode)] == [
                (hit.chunk_id, hit.score) for hit in second.search(query, k=20, mode=mode)
            ]
    assert left.rows().num_rows == len(one.chunks())


def test_a_long_run_ends_as_if_it_had_committed_once(bench: Workbench, whole: Workbench) -> None:
    seen = []
    Slow.after = staticmethod(lambda _: seen.append(snapshots.numbers(bench.root)))
    report = bench.ingest()
    assert len({*map(tuple, seen)}) > 3, "it has committed several times"
    assert snapshots.numbers(bench.root) == [report.snapshot], "and has left one snapshot"
    assert verify(bench.root, deep=True) == []
    assert_equal(bench, whole)
    runs, once = (read_table(one.store.stored, "runs").to_pylist() for one in (bench, whole))
    for row in (*runs, *once):
        for name in ("run_id", "snapshot", "seconds", "started"):
            del row[name]
    assert runs == once
    assert bench.ingest().snapshot is None
