"""Stores by principal: what several principals see of one snapshot, each made once and kept for the next question."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

S = TypeVar("S")

_MOST = 16
"""Narrowed stores that are kept. Each takes disk for its rows and memory for its indexes."""


class NarrowedStores(Generic[S]):
    """The stores that some principals see, the latest ones used; many threads may ask.

    `named` are the principals that documents name: no others make a difference. `make` makes a store, given these and
    what they have seen of an earlier snapshot, or None. Whoever asks for a store that is made waits for none.
    """

    def __init__(self, named: frozenset[str], make: Callable[[frozenset[str], S | None], S]) -> None:
        self._named = named
        self._make = make
        self._made: OrderedDict[frozenset[str], S] = OrderedDict()
        self._making: dict[frozenset[str], Lock] = {}
        self._lock = Lock()

    def held(self, principals: frozenset[str]) -> S | None:
        """Return the store that principals see, if it is made."""
        key = principals & self._named
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
            return self._made.get(key)

    def get(self, principals: frozenset[str], earlier: S | None = None) -> S:
        """Return the store that principals see; `earlier` is what they have seen of an earlier snapshot."""
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
