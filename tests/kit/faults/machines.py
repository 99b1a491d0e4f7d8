"""A scheduler and workers of Dask on loopback with TLS, each worker with a home and a model of its own."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client

from docmill.flows.cluster.dask_cluster import SCHEDULER_ENVIRONMENT, scheduler_command, security_of
from docmill.flows.config.settings import ClusterSettings
from tests.kit.faults.cluster_worker import MODEL
from tests.kit.house import ROOT
from tests.kit.writers.certificates import write_certificates

INSIDE = "/mnt"
"""Where a worker has its home."""
_APART = f'mount --bind "$1" {INSIDE} && mount -t tmpfs none "$2" && cd {INSIDE} && shift 2 && exec "$@"'
"""Lays the home of a worker to its place, and hides the folder of all tests, sources and stores among them."""
DOCMILL = (sys.executable, "-m", "docmill.flows.cli.start")
_JOIN_S = 60


@dataclass
class Machines:
    """A scheduler and its workers by name. `environment` leads workers to the object store.

    `model` is the folder of the fake model; without one, workers have the models that are installed.
    """

    folder: Path
    model: Path | None
    settings: ClusterSettings
    environment: Mapping[str, str]
    stack: ExitStack
    scheduler: "subprocess.Popen[bytes]" = field(init=False)
    workers: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start_scheduler(self) -> None:
        """Start the scheduler, also in the place of one that is gone."""
        command, environment = scheduler_command(self.settings), os.environ | SCHEDULER_ENVIRONMENT
        self.scheduler = self.stack.enter_context(_process(command, environment, self.folder / "scheduler"))
        wait_for(int(self.settings.address.rpartition(":")[2]))

    def start_worker(self, name: str, resources: str = "", model: Path | None = None) -> None:
        """Start a worker by `docmill worker`."""
        home = self.folder / name
        home.mkdir(parents=True)
        fake = model or self.model
        if fake:
            shutil.copytree(fake, home / "model")
        certificates = ("tls_ca", "tls_cert", "tls_key")
        for one in certificates:
            shutil.copy(getattr(self.settings, one), home)
        own = {f"DOCMILL_CLUSTER__{one.upper()}": f"{INSIDE}/{one}.pem" for one in certificates}
        own |= dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR", "DASK_TEMPORARY_DIRECTORY"), INSIDE)
        options = ["--name", name, "--resources", resources]
        command = [*DOCMILL, "worker", self.settings.address, *options]
        apart = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c", _APART, "sh"]
        command = [*apart, str(home), str(home.parents[1]), *command]
        fakes = with_fake_model(f"{INSIDE}/model") if fake else {"PYTHONPATH": str(ROOT)}
        environment = {**os.environ, **fakes, **own, **self.environment}
        self.workers[name] = self.stack.enter_context(_process(command, environment, home))

    def stop_worker(self, name: str) -> None:
        """End a worker."""
        process = self.workers.pop(name)
        process.terminate()
        process.wait(20)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Join the scheduler, once all workers have."""
        connect: Any = Client
        address = self.settings.address
        with connect(address, security=security_of(self.settings), set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=_JOIN_S)
            yield client


@contextmanager
def machines(
    folder: Path, model: Path | None, workers: Mapping[str, str], environment: Mapping[str, str]
) -> Iterator[Machines]:
    """Run a scheduler, and workers by their names, each with its resources; end them with all that they started."""
    files = write_certificates(folder / "certificates")
    settings = ClusterSettings.model_validate({"address": f"tls://127.0.0.1:{free_port()}", **files})
    with ExitStack() as stack:
        found = Machines(folder, model, settings, environment, stack)
        found.start_scheduler()
        for name, resources in workers.items():
            found.start_worker(name, resources)
        with found.client():
            pass
        yield found


def with_fake_model(model: str) -> dict[str, str]:
    """Return the variables with which a worker of Dask knows the fake model in a folder."""
    preload = json.dumps(["tests.kit.faults.cluster_worker"])
    own = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "DASK_DISTRIBUTED__WORKER__PRELOAD": preload}
    return {MODEL: model, **own}


@contextmanager
def _process(command: Sequence[str], environment: dict[str, str], folder: Path) -> "Iterator[subprocess.Popen[bytes]]":
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder, start_new_session=True)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()


def free_port() -> int:
    """Return a port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until somebody listens on a port of loopback."""
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the scheduler did not start")
