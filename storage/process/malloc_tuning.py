"""Malloc tuning: return freed memory to the system, so that a long run does not keep its peak memory."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_M_ARENA_MAX = -8  # from malloc.h
_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1
_ARENAS = 2  # with fewer, threads wait for each other; more retain memory: see `spare_memory`
_LARGE, _USUAL = 1 << 20, 32 << 20


def prefer_system_pool() -> None:
    """Make Arrow use the system's allocator for internal allocations, too; Arrow reads this only while it loads.

    docmill's own programs call this before they load Arrow. An application that imports docmill decides for itself
    whether to set the variable.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def spare_memory() -> None:
    """Make Arrow use the system's allocator, and let all threads share few arenas.

    A pool for each library and an arena for each thread retain the memory that they once used. An ingest of 3,000
    pages peaked at 545 MB with Arrow's own pool, at 409 MB with the system's, and at 323 MB with two arenas as well.
    `prefer_system_pool` covers Arrow's internal allocations: an ingest of 4,000 pages peaked at 452 MB without it and
    at 313 MB with it.
    """
    import pyarrow as pa  # here, because worker processes call `give_back` and should not load its 50 MB

    pa.set_memory_pool(pa.system_memory_pool())
    _of_glibc("mallopt", _M_ARENA_MAX, _ARENAS)


@contextmanager
def returning_large() -> Iterator[None]:
    """Within the block, return each allocation of 1 MB or more to the system as soon as it is freed.

    Do not use it around work that must be fast. The commit of an ingest of 10,000 pages peaks at 279 MB with it and at
    288 MB without. But a model takes 12 s instead of 8 s to encode the same texts, because its layers allocate all
    their memory again.
    """
    _of_glibc("mallopt", _M_MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:  # the values that glibc itself chooses after large blocks are allocated and freed
        _of_glibc("mallopt", _M_MMAP_THRESHOLD, _USUAL)
        _of_glibc("mallopt", _M_TRIM_THRESHOLD, 2 * _USUAL)


def give_back() -> None:
    """Return freed memory to the system."""
    _of_glibc("malloc_trim", 0)


def sparing(large: bool, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Do some work and, if it is `large`, return its memory to the system afterwards."""
    try:
        return work(*arguments, **named)
    finally:
        if large:
            give_back()


def _of_glibc(name: str, *arguments: int) -> None:
    """Call a function of glibc; with another C library, do nothing."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
