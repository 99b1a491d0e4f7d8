"""Circuit breaker: calls of a model that keeps failing pause for a while."""

import threading
import time
from collections.abc import Callable, Sequence

from docmill.storage.errors import Transient
from docmill.tasks.model.completion import Model, Reply, SentPicture

FAILURES = 3
"""Failures in a row before calls pause: the client has retried each, so three are no accident."""


PAUSE_S = 60.0
"""Seconds without a call: providers count their limits by the minute.

With a longer pause, a short outage would cost more answers.
"""


class Breaker:
    """A `Model` around another one; after too many failures, calls fail at once until a pause is over."""

    def __init__(self, model: Model, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._reason = ""

    def complete(self, parts: Sequence[str], max_tokens: int, picture: SentPicture | None = None) -> Reply:
        """Return the model's reply; during a pause, raise `Transient` at once, with the reason for the pause."""
        if self._clock() < self._until:
            raise Transient(self._reason)
        try:
            reply = self._model.complete(parts, max_tokens, picture)
        except Transient as error:
            self._count(str(error))
            raise
        with self._lock:
            self._failures = 0
        return reply

    def _count(self, reason: str) -> None:
        with self._lock:
            self._failures += 1
            self._reason = reason
            if self._failures >= FAILURES:
                self._until = self._clock() + PAUSE_S
