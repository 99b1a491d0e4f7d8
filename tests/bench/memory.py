"""Measure the memory of an ingest: the peak of its largest process, for few documents and for ten times as many.

    python -m tests.bench.memory [--documents N] [--packaged]

The pages are generated. Vectors are those of the tests' fake model, which takes no memory, or with `--packaged`
those of the packaged one.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.documents import write_tree
from tests.bench.table import Figure, show
from tests.fake_encoder import NAME, write_model

_MB = 1024


def peak(documents: int, packaged: bool, folder: Path) -> float:
    """Return the most megabytes that any process of an ingest held."""
    write_tree(folder / "docs", documents)
    with_fake = ["tests.docmill_with_fake_model", str(write_model(folder / "model"))]
    command = [sys.executable, "-m", *(["flows.cli.app"] if packaged else with_fake), "ingest", str(folder / "docs")]
    model = [] if packaged else ["--embedding-model", NAME]
    process = subprocess.Popen(
        [*command, "--store", str(folder / "store"), "--engine", "local", *model], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss / _MB


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100, help="the smaller number of documents")
    parser.add_argument("--packaged", action="store_true", help="load the packaged model")
    arguments = parser.parse_args()
    counts = (arguments.documents, 10 * arguments.documents)
    with tempfile.TemporaryDirectory() as folder:
        peaks = [peak(count, arguments.packaged, Path(folder) / str(count)) for count in counts]
    figures = [
        Figure(f"peak of {count:,} documents", size, "MB", 1500) for count, size in zip(counts, peaks, strict=True)
    ]
    show("Memory of an ingest", [*figures, Figure("the second / the first", peaks[1] / peaks[0], "", 1.2)])


if __name__ == "__main__":
    main()
