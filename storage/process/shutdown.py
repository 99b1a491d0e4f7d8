"""Shutdown: what a process has to wait for and remove when a signal ends it, wherever its threads are.

A signal cannot interrupt a thread in native code, so the process does not unwind. It waits for a commit that is nearly
done, removes its temporary folders, releases what other machines wait for, and ends. The kernel releases its locks.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial


class _Commits:
    """The commits and single changes in progress. A process may ingest into several stores, which do not wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._changing = 0
        self._closed = False

    def begin(self) -> None:
        """Count a commit; after `close`, wait for the end of the process instead."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._running += 1

    def end(self) -> None:
        """Count a commit as done."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def begin_change(self) -> None:
        """Count a change. Unless it is part of a commit in progress, which is waited for, this is like `begin`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed or self._running > 0)
            self._changing += 1

    def end_change(self) -> None:
        """Count a change as done."""
        with self._changed:
            self._changing -= 1
            self._changed.notify_all()

    def close(self, patience_s: float) -> None:
        """Let no more begin, and wait for those in progress, but at most `patience_s` seconds."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._running and not self._changing, patience_s)

    @property
    def running(self) -> bool:
        """Whether one is in progress."""
        return self._running > 0

    @property
    def over(self) -> bool:
        """Whether none is in progress and none will begin."""
        return self._closed and not self._running and not self._changing


_commits = _Commits()
_removals: list[Callable[[], object]] = []
_releases: list[Callable[[], object]] = []
_begun = threading.Event()


@contextmanager
def uncut() -> Iterator[None]:
    """Mark a commit: a shutdown during the block waits for it for a moment, and after its start none begins."""
    _commits.begin()
    try:
        yield
    finally:
        _commits.end()


@contextmanager
def one_change() -> Iterator[None]:
    """Mark a change of an object store: a shutdown during the block waits for it, and after its start none begins.

    Only then is it safe to release what keeps out other writers.
    """
    _commits.begin_change()
    try:
        yield
    finally:
        _commits.end_change()


def is_committing() -> bool:
    """Return whether a commit of this process is in progress."""
    return _commits.running


@contextmanager
def tidied(remove: Callable[[], object]) -> Iterator[None]:
    """Call `remove` if the process is ended during the block.

    After a shutdown has begun, the block is never left, because the thread must not release what others still use.
    """
    with _registered(_removals, remove):
        yield


def at_end(remove: Callable[[], object]) -> Callable[[], object]:
    """Call `remove` if the process is ended before the returned function is called."""
    _removals.append(remove)
    return partial(_removals.remove, remove)


@contextmanager
def released(release: Callable[[], object]) -> Iterator[None]:
    """Call `release` if the process is ended during the block, but not while a commit is in progress.

    A commit that takes too long to wait for needs what is held until its last request. The block is left like that of
    `tidied`.
    """
    with _registered(_releases, release):
        yield


@contextmanager
def _registered(calls: list[Callable[[], object]], call: Callable[[], object]) -> Iterator[None]:
    calls.append(call)
    try:
        yield
    finally:
        if _begun.is_set():
            threading.Event().wait()
        calls.remove(call)


def begin(patience_s: float) -> None:
    """Begin the shutdown: wait for a commit in progress, but at most `patience_s` seconds."""
    _commits.close(patience_s)
    _begun.set()


def tidy(patience_s: float) -> None:
    """Remove what was registered, the last first, and release the rest meanwhile, in at most `patience_s` seconds."""
    releases = list(_releases) if _commits.over else []
    # A release waits for the network and a removal for the disk, and there is no time to do one after the other.
    threads = [threading.Thread(target=_call_all, args=([one],), daemon=True) for one in releases]
    threads.append(threading.Thread(target=_call_all, args=(_removals[::-1],), daemon=True))
    deadline = time.monotonic() + patience_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def _call_all(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        with suppress(Exception):  # the process ends, and the next one cleans up
            call()
