"""Kept answers: what was answered about a snapshot, for those who ask the same again."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress

from starlette.responses import Response

from docmill.storage.process.asker import Abandoned

_KEPT_S = 60.0
"""Seconds that an answer is kept. A snapshot does not change, but the time does, and evaluations join it later."""
_MOST_BYTES = 30_000_000  # of all of them: some hundred pictures


class KeptAnswers:
    """Answers by what was asked; many threads may ask. Two that ask the same at once wait for one answer."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, Response]] = OrderedDict()
        self._under_way: dict[Hashable, Future[Response]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, answer: Callable[[], Response], kept_s: float = _KEPT_S) -> Response:
        """Return the kept answer, or else what `answer` returns, which is then kept for some seconds."""
        while True:
            with self._lock:
                until, kept = self._kept.get(key, (0.0, None))
                if kept is not None and time.monotonic() < until:
                    self._kept.move_to_end(key)
                    return kept
                awaited = self._under_way.get(key)
                own = awaited or self._under_way.setdefault(key, Future())
            if not awaited:
                return self._answered(key, answer, kept_s, own)
            with suppress(Abandoned):  # whoever asked first has left: ask anew
                return own.result()

    def _answered(
        self, key: Hashable, answer: Callable[[], Response], kept_s: float, own: "Future[Response]"
    ) -> Response:
        try:
            found = answer()
        except BaseException as error:
            self._end(key)
            own.set_exception(error)
            raise
        self._keep(key, found, time.monotonic() + kept_s)
        self._end(key)
        own.set_result(found)
        return found

    def _end(self, key: Hashable) -> None:
        with self._lock:
            del self._under_way[key]

    def _keep(self, key: Hashable, answer: Response, until: float) -> None:
        """Keep an answer; those that nobody has asked for longest go if all take too much memory."""
        with self._lock:
            self._kept[key] = (until, answer)
            self._kept.move_to_end(key)
            while sum(len(one.body) for _, one in self._kept.values()) > _MOST_BYTES:
                self._kept.popitem(last=False)
