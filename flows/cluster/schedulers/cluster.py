"""Cluster: what the engine asks of a cluster, whichever it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from docmill.flows.cluster.schedulers.own_certificate import own_certificate
from docmill.flows.config.settings import ClusterSettings
from docmill.storage.errors import ConfigError, Transient
from docmill.storage.process.loopback import is_loopback

_FILES = ("tls_ca", "tls_cert", "tls_key")  # the settings that name the files of TLS


class WorkerLost(Transient):
    """The worker of a step died; `worker` is its name, and `place` tells its process from a later one, if known."""

    def __init__(self, worker: str, place: str = "") -> None:
        super().__init__(f"worker {worker} died")
        self.worker = worker
        self.place = place


@dataclass(frozen=True, slots=True)
class Needs:
    """What a step needs of a worker: a resource, if any, and that it is none of the places to `avoid`.

    A step that `waits` does so for a worker to come if there is none.
    """

    resource: str = ""
    avoid: frozenset[str] = frozenset()
    waits: bool = True

    def fits(self, place: str, resources: Mapping[str, float]) -> bool:
        """Return whether a worker may take the step."""
        return place not in self.avoid and (not self.resource or bool(resources.get(self.resource)))

    def __str__(self) -> str:
        return f"with the resource {self.resource}" if self.resource else "that would make the same rows"


NEEDS_NOTHING = Needs()


class RemoteWorkers(Protocol):
    """Workers that call `docmill.tasks.work.remote.carry.carry`. A place is the cluster's own name of a worker."""

    @property
    def slots(self) -> int:
        """How many steps the workers carry out at a time."""

    def call(self, step: str, parcel: bytes, needs: Needs = NEEDS_NOTHING) -> bytes:
        """Return the receipt of a step, from any thread; raise `WorkerLost` if its worker died, else `Transient`."""

    def call_each(self, step: str, parcel: bytes) -> dict[str, bytes]:
        """Return the receipts of a step that every worker carries out, by place."""

    def places(self) -> dict[str, dict[str, float]]:
        """Return the workers by place, each with its resources."""

    def close(self) -> None:
        """Cancel what was called and is not done, and leave the cluster."""


def secured(chosen: ClusterSettings) -> ClusterSettings:
    """Return the settings with the certificates of a connection: on loopback those of this user, if none are named.

    Raises:
        docmill.errors.ConfigError: The address is plain TCP without `insecure`, or TLS beyond this machine lacks files.
    """
    host = checked_host(chosen)
    if chosen.address.startswith("tcp:"):
        check_plain(chosen)
        return chosen
    lacking = [f"cluster.{name}" for name in _FILES if not getattr(chosen, name)]
    if is_loopback(host) and len(lacking) == len(_FILES):
        return chosen.model_copy(update=dict.fromkeys(_FILES, own_certificate()))
    if lacking:
        raise ConfigError(f"{chosen.address} needs certificates on both ways; set {', '.join(lacking)}")
    return chosen


def checked_host(chosen: ClusterSettings) -> str:
    """Return the host of the address; raise `ConfigError` for one that is no address of a scheduler."""
    parts = urlsplit(chosen.address)
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or not parts.port:
        raise ConfigError(
            f"cluster.address must be tcp://HOST:PORT or tls://HOST:PORT, got {chosen.address!r}; set it in [cluster]"
        )
    return parts.hostname


def check_plain(chosen: ClusterSettings) -> None:
    """Raise `ConfigError` unless the settings accept plain TCP."""
    if not chosen.insecure:
        raise ConfigError(
            f"{chosen.address} is plain TCP: whoever reaches it, other users of the machine included, can run code on"
            " all workers; take tls://, or set cluster.insecure = true if the network is closed"
        )
