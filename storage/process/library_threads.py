"""Library threads: limit numeric libraries to one thread per call, by variables or by their functions."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

_NAMES = ("get_parallel", "get_num_threads", "set_num_threads")
_BY_OPENMP = 2  # OpenBLAS's value for threads of OpenMP
_Get = Callable[[], int]
_Set = Callable[[int], Any]


class _Limit(NamedTuple):
    """Functions that set a limit: to one thread, which returns the limit before, and to another number."""

    take: Callable[[], int]
    give_back: Callable[[int], object]


class _SharedLimit:
    """The limit of a library that has one limit for the whole process.

    The first of several threads sets it, and the last one lifts it. If each thread restored what it found, the second
    one would restore the limit of the first.
    """

    def __init__(self, get: _Get, change: _Set) -> None:
        self._get, self._change = get, change
        self._lock = Lock()
        self._holders = 0
        self._before = 1

    def take(self) -> int:
        """Set the limit if nobody holds it; return the limit before."""
        with self._lock:
            if self._holders == 0:
                self._before = self._get()
                if self._before != 1:
                    self._change(1)
            self._holders += 1
            return self._before

    def give_back(self, before: int) -> None:
        """Lift the limit if nobody else holds it, and nobody has set another one meanwhile."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and before != 1 and self._get() == 1:
                self._change(before)


def _own_limit(get: _Get, change: _Set) -> _Limit:
    """Return the limit of a library that has one for each thread."""

    def take() -> int:
        before = get()
        change(1)
        return before

    return _Limit(take, change)


@cache
def _limits() -> tuple[_Limit | _SharedLimit, ...]:
    """Return the limits of the libraries that numpy multiplies with, which are loaded with it."""
    if (limit := _limit_of_wheel()) is not None:
        return (limit,)
    from threadpoolctl import ThreadpoolController

    found = [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]
    # The wheels of numpy and scipy contain a library each, and only numpy's has to be limited.
    return tuple(map(_limit_of, [one for one in found if _is_of_numpy(Path(one.filepath))] or found))


def _limit_of_wheel() -> _SharedLimit | None:
    """Return the limit of the OpenBLAS in a wheel of numpy; None if it is elsewhere or uses OpenMP's threads.

    Using threadpoolctl, which searches all libraries of the process, takes 7 ms.
    """
    import ctypes

    import numpy as np

    found = [*Path(np.__file__).parents[1].glob("numpy.libs/*openblas*")]
    if len(found) != 1:
        return None
    try:
        functions = ctypes.CDLL(str(found[0]))
        parallel, get, change = (_of_openblas(functions, f"openblas_{name}") for name in _NAMES)
    except (OSError, StopIteration):  # another build of numpy
        return None
    return None if parallel() == _BY_OPENMP else _SharedLimit(get, change)


def _is_of_numpy(library: Path) -> bool:
    import numpy as np

    folder = Path(np.__file__).resolve().parent
    return any(library.resolve().is_relative_to(one) for one in (folder, folder.with_name("numpy.libs")))


def _limit_of(library: Any) -> _Limit | _SharedLimit:
    """Return the limit of a library that threadpoolctl has found."""
    functions = library.dynlib
    if library.internal_api == "mkl":
        change = functions.MKL_Set_Num_Threads_Local  # for this thread, besides the limit for the process; 0 is none
        return _Limit(lambda: int(change(1)), change)
    if library.internal_api == "openblas":
        if library.threading_layer == "openmp":  # it uses as many threads as OpenMP gives the calling thread
            return _own_limit(functions.omp_get_max_threads, functions.omp_set_num_threads)
        return _SharedLimit(*(_of_openblas(functions, f"openblas_{verb}_num_threads") for verb in ("get", "set")))
    return _SharedLimit(library.get_num_threads, library.set_num_threads)


def _of_openblas(functions: Any, name: str) -> Callable[..., Any]:
    """Return a function of OpenBLAS, whose builds add prefixes or suffixes to names."""
    names = (f"{before}{name}{after}" for before, after in product(("", "scipy_"), ("", "64_", "_64")))
    found: Callable[..., Any] = next(getattr(functions, one) for one in names if hasattr(functions, one))
    return found


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread during the block; any number of threads may be in such blocks.

    Further threads of BLAS spin before and after their part of a product. On a busy machine, that costs a hundred times
    the CPU time of a small product.
    """
    taken = [(limit, limit.take()) for limit in _limits()]
    try:
        yield
    finally:
        for limit, before in taken:
            limit.give_back(before)


@cache
def _openmp() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")


def one_torch_thread() -> None:
    """Let PyTorch compute in this thread only; other threads keep their settings."""
    import torch

    torch.get_num_threads()  # PyTorch sets a thread's number at its first use there, which would override ours
    _openmp().limit(limits=1)


def set_library_environment() -> None:
    """Let idle threads sleep, so that they leave the cores to other programs, and limit a cache.

    By default, threads of PyTorch and numpy spin while they wait for each other. On two cores, three ingests of 153
    documents at once took 55 s and 36 s of CPU time each, and with sleeping threads 32 s and 21 s. Alone, an ingest
    takes 14 to 15 s either way.

    Those of OpenBLAS, which numpy contains, spin for 2^26 clock cycles at their start: 0.02 s of each command.

    oneDNN caches compiled code for 1,024 batch shapes, with memory for each, although batches seldom have the same
    shape. For 1,500 texts in bfloat16, the peak is 740 MB with 32 of them instead of 1,000, for 2 % more CPU time. With
    8, fewer than a batch needs, it is 70 % more.

    docmill's own programs call this. An application that imports docmill decides for itself.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 cycles, the minimum
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
