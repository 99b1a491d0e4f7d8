"""Kept searches: cache a server's answers, for when the same or nearly the same question is asked again."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import SearchOptions
from docmill.storage.snapshots.read.store import Store, query_vector

_KEPT_S = 60.0
"""Seconds that an answer with a condition is kept: a snapshot does not change, but the condition may use `now()`."""
Outcome = Literal["same", "alike", "new"]


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The hits of an earlier question; `vector` is the vector of the question, or None if it was not needed."""

    query: str
    hits: list[Hit]
    asked: float
    vector: npt.NDArray[np.float32] | None


class KeptSearches:
    """The last `most` answers about each open snapshot; thread-safe.

    The part of a snapshot that some principals see is a separate open snapshot with its own answers, so nobody gets
    answers from documents that only others may see.

    If the vectors of two questions have at least the cosine `alike`, the answer to one is also given to the other; with
    1, each question has its own answer.
    """

    def __init__(self, most: int, alike: float) -> None:
        self._most, self._alike = most, alike
        self._kept: WeakKeyDictionary[Store, OrderedDict[tuple[Hashable, str], KeptAnswer]] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self.counts: Counter[Outcome] = Counter()
        """How many questions were answered from the same question, from a similar one, and by a new search."""

    def get(self, store: Store, query: str, options: SearchOptions, search: Callable[[], list[Hit]]) -> KeptAnswer:
        """Return the cached answer to a question, or call `search` and cache its result."""
        if (kept := self._same(store, query, options)) is not None:
            return self._counted("same", kept)
        by_vector = self._alike < 1 and options.mode != "keyword"
        vector = query_vector(store, query) if by_vector else None
        if vector is not None and (kept := self._nearest(store, vector, options)) is not None:
            return self._counted("alike", kept)
        found = KeptAnswer(query, search(), time.monotonic(), vector)
        self._keep(store, options, found)
        return self._counted("new", found)

    def _counted(self, outcome: Outcome, kept: KeptAnswer) -> KeptAnswer:
        with self._lock:
            self.counts[outcome] += 1
        return kept

    def _same(self, store: Store, query: str, options: SearchOptions) -> KeptAnswer | None:
        with self._lock:
            kept = self._kept.get(store, OrderedDict())
            found = kept.get((options, query))
            if found is None or not _is_fresh(found, options):
                return None
            kept.move_to_end((options, query))
            return found

    def _nearest(self, store: Store, vector: npt.NDArray[np.float32], options: SearchOptions) -> KeptAnswer | None:
        with self._lock:
            kept = self._kept.get(store, OrderedDict())
            cosine, best = max(_near(kept, vector, options), key=lambda one: one[0], default=(0.0, None))
            if best is None or cosine < self._alike:
                return None
            kept.move_to_end((options, best.query))
            return best

    def _keep(self, store: Store, options: SearchOptions, answer: KeptAnswer) -> None:
        with self._lock:
            kept = self._kept.setdefault(store, OrderedDict())
            kept[options, answer.query] = answer
            kept.move_to_end((options, answer.query))
            while len(kept) > self._most:
                kept.popitem(last=False)


def _is_fresh(kept: KeptAnswer, options: SearchOptions) -> bool:
    return options.where is None or time.monotonic() - kept.asked < _KEPT_S


def _near(
    kept: OrderedDict[tuple[Hashable, str], KeptAnswer], vector: npt.NDArray[np.float32], options: SearchOptions
) -> Iterator[tuple[float, KeptAnswer]]:
    """Yield the answers to questions with the same options, each with its cosine."""
    for (asked, _), one in kept.items():
        if asked == options and one.vector is not None and _is_fresh(one, options):
            yield float(one.vector @ vector), one
