"""Own certificate: how scheduler, workers and drivers of one user know each other on one machine, among other users."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from docmill.flows.config.self_signed import self_signed_pem
from docmill.storage.errors import ConfigError
from docmill.storage.files import OWNER_ONLY, temporary

_FILE = "docmill/cluster/own.pem"  # below the user's cache folder
_LASTS = timedelta(days=365)
_SPARE = timedelta(days=30)
"""A certificate that ends sooner is replaced, so that none ends during a run."""


def own_certificate() -> str:
    """Return the path of a file with the key and the certificate of this user; make it if there is none.

    The certificate is its own authority: who connects has to have the key, and only the user can read that.

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
    """Return whether there is a certificate that others cannot read and that does not end soon."""
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
    with temporary(file.parent) as draft:  # which only its owner can read
        draft.write_bytes(self_signed_pem(_LASTS))
        draft.replace(file)
