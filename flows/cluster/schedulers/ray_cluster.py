"""Ray cluster: the nodes of a Ray cluster; the only importer of `ray`."""

import logging
from collections import Counter
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from docmill.flows.cluster.schedulers.cluster import (
    NEEDS_NOTHING,
    Needs,
    WorkerLost,
    check_plain,
    checked_host,
    is_loopback,
)
from docmill.flows.config.settings import ClusterSettings
from docmill.storage.errors import ConfigError, Transient
from docmill.storage.process.extras import extra
from docmill.tasks.carrying.carry import carry

_CPU, _GPU = "CPU", "GPU"


class RayCluster:
    """The `RemoteWorkers` of Ray, of which this machine is a node: each node takes one step at a time."""

    def __init__(self, chosen: ClusterSettings) -> None:
        host = checked_host(chosen)
        if chosen.address.startswith("tls:"):
            raise ConfigError('engine = "ray" takes tcp://HOST:PORT; Ray itself encrypts, by its variable RAY_USE_TLS')
        if not is_loopback(host):  # there, Ray's own tokens keep other users out, if they are on
            check_plain(chosen)
        with extra("ray", 'engine = "ray"'):
            import ray
        self._ray: Any = ray
        self._lock, self._busy = Lock(), Counter[str]()
        try:
            ray.init(urlsplit(chosen.address).netloc, log_to_driver=False, logging_level=logging.CRITICAL)
        except (ConnectionError, RuntimeError) as error:
            raise Transient(f"no Ray cluster at {chosen.address} ({error}); start it: ray start --head") from None
        # Not tried again by Ray: the sender decides what becomes of a batch over which a worker has died.
        self._carry = ray.remote(max_retries=0)(carry)

    @property
    def slots(self) -> int:
        return len(self.places())

    def call(self, step: str, parcel: bytes, needs: Needs = NEEDS_NOTHING) -> bytes:
        places = self.places()
        with self._lock:
            fit = [place for place, own in places.items() if needs.fits(place, own)]
            place = min(fit, key=self._busy.__getitem__, default="")
            self._busy[place] += 1
        try:
            if not place:
                raise Transient(f"no node {needs} is left")
            return self._got(self._on(place, places[place][_CPU], needs.resource == _GPU).remote(step, parcel))
        finally:
            with self._lock:
                self._busy[place] -= 1

    def call_each(self, step: str, parcel: bytes) -> dict[str, bytes]:
        asked = {place: self._on(place, 0.0).remote(step, parcel) for place in self.places()}
        return {place: self._got(one) for place, one in asked.items()}

    def places(self) -> dict[str, dict[str, float]]:
        nodes = {one["NodeID"]: one["Resources"] for one in self._ray.nodes() if one["Alive"]}
        return {place: own for place, own in nodes.items() if own.get(_CPU)}

    def close(self) -> None:
        self._ray.shutdown()

    def _on(self, place: str, cpus: float, gpu: bool = False) -> Any:
        """Return the step for one node; with all of its CPUs, as a step has a process for each."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(place, soft=False)
        return self._carry.options(num_cpus=cpus, num_gpus=int(gpu), scheduling_strategy=there)

    def _got(self, receipt: Any) -> bytes:
        """Return a receipt, and turn errors of Ray into ours."""
        errors = self._ray.exceptions
        try:
            return bytes(self._ray.get(receipt))
        except (errors.WorkerCrashedError, errors.OutOfMemoryError):
            raise WorkerLost("of Ray") from None
        except errors.RayError as error:
            raise Transient(f"Ray lost a step ({type(error).__name__}); run again") from None
