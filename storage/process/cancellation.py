"""Cancellation: who waits for a result, so that work for somebody who has left can end."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from docmill.storage.errors import Transient


class Abandoned(Transient):
    """Whoever asked has left."""

    def __init__(self) -> None:
        super().__init__("whoever asked has left")


class Asker:
    """A client of a server, by its name, for the time of one question; "" is this process itself.

    Many threads may work for it. `leave` calls what ends their work. It asks in the name of `principals`; None leaves
    it to the server whose these are.
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
        """Note how many rows an answer to this asker has, and the uris that it names, for a log of who asked what."""
        self.shown += rows
        self.shown_uris |= dict.fromkeys(uris)

    def leave(self) -> None:
        """End all work for this asker."""
        with self._lock:  # until then no block is left, so that none is ended that has another asker by now
            self.has_left = True
            for end in self._ends:
                end()

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end`, which must not wait, if the asker leaves during the block.

        Raises:
            Abandoned: It has left already.
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
    """Work for an asker during the block; threads that get a copy of the context do, too."""
    before = _ASKER.set(asker)
    try:
        yield
    finally:
        _ASKER.reset(before)


def current_asker() -> Asker:
    """Return for whom this thread or task works."""
    return _ASKER.get() or Asker()
