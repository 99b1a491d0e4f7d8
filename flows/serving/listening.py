"""Listening: run a server over HTTP until a signal ends it."""

import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from docmill.flows.serving.access import Access
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    import uvicorn

_END_S = 5
"""Seconds for answers that are under way when the server is stopped; a stream that a client keeps open is cut then."""
_WAITING = 128  # connections that the kernel keeps while the server is busy


def listen(app: Any, access: Access, tell: Callable[[str], None]) -> None:
    """Serve an ASGI application until SIGINT or SIGTERM; `tell` gets the URL once clients can connect.

    If SIGINT is ignored, as in the background of a shell, it stays so.

    Raises:
        docmill.errors.ConfigError: The address or the port cannot be used.
    """
    server = server_of(app, access)
    ends = {signal.SIGINT, signal.SIGTERM}
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        ends.remove(signal.SIGINT)
    end = server.handle_exit

    def handle_exit(sig: int, frame: FrameType | None) -> None:
        if sig in ends:
            end(sig, frame)

    server.handle_exit = handle_exit  # type: ignore[method-assign]
    with bound(access) as own:
        tell(url_of(access.host, own.getsockname()[1]))
        server.run(sockets=[own])


def server_of(app: Any, access: Access, end_s: int = _END_S) -> "uvicorn.Server":
    """Return a server for an application, with the limits on its connections."""
    import uvicorn

    from docmill.flows.serving.connections import most_connections, timed_connection

    config = uvicorn.Config(
        app,
        http=timed_connection(access.patience.head_s, most_connections()),
        ws="none",
        backlog=_WAITING,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=end_s,
    )
    return uvicorn.Server(config)


def bound(access: Access) -> socket.socket:
    """Return a socket that listens on the address."""
    family = socket.AF_INET6 if ":" in access.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets that name the protocol. On others, an answer to a connection that is kept
    # waits 40 ms for the client's acknowledgement.
    own = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((access.host, access.port))
        own.listen(_WAITING)
    except OSError as error:
        own.close()
        raise ConfigError(f"cannot listen on {access.host}:{access.port}: {error.strerror or error}") from None
    return own


def url_of(host: str, port: int) -> str:
    """Return the URL of an address and a port."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
