"""Dask cluster: the workers of a Dask scheduler; the only importer of `distributed`."""

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from docmill.flows.cluster.cluster import NEEDS_NOTHING, Needs, WorkerLost, secured
from docmill.flows.config.settings import ClusterSettings
from docmill.storage.errors import Transient
from docmill.storage.process.extras import extra
from docmill.storage.process.loopback import is_loopback
from docmill.tasks.work.remote.carry import carry
from docmill.tasks.work.remote.worker_steps import WORKER

T = TypeVar("T")
_CONNECT_S = 10.0
"""Seconds for the scheduler to answer."""
_LOOK_S = 5.0
"""Seconds after which a call without an answer checks whether there is still a worker for it."""
_PAUSE_S = 0.2
"""Seconds between two checks for a worker that has not joined yet."""
_REJOINS = 3
"""How often the scheduler may be lost during one call. If it is lost more often, the run cannot be carried out."""


class _SchedulerGone(Exception):
    """The scheduler is gone, or no longer knows a step."""


class DaskCluster:
    """The `RemoteWorkers` of Dask at the address in the settings."""

    def __init__(self, chosen: ClusterSettings, connect_s: float = _CONNECT_S) -> None:
        self._chosen = secured(chosen)
        self._joining = Lock()
        self._left = False
        self._client = self._joined(connect_s)

    @property
    def slots(self) -> int:
        return sum(self._asked(lambda client: client.nthreads()).values())

    def call(self, step: str, parcel: bytes, needs: Needs = NEEDS_NOTHING) -> bytes:
        return self._asked(lambda client: self._carried(client, step, parcel, needs))

    def call_each(self, step: str, parcel: bytes) -> dict[str, bytes]:
        return dict(self._asked(lambda client: client.run(carry, step, parcel)))

    def places(self) -> dict[str, dict[str, float]]:
        return self._asked(_places)

    def close(self) -> None:
        self._left = True
        self._closed(self._client)

    def _asked(self, ask: Callable[[Any], T]) -> T:
        """Return the answer of the scheduler, or of the one that has replaced it."""
        for _ in range(_REJOINS):
            client = self._client
            with suppress(_SchedulerGone), _explained(client):
                return ask(client)
            self._rejoin(client)
        raise Transient(f"the scheduler at {self._chosen.address} was lost {_REJOINS} times; run again")

    def _carried(self, client: Any, step: str, parcel: bytes, needs: Needs) -> bytes:
        """Return the receipt of a step. Submit it again if all workers that it names are gone."""
        while True:
            # It names workers only if it must, because then a worker that joins later cannot take it.
            named = self._some_worker(client, needs) if needs.avoid else None
            resources = {needs.resource: 1} if needs.resource else None
            # Not pure: the same parcel may be tried again. The future is released here, or Dask would carry out a
            # finished step once more if the worker that holds its receipt dies.
            future = client.submit(carry, step, parcel, pure=False, workers=named, resources=resources)
            try:
                while not named or {*named} & {*self._some_worker(client, needs)}:
                    with suppress(TimeoutError):
                        return bytes(future.result(timeout=_LOOK_S))
                    self._some_worker(client, needs)
            finally:
                future.release()

    def _some_worker(self, client: Any, needs: Needs) -> list[str]:
        """Return the workers that fit. Wait for the first one, and raise `Transient` if none joins."""
        end = time.monotonic() + (self._chosen.wait_workers_s if needs.waits else 0.0)
        while not (found := _fitting(client, needs)):
            if time.monotonic() > end:
                raise Transient(f"no worker {needs} joined {self._chosen.address}; start one, see: docmill worker")
            time.sleep(_PAUSE_S)
        return found

    def _joined(self, seconds: float) -> Any:
        """Return a client when the scheduler answers and has a worker."""
        chosen = self._chosen
        with extra("dask", 'engine = "dask"'):
            from distributed import Client
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we report a lost scheduler
        try:
            # Not the default client of this process: the caller may have one.
            connect: Any = Client
            client = connect(
                chosen.address, security=security_of(chosen), timeout=seconds, set_as_default=False, name="docmill"
            )
        except (OSError, TimeoutError) as error:
            raise Transient(f"no scheduler at {chosen.address} ({error}); start it, see: docmill worker") from None
        try:
            client.wait_for_workers(1, timeout=chosen.wait_workers_s)
        except TimeoutError:
            self._closed(client)
            raise Transient(
                f"no worker joined {chosen.address} in {chosen.wait_workers_s:g} s; start one on each machine:"
                f" docmill worker {chosen.address}"
            ) from None
        return client

    def _rejoin(self, lost: Any) -> None:
        """Join the scheduler that has replaced the lost one, once for all threads."""
        with self._joining:
            if self._left:
                # Without blaming the batch: a document must not be rejected because a scheduler was gone.
                raise Transient("the scheduler lost a step; run again")
            if self._client is not lost:
                return
            self._left = True  # unless there is another one, all waiting calls end
            self._closed(lost)
            self._client = self._joined(self._chosen.wait_workers_s)
            self._left = False

    @staticmethod
    def _closed(client: Any) -> None:
        with suppress(OSError, CancelledError):  # the scheduler is gone already
            client.close()


def _fitting(client: Any, needs: Needs) -> list[str]:
    """Return the addresses of the workers that may take a step."""
    # Resources need a longer request.
    found = [place for place, own in _places(client).items() if needs.fits(place, own)] if needs.resource else None
    return sorted(set(client.nthreads() if found is None else found) - needs.avoid)


def _places(client: Any) -> dict[str, dict[str, float]]:
    """Return the workers by address with their resources."""
    return {address: one["resources"] for address, one in client.scheduler_info(n_workers=-1)["workers"].items()}


@contextmanager
def _explained(client: Any) -> Iterator[None]:
    """Convert errors of Dask into docmill's."""
    from distributed import KilledWorker
    from distributed.client import ClosedClientError

    try:
        yield
    except KilledWorker as error:
        raise WorkerLost(str(error.last_worker.name), error.last_worker.address) from None
    except (CancelledError, ClosedClientError, OSError) as error:
        raise _SchedulerGone from error
    except AttributeError as error:  # another thread has closed the client meanwhile
        if client.status == "running":
            raise
        raise _SchedulerGone from error


def security_of(chosen: ClusterSettings) -> Any:
    """Return Dask's security: mutual TLS if the settings name certificates."""
    from distributed import security

    make: Any = security.Security
    if not chosen.address.startswith("tls://"):
        return make()
    cert, key = chosen.tls_cert, chosen.tls_key
    return make(
        require_encryption=True,
        tls_ca_file=chosen.tls_ca,
        tls_client_cert=cert,
        tls_client_key=key,
        tls_worker_cert=cert,
        tls_worker_key=key,
        tls_scheduler_cert=cert,
        tls_scheduler_key=key,
    )


LOOPBACK = "127.0.0.1"
_THREADS = "OMP_NUM_THREADS"
"""The variable with the number of threads of PyTorch and NumPy in a process; a value set by the user wins."""
# The driver knows best what to do when a worker dies; Dask would kill three more workers first.
SCHEDULER_ENVIRONMENT = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker joins: its address (if empty, the one that reaches the scheduler), its name and its resources."""

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

    It has one thread, so that the scheduler knows during which batch it died; a batch has a process for each CPU. Dask
    does not see the memory of these processes, so it has no limit; [parse] memory_mb limits each of them.
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
    """Start numbered workers on this machine."""
    for number in range(1, count + 1):
        options = WorkerOptions(name=f"{socket.gethostname()}-{number}")
        yield subprocess.Popen(worker_command(chosen, options), env=worker_environment(options, sharing=count))


def name_of(options: WorkerOptions) -> str:
    """Return the name of a worker for its receipts."""
    return options.name or f"{socket.gethostname()}-{os.getpid()}"


def worker_environment(options: WorkerOptions, sharing: int = 1) -> Mapping[str, str]:
    """Return the environment variables of a worker process; `sharing` workers share the cores of this machine.

    A model uses a thread for each core, and waiting threads spin: two workers with two threads each on two cores took
    1.5 times the CPU time of two with one thread each.
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
    """Return this machine's address as seen by the scheduler: without one, a worker listens on all addresses."""
    parts = urlsplit(address)
    if is_loopback(parts.hostname or ""):
        return LOOPBACK
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((parts.hostname or "", parts.port or 0))  # sends nothing
        return str(probe.getsockname()[0])
