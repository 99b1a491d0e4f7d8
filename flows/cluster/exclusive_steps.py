"""Exclusive steps: carry out a step while no other one is in flight.

A cluster blames a dead worker on all steps that were given to it, those that only waited there among them. Of a step
that was carried out alone the blame is right.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class ExclusiveSteps:
    """Steps of several threads, side by side or alone; those that wait to be alone go first."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._beside = 0
        self._waiting = 0
        self._alone = False

    @contextmanager
    def turn(self, alone: bool) -> Iterator[None]:
        """Hold a turn during the block: with no other step in flight, or beside others."""
        with self._alone_turn() if alone else self._turn_beside():
            yield

    @contextmanager
    def _turn_beside(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._beside += 1
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    @contextmanager
    def _alone_turn(self) -> Iterator[None]:
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._beside)
                self._alone = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
