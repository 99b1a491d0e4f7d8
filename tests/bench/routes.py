"""Measure the default routes: questions on a store where each type goes its own way, and on one where all go one.

    python -m tests.bench.routes [--data FOLDER --questions CSV] [--against structure]

Without a folder it takes the test corpus and its questions. Both stores are new and lie in a temporary folder;
the real model encodes both, which takes minutes.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flows.engine import LocalEngine
from flows.pipeline import ingest
from flows.settings import Settings
from storage.store import Store, open_store
from tasks.detect import CONTENT_TYPES
from tasks.evaluate.asking import Evaluation, Reading, Way, evaluate
from tasks.evaluate.bootstrap import difference
from tasks.evaluate.questions import Question, load_questions

TESTS = Path(__file__).parents[1]
MEASURES = ("nDCG@10", "R@5", "RR")
WAYS = (Way("vector"), Way("hybrid"))


def filled(folder: Path, source: Path, routes: list[dict[str, Any]]) -> Store:
    """Return a new store of the documents."""
    with LocalEngine() as engine:
        ingest(Settings(store=folder, routes=routes), [str(source)], engine)  # type: ignore[arg-type]
    return open_store(folder)


def types_of(store: Store, questions: list[Question]) -> dict[str, str]:
    """Return the content type of the document that answers each question."""
    kinds = {
        row["uri"]: row["content_type"] for row in store.sql("SELECT uri, content_type FROM documents").to_pylist()
    }
    return {question.id: kinds.get(next((t.document for t in question.targets), ""), "") for question in questions}


def rows(own: Evaluation, other: Evaluation, kinds: dict[str, str]) -> list[str]:
    """Return a row for each measure, and one for each content type."""
    found = []
    for measure in MEASURES:
        mine, theirs = own.values[measure], other.values[measure]
        change = difference(mine, theirs)
        found.append(
            f"| {own.way.mode} | {measure} | {len(mine)} | {_mean(mine.values())} | {_mean(theirs.values())} |"
            f" {change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f}) |"
        )
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for question in own.values["nDCG@10"]:
        groups[kinds.get(question, "")].append(question)
    for kind, members in sorted(groups.items()):
        means = (_mean(one.values["nDCG@10"][question] for question in members) for one in (own, other))
        found.append(f"| {own.way.mode} | nDCG@10 of {kind} | {len(members)} | {' | '.join(means)} | |")
    return found


def _mean(values: Any) -> str:
    values = list(values)
    return f"{sum(values) / max(1, len(values)):.3f}"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=TESTS / "corpus")
    options.add_argument("--questions", type=Path, default=TESTS / "corpus_questions.csv")
    options.add_argument("--against", default="structure")
    given = options.parse_args()
    questions = load_questions(given.questions)
    plain = [{"type": kind, "strategy": given.against} for kind in CONTENT_TYPES]
    with TemporaryDirectory(prefix="docmill-routes-") as folder:
        own = filled(Path(folder) / "own", given.data, [])
        other = filled(Path(folder) / "other", given.data, plain)
        kinds = types_of(own, questions)
        print(f"| search | measure | questions | own routes | {given.against} | difference (95 %) |")
        print("|---|---|---:|---:|---:|---|")
        results = [evaluate(store, questions, WAYS, MEASURES, Reading()) for store in (own, other)]
        for mine, theirs in zip(*results, strict=True):
            print("\n".join(rows(mine, theirs, kinds)))


if __name__ == "__main__":
    main()
