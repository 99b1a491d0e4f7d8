"""Kept answers: what was answered about a snapshot, for those who ask the same again."""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable

from starlette.responses import Response

_KEPT_S = 60.0
"""Seconds that an answer is kept. A snapshot does not change, but the time does, and evaluations join it later."""
_MOST_BYTES = 30_000_000  # of all of them: some hundred pictures


class KeptAnswers:
    """Answers by what was asked; many threads may ask."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, Response]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Response | None:
        """Return a kept answer, or None."""
        with self._lock:
            until, answer = self._kept.get(key, (0.0, None))
        return answer if time.monotonic() < until else None

    def put(self, key: Hashable, answer: Response) -> None:
        """Keep an answer; the oldest go if all take too much memory."""
        with self._lock:
            self._kept[key] = (time.monotonic() + _KEPT_S, answer)
            self._kept.move_to_end(key)
            while sum(len(one.body) for _, one in self._kept.values()) > _MOST_BYTES:
                self._kept.popitem(last=False)
