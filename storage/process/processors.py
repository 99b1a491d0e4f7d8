"""Processors: the number of CPUs that this process may use."""

import math
import os
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUP = Path("/proc/self/cgroup")  # a line `0::/PATH`; within a container the path is `/`


def processors() -> int:
    """Return the number of CPUs on which this process may run, or its container's share of them.

    `os.cpu_count` counts those of the machine, and `os.sched_getaffinity` does not know a container's share.
    """
    # On macOS, a process may use all CPUs, and there are no containers.
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([allowed, *_shares(_GROUPS, _OWN_GROUP)]))


def _shares(groups: Path, own: Path) -> list[int]:
    """Return the limits of a control group and its ancestors, in whole CPUs, rounded up."""
    try:
        (path,) = (line[3:] for line in own.read_text(encoding="utf-8").splitlines() if line.startswith("0::"))
    except (OSError, ValueError):
        return []
    inner = groups / path.strip("/")
    found = []
    for group in (inner, *inner.parents):
        if group.is_relative_to(groups):
            found += _share(group / "cpu.max")
    return found


def _share(file: Path) -> list[int]:
    """Return the CPUs that `QUOTA PERIOD` allows; nothing for `max PERIOD` or without the file."""
    try:
        quota, period = file.read_text(encoding="ascii").split()
        return [math.ceil(int(quota) / int(period))]
    except (OSError, ValueError):
        return []
