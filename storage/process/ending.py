"""Ending: what a process that a signal ends has to wait for and to remove, wherever its threads are.

A signal cannot interrupt a thread that computes in native code, so the process does not unwind: it waits for a
commit that is nearly done, removes its temporary folders, and ends while it still holds its locks.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class _Commits:
    """The commits in progress. A process may ingest into several stores at once; none waits for another."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._closed = False

    def begin(self) -> None:
        """Count a commit; once they are closed, wait for the end of the process instead."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._running += 1

    def end(self) -> None:
        """Count a commit as done."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def close(self, patience_s: float) -> None:
        """Let none begin any more, and wait for those in progress, for so many seconds at most."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._running, patience_s)


_commits = _Commits()
_removals: list[Callable[[], object]] = []
_begun = threading.Event()


@contextmanager
def uncut() -> Iterator[None]:
    """Mark a commit: an end that begins during the block waits for it for a moment, and none begins after."""
    _commits.begin()
    try:
        yield
    finally:
        _commits.end()


@contextmanager
def tidied(remove: Callable[[], object]) -> Iterator[None]:
    """Call `remove` if the process is ended during the block.

    Once an end has begun, the block is never left: the thread must not release what the others still use.
    """
    _removals.append(remove)
    try:
        yield
    finally:
        if _begun.is_set():
            threading.Event().wait()
        _removals.remove(remove)


def begin(patience_s: float) -> None:
    """Begin the end of the process: wait for a commit in progress, for so many seconds at most."""
    _commits.close(patience_s)
    _begun.set()


def tidy(patience_s: float) -> None:
    """Remove what was registered, the last first, for so many seconds at most."""
    cleaning = threading.Thread(target=_remove_all, daemon=True)
    cleaning.start()
    cleaning.join(patience_s)


def _remove_all() -> None:
    for remove in reversed(_removals):
        with suppress(Exception):  # the process ends; what stays is swept by the next one
            remove()
