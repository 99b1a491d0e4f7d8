"""The secret of the embedded server: a file that only the user can read, and a variable for the processes of a run."""

import os
from pathlib import Path
from secrets import token_urlsafe

from docmill.storage.errors import Transient

SECRET = "docmill-server.secret"  # Prefect's page asks for its content
SERVER_VARIABLE = "PREFECT_SERVER_API_AUTH_STRING"
CLIENT_VARIABLE = "PREFECT_API_AUTH_STRING"
_BYTES = 24  # of randomness, so that guessing is hopeless
_OTHERS = 0o077  # the permissions of all users but the owner


def provide(home: Path) -> str:
    """Return the secret of the server of `home` as "user:password", and save it in the file `SECRET`.

    It is `PREFECT_SERVER_API_AUTH_STRING` if set, else the saved one, so that browsers stay logged in, else a new one.
    A saved secret that other users could read is replaced.
    """
    secret = os.environ.get(SERVER_VARIABLE, "").strip() or _kept(home) or f"docmill:{token_urlsafe(_BYTES)}"
    with os.fdopen(open_private(home / SECRET), "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
    return secret


def secret_of(home: Path) -> str:
    """Return the secret of the server that runs for `home`; raise `Transient` if it is gone."""
    path = home / SECRET
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise Transient(f"{path} is missing; end the runs that use this server, then run again") from None


def open_private(path: Path) -> int:
    """Open a file for writing, empty it, and let only its owner read it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(handle, 0o600)
    return handle


def _kept(home: Path) -> str:
    path = home / SECRET
    return secret_of(home) if path.exists() and not path.stat().st_mode & _OTHERS else ""
