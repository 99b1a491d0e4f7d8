"""Measure the cache of answers: `python -m tests.bench.serving.cache [--data FOLDER] [SET ...]`.

Ten hundred questions are asked of a store: those of a judged set, frequent ones often (Zipf), half of them spelled
otherwise than before. For each least cosine, the table tells the share of questions that the cache answers and that of
questions which got the answer to another question of the set, what the answers share with those of a search
(overlap@10, and the same best hit). A second table asks each question of the set once: every answer from the cache is
then that to another question. Without a folder of data, the set is the corpus of the tests, with each of its
questions.
"""

import argparse
import csv
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.flows.serving.kept_searches import KeptSearches
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import SearchOptions
from docmill.storage.snapshots.read.store import Store, open_store
from tests.bench.sets.catalogue import chosen
from tests.bench.sets.collection import Given

_HERE = Path(__file__).parents[2]
_ASKED, _K, _SEED = 1000, 10, 7
_AS_BEFORE = 0.5
"""The share of questions that are asked in the words of the set."""
_BOUNDS = (1.0, 0.98, 0.95, 0.9, 0.85, 0.8)


def _typo(text: str, rng: random.Random) -> str:
    place = rng.randrange(max(1, len(text) - 2))
    return text[:place] + text[place + 1 : place + 2] + text[place] + text[place + 2 :]


def _short(text: str, _: random.Random) -> str:
    words = text.split()
    dropped = {"the", "a", "an", "is", "are", "do", "does", "did", "of", "to", "in"}
    return " ".join(word for word in words if word.lower() not in dropped) or text


_SPELLINGS: Sequence[Callable[[str, random.Random], str]] = (
    lambda text, _: text.lower(),
    lambda text, _: text.rstrip("?. "),
    lambda text, _: f"please tell me: {text}",
    _typo,
    _short,
)


def spelled(text: str, rng: random.Random) -> str:
    """Return a question as it is, or in half of the cases in other words."""
    return text if rng.random() < _AS_BEFORE else rng.choice(_SPELLINGS)(text, rng)


def stream(questions: Sequence[str], asked: int = _ASKED, seed: int = _SEED) -> list[tuple[str, str]]:
    """Return questions as people ask them, each with that of the set that it is.

    The first of a shuffled list is asked most often, and half are spelled otherwise.
    """
    rng = random.Random(seed)
    order = rng.sample([*questions], len(questions))
    drawn = rng.choices(order, [1 / rank for rank in range(1, len(order) + 1)], k=asked)
    return [(spelled(text, rng), text) for text in drawn]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a cache did: shares of all questions, and of its answers what they share with those of a search.

    `other` is the share of questions that got the answer to another question of the set.
    """

    bound: float
    same: float
    alike: float
    other: float
    overlap: float
    best: float


def measure(folder: Path, asked: Sequence[tuple[str, str]], bounds: Sequence[float]) -> list[Measured]:
    """Ask a store anew for each bound, and compare the answers of the cache with those of searches."""
    with open_store(folder) as store:
        true = {text: store.search(text, _K) for text in {text for text, _ in asked}}
        return [_measured(store, asked, true, bound) for bound in bounds]


def _measured(store: Store, asked: Sequence[tuple[str, str]], true: Mapping[str, list[Hit]], bound: float) -> Measured:
    options, kept, meant = SearchOptions(_K), KeptSearches(len(asked), bound), dict(asked)
    overlaps, bests, others = list[float](), list[bool](), 0
    for text, own in asked:
        answer = kept.get(store, text, options, lambda text=text: true[text])  # type: ignore[misc]
        others += meant[answer.query] != own
        found, right = ([hit.chunk_id for hit in hits] for hits in (answer.hits, true[text]))
        if right:
            overlaps.append(len({*found} & {*right}) / len(right))
            bests.append(found[:1] == right[:1])
    shares = {name: kept.counts[name] / len(asked) for name in ("same", "alike")}
    return Measured(bound, shares["same"], shares["alike"], others / len(asked), fmean(overlaps), fmean(bests))


def show(name: str, asked: Sequence[tuple[str, str]], rows: Sequence[Measured]) -> None:
    """Print a table."""
    again = 1 - len({text for text, _ in asked}) / len(asked)
    frequent = Counter(text for text, _ in asked).most_common(1)[0][1]
    print(f"\n## {name}: {len(asked)} questions, {again:.0%} in words asked before, one of them {frequent} times\n")
    print(
        "| cache_alike | from the cache | same words | other words | of another question | overlap@10 | same best hit |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for one in rows:
        print(
            f"| {one.bound:g} | {one.same + one.alike:.0%} | {one.same:.0%} | {one.alike:.0%} "
            f"| {one.other:.1%} | {one.overlap:.3f} | {one.best:.3f} |"
        )


def _stored(documents: Path, folder: Path) -> Path:
    with LocalEngine() as engine:
        ingest(Settings(store=folder / "store"), [str(documents)], engine)
    return folder / "store"


def own_rows() -> list[dict[str, str]]:
    """Return the questions about the corpus of the tests, each with a uri and a phrase that answers."""
    with (_HERE / "corpus_questions.csv").open(encoding="utf-8") as rows:
        return [*csv.DictReader(rows)]


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of judged sets")
    parser.add_argument("sets", nargs="*", help="names of judged sets")
    given = parser.parse_args()
    if not given.sets:
        _table("corpus of the tests", _HERE / "corpus", [row["question"] for row in own_rows()])
    for one in chosen(given.sets) if given.sets else ():
        collection = one.read(Given(given.data))
        if collection is None:
            raise SystemExit(f"{given.data} has no {one.name}")
        with tempfile.TemporaryDirectory() as folder:
            collection.write(Path(folder))
            _table(one.name, Path(folder), [question.text for question in collection.questions])


def _table(name: str, documents: Path, questions: Sequence[str]) -> None:
    asked = stream(questions)
    with tempfile.TemporaryDirectory() as folder:
        store = _stored(documents, Path(folder))
        show(name, asked, measure(store, asked, _BOUNDS))
        once = [(text, text) for text in dict.fromkeys(questions)]
        show(f"{name}, each once", once, measure(store, once, _BOUNDS))


if __name__ == "__main__":
    main()
