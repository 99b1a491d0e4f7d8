"""Measure what searches find on judged sets: one table of set × measure × way to search.

    python -m tests.bench.finding.retrieval --data FOLDER [--cache DIR] [--only SET] [--way WAY] [--setting KEY=VALUE]
        [--half report] [--save FILE] [--against FILE] [--half look --failures N] [--keywords] [--one-language]

or `make bench-retrieval DATA=FOLDER [CACHE=DIR] [ONLY=SET] [SAVE=FILE] [AGAINST=FILE]`.

Each set is ingested into a store of its own by the real pipeline and asked by the real search, with the packaged
model. A value is the mean over the questions in %, with its 95 % interval; the change is the mean difference, question
by question, to the default search of the run or, with `--against`, to the same way (or else the default) of the run
that saved that file. **+** and **-** mark what is beyond chance. A second table has the default search beside the
better of its halves. WAY is `default`, `vectors`, `keywords`, or options of `Store.search` such as
`weight=.3,spread=.2` or `k=8,passages=500`, which measures the passages of eight hits; KEY is a setting of docmill.toml
such as `chunk.contextualizer`.

Questions are split in two by a hash of their text. Figures are of the half `report`; read failures (`--failures`) in
the half `look` alone, so that no figure is of a question that somebody has looked at.

Times are medians in ms, by the clock and of all cores together (CPU), without the vector of the query. CPU s of an
ingest are without those of encoding: tokens embedded stand for these. With `--cache` a text is embedded once for all
runs; with `--stores` the stores are kept, and brought up by the next run. `--keywords` asks keywords alone, and embeds
by a fake model, in seconds; `--one-language` takes every text for English, which shows what detected languages change.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from docmill.storage.search.keywords.analysis import languages
from tests.bench.finding.asking import Trial, build, read_way
from tests.bench.finding.failures import failures
from tests.bench.finding.halves import halves
from tests.bench.finding.remembering import remember
from tests.bench.finding.results import DEFAULT, Results, SetResult, cost_row, load_results, over_all, rows
from tests.bench.sets.catalogue import SETS, chosen
from tests.bench.sets.collection import HALVES, Given, JudgedSet

WAYS = (DEFAULT, "vectors", "keywords", "fusion=rrf", "weight=.3", "weight=.5", "spread=.2", "distinct=false")
HEAD = "| set | measure | way | % | change | ms | CPU ms |\n|---|---|---|---|---|---:|---:|"
_COSTS = (
    "| set | chunks | tokens of the documents | tokens embedded | embedded / documents | CPU s besides encoding"
    " | chunks, change | embedded, change |\n|---|---:|---:|---:|---:|---:|---:|---:|"
)


def measure(one: JudgedSet, given: argparse.Namespace, folder: Path, ways: Sequence[str]) -> SetResult | None:
    """Return the results of a set, or None where its data are not given."""
    collection = one.read(Given(given.data, given.pages, given.packages))
    if collection is None:
        print(f"{one.name}: its data are not given", file=sys.stderr)
        return None
    asked = collection.asked(given.half)
    print(f"{one.name}: {len(collection.documents):,} documents, {len(asked):,} questions", file=sys.stderr, flush=True)
    store, costs = build(one, collection, folder / one.name, given.setting)
    found = SetResult(costs)
    with store:
        trial = Trial(one, collection, store, asked)
        for way in ways:
            options = read_way(way)
            found.ways[way] = trial.ask(options)
            for text in failures(trial, found.ways[way], options, given.failures):
                print(text, flush=True)
    return found


def run(given: argparse.Namespace, folder: Path) -> None:
    """Measure the chosen sets and print both tables."""
    results, base = Results(given.half), load_results(given.against) if given.against else None
    if base and base.half != given.half:
        raise SystemExit(f"{given.against} is of the half {base.half!r}; compare with --half {base.half}")
    print(HEAD, flush=True)
    for one in chosen(given.only):
        found = measure(one, given, folder, given.way or (["keywords"] if given.keywords else [*WAYS, *one.ways]))
        if found is None:
            continue
        results.sets[one.name] = found
        if given.save:
            results.save(given.save)
        for row in rows(results, base, one.name):
            print("|", row, "|", flush=True)
    for row in over_all(results, base):
        print("|", row, "|")
    print("", *halves(results), sep="\n")
    print(f"\n{_COSTS}")
    for name, one_set in results.sets.items():
        known = base.sets.get(name) if base else None
        print("|", cost_row(name, one_set.costs, known.costs if known else None), "|")


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description="Measure what searches find.")
    parser.add_argument("--data", type=Path, help="A folder of public sets by their names.")
    parser.add_argument("--pages", type=Path, help="A folder of Markdown pages that link each other, or a .tar.gz.")
    parser.add_argument("--packages", type=Path, default=Given().packages, help="A folder of Python packages.")
    parser.add_argument("--cache", type=Path, help="A folder of vectors, filled by this run and read by the next.")
    parser.add_argument("--stores", type=Path, help="A folder to keep the stores in.")
    names = ", ".join(one.name for one in SETS)
    parser.add_argument("--only", action="append", default=[], help=f"Sets that begin so; may be repeated: {names}.")
    parser.add_argument("--way", action="append", default=[], help="A way to search; may be repeated.")
    parser.add_argument("--setting", action="append", default=[], help="A setting of the stores; may be repeated.")
    parser.add_argument("--keywords", action="store_true", help="Ask keywords alone, and embed by a fake model.")
    parser.add_argument("--one-language", action="store_true", help="Take every text for English.")
    parser.add_argument("--half", choices=HALVES, default=HALVES[0])
    parser.add_argument(
        "--failures", type=int, default=0, help="Show so many questions of each set; needs --half look."
    )
    parser.add_argument("--save", type=Path, help="Keep the results, question by question.")
    parser.add_argument("--against", type=Path, help="Compare with results that were kept.")
    return parser


def main() -> None:
    """Print the tables."""
    parser = arguments()
    given = parser.parse_args()
    if given.failures and given.half != "look":
        parser.error("--failures needs --half look: the questions of the other half are for figures")
    if given.keywords and given.cache:
        parser.error("--keywords has no vectors to keep in --cache")
    if given.one_language:
        languages._decided = lambda votes, *_: [""] * len(votes)
    with TemporaryDirectory() as temporary:
        remember(given.cache or Path(temporary) / "vectors", given.keywords)
        run(given, given.stores or Path(temporary))


if __name__ == "__main__":
    main()
