"""Pace: how fast a run gets on, over the last minute."""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event
from typing import TypeVar

T = TypeVar("T")
WINDOW_S = 60.0
"""Seconds that the rate looks back. A minute evens out portions of ten seconds; the start of a run, when parsing takes
half of the machine, is soon forgotten."""
LOOK_S = 5.0
"""Seconds between two reports of a phase while a step is at work."""


class Pace:
    """The rate at which a count grows.

    `warming` is a count from before the clock runs: until it has grown once, a model is loaded, or work of an unknown
    age is finished. Without it, the clock runs from now, at 0.
    """

    def __init__(self, warming: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._warming = warming
        self._points = deque([(clock(), 0)] if warming is None else [])

    def rate(self, done: int) -> float:
        """Return the units per second of the last minute, given how many are done by now; 0 if unknown."""
        now = self._clock()
        if done > (self._points[-1][1] if self._points else self._warming or 0):
            self._points.append((now, done))
        while len(self._points) > 2 and self._points[1][0] <= now - WINDOW_S:
            self._points.popleft()
        if len(self._points) < 2:
            return 0.0
        (began, before), (last, after) = self._points[0], self._points[-1]
        # Units are settled in lumps: the time since the last lump counts once it is longer than the window.
        end = last if now - last < WINDOW_S else now
        return (after - before) / (end - began) if end > began else 0.0


def awaited(step: Future[T], look: Callable[[], None]) -> T:
    """Return the result of a step; until it is there, call `look` every `LOOK_S`."""
    done = Event()  # by a callback, which Prefect's futures have, too: `concurrent.futures.wait` takes only its own
    step.add_done_callback(lambda _: done.set())
    while not done.wait(LOOK_S):
        look()
    return step.result()
