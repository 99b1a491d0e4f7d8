"""Search pool: processes that search beside the server while several clients ask, as Python computes on one processor.

The server keeps all else: who may ask, the limits, the kept answers, the log of queries and the metrics. A search that
finds no other under way is done in the server, so a single client waits for no process, and none is started for it.
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
"""Processes by default: each takes the memory of an open store and its model, and the server itself, which reads the
requests and writes the answers, takes a tenth of the CPU of a search."""
_CROWD = 8
"""Searches in a row that find another one under way before a process is started: a page asks a few at once, then none
for long, and a process takes seconds of CPU to start."""
_TOGETHER = 4
"""Searches that a process takes at once from the line. Their questions are encoded in one batch, at .5 to .8 of the CPU
of one after the other. More would save little, and all are answered when the last one is."""
_IDLE_S = 60.0
"""Seconds without a search after which a process is ended."""
_START_S = 120.0
"""Seconds in which a process has loaded its indexes and its model, even on a busy machine."""
_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]);"
    " from docmill.flows.serving.search_process import serve; serve(sys.argv[2:])"
)


def default_processes() -> int:
    """Return how many processes search beside a server by default: none where there is one processor."""
    own = processors()
    return min(own, _MOST) if own > 1 else 0


class _NotThere(Exception):
    """No process can answer a search, for a reason that the search itself does not have."""


_found = Readers().of(list[FoundHits])
_ERRORS: dict[str, type[Exception]] = {
    one.__name__: one for one in (_NotThere, ConfigError, QueryError, StoreError, Transient)
}


@dataclass(eq=False, slots=True)
class _PendingSearch:
    """A search in line: the store, the query, and its number of hits, mode and options."""

    store: Store
    query: str
    how: tuple[int, Mode, Mapping[str, Any]]
    answer: Future[list[Hit]] = field(default_factory=Future)

    def goes_with(self, other: "_PendingSearch") -> bool:
        """Whether both can be asked as one."""
        return self.store is other.store and self.how == other.how


def _warming(store: Store) -> _PendingSearch:
    """Return a search that has a process load what it searches in."""
    return _PendingSearch(store, "warm", (1, "hybrid", {}))


class _SearchProcess:
    """A process that searches, as the thread that asks it sees it, with the pipe to it."""

    def __init__(self) -> None:
        from multiprocessing.connection import Pipe

        self._pipe, theirs = Pipe()
        with theirs:
            self.child = subprocess.Popen(
                [*PYTHON, "-P", "-c", _BOOT, json.dumps(sys.path), str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C goes to the server alone
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            )
        self.opened: set[int] = set()
        """The numbers of the stores that it has open."""
        self.chores: deque[_PendingSearch] = deque()
        """What this process has to do before anything that is in line."""

    def ask(self, request: bytes, within_s: float | None = None) -> list[FoundHits]:
        """Return what the process answers to each query of a request.

        Raises `EOFError` or `ConnectionError` if it has died, `Unreadable` if it answers something else, and
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
    """At most `most` processes that search in the open stores of a server; many threads may ask.

    Searches wait in one line. Each process has a thread here that takes them from it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._line: deque[_PendingSearch] = deque()
        self._started = 0  # processes, those included that are not ready
        self._ready: list[_SearchProcess] = []
        self._under_way = self._crowded = 0
        self._numbers: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
        self._next = itertools.count()
        self._is_closed = False

    def search(
        self, store: Store, query: str, k: int, mode: Mode, where: str | None, rewrite: Rewrite | None, **how: Any
    ) -> list[Hit]:
        """Return what `Store.search` does.

        A search with a condition stays in this process, which bounds the statements of all clients together, and so
        does one that waits for a language model.
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
        """Have each process load a store before a client waits for it."""
        with self._changed:
            chores = [(process, _warming(store)) for process in self._ready]
            for process, chore in chores:
                process.chores.append(chore)
            self._changed.notify_all()
        for _, chore in chores:
            chore.answer.exception()  # it may lack its model, and still answer by keywords

    def close(self) -> None:
        """Have the processes end after what they do."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @contextmanager
    def _counted(self, store: Store) -> Iterator[bool]:
        """Yield whether no other search is under way; start a process if others have been for some time."""
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
        """Put a search into the line, if there is a process to take it."""
        with self._changed:
            if self._ready:
                self._line.append(waiting)
                self._changed.notify_all()
            return bool(self._ready)

    def _run(self, wanted: "ref[Store]") -> None:
        """Start a process, and ask it until it is long idle; the kernel ends it with this thread."""
        try:
            process = _SearchProcess()
        except OSError as error:
            self._give_up(error)
            return
        try:
            if (store := wanted()) is not None:
                process.ask(self._request(process, [_warming(store)]), _START_S)
            del store
            self._serve_line(process)
        except (EOFError, ConnectionError, TimeoutError, Unreadable, _NotThere) as error:
            if process not in self._ready:
                self._give_up(error)
        finally:
            process.end()
            self._leave(process)

    def _give_up(self, error: Exception) -> None:
        """Start no more processes: the next one would not start either."""
        _LOG.warning("all searches are done in the server, as no process for them starts: %r", error)
        self._most = 0

    def _leave(self, process: _SearchProcess) -> None:
        """Forget a process; if it was the last one, whoever is in line searches in the server."""
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
        """Ask a process what is in line; raise `EOFError` or `ConnectionError` if it dies."""
        with self._changed:
            self._ready.append(process)
        while together := self._taken(process):
            self._answer(process, together)

    def _answer(self, process: _SearchProcess, together: list[_PendingSearch]) -> None:
        """Ask a process, and tell those who wait."""
        waiting = [one.answer for one in together]
        answers = [FoundHits([], _NotThere.__name__, "its process has died")] * len(together)
        try:
            answers = process.ask(self._request(process, together))
        except _NotThere as why:
            answers = [FoundHits([], _NotThere.__name__, str(why))] * len(together)
        finally:
            together.clear()  # before anybody is told, who may have closed the store
            for one, answer in zip(waiting, answers, strict=True):
                if answer.error:
                    one.set_exception(_ERRORS.get(answer.error, RuntimeError)(answer.message))
                else:
                    one.set_result(answer.hits)

    def _taken(self, process: _SearchProcess) -> list[_PendingSearch]:
        """Return the searches that a process does next, its share of what is in line; none if it is long idle."""
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
        """Return searches as bytes, with the store if it is not open there, and the stores that are closed here."""
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
