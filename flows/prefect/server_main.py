"""The process of the embedded Prefect server, which runs while any process holds a lease.

`docmill.flows.prefect.prefect_server` starts it as `python -m docmill.flows.prefect.server_main HOME PORT`. A lease
is a shared `flock`. The kernel releases it however its holder dies, so no run leaves a server behind.
"""

import fcntl
import json
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.flows.deploy.prefect_server_settings import HOSTS, ORIGINS_VARIABLE, SERVER_SETTINGS, own_origins
from docmill.flows.prefect.server_secret import SERVER_VARIABLE, provide

if TYPE_CHECKING:
    import uvicorn

SERVER = "docmill-server.lock"  # held exclusively by the server during its life
LEASES = "docmill-leases.lock"  # held shared by each user of the server
ADDRESS = "docmill-server.json"  # written when the server answers

ENVIRONMENT = {
    **SERVER_SETTINGS,
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
}
SHUTDOWN_S = 15.0
"""Seconds between the end of the last lease and the end of the process, for requests in progress."""


def main(home: Path, port: int) -> None:
    """Serve Prefect's API with the database in `home` until the last lease ends, on `port` if it is free."""
    alive = os.open(home / SERVER, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another server has this home")
    (home / ADDRESS).unlink(missing_ok=True)
    listener = _listen(port)
    server = _create(home, listener.getsockname()[1])
    _keep_private(home)
    for watch in (_announce, _end_with_last_lease):
        threading.Thread(target=watch, args=(server, home), daemon=True).start()
    server.run(sockets=[listener])
    (home / ADDRESS).unlink(missing_ok=True)


def _listen(port: int) -> socket.socket:
    """Return a socket on loopback, on a free port if `port` is 0 or taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with suppress(OSError):
        listener.bind(("127.0.0.1", port))
        return listener
    listener.bind(("127.0.0.1", 0))
    return listener


def _create(home: Path, port: int) -> "uvicorn.Server":
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault(ORIGINS_VARIABLE, own_origins(port))
    os.environ.update(
        PREFECT_HOME=str(home),
        PREFECT_SERVER_API_HOST="127.0.0.1",
        PREFECT_SERVER_API_PORT=str(port),
        PREFECT_UI_API_URL=f"http://127.0.0.1:{port}/api",
    )
    os.environ[SERVER_VARIABLE] = provide(home)
    os.environ.pop("PREFECT_API_URL", None)
    import uvicorn
    from fastapi.middleware.trustedhost import TrustedHostMiddleware
    from prefect.server.api.server import create_app

    # A page whose host name was rebound to loopback sends another `Host`. The check is around the app and not in it,
    # because the server's services call the app under another name.
    app = TrustedHostMiddleware(create_app(final=True), HOSTS, www_redirect=False)
    return uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=3))


def _keep_private(home: Path) -> None:
    """Let only the user read what the server writes from now on, and the database of an earlier server.

    Not earlier, because the pages that Prefect copies into its package are for all its users.
    """
    os.umask(0o077)
    for part in home.glob("prefect.db*"):
        part.chmod(0o600)


def _announce(server: "uvicorn.Server", home: Path) -> None:
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    draft = home / f"{ADDRESS}.new"
    draft.write_text(json.dumps({"url": f"http://127.0.0.1:{port}/api", "pid": os.getpid()}))
    draft.replace(home / ADDRESS)


def _end_with_last_lease(server: "uvicorn.Server", home: Path) -> None:
    leases = os.open(home / LEASES, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(leases, fcntl.LOCK_EX)
    server.should_exit = True
    time.sleep(SHUTDOWN_S)
    os._exit(0)  # one of the server's services does not end; committed transactions are safe


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
