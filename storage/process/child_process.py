"""Child process: how a process that docmill starts ends with its parent and limits itself."""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

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
