"""Stores by principal: the parts of one snapshot that principals may see, each made once and kept for reuse."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

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
