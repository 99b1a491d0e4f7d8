"""Child process: how a process that docmill starts ends with its parent and limits itself; a second try to start it."""

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
"""What starts Python in a child process. Tests put in its place a program whose processes fork from a warm one."""


def die_with(parent: int) -> None:
    """End this process with the thread that started it, however that ends (Linux; elsewhere a closed pipe does).

    `parent` is the number of the process of that thread. If it has ended already, this process ends at once.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def try_twice(start: Callable[[], T]) -> T:
    """Return what `start` returns; call it once more if its process did not start.

    Where memory is short, the kernel may kill a process that starts; the next one often finds room.
    """
    try:
        return start()
    except Transient:
        return start()


def address_space() -> int | None:
    """Return the bytes of address space that this process takes, or None if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return pages * resource.getpagesize()


def lower(which: int, limit: int) -> None:
    """Set a soft limit, such as `resource.RLIMIT_AS`, to `limit`, or to the hard limit if that is lower."""
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (limit if hard < 0 else min(limit, hard), hard))
