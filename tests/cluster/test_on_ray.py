"""The same run on a node of Ray, where that is installed: it is no part of the locked packages."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from docmill.flows.config.settings import ClusterSettings
from docmill.flows.runs.report import Report
from docmill.storage.errors import ConfigError, Transient
from docmill.storage.objects.bucket import connect
from tests.kit.far_bench import make_bucket
from tests.kit.faults.cluster_runs import BUCKET, rows_of, run_on
from tests.kit.faults.machines import free_port, with_fake_model
from tests.kit.workbench import Workbench

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'docmill[ray]'"),
]
_HOOK = """
import sys
if any("default_worker.py" in one for one in sys.orig_argv):
    from tests.kit.faults.cluster_worker import dask_setup
    dask_setup(None)
"""
"""Loads what a worker of Dask loads first into each worker process of Ray."""


@pytest.fixture
def node(
    tmp_path: Path, token_counts_folder: Path, object_store_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[ClusterSettings]:
    """Run a node of Ray on loopback."""
    for name, value in object_store_environment.items():
        monkeypatch.setenv(name, value)
    make_bucket("freight")
    (tmp_path / "sitecustomize.py").write_text(_HOOK)
    port = free_port()
    fakes = with_fake_model(str(token_counts_folder))
    environment = {**os.environ, **fakes, "PYTHONPATH": f"{tmp_path}:{fakes['PYTHONPATH']}"}
    options = ["--node-ip-address", "127.0.0.1", "--port", str(port), "--num-cpus", "2"]
    ray = [sys.executable, "-c", "from ray.scripts.scripts import main; main()"]
    start = [*ray, "start", "--head", "--block", "--include-dashboard", "false", *options]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(start, env=environment, stdout=log, stderr=log)
        try:
            yield ClusterSettings(address=f"tcp://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait(60)


def ingested(node: ClusterSettings, bench: Workbench) -> Report:
    """Ingest a bench once the node is there, which takes it seconds."""
    for _ in range(30):
        with suppress(Transient):
            return run_on(node, bench, engine_name="ray")
        time.sleep(1)
    raise TimeoutError("the node of Ray did not start")


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_node_of_ray_makes_the_rows_that_threads_make(
    node: ClusterSettings, bench: Workbench, tmp_path: Path
) -> None:
    bench.write({"poison.md": "# Poison\n"})
    here = bench.copy(tmp_path / "here")
    near = here.ingest()
    far = ingested(node, bench)
    assert far.engine == "ray"
    assert [row.uri for row in far.rejects if row.reason == "crashed"] == ["poison.md"]
    (bench.docs / "poison.md").unlink()
    (here.docs / "poison.md").unlink()
    run_on(node, bench, engine_name="ray")
    here.ingest()
    assert near.documents.added == far.documents.added + 1
    assert rows_of(bench) == rows_of(here)
    assert bench.files("chunks") == here.files("chunks")
    assert connect(BUCKET).listing() == []


def test_ray_takes_no_certificates_of_ours(bench: Workbench) -> None:
    files = dict.fromkeys(("tls_ca", "tls_cert", "tls_key"), "file.pem")
    with pytest.raises(ConfigError, match="RAY_USE_TLS"):
        run_on(ClusterSettings.model_validate({"address": "tls://10.0.0.5:6379", **files}), bench, engine_name="ray")
