"""Single thread: keep numpy's BLAS on one thread while small matrices are multiplied.

With two threads on a busy machine a query took 0.43 s of CPU time instead of 0.013 s, because idle threads spin.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_LOCK = threading.Lock()
_INSIDE: list[Any] = []
"""One entry for each block that runs now. The first has the limit, which the last to leave removes."""


@contextmanager
def single_thread() -> Iterator[None]:
    """Limit BLAS to one thread during the block. Blocks may overlap in several threads; the limit is the process's."""
    with _LOCK:
        _INSIDE.append(None if _INSIDE else _blas().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            limit = _INSIDE.pop(0)
            if _INSIDE:
                _INSIDE[0] = limit
            else:
                limit.restore_original_limits()


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
