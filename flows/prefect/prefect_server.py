"""The embedded Prefect server, which concurrent runs share and the first of them starts."""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from docmill.flows.prefect.server_main import ADDRESS, LEASES, SERVER, SHUTDOWN_S
from docmill.flows.prefect.server_secret import CLIENT_VARIABLE, open_private, secret_of
from docmill.storage.errors import ConfigError, Transient
from docmill.storage.files import OWNER_ONLY, flocked
from docmill.storage.process.child_process import PYTHON

STARTING = "docmill-starting.lock"  # held by the run that searches for a server or starts one
LOG = "docmill-server.log"
STARTUP_S = 180.0
"""Seconds for the server to answer. It creates its database first, which is slow on a slow disk."""
_POLL_S = 0.1  # seconds between checks for an answer


@contextmanager
def embedded_server(port: int = 0) -> Iterator[str]:
    """Yield the URL of a Prefect API, and configure this process to use it during the block.

    Joins the server of another run if there is one. `port` is a preference: another is used if it is taken. Raises
    `Transient` if the server does not start.
    """
    home = prefect_home()
    started: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        stack.callback(_wait_for_end, started)
        with flocked(home / STARTING, fcntl.LOCK_EX, 0o600):
            stack.enter_context(flocked(home / LEASES, fcntl.LOCK_SH, 0o600))
            if not _is_alive(home):
                started.append(_start(home, port))
            url = _address(home, started)
        access = {"PREFECT_API_URL": url, CLIENT_VARIABLE: secret_of(home)}
        stack.enter_context(environment({"PREFECT_HOME": str(home), **access, **_no_proxy()}))
        yield url


def prefect_home() -> Path:
    """Return the folder of the embedded server's database: PREFECT_HOME, else a folder in the user's cache.

    Only the user can enter the folder, except for an existing PREFECT_HOME, which keeps its mode.
    """
    named, cache = os.environ.get("PREFECT_HOME"), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = Path(named or f"{cache}/docmill/prefect").expanduser().absolute()
    try:
        home.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        if not named:
            home.chmod(OWNER_ONLY)  # earlier versions left it open
    except OSError as error:
        raise ConfigError(
            f"{home} cannot be created ({error.strerror}); set PREFECT_HOME to a writable folder"
        ) from None
    return home


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables during a block, and refresh Prefect's settings if it is loaded."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    _refresh()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _refresh()


def _refresh() -> None:
    if "prefect.context" in sys.modules:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()


def _no_proxy() -> dict[str, str]:
    """Exclude loopback from a proxy set in the environment."""
    hosts = ",".join(filter(None, (os.environ.get("NO_PROXY") or os.environ.get("no_proxy"), "127.0.0.1")))
    return {"NO_PROXY": hosts, "no_proxy": hosts}


def _is_alive(home: Path) -> bool:
    try:
        with flocked(home / SERVER, fcntl.LOCK_EX | fcntl.LOCK_NB, 0o600):
            return False
    except BlockingIOError:
        return True


def _start(home: Path, port: int) -> subprocess.Popen[bytes]:
    (home / ADDRESS).unlink(missing_ok=True)
    with os.fdopen(open_private(home / LOG), "wb") as log:
        return subprocess.Popen(
            [*PYTHON, "-m", "docmill.flows.prefect.server_main", str(home), str(port)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C stops the run only; the server ends after it
        )


def _address(home: Path, started: list[subprocess.Popen[bytes]]) -> str:
    """Wait for the server to answer and return the URL of its API."""
    deadline = time.monotonic() + STARTUP_S
    while time.monotonic() < deadline:
        if (home / ADDRESS).exists():
            return str(json.loads((home / ADDRESS).read_bytes())["url"])
        if started and started[0].poll() is not None:
            raise Transient(_failure(home, f"ended with status {started[0].returncode}"))
        time.sleep(_POLL_S)
    raise Transient(_failure(home, f"did not answer within {STARTUP_S:.0f} s"))


def _failure(home: Path, what: str) -> str:
    tail = (home / LOG).read_text(errors="replace").strip().splitlines()[-1:]
    return f"Prefect's server {what}; see {home / LOG} ({''.join(tail)}), or take --engine local"


def _wait_for_end(started: list[subprocess.Popen[bytes]]) -> None:
    """Wait until a server that this run started has ended, unless other runs use it."""
    for server in started:
        try:
            server.wait(SHUTDOWN_S + 5.0)
        except subprocess.TimeoutExpired:
            server.returncode = 0  # it ends with the last lease, held by another run
