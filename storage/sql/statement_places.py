"""Statement places: how many statements run at once, of all askers and of one."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from docmill.storage.process.asker import Abandoned, Asker


class StatementPlaces:
    """Places for statements; usable from many threads. What this process asks for itself may take all of them."""

    def __init__(self, most: int, most_of_client: int) -> None:
        self._most = most
        self._most_of_client = most_of_client
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, asker: Asker) -> Iterator[None]:
        """Hold a place during the block; wait for one.

        Raises:
            Abandoned: The asker has left meanwhile.
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
