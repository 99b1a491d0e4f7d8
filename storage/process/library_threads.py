"""Library threads: keep libraries of numbers to one thread a call, by variables before they load or by their calls."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

_NAMES = ("get_parallel", "get_num_threads", "set_num_threads")
_BY_OPENMP = 2  # what OpenBLAS says of itself if its threads are those of OpenMP
_Get = Callable[[], int]
_Set = Callable[[int], Any]


class _Limit(NamedTuple):
    """How to set a limit to one thread, which returns the limit before, and how to set it to another number."""

    take: Callable[[], int]
    give_back: Callable[[int], object]


class _SharedLimit:
    """The limit of a library that has one for the whole process.

    The first of several threads sets it, and the last one lifts it. If each thread restored what it found, one that
    came second would restore the limit of the first.
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
    """Return the limits of the libraries that multiply for numpy, which are loaded with it."""
    if (limit := _limit_of_wheel()) is not None:
        return (limit,)
    from threadpoolctl import ThreadpoolController

    found = [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]
    # The wheels of numpy and scipy hold a library each, and products of numpy need one of them limited.
    return tuple(map(_limit_of, [one for one in found if _is_of_numpy(Path(one.filepath))] or found))


def _limit_of_wheel() -> _SharedLimit | None:
    """Return the limit of the OpenBLAS in a wheel of numpy; None if it is elsewhere or takes its threads from OpenMP.

    To ask threadpoolctl, which looks through all libraries of the process, takes 7 ms.
    """
    import ctypes

    import numpy as np

    found = [*Path(np.__file__).parents[1].glob("numpy.libs/*openblas*")]
    if len(found) != 1:
        return None
    try:
        functions = ctypes.CDLL(str(found[0]))
        parallel, get, change = (_of_openblas(functions, f"openblas_{name}") for name in _NAMES)
    except (OSError, StopIteration):  # another build of it
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
        change = functions.MKL_Set_Num_Threads_Local  # of this thread, beside the limit for the process; 0 is none
        return _Limit(lambda: int(change(1)), change)
    if library.internal_api == "openblas":
        if library.threading_layer == "openmp":  # it has as many threads as OpenMP gives to the calling one
            return _own_limit(functions.omp_get_max_threads, functions.omp_set_num_threads)
        return _SharedLimit(*(_of_openblas(functions, f"openblas_{verb}_num_threads") for verb in ("get", "set")))
    return _SharedLimit(library.get_num_threads, library.set_num_threads)


def _of_openblas(functions: Any, name: str) -> Callable[..., Any]:
    """Return a function of OpenBLAS, whose builds add to its name."""
    names = (f"{before}{name}{after}" for before, after in product(("", "scipy_"), ("", "64_", "_64")))
    found: Callable[..., Any] = next(getattr(functions, one) for one in names if hasattr(functions, one))
    return found


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread while the block runs; any number of threads may be in such blocks.

    Other threads of BLAS spin before and after their part of a product. On a busy machine that costs a hundred times
    the CPU of a small product.
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
    """Let PyTorch compute in this thread what this thread asks for; other threads keep their settings."""
    import torch

    torch.get_num_threads()  # PyTorch sets the number of a thread when it is first used there, over ours
    _openmp().limit(limits=1)


def set_library_environment() -> None:
    """Let threads without work sleep, so that those of other programs find the cores free, and bound a cache.

    By default threads of PyTorch and numpy spin while they wait for each other. On two cores, three ingests of 153
    documents at once took 55 s and 36 s of CPU time each; with threads that sleep they took 32 s and 21 s. Alone, an
    ingest takes 14 to 15 s either way.

    Those of OpenBLAS, with which numpy comes, spin for 2^26 clock cycles at their start alone: 0.02 s of each command.

    oneDNN keeps what it has compiled for 1,024 shapes of a batch, with memory for each, though batches seldom have the
    same one. Of 1,500 texts in bfloat16 the peak is 740 MB with 32 of them instead of 1,000, for 2 % more CPU time;
    with 8, fewer than a batch takes, it takes 70 % more.

    docmill's own programs call this. An application that imports docmill decides for itself.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 cycles: the shortest that it takes
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
