"""Allocation: let a long run give memory back to the system, so that its size follows what it holds."""

import ctypes

_M_ARENA_MAX = -8  # of malloc.h
_M_MMAP_THRESHOLD = -3
_ARENAS = 2
_LARGE = 1 << 20


def spare_memory() -> None:
    """Let Arrow allocate as all else does, and all threads from few arenas.

    A pool for each library and an arena for each thread keep what they have once had: an ingest of 3,000 pages
    peaked at 545 MB with Arrow's own pool, at 409 MB with the system's, at 323 MB with two arenas besides. What Arrow
    allocates inside goes by the environment that `flows` sets before it is loaded: one of 4,000 pages peaked at 452 MB
    without that, at 313 MB with it, at 298 MB where blocks of 1 MB and more always go back at once.
    """
    import pyarrow as pa  # worker processes give back too, and do without its 50 MB

    pa.set_memory_pool(pa.system_memory_pool())
    _of_glibc("mallopt", _M_ARENA_MAX, _ARENAS)
    _of_glibc("mallopt", _M_MMAP_THRESHOLD, _LARGE)


def give_back() -> None:
    """Return to the system what was freed."""
    _of_glibc("malloc_trim", 0)


def _of_glibc(name: str, *arguments: int) -> None:
    """Call a function of glibc; another library that has none keeps its own ways."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
