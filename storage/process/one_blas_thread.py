"""One BLAS thread: compute small products in the calling thread, and give BLAS its threads back afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


class _Limit:
    """The limit of this process. The first of several threads sets it, and the last one lifts it.

    If each thread restored what it found, one that came second would restore the limit of the first.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._controller: Any = None
        self._limited: Any = None

    def take(self) -> None:
        """Set the limit if nobody holds it."""
        with self._lock:
            if self._holders == 0:
                self._limited = self._found().limit(limits=1, user_api="blas")
            self._holders += 1

    def give_back(self) -> None:
        """Lift the limit if nobody else holds it."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limited.restore_original_limits()

    def _found(self) -> Any:
        """Return the BLAS libraries of this process, which are looked for once."""
        if self._controller is None:
            from threadpoolctl import ThreadpoolController

            self._controller = ThreadpoolController()
        return self._controller


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread while the block runs; any number of threads may be in such blocks."""
    _LIMIT.take()
    try:
        yield
    finally:
        _LIMIT.give_back()
