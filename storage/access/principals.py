"""Principals: the users or teams of a request, the documents that they may see, and the stores narrowed to these."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import QueryError
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import read_table

_LONGEST = 1_000  # characters of a principal; names of teams and e-mail addresses are far shorter
_COLUMNS = ["document_id", "access"]


def check_principals(principals: Iterable[str]) -> frozenset[str]:
    """Return principals as a set; raise `QueryError` unless they are strings and none is empty."""
    if isinstance(principals, str):
        raise QueryError(f'principals must be a list such as ["{principals}"], got the text {principals!r}')
    found = [*principals]
    wrong = [one for one in found if not (isinstance(one, str) and 0 < len(one) <= _LONGEST)]
    if wrong:
        raise QueryError(f"a principal must be a text of 1 to {_LONGEST:,} characters, got {wrong[0]!r:.80}")
    return frozenset(found)


def named(stored: StoredSnapshot) -> frozenset[str]:
    """Return the principals that documents of a snapshot name; others make no difference."""
    found = read_table(stored, "documents", ["access"]).column("access")
    return frozenset(pc.unique(pc.list_flatten(found)).to_pylist())


def visible_in(stored: StoredSnapshot, principals: Iterable[str], later: StoredSnapshot | None) -> pa.Array:
    """Return the ids of the documents that principals may see.

    `later` is the newest snapshot if `stored` is an older one. A document in both must be visible in both, so that an
    old snapshot shows nothing that was revoked since.
    """
    _, own = _split(stored, principals)
    if later is not None:
        known_later, visible_later = _split(later, principals)
        revoked = known_later.filter(pc.invert(pc.is_in(known_later, value_set=visible_later)))
        own = own.filter(pc.invert(pc.is_in(own, value_set=revoked)))
    return own


def _split(stored: StoredSnapshot, principals: Iterable[str]) -> tuple[pa.Array, pa.Array]:
    """Return the ids of all documents, and of documents that name one of the principals."""
    table = read_table(stored, "documents", _COLUMNS).combine_chunks()
    ids, access = (table.column(name).combine_chunks() for name in _COLUMNS)
    may = pc.is_in(access.flatten(), value_set=pa.array(list(principals), pa.string()))
    rows = pc.unique(pc.list_parent_indices(access).filter(may))
    return ids, ids.take(rows)


S = TypeVar("S")

_MOST = 16
"""The most narrowed stores that are kept. Each takes disk space for its rows and memory for its indexes."""


class NarrowedStores(Generic[S]):
    """The narrowed stores of principals; the most recently used ones are kept. It is safe for threads.

    `named` are the principals that documents name; others make no difference. `make` makes a store, given the
    principals and their store of an earlier snapshot, or None. A store that exists is returned without waiting for
    another one that is being made.
    """

    def __init__(self, named: frozenset[str], make: Callable[[frozenset[str], S | None], S]) -> None:
        self._named = named
        self._make = make
        self._made: OrderedDict[frozenset[str], S] = OrderedDict()
        self._making: dict[frozenset[str], Lock] = {}
        self._lock = Lock()

    def held(self, principals: frozenset[str]) -> S | None:
        """Return the store that principals see, or None if it is not made yet."""
        key = principals & self._named
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
            return self._made.get(key)

    def get(self, principals: frozenset[str], earlier: S | None = None) -> S:
        """Return the store that principals see; `earlier` is their store of an earlier snapshot."""
        key = principals & self._named
        with self._lock:
            own = self._making.setdefault(key, Lock())
        with own:
            made = self.held(key) or self._make(key, earlier)
            with self._lock:
                self._made[key] = made
                self._making.pop(key, None)
                while len(self._made) > _MOST:
                    self._made.popitem(last=False)
        return made
