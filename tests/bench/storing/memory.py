"""Measure the memory of an ingest: the peak of its largest process, for few documents and for ten times as many.

    python -m tests.bench.storing.memory [--documents N] [--times N] [--packaged]

The pages are generated. Vectors are those of the tests' fake model, which takes no memory, or with `--packaged`
those of the packaged one. A peak is of all resident memory, pages of mapped files included, which the system can have
back at any time; the part that it cannot have, the process's own, is sampled and stands beside it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.bench.documents import write_tree
from tests.bench.table import Figure, show
from tests.kit.fake_encoder import NAME, write_model

_MB = 1024
_EVERY_S = 0.02


def peaks(documents: int, packaged: bool, folder: Path) -> tuple[float, float]:
    """Return the most megabytes that any process of an ingest held, and the most that its first one had of its own."""
    write_tree(folder / "docs", documents)
    with_fake = ["tests.kit.docmill_with_fake_model", str(write_model(folder / "model"))]
    command = [
        sys.executable,
        "-m",
        *(["docmill.flows.cli.app"] if packaged else with_fake),
        "ingest",
        str(folder / "docs"),
    ]
    model = [] if packaged else ["--embedding-model", NAME]
    process = subprocess.Popen(
        [*command, "--store", str(folder / "store"), "--engine", "local", *model], stdout=subprocess.DEVNULL
    )
    with _sampling(process.pid) as own:
        _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss / _MB, max(own) / _MB


@contextmanager
def _sampling(pid: int) -> Iterator[list[int]]:
    """Yield a list that holds the most anonymous memory, in KB, that a process has had so far."""
    most, ended = [0], threading.Event()

    def sample() -> None:
        while not ended.wait(_EVERY_S):
            with suppress(OSError):
                found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
                most[0] = max(most[0], int(found[1]) if found else 0)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield most
    finally:
        ended.set()
        thread.join()


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100, help="the smaller number of documents")
    parser.add_argument("--times", type=int, default=10, help="how many times as many the larger one is")
    parser.add_argument("--packaged", action="store_true", help="load the packaged model")
    arguments = parser.parse_args()
    counts = (arguments.documents, arguments.times * arguments.documents)
    with tempfile.TemporaryDirectory() as folder:
        found = [peaks(count, arguments.packaged, Path(folder) / str(count)) for count in counts]
    figures = []
    for count, (all_of_it, own) in zip(counts, found, strict=True):
        figures.append(Figure(f"peak of {count:,} documents", all_of_it, "MB", 1500))
        figures.append(Figure("the same, memory of its own", own, "MB"))
    (first, first_own), (second, second_own) = found
    figures.append(Figure("the second / the first", second / first, "", 1.2))
    figures.append(Figure("the same, memory of its own", second_own / first_own, ""))
    show("Memory of an ingest", figures)


if __name__ == "__main__":
    main()
