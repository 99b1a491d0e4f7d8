"""Measure what starting the command line costs, in CPU seconds of a whole process.

python -m tests.bench.start
"""

import os
import statistics
import subprocess
import sys

from tests.bench.table import Figure, show


def cpu_seconds(command: list[str]) -> float:
    """Return user and system time of one process."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the table."""
    command = [sys.executable, "-m", "flows.cli.app", "--help"]
    cpu_seconds(command)
    figure = statistics.median(cpu_seconds(command) for _ in range(7))
    bare = statistics.median(cpu_seconds([sys.executable, "-c", ""]) for _ in range(7))
    show("Start", [Figure("docmill --help, CPU", figure, "s", 0.3), Figure("python alone, CPU", bare, "s")])


if __name__ == "__main__":
    main()
