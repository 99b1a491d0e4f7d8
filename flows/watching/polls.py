"""Polls: ask sources of which no event tells whether they have changed, each in a thread of its own."""

import threading
import time
from collections.abc import Callable

_TURN_S = 0.2  # between two looks whether the watch has ended
LEAST_S = 1.0
"""Seconds between two looks that a source asks for: one that never stops telling of changes costs no more."""
Seen = frozenset[tuple[object, ...]] | str
"""What a look at a source found: a tuple for each path, a text that changes with them, or the error that hid them."""
Wait = Callable[[float, threading.Event], bool]
"""Waits until a source tells of a change, for so many seconds and until the event; False at once if it cannot tell."""


class Poll:
    """Looks at a source every `every_s` seconds, and sets `stirred` when it differs from what a run has seen.

    Between two looks it lets the source `wait`, which may tell of a change by itself; the next look follows. A source
    that answers slowly holds up no other. The thread ends with the process, or after `end`.
    """

    def __init__(self, look: Callable[[], Seen], wait: Wait, every_s: float, stirred: threading.Event) -> None:
        self._look, self._wait, self._every_s, self._stirred = look, wait, every_s, stirred
        self._before: Seen | None = None
        self._latest: Seen | None = None
        self._ended = threading.Event()
        self._looked = threading.Event()
        threading.Thread(target=self._work, name="docmill-poll", daemon=True).start()

    def arm(self, ended: threading.Event) -> None:
        """Note the state as that before a run: what was seen last, else what the first look finds."""
        while not self._looked.wait(_TURN_S) and not ended.is_set():
            pass
        self._before = self._latest

    @property
    def differs(self) -> bool:
        """Whether the source is no longer as it was before the run."""
        return self._before is not None and self._latest != self._before

    def end(self) -> None:
        """Look no more."""
        self._ended.set()

    def _work(self) -> None:
        while not self._ended.is_set():
            due = time.monotonic() + self._every_s
            self._latest = self._look()
            self._looked.set()
            if self.differs:
                self._stirred.set()
            self._ended.wait(min(LEAST_S, self._every_s))
            if not self._wait(due - time.monotonic(), self._ended):
                self._ended.wait(due - time.monotonic())
