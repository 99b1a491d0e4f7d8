"""Computed once: a property that one thread computes while other threads wait for it."""

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class ComputedOnce(Generic[T]):
    """A cached property for objects that several threads use, such as an open store.

    From Python 3.12 on, `functools.cached_property` has no lock, so threads that search a newly opened store at the
    same time would each load the index. Up to 3.11 it has one lock for all objects.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self._lock = f"lock of {self._name}"
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        kept = vars(instance)  # Python finds the value there from then on
        with kept.setdefault(self._lock, RLock()):
            if self._name not in kept:
                kept[self._name] = self._compute(instance)
        # A late thread creates its own lock and finds the value after acquiring it.
        kept.pop(self._lock, None)
        value: T = kept[self._name]
        return value


computed_once = ComputedOnce
