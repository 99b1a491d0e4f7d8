"""Open stores: the stores of a server, by name; each answers from its newest snapshot."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from docmill.flows.serving.search_pool import SearchPool
from docmill.storage.address import is_address
from docmill.storage.errors import DocmillError, QueryError, StoreError
from docmill.storage.process.cancellation import current_asker
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import Mode, Rewrite, SearchArguments
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.store import Store, make_ahead, open_store

_LOG = logging.getLogger("docmill.serving")
_FAR_S = 5.0
"""Seconds between two checks of a store on object storage, where requests cost money; checking a folder is free."""
_MOST_PAST = 4
"""Older snapshots that stay open for further questions. Each keeps its indexes in memory, and its files safe from a
vacuum."""
_AHEAD_S = 5.0
"""Seconds for which switching to a new snapshot may be delayed to prepare it for recent principals. Meanwhile they see
the old snapshot, which may have documents that they should no longer see."""
_RECENT_S = 3600.0  # it is prepared for principals that asked within this time
_MOST_ASKERS = 16  # as many as a store keeps
SEES_ALL = frozenset({"*"})
"""Used instead of principals: sees all documents, rejects and runs, like `docmill` on the machine of the store."""
_NONE = (0, 0)  # used instead of the number and time of a snapshot if there is none
_WARMING = "warm"  # a query that makes a snapshot load its indexes before anybody has to wait for them


@dataclass(frozen=True, slots=True)
class ServedStore:
    """One snapshot of a store to answer from, the name of the store, and the pool that searches it."""

    name: str
    store: Store
    pool: SearchPool | None = None

    @property
    def head(self) -> dict[str, Any]:
        """The beginning of every answer: the store and the snapshot that it comes from."""
        return {"store": self.name, "snapshot": self.store.snapshot.number}

    def search(
        self, query: str, k: int, mode: Mode, where: str | None, rewrite: Rewrite | None, **how: Unpack[SearchArguments]
    ) -> list[Hit]:
        """Do what `Store.search` does, possibly in another process."""
        if self.pool is None:
            return self.store.search(query, k, mode, where, rewrite=rewrite, **how)
        return self.pool.search(self.store, query, k, mode, where, rewrite, **how)


class OpenStores:
    """The served stores, which share one loaded model; thread-safe.

    Every question is answered only from what its asker may see. `principals` are used for askers without any, such as
    the server's own threads. `pool` searches in other processes while there are several askers.
    """

    def __init__(
        self, places: Mapping[str, Path], principals: frozenset[str] = SEES_ALL, pool: SearchPool | None = None
    ) -> None:
        self._principals, self._pool = principals, pool
        self._served = {name: _OpenStore(place, pool) for name, place in places.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the stores; the first is used for questions that do not name a store."""
        return tuple(self._served)

    def get(self, name: str | None = None, at: int | str | None = None) -> ServedStore:
        """Return a snapshot of a store: the current one, or the one at a number or tag.

        Raises:
            docmill.errors.QueryError: No store has this name.
            docmill.errors.StoreError: There is no store or no such snapshot, or the snapshot is damaged.
        """
        chosen = self.names[0] if name is None else name
        if chosen not in self._served:
            raise QueryError(f"no store {chosen!r}; this server has {', '.join(self.names)}")
        own = self._served[chosen]
        store, principals = own.newest() if at is None else own.past(at), self.principals
        if principals == SEES_ALL:
            return ServedStore(chosen, store, self._pool)
        own.note(principals)
        return ServedStore(chosen, store.seen_by(principals), self._pool)

    @property
    def principals(self) -> frozenset[str]:
        """The principals for which this thread asks."""
        stated = current_asker().principals
        return self._principals if stated is None else stated

    def keys(self) -> dict[str, str]:
        """Return the keys of [metadata] of the stores with their types; stores that cannot be opened are skipped."""
        found: dict[str, str] = {}
        for own in self._served.values():
            with suppress(DocmillError):
                found |= own.newest().snapshot.keys
        return found

    def without_folders(self, message: str) -> str:
        """Return a message with store names instead of their folders, which clients should not see."""
        for name, own in self._served.items():
            for folder in own.folders:
                message = message.replace(folder, name)
        return message.replace(str(Path.home()), "~")

    def take_up(self) -> None:
        """Switch each store to its newest snapshot; if that cannot be opened, keep the previous one."""
        for name, own in self._served.items():
            try:
                own.take_up()
            except (DocmillError, OSError) as error:
                _LOG.warning("store %s: %s", name, error)


class _OpenStore:
    """One store. A snapshot is closed when it has been replaced and no answer uses it any more.

    This needs no counting: a `Store` closes itself when the last reference to it is gone.
    """

    def __init__(self, place: Path, pool: SearchPool | None) -> None:
        self._pool = pool
        self._folder = open_folder(place)
        self._pause = _FAR_S if is_address(self._folder.name) else 0.0
        self._looked = -_FAR_S
        self._current: Store | None = None
        self._cold: Store | None = None  # the first snapshot, until its indexes are loaded
        self._mark = _NONE
        self._past: OrderedDict[int, Store] = OrderedDict()
        self._askers: OrderedDict[frozenset[str], float] = OrderedDict()  # with the time of their last question
        self._lock = threading.Lock()
        self._asking = threading.Lock()

    @property
    def folders(self) -> tuple[str, ...]:
        """The ways in which messages may name the folder of the store."""
        root = self._folder.root
        return str(root.resolve()), str(root.absolute())

    def newest(self) -> Store:
        """Return the current snapshot."""
        if self._current is None:
            with self._lock:
                self._look()
        assert self._current is not None
        return self._current

    def take_up(self) -> None:
        """Switch to the newest snapshot once its indexes are loaded; until then, questions get the old one.

        The first snapshot is used immediately and loads its indexes later, so that questions that need no index do not
        wait.
        """
        with self._lock:
            self._look()
            cold, self._cold = self._cold, None
        if cold is not None:
            self._warm(cold)

    def _look(self) -> None:
        """Open the newest snapshot if it has changed; the caller holds the lock.

        The number need not be higher: a repair may drop the newest snapshot, and a store may be recreated so that its
        numbers begin again. So any other number, or another file of the same number, counts as a change.
        """
        if self._current is not None and time.monotonic() - self._looked < self._pause:
            return
        self._folder.refresh_if_possible()
        self._looked = time.monotonic()
        mark = self._mark_of_newest()
        if self._current is not None and mark == self._mark:
            return
        self._past.clear()  # which of their documents may be seen depends on the newest snapshot
        fresh = open_store(self._folder.root)
        if self._current is None:
            self._cold = fresh
        else:
            self._warm(fresh)
            self._make_ahead(fresh, self._current)
        self._current, self._mark = fresh, mark

    def note(self, principals: frozenset[str]) -> None:
        """Record that somebody with these principals asks."""
        with self._asking:
            self._askers[principals] = time.monotonic()
            self._askers.move_to_end(principals)
            while len(self._askers) > _MOST_ASKERS:
                self._askers.popitem(last=False)

    def _make_ahead(self, fresh: Store, earlier: Store) -> None:
        """Prepare a snapshot for recent principals, the most recent first, as far as time allows."""
        began = time.monotonic()
        with self._asking:
            recent = [one for one, asked in reversed(self._askers.items()) if began - asked < _RECENT_S]
        for principals in recent:
            if time.monotonic() - began > _AHEAD_S:
                return
            with suppress(DocmillError):  # the asking client gets the error
                self._warm(make_ahead(fresh, earlier, principals))

    def _mark_of_newest(self) -> tuple[int, int]:
        """Return the number of the newest snapshot, and the time its file was written, in nanoseconds."""
        numbers = snapshots.numbers(self._folder.root)
        if not numbers:
            return _NONE
        try:
            return numbers[-1], snapshots.path_of(self._folder.root, numbers[-1]).stat().st_mtime_ns
        except FileNotFoundError:  # a vacuum or a repair is running
            return _NONE

    def past(self, at: int | str) -> Store:
        """Return the snapshot at a number or tag."""
        asked = open_store(self._folder.root, at)  # opened again because a tag may have moved; this reads little
        number = asked.snapshot.number
        if number == self._number():
            return self.newest()
        with self._lock:
            kept = self._past.setdefault(number, asked)
            self._past.move_to_end(number)
            while len(self._past) > _MOST_PAST:
                self._past.popitem(last=False)
        return kept

    def _number(self) -> int | None:
        return None if self._current is None else self._current.snapshot.number

    def _warm(self, fresh: Store) -> None:
        """Load the indexes of a snapshot in each process that searches, and the data of the page's header."""
        with suppress(DocmillError):  # its model may be missing, but keyword searches still work
            fresh.search(_WARMING, k=1)
            _ = fresh.poorly_read
        if self._pool is not None:
            self._pool.warm(fresh)


def asked_store(stores: OpenStores, name: str | None, at: int | str | None) -> ServedStore:
    """Return the snapshot to answer from; raise an `HTTPException` with 404 if there is no such store or snapshot."""
    from starlette.exceptions import HTTPException

    if name is not None and name not in stores.names:
        raise HTTPException(404, f"no store {name!r}; this server has {', '.join(stores.names)}")
    try:
        return stores.get(name, at)
    except StoreError as error:
        raise HTTPException(500 if at is None else 404, str(error)) from error
