"""Processors: how many CPUs this process may use."""

import math
import os
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUP = Path("/proc/self/cgroup")  # a line `0::/PATH`; within a container the path is `/`


def processors() -> int:
    """Return the number of CPUs on which this process may run, or the share of them that its container may take.

    `os.cpu_count` counts those of the machine, and `os.sched_getaffinity` knows nothing of a container's share.
    """
    # macOS lets a process run on all CPUs, and has no containers.
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([allowed, *_shares(_GROUPS, _OWN_GROUP)]))


def _shares(groups: Path, own: Path) -> list[int]:
    """Return the limits of a control group and of those around it, in whole CPUs, rounded up."""
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
    """Return what `QUOTA PERIOD` allows; nothing for `max PERIOD`, or without the file."""
    try:
        quota, period = file.read_text(encoding="ascii").split()
        return [math.ceil(int(quota) / int(period))]
    except (OSError, ValueError):
        return []
