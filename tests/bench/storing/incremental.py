"""Measure what a second run costs: with nothing changed, and with the next version of a tree.

    python -m tests.bench.storing.incremental [--data FOLDER] [--documents N]

FOLDER holds two versions of a tree, `v1` and `v2`; without it N pages are generated. Vectors are those
of the tests' fake model: no figure here hangs on what is in a vector, and none on the time to make it.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.table import Figure, show
from tests.bench.tree import Tree, indexed, ingest
from tests.kit.fake_encoder import NAME, write_model

_RUNS = 7
_SETTLED_S = 2.1  # until then a file's time cannot be trusted, and it is read again


def measure(tree: Tree, folder: Path) -> list[Figure]:
    """Run the whole course in `folder`."""
    source, store, single = folder / "docs", folder / "store", folder / "single"
    docmill = [sys.executable, "-m", "tests.kit.docmill_with_fake_model", str(write_model(folder / "model"))]
    model = ("--embedding-model", NAME)
    tree.lay(source)
    single.mkdir()
    (single / "one.md").write_text("# One\n\nA page.\n")
    places = ((source, store), (single, folder / "single-store"))
    for place in places:
        ingest(docmill, *place, *model)
    time.sleep(_SETTLED_S)
    for place in places:
        ingest(docmill, *place, *model)
    times = [[_clocked(docmill, *place, *model) for place in places] for _ in range(_RUNS)]
    (many, one), (many_cpu, one_cpu) = (
        [statistics.median(run[place][clock] for run in times) for place in range(2)] for clock in range(2)
    )
    files = sum(path.is_file() for path in source.rglob("*"))
    before = indexed(store)
    tree.change(source)
    changed, report = ingest(docmill, source, store, *model)
    new = len(indexed(store) - before)
    return [
        Figure(f"no-op run over {files:,} files, wall", many, "s", 1.5 if files < 2_000 else None),
        Figure("no-op run, each file beyond a one-file run", (many - one) / files * 1000, "ms", 0.1),
        Figure("the same, CPU", (many_cpu - one_cpu) / files * 1000, "ms", 0.1),
        Figure("next version: documents changed", report["documents"]["changed"], ""),
        Figure("next version: documents parsed", report["parsed"], ""),
        Figure("next version: texts embedded", report["embedded"], ""),
        Figure(
            "embedded / distinct indexed texts that are new", report["embedded"] / max(new, 1), "", 1.0, judged=True
        ),
        Figure("next version without encoding, wall", changed, "s"),
    ]


def _clocked(docmill: list[str], source: Path, store: Path, *more: str) -> tuple[float, float]:
    """Ingest; return the wall clock and the CPU time of it in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall, _ = ingest(docmill, source, store, *more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with v1 and v2")
    parser.add_argument("--documents", type=int, default=1000, help="pages to generate without --data")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show("Second runs", measure(Tree(arguments.data, arguments.documents), Path(folder)))


if __name__ == "__main__":
    main()
