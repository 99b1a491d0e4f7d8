"""Allocation: let a long run give memory back to the system, so that its size follows what it holds."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_M_ARENA_MAX = -8  # of malloc.h
_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1
_ARENAS = 2  # fewer make threads wait for each other, more keep memory: see `spare_memory`
_LARGE, _USUAL = 1 << 20, 32 << 20


def prefer_system_pool() -> None:
    """Have Arrow allocate from the system's pool inside, too. It reads this when it is loaded, and never again.

    Programs of docmill call this before they load Arrow. An application decides for itself: it sets the variable
    or leaves it.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def spare_memory() -> None:
    """Let Arrow allocate as all else does, and all threads from few arenas.

    A pool for each library and an arena for each thread keep what they have once had: an ingest of 3,000 pages
    peaked at 545 MB with Arrow's own pool, at 409 MB with the system's, at 323 MB with two arenas besides. What Arrow
    allocates inside goes by `prefer_system_pool`: an ingest of 4,000 pages peaked at 452 MB without that, at 313 MB
    with it.
    """
    import pyarrow as pa  # worker processes give back too, and do without its 50 MB

    pa.set_memory_pool(pa.system_memory_pool())
    _of_glibc("mallopt", _M_ARENA_MAX, _ARENAS)


@contextmanager
def returning_large() -> Iterator[None]:
    """Let every block of 1 MB and more go back as soon as it is freed; nothing that is short of time belongs in it.

    The commit of an ingest of 10,000 pages peaks at 279 MB with it, at 288 MB without; but a model encodes in 12 s
    what takes it 8 s without, as its layers get all their memory anew.
    """
    _of_glibc("mallopt", _M_MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:  # what glibc itself arrives at where large blocks come and go
        _of_glibc("mallopt", _M_MMAP_THRESHOLD, _USUAL)
        _of_glibc("mallopt", _M_TRIM_THRESHOLD, 2 * _USUAL)


def give_back() -> None:
    """Return to the system what was freed."""
    _of_glibc("malloc_trim", 0)


def _of_glibc(name: str, *arguments: int) -> None:
    """Call a function of glibc; another library that has none keeps its own ways."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
