"""Phases: the progress and speed of a run: items fetched, documents parsed, tokens embedded, commit."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

LIST, FETCH, PLAN, PARSE, EMBED, COMMIT = "list", "fetch", "plan", "parse", "embed", "commit"

_SHARES = {LIST: (0.0, 0.0), FETCH: (0.0, 0.0), PARSE: (0.0, 10.0), EMBED: (10.0, 89.0), COMMIT: (99.0, 1.0)}
"""Percent of a run before each phase, and in it: parsing takes minutes, whereas embedding takes hours."""


@dataclass(frozen=True, slots=True)
class Phase:
    """How far a run is in one of its phases.

    Attributes:
        name: `"list"`, `"fetch"`, `"parse"`, `"embed"` or `"commit"`, in this order; a run that commits in steps comes
            back to the last three.
        done: How many units are done.
        total: How many units there are, as far as known; 0 while a source is listed.
        unit: `"items"`, `"documents"`, `"tokens"`, or `""` for a commit, which is done or not.
        rate: Units per second in the last minute, 0 if unknown.
        source: The source that is listed or fetched.
        bytes: How many bytes of it are done.
    """

    name: str
    done: int
    total: int
    unit: str = ""
    rate: float = 0.0
    source: str = ""
    bytes: int = 0

    @property
    def seconds_left(self) -> float | None:
        """Return how long the rest takes at this rate, or None if the rate is unknown."""
        return (self.total - self.done) / self.rate if self.rate else None

    @property
    def percent(self) -> float:
        """Return how much of the whole run is done at this point of the phase, in percent."""
        before, share = _SHARES[self.name]
        return before + share * self.done / max(self.total, 1)


def first_of(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first `most` texts, joined, and how many more there are."""
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return f"{between.join(texts[:most])}{more}"


def counted(count: int, units: str) -> str:
    """Return a count with its unit, which is given in the plural: `1 document`, `2,000 documents`."""
    if count == 1:
        units = f"{units.removesuffix('ies')}y" if units.endswith("ies") else units.removesuffix("s")
    return f"{count:,} {units}"


def sized(count: int) -> str:
    """Return a number of bytes as people read it: `12 B`, `3.4 kB`, `1.2 MB`."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} B"


T = TypeVar("T")
WINDOW_S = 60.0
"""Seconds that the rate looks back. A minute evens out portions of ten seconds, but soon forgets the start of a run,
when parsing takes half of the machine."""
LOOK_S = 5.0
"""Seconds between two progress reports while a step runs."""


class Pace:
    """The rate at which a count grows.

    With `warming`, the clock starts only once the count has grown beyond this value, because before that a model is
    being loaded, or work that began at an unknown time is being finished. Otherwise the clock starts now, at 0.
    """

    def __init__(self, warming: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._warming = warming
        self._points = deque([(clock(), 0)] if warming is None else [])

    def rate(self, done: int) -> float:
        """Return the units per second in the last minute, given how many are done by now; 0 if unknown."""
        now = self._clock()
        if done > (self._points[-1][1] if self._points else self._warming or 0):
            self._points.append((now, done))
        while len(self._points) > 2 and self._points[1][0] <= now - WINDOW_S:
            self._points.popleft()
        if len(self._points) < 2:
            return 0.0
        (began, before), (last, after) = self._points[0], self._points[-1]
        # Units come in lumps, so the time since the last one counts only once it is longer than the window.
        end = last if now - last < WINDOW_S else now
        return (after - before) / (end - began) if end > began else 0.0


def awaited(step: Future[T], look: Callable[[], None]) -> T:
    """Return the result of a step; call `look` every `LOOK_S` while waiting."""
    done = Event()  # set by a callback, because `concurrent.futures.wait` does not accept Prefect's futures
    step.add_done_callback(lambda _: done.set())
    while not done.wait(LOOK_S):
        look()
    return step.result()
