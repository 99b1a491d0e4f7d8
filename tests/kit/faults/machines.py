"""A scheduler and two workers of Dask on loopback, each worker with a home and a model of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from docmill.flows.cluster.dask_processes import (
    SCHEDULER_ENVIRONMENT,
    WorkerOptions,
    scheduler_command,
    worker_command,
    worker_environment,
)
from docmill.flows.config.settings import ClusterSettings
from tests.kit.faults.cluster_worker import MODEL, POISON
from tests.kit.house import ROOT

INSIDE = "/mnt"
"""Where a worker has its home."""
_APART = f'mount --bind "$1" {INSIDE} && mount -t tmpfs none "$2" && cd {INSIDE} && shift 2 && exec "$@"'
"""Lays the home of a worker to its place, and hides the folder of all tests, sources and stores among them."""


@dataclass
class Machines:
    """A scheduler, its address, and its workers by name."""

    address: str
    scheduler: "subprocess.Popen[bytes]"
    workers: dict[str, "subprocess.Popen[bytes]"]


@contextmanager
def machines(folder: Path, model: Path, names: Sequence[str], environment: dict[str, str]) -> Iterator[Machines]:
    """Run a scheduler and workers; end them with all that they have started."""
    port = _free_port()
    address = f"tcp://127.0.0.1:{port}"
    with ExitStack() as stack:
        scheduler = stack.enter_context(
            _process(scheduler_command(port), os.environ | SCHEDULER_ENVIRONMENT, folder / "scheduler")
        )
        _wait_for(port)
        found = {name: _worker(stack, folder / name, model, address, name, environment) for name in names}
        yield Machines(address, scheduler, found)


def _worker(
    stack: ExitStack, home: Path, model: Path, address: str, name: str, environment: dict[str, str]
) -> "subprocess.Popen[bytes]":
    shutil.copytree(model, home / "model")
    own = {"HOME": INSIDE, "XDG_CACHE_HOME": f"{INSIDE}/cache", "TMPDIR": INSIDE, MODEL: f"{INSIDE}/model"}
    own |= {POISON: "poison.md", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    options = WorkerOptions(name=name)
    command = worker_command(ClusterSettings(address=address), options)
    command += ["--local-directory", INSIDE, "--preload", "tests.kit.faults.cluster_worker"]
    apart = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c", _APART, "sh"]
    command = [*apart, str(home), str(home.parents[1]), *command]
    return stack.enter_context(_process(command, {**worker_environment(options), **own}, home))


@contextmanager
def _process(command: Sequence[str], environment: dict[str, str], folder: Path) -> "Iterator[subprocess.Popen[bytes]]":
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder, start_new_session=True)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the scheduler did not start")
