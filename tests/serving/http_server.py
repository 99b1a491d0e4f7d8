"""A server over HTTP in a thread of the test's own process, on a free port of loopback."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from docmill.flows.serving.access import Access
from docmill.flows.serving.connections import bound, server_of, url_of


@contextmanager
def running(app: Any, access: Access) -> Iterator[str]:
    """Serve an application during the block; give its URL."""
    own = bound(access)
    server = server_of(app, access, end_s=1)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]})
    thread.start()
    try:
        yield url_of(access.host, own.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        own.close()
