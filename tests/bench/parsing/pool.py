"""Measure how busy the worker processes are while a mixed folder is parsed and split, and how large they grow.

    python -m tests.bench.parsing.pool [--data FOLDER] [--documents N] [--workers N]

Without a folder, the samples of all formats and generated pages are taken. A worker counts as busy while it has
a document, so the figure holds on a machine that has other things to do, too.
"""

import argparse
import json
import os
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

import docmill.tasks.work.batch.batch
from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.search.encode import space
from tests.bench.documents import write_tree
from tests.bench.table import Figure, show
from tests.bench.turns import LOG, Turn, timed
from tests.kit import fake_encoder

_TESTS = Path(__file__).parents[2]


def lay(folder: Path, data: Path | None, documents: int) -> None:
    """Copy `data` into a folder, or write a mix of what the tests have and generated pages."""
    if data is not None:
        shutil.copytree(data, folder)
        return
    write_tree(folder / "pages", documents)
    shutil.copytree(_TESTS / "corpus", folder / "corpus")
    shutil.copytree(_TESTS / "golden", folder / "golden", ignore=shutil.ignore_patterns("*.golden*"))


def measure(source: Path, folder: Path, workers: int) -> list[Turn]:
    """Plan an ingest of `source`, which parses and splits all of it; return what the workers did."""
    log = folder / "turns.log"
    os.environ[LOG] = str(log)
    vars(docmill.tasks.work.batch.batch)["process_document"] = timed
    values = {"store": folder / "store", "parse": {"workers": workers}, "embedding": {"model": fake_encoder.NAME}}
    with LocalEngine() as engine:
        ingest(Settings.model_validate(values), [str(source)], engine, dry_run=True)
    return [Turn(**json.loads(line)) for line in log.read_text().splitlines()]


def idle(turns: list[Turn]) -> float:
    """Return the seconds that one worker had nothing to do: between documents, and neither running nor about to."""
    own = sorted(turns, key=lambda turn: turn.begin)
    pairs = pairwise(own)
    return sum(max(0.0, later.begin - one.end - (later.ran_before - one.ran_after)) for one, later in pairs)


def figures(turns: list[Turn], workers: int) -> list[Figure]:
    """Return how busy and how large the workers were."""
    begin, end = min(turn.begin for turn in turns), max(turn.end for turn in turns)
    own = [[turn for turn in turns if turn.worker == worker] for worker in {turn.worker for turn in turns}]
    alive = sum(max(turn.end for turn in mine) - min(turn.begin for turn in mine) for mine in own)
    idling = sum(map(idle, own)) + workers * (end - begin) - alive
    longest = max(turns, key=lambda turn: turn.end - turn.begin)
    return [
        Figure("documents", len(turns), ""),
        Figure("wall, from the first document to the last", end - begin, "s"),
        Figure(
            f"share of that in which {workers} workers had nothing to do", idling / workers / (end - begin), "", 0.15
        ),
        Figure(f"longest document ({longest.suffix})", longest.end - longest.begin, "s"),
        *(
            Figure(f"worker {number}, resident at most", max(turn.resident for turn in mine), "MB", 150)
            for number, mine in enumerate(own, start=1)
        ),
    ]


def main() -> None:
    """Parse the arguments, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of files of many formats")
    parser.add_argument("--documents", type=int, default=500, help="pages to generate without --data")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--growth", action="store_true", help="print each document that made a worker 10 MB larger")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = fake_encoder.write_model(folder / fake_encoder.NAME)
        space.FOLDERS[fake_encoder.NAME] = lambda: model
        lay(folder / "docs", arguments.data, arguments.documents)
        turns = measure(folder / "docs", folder, arguments.workers)
    if arguments.growth:
        _print_growth(turns)
    show("Worker processes on a mixed folder", figures(turns, arguments.workers))


def _print_growth(turns: list[Turn]) -> None:
    before: dict[int, float] = {}
    for turn in turns:
        if turn.resident > before.get(turn.worker, 0.0) + 10:
            print(f"worker {turn.worker}: {turn.resident:.0f} MB after {turn.suffix}")
        before[turn.worker] = max(turn.resident, before.get(turn.worker, 0.0))


if __name__ == "__main__":
    main()
