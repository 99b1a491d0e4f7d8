"""Cluster: the interface between the engine and any cluster.

On one machine, the scheduler, workers and drivers of a user authenticate each other by the user's own certificate.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from docmill.flows.config.settings import ClusterSettings
from docmill.storage.errors import ConfigError, Transient
from docmill.storage.files import OWNER_ONLY, temporary
from docmill.storage.process.loopback import is_loopback

_FILE = "docmill/cluster/own.pem"  # below the user's cache folder
_LASTS = timedelta(days=365)
_SPARE = timedelta(days=30)
"""A certificate that expires sooner is replaced, so that none expires during a run."""


def own_certificate() -> str:
    """Return the path of a file with the key and certificate of this user; create it if there is none.

    The certificate is its own authority: connecting requires the key, which only the user can read.

    Raises:
        docmill.errors.ConfigError: The file cannot be written.
    """
    file = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / _FILE
    try:
        if not _lasts(file):
            _make(file)
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be written ({error.strerror}); set cluster.tls_ca, cluster.tls_cert and cluster.tls_key"
        ) from None
    return str(file)


def _lasts(file: Path) -> bool:
    """Return whether there is a certificate that others cannot read and that does not expire soon."""
    from cryptography.x509 import load_pem_x509_certificate

    try:
        data, mode = file.read_bytes(), file.stat().st_mode
        ends = load_pem_x509_certificate(data).not_valid_after_utc
    except (FileNotFoundError, ValueError):
        return False
    return not mode & 0o077 and ends - datetime.now(UTC) > _SPARE


def _make(file: Path) -> None:
    file.parent.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
    file.parent.chmod(OWNER_ONLY)
    with temporary(file.parent) as draft:  # only its owner can read it
        draft.write_bytes(self_signed_pem(_LASTS))
        draft.replace(file)


_FILES = ("tls_ca", "tls_cert", "tls_key")  # the settings that name the files of TLS


class WorkerLost(Transient):
    """The worker of a step died. `worker` is its name, and `place`, if known, identifies its process."""

    def __init__(self, worker: str, place: str = "") -> None:
        super().__init__(f"worker {worker} died")
        self.worker = worker
        self.place = place


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of a step: a resource, if any, and a worker that is not among the places to `avoid`.

    If a step `waits`, it waits for a worker to join if there is none.
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
    """Workers that call `docmill.tasks.work.remote.carry.carry`. A place is the cluster's name for a worker."""

    @property
    def slots(self) -> int:
        """How many steps the workers carry out at a time."""

    def call(self, step: str, parcel: bytes, needs: Needs = NEEDS_NOTHING) -> bytes:
        """Return the receipt of a step, from any thread; raise `WorkerLost` if its worker died, or else `Transient`."""

    def call_each(self, step: str, parcel: bytes) -> dict[str, bytes]:
        """Return the receipts of a step that every worker carries out, by place."""

    def places(self) -> dict[str, dict[str, float]]:
        """Return the workers by place with their resources."""

    def close(self) -> None:
        """Cancel unfinished calls and leave the cluster."""


def secured(chosen: ClusterSettings) -> ClusterSettings:
    """Return the settings with the certificates for a connection, on loopback by default those of this user.

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
    """Return the host of the address; raise `ConfigError` if it is not an address of a scheduler."""
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
            f"{chosen.address} is plain TCP: anyone who reaches it, including other users of the machine, can run code"
            " on all workers; take tls://, or set cluster.insecure = true if the network is closed"
        )


_NAME = "docmill"


def self_signed_pem(lasts: timedelta) -> bytes:
    """Return a new key and its certificate, which is its own authority: connecting requires the key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    now = datetime.now(UTC)
    use = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign", "encipher_only",
         "decipher_only"),
        False,
    )  # fmt: skip
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + lasts)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, **use), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*form) + made.public_bytes(serialization.Encoding.PEM)
