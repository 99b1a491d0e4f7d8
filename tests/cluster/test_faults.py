"""What becomes of a run when a part of the cluster dies, lies, or goes away."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from docmill.flows.config.settings import ClusterSettings
from docmill.flows.runs import batches
from docmill.flows.runs.phases import Phase
from docmill.storage import failpoints
from docmill.storage.errors import Transient
from docmill.storage.remote.objects.bucket import connect
from tests.kit import victim
from tests.kit.fake_encoder import write_model
from tests.kit.faults.cluster_runs import BUCKET, Heard, pages, rows_of, run_on
from tests.kit.faults.machines import DOCMILL, Machines, free_port, machines, wait_for, with_fake_model
from tests.kit.workbench import Workbench

FETCH = "before fetch freight"
FEW = 8  # documents in a batch, so that there are several for each worker


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut batches of few documents."""
    monkeypatch.setattr(batches, "BATCH_DOCUMENTS", FEW)


@contextmanager
def first(at: str, act: Callable[[], None]) -> Iterator[None]:
    """Call `act` at the first boundary of a name, while all other threads go on."""
    seen: list[str] = []

    def watch(name: str) -> None:
        if name == at and not seen:
            seen.append(name)
            act()

    failpoints.watch = watch
    try:
        yield
    finally:
        failpoints.watch = None


@pytest.mark.soak
def test_a_worker_that_is_killed_in_its_third_batch_costs_only_time(
    cluster: Machines, bench: Workbench, tmp_path: Path
) -> None:
    bench.write(pages(80, "deadly"))
    here = bench.copy(tmp_path / "here")
    here.ingest()
    log: list[str] = []
    engine = Heard(log)
    run_on(cluster.settings, bench, engine)
    assert rows_of(bench) == rows_of(here)
    assert bench.files("chunks") == here.files("chunks")
    assert {row["worker"]: row["killed"] for row in engine.tables["workers"]} == {"one": 1, "two": 0}
    assert "worker one died" in log
    assert connect(BUCKET).listing() == []


def test_a_driver_that_is_killed_leaves_its_finished_batches_to_the_next(
    cluster: Machines, bench: Workbench, token_counts_folder: Path
) -> None:
    process = victim.start(Driver(cluster.settings, dict(cluster.environment)), bench, token_counts_folder, FETCH)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    _wait_until_idle(cluster)
    left = [entry.key.split("/")[2] for entry in connect(BUCKET).listing()]
    finished = left.count("done")
    assert finished
    log: list[str] = []
    report = run_on(cluster.settings, bench, Heard(log))
    assert report.documents.added == 151
    assert f"took over {finished} results that workers had finished" in log
    assert connect(BUCKET).listing() == []


@dataclass
class Driver:
    """A run on the cluster, for a process of its own."""

    settings: ClusterSettings
    environment: dict[str, str]

    def __call__(self, bench: Workbench) -> object:
        os.environ.update(self.environment)
        return run_on(self.settings, bench)


def test_an_interrupted_run_leaves_no_task(cluster: Machines, bench: Workbench) -> None:
    def stop(phase: Phase) -> None:
        if phase.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_on(cluster.settings, bench, Heard(at=stop))
    _wait_until_idle(cluster)
    assert run_on(cluster.settings, bench).documents.added == 151
    assert connect(BUCKET).listing() == []


def _wait_until_idle(cluster: Machines) -> None:
    """Wait until the scheduler knows no task and all workers are at rest."""
    with cluster.client() as client:
        for _ in range(300):
            known = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
            busy = client.run(lambda dask_worker: len(dask_worker.state.executing))
            if not known and not any(busy.values()):
                return
            time.sleep(0.1)
        raise AssertionError(f"{known} tasks are left, at work are {busy}")


@pytest.mark.soak
def test_a_worker_that_comes_with_another_model_gets_no_batch(
    cluster: Machines, bench: Workbench, tmp_path: Path
) -> None:
    other = write_model(tmp_path / "other" / "model", dimension=4)

    def join() -> None:
        cluster.start_worker("strange", model=other)
        with cluster.client():
            pass

    log: list[str] = []
    with first(FETCH, join):
        report = run_on(cluster.settings, bench, Heard(log))
    assert report.documents.added == 151
    said = [line for line in log if "worker strange would make other rows" in line]
    assert said
    assert said[0].endswith("; it gets no more work of this run")
    bench.write({"page001.md": "# Another\n"})
    engine = Heard(log)
    assert run_on(cluster.settings, bench, engine).documents.changed == 1
    assert any(line.endswith("; it gets no work of this run") for line in log)
    assert "strange" not in [row["worker"] for row in engine.tables["workers"]]
    cluster.stop_worker("strange")


@pytest.mark.soak
def test_a_file_that_kills_workers_is_rejected_alone(cluster: Machines, bench: Workbench) -> None:
    bench.write({"poison.md": "# Poison\n"})
    report = run_on(cluster.settings, bench)
    assert [row.uri for row in report.rejects if row.reason == "crashed"] == ["poison.md"]
    assert report.documents.added == 151
    assert connect(BUCKET).listing() == []


@pytest.mark.soak
def test_a_scheduler_may_come_again(
    bench: Workbench, tmp_path: Path, cluster: Machines, object_store_environment: dict[str, str]
) -> None:
    with machines(tmp_path / "apart" / "machines", cluster.model, {"lone": ""}, object_store_environment) as own:

        def restart() -> None:
            own.scheduler.kill()
            own.start_scheduler()

        with first(FETCH, restart):
            report = run_on(own.settings, bench)
        assert report.documents.added == 151
        assert [row for row in report.rejects if row.reason == "crashed"] == []
        bench.write(pages(30, "more"))
        with first(FETCH, own.scheduler.kill), pytest.raises(Transient):
            run_on(own.settings, bench, wait_workers_s=2.0)
    assert run_on(cluster.settings, bench).documents.added == 30


@pytest.mark.soak
def test_the_command_of_the_guide_starts_a_cluster(bench: Workbench, tmp_path: Path, token_counts_folder: Path) -> None:
    port = free_port()
    settings = ClusterSettings(address=f"tls://127.0.0.1:{port}")
    command = [*DOCMILL, "cluster", "up", "--local", "2", "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        environment = os.environ | with_fake_model(str(token_counts_folder))
        process = subprocess.Popen(command, env=environment, stderr=log, stdout=log)
        try:
            wait_for(port)
            assert run_on(settings, bench, freight=str(tmp_path / "freight")).documents.added == 151
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
    assert list((tmp_path / "freight").rglob("*.*")) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)


@pytest.mark.soak
def test_a_worker_that_hangs_is_given_up_and_its_batch_goes_to_another(
    bench: Workbench, tmp_path: Path, token_counts_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "2s")
    stopped, freight = list[int](), tmp_path / "freight"
    freight.mkdir()
    with machines(tmp_path / "apart" / "machines", token_counts_folder, {"one": "", "two": ""}, {}) as own:

        def hang() -> None:
            with own.client() as client:
                pids, busy = client.run(os.getpid), dict[str, int]()
                while not any(busy.values()):  # a worker may be between two steps
                    busy = client.run(lambda dask_worker: len(dask_worker.state.executing))
            stopped.append(next(pids[place] for place, count in busy.items() if count))
            os.kill(stopped[0], signal.SIGSTOP)

        log: list[str] = []
        with first(FETCH, hang):
            report = run_on(own.settings, bench, Heard(log), freight=str(freight))
    assert stopped
    assert report.documents.added == 151
    assert [row for row in report.rejects if row.reason == "crashed"] == []
    assert any(line.startswith("worker ") and line.endswith(" died") for line in log)
    assert connect(str(freight)).listing() == []
