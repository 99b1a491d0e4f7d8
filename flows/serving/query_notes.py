"""Query notes: collect the queries of a server's clients, and add them to the stores' logs every few seconds."""

import atexit
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from docmill.storage.errors import DocmillError
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.storage.snapshots.history import query_log
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.history.judgements import same_query
from docmill.storage.snapshots.history.query_log import LogBounds, LoggedQuery
from docmill.storage.snapshots.read.feedback import logged
from docmill.storage.snapshots.read.store import Store

_LOG = logging.getLogger("docmill.serving")
_EVERY_S = 10.0
"""Seconds between two writes; a killed server loses the queries of this time. A write is one file, or two requests."""
_TYPING_S = 10.0
"""If a query of a client is the beginning of its next one within this many seconds, only the later one is logged: the
page searches while a person types, and again for another mode."""
_MOST_WAITING = 10_000  # the most queries in memory, 5 MB; without a limit, an unwritable store would fill the memory


@dataclass(frozen=True, slots=True)
class _Waiting:
    row: LoggedQuery
    client: str
    asked: float


class QueryNotes:
    """The queries that clients have just asked; thread-safe. One thread, started with the first query, writes them."""

    def __init__(self, bounds: LogBounds, door: str, every_s: float = _EVERY_S, typing_s: float = _TYPING_S) -> None:
        self._bounds, self._door = bounds, door
        self._every, self._typing = every_s, typing_s
        self._waiting: dict[StoreFolder, list[_Waiting]] = defaultdict(list)
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._writer: threading.Thread | None = None

    def note(self, store: Store, query: str, hits: Sequence[Hit], mode: Mode, filtered: bool, client: str) -> None:
        """Record a query; drop the client's previous one if this one continues it."""
        row = logged(store, query, hits, mode, filtered, self._door)
        one = _Waiting(row, client, time.monotonic())
        with self._lock:
            waiting = self._waiting[store.stored.folder.beside]
            before = next((other for other in reversed(waiting) if other.client == client), None)
            if before is not None and one.asked - before.asked < self._typing and _goes_on(before.row, row):
                waiting.remove(before)
            waiting.append(one)
            del waiting[:-_MOST_WAITING]
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_on, name="docmill-queries", daemon=True)
                self._writer.start()
                atexit.register(self.close)

    def close(self) -> None:
        """Write the remaining queries, and end."""
        self._ended.set()
        if self._writer is not None:
            self._writer.join(self._every)
        self._write(0.0)
        atexit.unregister(self.close)

    def _write_on(self) -> None:
        while not self._ended.wait(self._every):
            self._write(self._typing)

    def _write(self, age_s: float) -> None:
        """Write the queries that were asked at least `age_s` seconds ago."""
        until = time.monotonic() - age_s
        with self._lock:
            ready = {folder: [one.row for one in own if one.asked <= until] for folder, own in self._waiting.items()}
            for folder, own in self._waiting.items():
                self._waiting[folder] = [one for one in own if one.asked > until]
        for folder, rows in ready.items():
            if rows:
                try:
                    query_log.append(folder, rows, self._bounds)
                except DocmillError as error:  # answering matters more than logging
                    _LOG.warning("%d queries are not logged: %s", len(rows), error)


def _goes_on(before: LoggedQuery, row: LoggedQuery) -> bool:
    """Return whether one query is the beginning of the other: typed further, shortened, or asked in another mode."""
    one, other = same_query(before.query), same_query(row.query)
    return one.startswith(other) or other.startswith(one)
