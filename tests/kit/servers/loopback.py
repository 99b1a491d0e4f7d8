"""A server of a handler on loopback for tests, in a thread that ends with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Thread


@contextmanager
def served(
    handler: type[BaseHTTPRequestHandler], host: str = "127.0.0.1", encryption: SSLContext | None = None
) -> Iterator[int]:
    """Serve requests by a handler; yield the port."""
    with ThreadingHTTPServer((host, 0), handler) as server:
        if encryption:
            server.socket = encryption.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
