"""Measure ingests that run at once, with threads of PyTorch that spin while they wait, and with threads that sleep.

    python -m tests.bench.beside [--at-once N] [--data FOLDER]

Each ingest has a store of its own. Without FOLDER they take the documents of the tests.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.table import Figure, show
from tests.kit.house import ROOT

_INGEST = [sys.executable, "-m", "docmill.flows.cli.start", "ingest", "--engine", "local"]
_POLICIES = {"active": "threads that spin", "passive": "threads that sleep"}


def measure(data: Path, at_once: int, folder: Path) -> list[Figure]:
    """Run one ingest, and several at once, by each policy."""
    figures = []
    for count in (1, at_once):
        walls = []
        for policy, about in _POLICIES.items():
            wall, cpu = _ingests(data, count, policy, folder / f"{policy}-{count}")
            name = f"{count} at once, {about}" if count > 1 else f"alone, {about}"
            figures += [Figure(f"{name}: wall", wall, "s"), Figure(f"{name}: CPU of each", cpu / count, "s")]
            walls.append(wall)
        together = f"{count} at once" if count > 1 else "alone"
        figures.append(Figure(f"{together}: sleeping / spinning, wall", walls[1] / walls[0], ""))
    return figures


def _ingests(data: Path, count: int, policy: str, stores: Path) -> tuple[float, float]:
    """Return the seconds until all ingests have ended, and the CPU seconds of all."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    commands = [[*_INGEST, str(data), "--store", str(stores / str(number))] for number in range(count)]
    environment = os.environ | {"OMP_WAIT_POLICY": policy}
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for command in commands]
    statuses = [one.wait() for one in running]
    if any(statuses):
        raise RuntimeError("an ingest has failed")
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--data", type=Path, default=ROOT / "tests" / "corpus")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show("Ingests beside each other", measure(arguments.data, arguments.at_once, Path(folder)))


if __name__ == "__main__":
    main()
