"""Cancellation: track who waits for a result, so that work for a client that has disconnected can end."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from docmill.storage.errors import Transient


class Abandoned(Transient):
    """The client has disconnected."""

    def __init__(self) -> None:
        super().__init__("the asking client has left")


class Asker:
    """A client of a server, by name, for the time of one request; "" is this process itself.

    Many threads may work for it. `leave` calls the functions that end their work. It acts for `principals`; with None,
    the server determines them.
    """

    def __init__(self, client: str = "", principals: frozenset[str] | None = None) -> None:
        self.client = client
        self.principals = principals
        self.has_left = False
        self.shown = 0
        self.shown_uris: dict[str, None] = {}
        self._lock = threading.Lock()
        self._ends: list[Callable[[], object]] = []

    def show(self, rows: int, uris: Iterable[str]) -> None:
        """Record the number of rows and the uris of an answer to this client, for the audit log."""
        self.shown += rows
        self.shown_uris |= dict.fromkeys(uris)

    def leave(self) -> None:
        """End all work for this client."""
        with self._lock:  # no block is left meanwhile, so that no work for another client is ended
            self.has_left = True
            for end in self._ends:
                end()

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end`, which must not wait, if the client disconnects during the block.

        Raises:
            Abandoned: It has already disconnected.
        """
        with self._lock:
            if self.has_left:
                raise Abandoned
            self._ends.append(end)
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)


_ASKER: ContextVar[Asker | None] = ContextVar("docmill_asker", default=None)


@contextmanager
def asked_by(asker: Asker) -> Iterator[None]:
    """Work for a client during the block, also in threads that get a copy of the context."""
    before = _ASKER.set(asker)
    try:
        yield
    finally:
        _ASKER.reset(before)


def current_asker() -> Asker:
    """Return the client for which this thread or task works."""
    return _ASKER.get() or Asker()
