"""Child process: let a started process end with its parent and limit itself, and try twice to start it."""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from docmill.storage.errors import Transient

T = TypeVar("T")
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h
PYTHON = [sys.executable]
"""The command that starts Python in a child process. Tests replace it by a program that forks a warm process."""


def die_with(parent: int) -> None:
    """End this process with the thread that started it, however that ends (on Linux; elsewhere by a closed pipe).

    `parent` is the process id of that thread. If it has already ended, this process ends at once.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def try_twice(start: Callable[[], T]) -> T:
    """Return the result of `start`; call it once more if its process did not start.

    If memory is short, the kernel may kill a process at its start, and the next one often succeeds.
    """
    try:
        return start()
    except Transient:
        return start()


def address_space() -> int | None:
    """Return the bytes of address space that this process uses, or None if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return pages * resource.getpagesize()


def lower(which: int, limit: int) -> None:
    """Set a soft limit, such as `resource.RLIMIT_AS`, to `limit`, or to the hard limit if that is lower."""
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (limit if hard < 0 else min(limit, hard), hard))
