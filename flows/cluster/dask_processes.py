"""Dask processes: the scheduler and the workers of a cluster as processes with safe defaults."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from docmill.flows.cluster.cluster import secured
from docmill.flows.config.settings import ClusterSettings
from docmill.storage.process.extras import extra
from docmill.storage.process.loopback import is_loopback
from docmill.tasks.work.remote.perform import WORKER

LOOPBACK = "127.0.0.1"
_THREADS = "OMP_NUM_THREADS"
"""The variable with the number of threads of PyTorch and NumPy in a process; that of the user wins."""
# The driver knows best what to do when a worker dies: Dask would kill three more workers first.
SCHEDULER_ENVIRONMENT = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker joins: its address (empty for the one that leads to the scheduler), its name, and its resources."""

    host: str = ""
    name: str = ""
    resources: str = ""


def scheduler_command(chosen: ClusterSettings) -> list[str]:
    """Return the command of a scheduler that listens on an address; raise `ConfigError` if `secured` does."""
    chosen = secured(chosen)
    _check_installed()
    parts = urlsplit(chosen.address)
    own = ["--protocol", parts.scheme, "--host", str(parts.hostname), "--port", str(parts.port)]
    own += ["--dashboard-address", f"{LOOPBACK}:0", "--no-dashboard", *_tls(chosen)]
    return [sys.executable, "-m", "distributed.cli.dask_scheduler", *own]


def worker_command(chosen: ClusterSettings, options: WorkerOptions) -> list[str]:
    """Return the command of a worker; raise `ConfigError` for an address that `secured` refuses.

    It has one thread, so that the scheduler knows over which batch it died; a batch has a process for each CPU. Dask
    sees nothing of the memory of these, and so has no limit; [parse] memory_mb limits each.
    """
    chosen = secured(chosen)
    _check_installed()
    host = options.host or _own_host(chosen.address)
    own = ["--host", host, "--nthreads", "1", "--nworkers", "1", "--memory-limit", "0", "--name", name_of(options)]
    own += ["--dashboard-address", f"{LOOPBACK}:0", "--no-dashboard"]
    if options.resources:
        own += ["--resources", options.resources]
    return [sys.executable, "-m", "distributed.cli.dask_worker", chosen.address, *own, *_tls(chosen)]


def scheduler(chosen: ClusterSettings) -> "subprocess.Popen[bytes]":
    """Start a scheduler on this machine."""
    return subprocess.Popen(scheduler_command(chosen), env=os.environ | SCHEDULER_ENVIRONMENT)


def workers(chosen: ClusterSettings, count: int) -> "Iterator[subprocess.Popen[bytes]]":
    """Start workers on this machine, named by their numbers."""
    for number in range(1, count + 1):
        options = WorkerOptions(name=f"{socket.gethostname()}-{number}")
        yield subprocess.Popen(worker_command(chosen, options), env=worker_environment(options, sharing=count))


def name_of(options: WorkerOptions) -> str:
    """Return the name of a worker, which receipts tell."""
    return options.name or f"{socket.gethostname()}-{os.getpid()}"


def worker_environment(options: WorkerOptions, sharing: int = 1) -> Mapping[str, str]:
    """Return the variables of a worker process; `sharing` is how many workers share the cores of this machine.

    A model takes a thread for each core, and threads that wait for each other spin: two workers with two threads each
    on two cores took 1.5 times the CPU of two with one each.
    """
    threads = {_THREADS: str(max(1, (os.cpu_count() or 1) // sharing))} if sharing > 1 else {}
    return threads | os.environ | {WORKER: name_of(options)}


def _check_installed() -> None:
    with extra("dask", "a cluster"):
        import distributed  # noqa: F401


def _tls(chosen: ClusterSettings) -> Iterator[str]:
    for flag, file in (
        ("--tls-ca-file", chosen.tls_ca),
        ("--tls-cert", chosen.tls_cert),
        ("--tls-key", chosen.tls_key),
    ):
        if file:
            yield from (flag, file)


def _own_host(address: str) -> str:
    """Return the address of this machine on the way to the scheduler: without one, a worker listens everywhere."""
    parts = urlsplit(address)
    if is_loopback(parts.hostname or ""):
        return LOOPBACK
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((parts.hostname or "", parts.port or 0))  # sends nothing
        return str(probe.getsockname()[0])
