"""Connections: run an HTTP server until a signal ends it.

The number of connections is limited, and so is the time to send the headers of a request and to read an answer.
"""

import asyncio
import math
import resource
import signal
import socket
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from docmill.flows.serving.access import Access
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    import uvicorn

_END_S = 5
"""Seconds to finish answers in progress when the server is stopped; after that, open streams are cut."""
_WAITING = 128  # connections that the kernel queues while the server is busy


def listen(app: Any, access: Access, tell: Callable[[str], None]) -> None:
    """Serve an ASGI application until SIGINT or SIGTERM; `tell` gets the URL once clients can connect.

    If SIGINT is ignored, as in a background job of a shell, it stays ignored.

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
    """Return a server for an application, with limits on its connections."""
    import uvicorn

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
    # The protocol is named because asyncio sets TCP_NODELAY only then. Otherwise an answer on a connection that is kept
    # open waits 40 ms for the client's acknowledgement.
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


_LEAST = 16  # the fewest connections to allow, however few files the process may open


class Crowd:
    """The open connections of a server, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[TimedConnection, None] = {}

    def enter(self, own: "TimedConnection") -> None:
        """Add a connection. If there are too many, drop an idle one of the client that has most."""
        self._open[own] = None
        if len(self._open) > self._most:
            counts = Counter(one.host for one in self._open)
            idle = [one for one in self._open if not one.is_busy]
            self._drop(max(idle, key=lambda one: counts[one.host]))

    def leave(self, own: "TimedConnection") -> None:
        """Forget a connection."""
        self._open.pop(own, None)

    def _drop(self, one: "TimedConnection") -> None:
        self.leave(one)
        one.transport.abort()


def most_connections() -> int:
    """Return how many connections a server keeps: half of the files that it may open, as stores need files, too."""
    return max(_LEAST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class TimedConnection(H11Protocol):
    """A uvicorn connection with time limits; uvicorn itself waits forever for unfinished headers and slow readers."""

    wait_s: float
    """Seconds to send the headers of a request, and for a client to read some of its answer."""
    crowd: Crowd

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._timer: asyncio.TimerHandle | None = None
        self._unsent = math.inf  # unsent bytes of an answer at the last check

    @property
    def host(self) -> str:
        """The address of the client."""
        return self.client[0] if self.client else ""

    @property
    def is_busy(self) -> bool:
        """Whether the headers of a request have arrived, and its answer is not complete yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look_later()
        self.crowd.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._look_no_more()
        self.crowd.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_busy and not self.transport.get_write_buffer_size():
            self._look_no_more()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.is_busy:
            self._look_later()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_later()

    def _look_later(self) -> None:
        self._look_no_more()
        self._unsent = math.inf
        self._timer = self.loop.call_later(self.wait_s, self._look)

    def _look_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Cut the connection, unless the client has read some of the answer since the last check, or has a request."""
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:
            self._unsent = unsent
            self._timer = self.loop.call_later(self.wait_s, self._look)
        elif unsent or not self.is_busy:
            self.transport.abort()


def timed_connection(wait_s: float, most: int) -> type[TimedConnection]:
    """Return a class for the connections of one server."""
    return type("OwnConnection", (TimedConnection,), {"wait_s": wait_s, "crowd": Crowd(most)})
