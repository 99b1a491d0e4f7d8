"""Statement pool: run SQL in separate processes, so that the kernel can enforce the limits of a statement.

DuckDB checks time and memory between its operators, but not within a single function call, such as `pg_sleep(75)` or
`repeat('x', 4000000000)`. A process is kept for the next statement, on any store, because starting one takes a third of
a second.

The number of parallel statements is limited, in total and per client.
"""

import atexit
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from docmill.storage.errors import QueryError, Transient
from docmill.storage.process.cancellation import Abandoned, Asker, current_asker
from docmill.storage.process.child_process import try_twice
from docmill.storage.sql.process_handle import ProcessHandle, encode
from docmill.storage.sql.statement import DEFAULT_LIMITS, Files, SqlLimits, Statement

if TYPE_CHECKING:
    import pyarrow as pa


class StatementPlaces:
    """Limits the statements that run at once; thread-safe. Statements of this process itself may take all places."""

    def __init__(self, most: int, most_of_client: int) -> None:
        self._most = most
        self._most_of_client = most_of_client
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, asker: Asker) -> Iterator[None]:
        """Wait for a place, and hold it during the block.

        Raises:
            Abandoned: The asker left while waiting.
        """
        with asker.ended_by(self._wake), self._changed:
            self._changed.wait_for(lambda: asker.has_left or self._has_place(asker.client))
            if asker.has_left:
                raise Abandoned
            self._taken[asker.client] += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken[asker.client] -= 1
                self._taken += Counter()  # forget clients that have none
                self._changed.notify_all()

    def _has_place(self, client: str) -> bool:
        most = self._most_of_client if client else self._most
        return self._taken.total() < self._most and self._taken[client] < most

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


_MOST = 4
"""Processes at once, of up to 2 GB each; further statements wait until one of them ends."""
_MOST_OF_CLIENT = 3
"""Processes for one client of a server, so that a client's slow statements leave a process to the others."""
_IDLE_S = 60.0
"""Seconds after which an idle process, which takes about 110 MB, is ended."""


def query(
    files: Files,
    extra: Mapping[str, "pa.Table"],
    sql: str,
    limits: SqlLimits = DEFAULT_LIMITS,
    past: Mapping[str, Files] | None = None,
    keys: Mapping[str, str] | None = None,
) -> "pa.Table":
    """Return the rows of one SELECT over views named by `files` (keys of `SCHEMAS`) and `extra`.

    `past` are the files of other snapshots by number or tag, for macros such as `chunks_at(41)`. `keys` are the keys of
    [metadata] with their types. Raises `QueryError` unless the statement is one valid SELECT and stays within `limits`,
    and `Transient` if no process can be started.
    """
    return _pool.ask(Statement(sql, files, limits, past or {}, keys=keys or {}), extra)


def select_ids(
    chunk_files: Sequence[Path],
    document_files: Sequence[Path],
    where: str,
    keys: Mapping[str, str],
    limits: SqlLimits = DEFAULT_LIMITS,
) -> set[str]:
    """Return the ids of the chunks for which the SQL predicate `where` is true.

    It can name columns of chunks and of documents. If both have a column, the plain name is the chunk's, and the
    document's has the prefix `document_`, as in `document_content_type`. `metadata.NAME` is the value of one of `keys`.
    Errors are those of `query`.
    """
    files = {"chunks": chunk_files, "documents": document_files}
    found = _pool.ask(Statement(where, files, limits, is_predicate=True, keys=keys), {})
    return set(found.column(0).to_pylist())


def select_documents(
    document_files: Sequence[Path], where: str, keys: Mapping[str, str], limits: SqlLimits = DEFAULT_LIMITS
) -> set[str]:
    """Return the ids of the documents for which the SQL predicate `where` is true. Errors are those of `query`."""
    files = {"documents": document_files}
    found = _pool.ask(Statement(where, files, limits, is_predicate=True, keys=keys), {})
    return set(found.column(0).to_pylist())


def prepare() -> None:
    """Start a process for the next statement, without waiting for it."""
    _pool.prepare()


class StatementPool:
    """Processes for statements, started on demand; thread-safe."""

    def __init__(self) -> None:
        self._places = StatementPlaces(_MOST, _MOST_OF_CLIENT)
        self._lock = threading.Lock()
        self._idle: list[ProcessHandle] = []
        self._orders: SimpleQueue[Future[None]] = SimpleQueue()
        self._ahead: Future[None] | None = None
        self._keeper: threading.Thread | None = None

    def ask(self, statement: Statement, extra: Mapping[str, "pa.Table"]) -> "pa.Table":
        """Return the rows of a statement over its tables and those of `extra`.

        Raises `Abandoned` if its asker leaves, which ends the process.
        """
        request, asker = encode(statement, extra), current_asker()
        with self._places.taken(asker):
            process = try_twice(partial(self._give, request))
            try:
                with asker.ended_by(process.kill):
                    return process.answer(statement.limits)
            except QueryError:
                if asker.has_left:
                    raise Abandoned from None
                raise
            finally:
                self._put_back(process)

    def prepare(self) -> None:
        """Order a process unless one is idle or ordered."""
        with self._lock:
            if not self._idle and (self._ahead is None or self._ahead.done()):
                self._ahead = self._order()

    def close(self) -> None:
        """End the idle processes."""
        self._end_idle(time.monotonic())

    def disown(self) -> None:
        """After a fork, leave the processes to the parent, which started them."""
        for process in self._idle:
            process.disown()

    def _give(self, request: bytes) -> ProcessHandle:
        """Return a process that has accepted an encoded statement and is not used by another thread.

        Raises `Transient` if none starts.
        """
        while True:
            if (process := self._pop()) is None:
                # The keeper adds it to the idle ones, where another thread may take it first; then order again.
                self._ordered().result()
                continue
            taken = False
            try:
                if taken := process.takes(request):
                    return process
            finally:
                if not taken:  # it died while it was idle, or this thread was interrupted
                    process.end()

    def _pop(self) -> ProcessHandle | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _ordered(self) -> "Future[None]":
        """Return the order of a process that `prepare` placed, or else a new order."""
        with self._lock:
            ahead, self._ahead = self._ahead, None
            return ahead or self._order()

    def _put_back(self, process: ProcessHandle) -> None:
        # If its last answer was not read to the end, the rest would be taken for the next answer.
        if process.is_spent:
            process.end()
            return
        with self._lock:
            self._idle.append(process)

    def _order(self) -> "Future[None]":
        """Ask the keeper for a process, which it adds to the idle ones; the caller holds the lock."""
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, name="docmill-sql", daemon=True)
            self._keeper.start()
        order: Future[None] = Future()
        self._orders.put(order)
        return order

    def _keep(self) -> None:
        """Start processes as ordered, and end processes that have been idle for long.

        This thread must keep running, because the kernel ends a process together with the thread that started it.
        """
        while True:
            try:
                self._start(self._orders.get(timeout=_IDLE_S))
            except Empty:
                self._end_idle(time.monotonic() - _IDLE_S)

    def _start(self, order: "Future[None]") -> None:
        try:
            process = ProcessHandle()
        except BaseException as error:
            order.set_exception(Transient(f"a process for SQL did not start: {error}"))
            return
        with self._lock:
            self._idle.append(process)
        order.set_result(None)

    def _end_idle(self, since: float) -> None:
        """End the processes that have been idle since `since`, by the monotonic clock."""
        with self._lock:
            ended = [process for process in self._idle if process.used <= since]
            self._idle = [process for process in self._idle if process.used > since]
        for process in ended:
            process.end()


_pool = StatementPool()


def _close() -> None:
    _pool.close()


def _leave_to_parent() -> None:
    global _pool
    _pool.disown()
    _pool = StatementPool()


atexit.register(_close)
# A fork shares the pipes to its parent's processes, so answers could reach the wrong process.
os.register_at_fork(after_in_child=_leave_to_parent)
