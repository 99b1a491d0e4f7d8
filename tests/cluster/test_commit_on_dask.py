"""A commit whose buckets workers rewrite: the same files, also if a worker dies over it, and no freight is left."""

import shutil
from pathlib import Path

import pytest

from docmill.flows.cluster import remote_rewriting
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects.bucket import connect
from docmill.storage.snapshots.tables import tables
from tests.kit.faults.cluster_runs import BUCKET, Heard, pages, rows_of, run_on
from tests.kit.faults.cluster_worker import HEAVY
from tests.kit.faults.machines import Machines
from tests.kit.remote_bench import RemoteBench, make_bucket
from tests.kit.workbench import Workbench

PAGES = 60


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a store of few documents many buckets, and a worker few of them at a time."""
    monkeypatch.setattr(tables, "ROWS_PER_BUCKET", 4)
    monkeypatch.setattr(remote_rewriting, "LEAST_BUCKETS", 8)
    monkeypatch.setattr(remote_rewriting, "BUCKETS_EACH", 4)


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    """Return a bench with some documents; the fake model is known."""
    assert fake_model
    own = Workbench(tmp_path)
    own.write(pages(PAGES))
    return own


def edit(bench: Workbench, added: str) -> None:
    """Change, add and delete documents."""
    changed = {f"page{number:03}.md": f"# Page {number}\n\nAnother text.\n" for number in range(0, PAGES, 5)}
    bench.write({**changed, **pages(8, added)})
    for number in range(1, PAGES, 15):
        (bench.docs / f"page{number:03}.md").unlink()


def bring(bench: Workbench, other: Workbench) -> None:
    """Give another bench the documents of a bench, times and all."""
    shutil.rmtree(other.docs)
    shutil.copytree(bench.docs, other.docs)


def buckets(engine: Heard) -> int:
    """Return how many buckets the workers have rewritten."""
    return sum(row["buckets"] for row in engine.tables["workers"])


@pytest.mark.parametrize("added", ["more", pytest.param(HEAVY, marks=pytest.mark.soak)])
def test_workers_write_the_tables_that_threads_write(
    cluster: Machines, bench: Workbench, tmp_path: Path, added: str
) -> None:
    bench.ingest()
    here = bench.copy(tmp_path / "here")
    edit(bench, added)
    bring(bench, here)
    here.ingest()
    log: list[str] = []
    engine = Heard(log)
    run_on(cluster.settings, bench, engine)
    assert bench.files("chunks") == here.files("chunks")
    assert rows_of(bench) == rows_of(here)
    assert bench.files("deleted_chunks") == here.files("deleted_chunks")
    assert buckets(engine) > 0
    lost = [line for line in log if ": failed: WorkerLost: " in line]
    assert bool(lost) == (added == HEAVY)
    assert sum(row["killed"] for row in engine.tables["workers"]) == (added == HEAVY)
    assert connect(BUCKET).listing() == []


def test_workers_read_the_old_files_of_a_store_in_a_bucket_themselves(
    cluster: Machines, bench: Workbench, tmp_path: Path
) -> None:
    make_bucket("kept")
    here = bench.copy(tmp_path / "here")
    far = RemoteBench(tmp_path, bench.settings, address="s3://kept/store", environment=dict(cluster.environment))
    run_on(cluster.settings, far)
    edit(far, "more")
    bring(far, here)
    here.ingest()
    log: list[str] = []
    engine = Heard(log)
    run_on(cluster.settings, far, engine)
    assert buckets(engine) > 0
    assert [line for line in log if ", asks, " in line or ": failed: " in line] == []
    assert far.chunks() == here.chunks()
    assert far.files("chunks") == here.files("chunks")
    newest = open_folder(far.root).newest()
    assert newest is not None
    assert {piece.file.path for piece in newest.pieces("chunks")} <= far.keys("tables")
    assert connect(BUCKET).listing() == []
