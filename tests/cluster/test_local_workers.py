"""Workers of one machine share its cores."""

import os

import pytest

from docmill.flows.cluster.dask_cluster import WorkerOptions, worker_environment


def test_workers_that_share_a_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert "OMP_NUM_THREADS" not in worker_environment(WorkerOptions())
    threads = [worker_environment(WorkerOptions(), sharing)["OMP_NUM_THREADS"] for sharing in (2, 3, 16)]
    assert threads == ["4", "2", "1"]
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert worker_environment(WorkerOptions(), 2)["OMP_NUM_THREADS"] == "7"
