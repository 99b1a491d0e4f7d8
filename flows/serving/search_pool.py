"""Search pool: search in other processes while several clients ask, because one Python process uses one processor.

The server does everything else: access, limits, cached answers, the query log and metrics. If no other search is
running, a search is done in the server, so a single client never waits for a process, and none is started for it.
"""

import itertools
import json
import logging
import math
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, ref

from docmill.flows.serving.search_process import FoundHits
from docmill.storage.errors import ConfigError, QueryError, StoreError, Transient
from docmill.storage.process.child_process import PYTHON
from docmill.storage.process.processors import processors
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import Mode, Rewrite
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.work.pool.plain_json import Readers, Unreadable, decode

_LOG = logging.getLogger("docmill.serving")
_MOST = 4
"""The default number of processes. Each takes the memory of an open store and its model. The server itself, which reads
requests and writes answers, takes a tenth of the CPU time of a search."""
_CROWD = 8
"""A process is started once this many searches in a row have found another one running: a page asks a few questions at
once, then none for long, and starting a process takes seconds of CPU."""
_TOGETHER = 4
"""Searches that a process takes from the line at once. Their questions are encoded in one batch, which takes .5 to .8
of the CPU time of single ones. More would save little, and they are all answered only when the last one is."""
_TRIES = 2
"""Processes in a row that do not start before all is searched in the server: the kernel may kill a first one where
memory is short for a moment, and what keeps two from starting keeps the next one, too."""
_IDLE_S = 60.0
"""Seconds after which an idle process is ended."""
_START_S = 120.0
"""Seconds in which a process must have loaded its indexes and its model, even on a busy machine."""
_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    " from docmill.flows.serving.search_process import serve; serve(sys.argv[2:])"
)


def default_processes() -> int:
    """Return how many processes search for a server by default: none if there is only one processor."""
    own = processors()
    return min(own, _MOST) if own > 1 else 0


class _NotThere(Exception):
    """No process can answer a search, for a reason other than the search itself."""


_found = Readers().of(list[FoundHits])
_ERRORS: dict[str, type[Exception]] = {
    one.__name__: one for one in (_NotThere, ConfigError, QueryError, StoreError, Transient)
}


@dataclass(eq=False, slots=True)
class _PendingSearch:
    """A waiting search: the store, the query, and its number of hits, mode and options."""

    store: Store
    query: str
    how: tuple[int, Mode, Mapping[str, Any]]
    answer: Future[list[Hit]] = field(default_factory=Future)

    def goes_with(self, other: "_PendingSearch") -> bool:
        """Whether both can be answered in one batch."""
        return self.store is other.store and self.how == other.how


def _warming(store: Store) -> _PendingSearch:
    """Return a search that makes a process load the indexes of a store."""
    return _PendingSearch(store, "warm", (1, "hybrid", {}))


class _SearchProcess:
    """A search process and the pipe to it, used by one thread of the server."""

    def __init__(self) -> None:
        from multiprocessing.connection import Pipe

        self._pipe, theirs = Pipe()
        with theirs:
            self.child = subprocess.Popen(
                [*PYTHON, "-P", "-c", _BOOT, json.dumps(sys.path), str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # so that Ctrl-C reaches only the server
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            )
        self.opened: set[int] = set()
        """The numbers of the stores that it has open."""
        self.chores: deque[_PendingSearch] = deque()
        """Searches that this process must do before those in the line."""

    def ask(self, request: bytes, within_s: float | None = None) -> list[FoundHits]:
        """Return the process's answer to each query of a request.

        Raises `EOFError` or `ConnectionError` if it has died, `Unreadable` if its answer is malformed, and
        `TimeoutError` if it takes more than `within_s`.
        """
        self._pipe.send_bytes(request)
        if not self._pipe.poll(within_s):
            raise TimeoutError
        answers: list[FoundHits] = decode(self._pipe.recv_bytes(), _found)
        return answers

    def end(self) -> None:
        """Kill the process."""
        self._pipe.close()
        self.child.kill()
        self.child.wait()


class SearchPool:
    """Up to `most` processes that search in the open stores of a server; thread-safe.

    Searches wait in one line. For each process, a thread here takes them from the line.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._line: deque[_PendingSearch] = deque()
        self._started = 0  # processes, including ones that are not ready yet
        self._failed = 0  # starts in a row
        self._ready: list[_SearchProcess] = []
        self._under_way = self._crowded = 0
        self._numbers: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
        self._next = itertools.count()
        self._is_closed = False

    def search(
        self, store: Store, query: str, k: int, mode: Mode, where: str | None, rewrite: Rewrite | None, **how: Any
    ) -> list[Hit]:
        """Do what `Store.search` does.

        A search with a condition stays in this process, which limits the SQL statements of all clients together. So
        does a search that waits for a language model.
        """
        here = partial(store.search, query, k, mode, where, rewrite=rewrite, **how)
        if where is not None or rewrite is not None:
            return here()
        with self._counted(store) as is_alone:
            waiting = _PendingSearch(store, query, (k, mode, how))
            if is_alone or not self._line_up(waiting):
                return here()
            try:
                return waiting.answer.result()
            except _NotThere as why:
                _LOG.warning("a search is done in the server: %s", why)
                return here()

    def warm(self, store: Store) -> None:
        """Let each process load a store before a client waits for it."""
        with self._changed:
            chores = [(process, _warming(store)) for process in self._ready]
            for process, chore in chores:
                process.chores.append(chore)
            self._changed.notify_all()
        for _, chore in chores:
            chore.answer.exception()  # wait, but ignore errors: without its model, a store still answers by keywords

    def close(self) -> None:
        """Let the processes finish their searches and end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @contextmanager
    def _counted(self, store: Store) -> Iterator[bool]:
        """Yield whether no other search is running; start a process if there have been others for some time."""
        with self._changed:
            self._under_way += 1
            is_alone = self._under_way == 1
            self._crowded = 0 if is_alone else self._crowded + 1
            if self._crowded >= _CROWD and self._started < self._most:
                self._crowded = 0
                self._started += 1
                threading.Thread(target=self._run, args=(ref(store),), name="docmill-search", daemon=True).start()
        try:
            yield is_alone
        finally:
            with self._changed:
                self._under_way -= 1

    def _line_up(self, waiting: _PendingSearch) -> bool:
        """Put a search into the line, and return whether there is a process to take it."""
        with self._changed:
            if self._ready:
                self._line.append(waiting)
                self._changed.notify_all()
            return bool(self._ready)

    def _run(self, wanted: "ref[Store]") -> None:
        """Start a process, and use it until it has been idle for long; the kernel ends it together with this thread."""
        try:
            process = _SearchProcess()
        except OSError as error:
            self._note_failure(error)
            with self._changed:
                self._started -= 1
            return
        try:
            if (store := wanted()) is not None:
                process.ask(self._request(process, [_warming(store)]), _START_S)
            del store
            self._serve_line(process)
        except (EOFError, ConnectionError, TimeoutError, Unreadable, _NotThere) as error:
            if process not in self._ready:
                self._note_failure(error)
        finally:
            process.end()
            self._leave(process)

    def _note_failure(self, error: Exception) -> None:
        """Start no more processes after some in a row that did not start."""
        with self._changed:
            self._failed += 1
            if self._failed >= _TRIES:
                _LOG.warning("all searches are done in the server, as no process for them starts: %r", error)
                self._most = 0

    def _leave(self, process: _SearchProcess) -> None:
        """Forget a process; if it was the last one, searches in the line are done in the server."""
        with self._changed:
            self._started -= 1
            left = [*process.chores]
            if process in self._ready:
                self._ready.remove(process)
            if not self._ready:
                left += self._line
                self._line.clear()
        for waiting in left:
            waiting.answer.set_exception(_NotThere("its process has ended"))

    def _serve_line(self, process: _SearchProcess) -> None:
        """Pass searches from the line to a process; raise `EOFError` or `ConnectionError` if it dies."""
        with self._changed:
            self._failed = 0
            self._ready.append(process)
        while together := self._taken(process):
            self._answer(process, together)

    def _answer(self, process: _SearchProcess, together: list[_PendingSearch]) -> None:
        """Ask a process, and pass its answers to the waiting threads."""
        waiting = [one.answer for one in together]
        answers = [FoundHits([], _NotThere.__name__, "its process has died")] * len(together)
        try:
            answers = process.ask(self._request(process, together))
        except _NotThere as why:
            answers = [FoundHits([], _NotThere.__name__, str(why))] * len(together)
        finally:
            together.clear()  # drop references to the store before others get the answer, because they may close it
            for one, answer in zip(waiting, answers, strict=True):
                if answer.error:
                    one.set_exception(_ERRORS.get(answer.error, RuntimeError)(answer.message))
                else:
                    one.set_result(answer.hits)

    def _taken(self, process: _SearchProcess) -> list[_PendingSearch]:
        """Return the next searches for a process, its share of the line; none if it has been idle for long."""
        with self._changed:
            self._changed.wait_for(lambda: process.chores or self._line or self._is_closed, _IDLE_S)
            if process.chores:
                return [process.chores.popleft()]
            share = min(_TOGETHER, math.ceil(len(self._line) / len(self._ready)))
            together = [self._line.popleft()] if self._line else []
            while len(together) < share and self._line[0].goes_with(together[0]):
                together.append(self._line.popleft())
            return together

    def _request(self, process: _SearchProcess, together: list[_PendingSearch]) -> bytes:
        """Return searches as bytes, with the store if it is not open there yet, and stores to close there."""
        first = together[0]
        with self._changed:
            number = self._numbers.setdefault(first.store, next(self._next))
            closed = process.opened - {*self._numbers.values()}
        stored = None if number in process.opened else first.store.stored
        queries = [one.query for one in together]
        try:
            request = pickle.dumps((number, stored, closed, queries, *first.how), pickle.HIGHEST_PROTOCOL)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise _NotThere(f"the store cannot be opened in another process: {error}") from None
        process.opened = process.opened - closed | {number}
        return request
