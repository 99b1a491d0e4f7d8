"""One BLAS thread: compute small products in the calling thread, and give BLAS its threads back afterwards.

threadpoolctl finds the libraries and does not limit them: of a library with one limit for the whole process, it takes
orders from the first thread alone that ever gave one, and a search may run in any thread.
"""

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
