"""Measure what English sets lose where each text is read in its own language: nDCG@10 of a keyword search.

    python -m tests.bench.finding.languages.english --data FOLDER [--only SET ...]

FOLDER has BEIR's sets. A document is one chunk. First all of them are read as English, then as docmill does: each in
the language that its words tell, and a question in every language of the index.
"""

import argparse
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import rebuild
from docmill.storage.search.keywords.segments import build
from tests.bench.sets.collection import Collection
from tests.bench.sets.public import read_beir

_SETS = ("scifact", "cacm", "vaswani")
_K = 10


def ndcg(hits: list[str], grades: Mapping[str, int]) -> float:
    """Return nDCG@10 of hits, best first (Järvelin and Kekäläinen, 2002)."""

    def gain(values: list[int]) -> float:
        return sum(value / math.log2(rank + 2) for rank, value in enumerate(values[:_K]))

    return gain([grades.get(hit, 0) for hit in hits]) / gain(sorted(grades.values(), reverse=True))


def measured(own: Collection) -> tuple[str, list[float]]:
    """Return the languages of the index, and nDCG@10 of each question."""
    with tempfile.TemporaryDirectory() as place:
        state = rebuild(Path(place), own.documents.items())
        index = KeywordIndex(Path(place), state)
        return state.language, [ndcg([*index.search(one.text, _K).ids], one.grades) for one in own.questions]


def main() -> None:
    """Print a row for each set."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, required=True, help="folder of the judged sets")
    arguments.add_argument("--only", nargs="+", default=_SETS, metavar="SET")
    chosen = arguments.parse_args()
    print("| set | questions | all as English | each as its words tell | better, worse | languages found |")
    print("|---|---:|---:|---:|---:|---|")
    for name in chosen.only:
        own = read_beir(chosen.data / name)
        with patch.object(build, "detect_all", lambda _, starts, *__: ["english"] * len(starts)):
            _, before = measured(own)
        languages, after = measured(own)
        better = sum(new > old for new, old in zip(after, before, strict=True))
        worse = sum(new < old for new, old in zip(after, before, strict=True))
        means = [f"{sum(values) / len(values):.4f}" for values in (before, after)]
        print(f"| {name} | {len(before)} | {' | '.join(means)} | {better}, {worse} | {languages} |", flush=True)


if __name__ == "__main__":
    main()
