"""Measure hybrid search while the vectors of some documents are pending, in two ways to rank their chunks.

    python -m tests.bench.finding.covered [--seeds N]

Prints nDCG@10 by document over the test corpus and its questions, for shares of documents with vectors: keyword search
alone, hybrid search with 0 in place of what pending vectors would contribute, and with the keywords in their place.
"""

import argparse
import random
from collections.abc import Sequence
from math import log2
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from docmill import ingest, open_store
from docmill.storage.search.rank.candidates.fusion import Ranking, fuse
from docmill.storage.search.rank.candidates.search_options import SearchOptions
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.evaluate.questions import load_questions

TESTS = Path(__file__).parents[2]
SHARES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
DEPTH = 10
OPTIONS = SearchOptions()


class Measured:
    """The corpus in a store, its questions, and their rankings by keywords."""

    def __init__(self, store: Store) -> None:
        self.sources = store._sources
        rows = store.sql("SELECT chunk_id, uri FROM chunks").to_pylist()
        self.uris = {row["chunk_id"]: row["uri"] for row in rows}
        questions = load_questions(TESTS / "corpus_questions.csv")
        self.wanted = [{target.document for target in one.targets} for one in questions]
        self.vectors = self.sources.encoder.encode_queries([one.text for one in questions])
        found = [self.sources.matching(one.text, OPTIONS.candidates, None) for one in questions]
        self.words = [[(key, score) for key, score, *_ in hits] for hits in found]

    def keywords(self) -> float:
        """Return the measure of keyword search."""
        return mean(map(self._ndcg, map(dict, self.words), self.wanted))

    def hybrid(self, share: float, instead: bool, seed: int) -> float:
        """Return the measure of hybrid search with vectors for a share of the documents."""
        documents = sorted({*self.uris.values()})
        chosen = {*random.Random(seed).sample(documents, round(share * len(documents)))}
        covered = {key for key, uri in self.uris.items() if uri in chosen}
        values = []
        for vector, words, wanted in zip(self.vectors, self.words, self.wanted, strict=True):
            near: Ranking = self.sources.nearest(vector, OPTIONS.candidates, covered)
            pending = {key for key, _ in words} - covered if instead else set[str]()
            parts = fuse(near, words, OPTIONS.fusion, OPTIONS.weight, pending)
            values.append(self._ndcg({key: left + right for key, (left, right) in parts.items()}, wanted))
        return mean(values)

    def _ndcg(self, scores: dict[str, float], wanted: set[str]) -> float:
        ranked = sorted(scores, key=lambda key: (-scores[key], key))
        documents = list(dict.fromkeys(self.uris[key] for key in ranked))[:DEPTH]
        return _gain([uri in wanted for uri in documents]) / _gain([True] * min(DEPTH, len(wanted)))


def _gain(relevant: Sequence[bool]) -> float:
    return sum(hit / log2(rank + 1) for rank, hit in enumerate(relevant, start=1))


def main() -> None:
    """Print one line for each share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    seeds = range(parser.parse_args().seeds)
    with TemporaryDirectory() as folder:
        ingest(str(TESTS / "corpus"), store=f"{folder}/store")
        with open_store(f"{folder}/store") as store:
            measured = Measured(store)
            print("documents with vectors  keywords  hybrid, 0 in place  hybrid, keywords in place")
            for share in SHARES:
                zero, instead = (mean(measured.hybrid(share, way, seed) for seed in seeds) for way in (False, True))
                print(f"{share:>22.0%}  {measured.keywords():8.3f}  {zero:18.3f}  {instead:25.3f}")


if __name__ == "__main__":
    main()
