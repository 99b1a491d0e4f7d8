"""Dask cluster: the workers of a Dask scheduler; the only importer of `distributed`."""

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from docmill.flows.cluster.cluster import WorkerLost, check_secure
from docmill.flows.config.settings import ClusterSettings
from docmill.storage.errors import Transient
from docmill.storage.process.extras import extra
from docmill.tasks.carrying.carry import carry

_CONNECT_S = 10.0
"""Seconds for the scheduler to answer."""


class DaskCluster:
    """The `RemoteWorkers` of Dask, by the address in the settings."""

    def __init__(self, chosen: ClusterSettings) -> None:
        check_secure(chosen)
        with extra("dask", 'engine = "dask"'):
            from distributed import Client
        try:
            # Not the default client of this process: the caller may have one.
            connect: Any = Client
            self._client = connect(
                chosen.address, security=security_of(chosen), timeout=_CONNECT_S, set_as_default=False, name="docmill"
            )
        except (OSError, TimeoutError) as error:
            raise Transient(f"no scheduler at {chosen.address} ({error}); start it, see: docmill worker") from None
        try:
            self._client.wait_for_workers(1, timeout=chosen.wait_workers_s)
        except TimeoutError:
            self.close()
            raise Transient(
                f"no worker came to {chosen.address} in {chosen.wait_workers_s:g} s; start one on each machine:"
                f" docmill worker {chosen.address}"
            ) from None

    @property
    def slots(self) -> int:
        with _explained():
            return sum(self._client.nthreads().values())

    def call(self, step: str, parcel: bytes, resource: str = "") -> bytes:
        resources = {resource: 1} if resource else None
        with _explained():
            # Not pure: the same parcel may be tried again. The future is released here, or Dask would carry out a
            # finished step once more if the worker that holds its receipt dies.
            future = self._client.submit(carry, step, parcel, pure=False, resources=resources)
            try:
                return bytes(future.result())
            finally:
                future.release()

    def call_each(self, step: str, parcel: bytes) -> list[bytes]:
        with _explained():
            return list(self._client.run(carry, step, parcel).values())

    def close(self) -> None:
        with suppress(OSError, CancelledError):  # nobody is left to say goodbye to
            self._client.close()


@contextmanager
def _explained() -> Iterator[None]:
    """Turn errors of Dask into ours."""
    from distributed import KilledWorker
    from distributed.client import ClosedClientError

    try:
        yield
    except KilledWorker:
        raise WorkerLost("the worker of a step died") from None
    except (CancelledError, ClosedClientError, OSError) as error:
        # No word about the batch: a document must not be rejected because a scheduler was gone.
        raise Transient(f"the scheduler lost a step ({type(error).__name__}); run again") from None


def security_of(chosen: ClusterSettings) -> Any:
    """Return Dask's security: TLS both ways where the settings name certificates."""
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
