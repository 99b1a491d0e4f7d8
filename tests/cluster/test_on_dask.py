"""A run on two workers that share nothing with the driver but a scheduler and a bucket."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

from docmill.flows.cluster.cluster import check_secure
from docmill.flows.cluster.cluster_engine import on_cluster
from docmill.flows.config.settings import ClusterSettings, Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.flows.runs.report import Report
from docmill.storage import failpoints
from docmill.storage.embedding import space
from docmill.storage.errors import ConfigError, Transient
from docmill.storage.mirror.mirror_folder import open_folder
from docmill.storage.objects.bucket import connect
from docmill.storage.tables.tables import read_table
from tests.kit.fake_encoder import NAME, write_model
from tests.kit.far_bench import make_bucket
from tests.kit.faults.machines import Machines, machines
from tests.kit.workbench import Workbench

BUCKET = "s3://freight/of the tests"


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
    token_counts_folder: Path,
    object_store_environment: dict[str, str],
) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("machines")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in object_store_environment.items():
            patch.setenv(name, value)
        make_bucket("freight")
        with machines(folder, token_counts_folder, ("one", "two"), object_store_environment) as found:
            yield found


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    assert fake_model
    bench = Workbench(tmp_path)
    texts = {
        f"page{i:03}.md": f"# Page {i}\n\nThe {i}th knob is red.\n\n| a | b |\n|---|---|\n| {i} | x |\n"
        for i in range(150)
    }
    bench.write({**texts, "same.txt": texts["page007.md"], "broken.pdf": b"%PDF-1.4 nothing", "void.md": ""})
    return bench


def rows_of(bench: Workbench) -> list[dict[str, object]]:
    """Return the documents without when they came."""
    table = read_table(open_folder(bench.root).newest(), "documents")
    kept = [name for name in table.column_names if not name.endswith("_at")]
    return [dict(row) for row in table.select(kept).to_pylist()]


def die(at: str) -> None:
    """Stop the run where it is."""
    if at == "before fetch freight":
        raise ConnectionResetError(at)


def run_on(cluster: Machines, bench: Workbench, told: list[str] | None = None, freight: str = BUCKET) -> Report:
    chosen = ClusterSettings(address=cluster.address, freight=freight)
    settings = Settings(store=bench.root, engine="dask", embedding={"model": NAME}, cluster=chosen)  # type: ignore[arg-type]
    with Heard(told) as engine, on_cluster(engine, settings) as placed:
        return ingest(settings, [str(bench.docs)], placed)


class Heard(LocalEngine):
    """Threads, of which the log is kept."""

    def __init__(self, told: list[str] | None) -> None:
        super().__init__(threads=16)
        self._told = told

    def log(self, message: str) -> None:
        if self._told is not None:
            self._told.append(message)

    def tell(self, message: str) -> None:
        self.log(message)


def test_workers_make_the_rows_that_threads_make(cluster: Machines, bench: Workbench, tmp_path: Path) -> None:
    here = bench.copy(tmp_path / "here")
    near, log = here.ingest(), list[str]()
    far = run_on(cluster, bench, log)
    assert (far.engine, far.documents, far.chunks) == ("dask", near.documents, near.chunks)
    assert [(row.uri, row.reason) for row in far.rejects] == [(row.uri, row.reason) for row in near.rejects]
    assert bench.chunks() == here.chunks()
    assert bench.files("chunks") == here.files("chunks")
    assert rows_of(bench) == rows_of(here)
    for query in ("red knob", "Page 7"):
        there, then = bench.store.search(query, k=10), here.store.search(query, k=10)
        assert [hit.chunk_id for hit in there] == [hit.chunk_id for hit in then]
        assert np.allclose([hit.score for hit in there], [hit.score for hit in then])
    assert {line.split(":")[0] for line in log if line.startswith("worker ")} == {"worker one", "worker two"}
    assert connect(BUCKET).listing() == []
    assert run_on(cluster, bench).snapshot is None
    assert not any(seen_by_workers(cluster, bench.docs / "void.md"))


def seen_by_workers(cluster: Machines, path: Path) -> list[bool]:
    """Return for each worker whether a file is there."""
    connect_to: Any = Client
    with connect_to(cluster.address, set_as_default=False) as client:
        return list(client.run(os.path.exists, str(path)).values())


@pytest.mark.soak
def test_a_file_that_kills_workers_is_rejected_alone(cluster: Machines, bench: Workbench) -> None:
    bench.write({"poison.md": "# Poison\n"})
    report = run_on(cluster, bench)
    assert [row.uri for row in report.rejects if row.reason == "crashed"] == ["poison.md"]
    assert report.documents.added == 151
    assert connect(BUCKET).listing() == []


def test_a_run_takes_over_what_workers_had_finished_for_a_dead_driver(cluster: Machines, bench: Workbench) -> None:
    failpoints.watch = die
    try:
        with pytest.raises(ConnectionResetError):
            run_on(cluster, bench)
    finally:
        failpoints.watch = None
    told: list[str] = []
    left = {entry.key.split("/")[2] for entry in connect(BUCKET).listing()}
    assert "done" in left
    report = run_on(cluster, bench, told)
    assert report.documents.added == 151
    assert sum(" had finished" in line for line in told) == 1
    assert connect(BUCKET).listing() == []


def test_a_worker_with_another_model_is_refused(cluster: Machines, bench: Workbench, tmp_path: Path) -> None:
    other = write_model(tmp_path / NAME, dimension=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(space.FOLDERS, NAME, lambda: other)
        with pytest.raises(ConfigError, match=r"worker (one|two) would make other rows: .* has the weights"):
            run_on(cluster, bench)


@pytest.mark.soak
def test_a_scheduler_that_dies_ends_the_run_and_rejects_nothing(
    cluster: Machines,
    bench: Workbench,
    tmp_path: Path,
    token_counts_folder: Path,
    object_store_environment: dict[str, str],
) -> None:
    with machines(tmp_path / "apart" / "machines", token_counts_folder, ("lone",), object_store_environment) as own:

        def kill(at: str) -> None:
            if at == "before fetch freight":
                own.scheduler.kill()

        failpoints.watch = kill
        try:
            with pytest.raises(Transient):
                run_on(own, bench)
        finally:
            failpoints.watch = None
    report = run_on(cluster, bench)
    assert report.documents.added == 151
    assert [row for row in report.rejects if row.reason == "crashed"] == []


def test_freight_inside_of_the_store_is_refused(cluster: Machines, bench: Workbench) -> None:
    with pytest.raises(ConfigError, match="is inside of the store"):
        run_on(cluster, bench, freight=str(bench.root / "freight"))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://10.0.0.5:8786", "plain TCP"),
        ("tls://10.0.0.5:8786", "cluster.tls_ca, cluster.tls_cert, cluster.tls_key"),
        ("10.0.0.5:8786", "tcp://HOST:PORT"),
        ("", "tcp://HOST:PORT"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_secure(ClusterSettings(address=address))


def test_plain_tcp_is_taken_on_loopback_and_where_the_settings_say_so() -> None:
    check_secure(ClusterSettings(address="tcp://127.0.0.1:8786"))
    check_secure(ClusterSettings(address="tcp://10.0.0.5:8786", insecure=True))
