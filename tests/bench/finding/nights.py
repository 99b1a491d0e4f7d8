"""Ten people and twenty nights: `python -m tests.bench.finding.nights [SET ...]` shows what learning does.

Each day, five of ten people ask a question in words of their own and judge the passage that answers; one judgement in
twenty is wrong. At night `learn` may change docmill.toml, and a run follows. Half of the questions are never asked:
they are measured after each night against the first. No night may lose beyond chance. The sets are the texts of the
corpus of the tests with the default settings, the same with a wrong weight, and a page in chunks that are too large.
"""

import argparse
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docmill.flows.config.configuration import load
from docmill.flows.config.from_settings import search_method_of
from docmill.flows.config.settings import Settings
from docmill.flows.measure.learn import learn
from docmill.flows.measure.tune import TuneOptions
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.snapshots.read.store import open_store
from docmill.tasks.evaluate.ask_and_measure import ReadingDepth, evaluate
from docmill.tasks.evaluate.bootstrap import Interval, difference
from docmill.tasks.evaluate.questions import Question, Target
from tests.bench.serving.cache import own_rows, spelled

NIGHTS, PEOPLE, A_DAY, WRONG = 20, 10, 5, 0.05
_MEASURE, _SEED = "nDCG@10", 3
_CORPUS = Path(__file__).parents[2] / "corpus"
_TEXTS = (".md", ".txt", ".html")  # which are read in a second
_KINDS = ("red", "old", "long", "bent", "brass", "spare")
_NOUNS = ("anvil", "bellows", "chisel", "drill", "file", "hammer", "lathe", "plane", "saw", "wrench")
_PLACES = ("hook", "shelf", "drawer", "crate", "rack")
_HEAD = f"| night | judged | adopted | {_MEASURE} | against the first night | |\n|---:|---:|---|---:|---|---|"


@dataclass(frozen=True, slots=True)
class Fact:
    """A question, and the words of a document that answer it."""

    question: str
    uri: str
    phrase: str


@dataclass(frozen=True, slots=True)
class LearningSet:
    """Documents, facts about them, the docmill.toml of the first night, and what learning tries."""

    name: str
    make: Callable[[Path], tuple[Path, Sequence[Fact]]]
    toml: str
    options: TuneOptions


def _corpus(folder: Path) -> tuple[Path, Sequence[Fact]]:
    """Copy the texts of the corpus, and take the questions that they answer."""
    facts = [fact for fact in (Fact(**row) for row in own_rows()) if Path(fact.uri).suffix in _TEXTS]
    for path in (path for path in _CORPUS.rglob("*") if path.suffix in _TEXTS):
        target = folder / "docs" / path.relative_to(_CORPUS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return folder / "docs", facts


def _page(folder: Path) -> tuple[Path, Sequence[Fact]]:
    """Write one long paragraph of facts that differ in a number, a thing and a place."""
    rng = random.Random(_SEED)
    things = [f"{kind} {noun}" for kind in _KINDS for noun in _NOUNS]
    facts, lines = list[Fact](), list[str]()
    for number, thing in enumerate(things, 10):
        place = rng.choice(_PLACES)
        lines.append(f"The {thing} lies on {place} number {number} near the door of the {rng.choice(_PLACES)} room.")
        facts.append(Fact(f"Where is the {thing} kept?", "tools.md", f"lies on {place} number {number}"))
    (folder / "docs").mkdir()
    (folder / "docs" / "tools.md").write_text(f"# Tools\n\n{' '.join(lines)}\n")
    return folder / "docs", facts


_WEIGHTS = TuneOptions(strategies=(), sizes=(), contexts=(), weights=(0.2, 0.4, 0.6))
_SIZES = TuneOptions(strategies=(), sizes=(20, 60), contexts=(), weights=(), characters=400)
SETS = (
    LearningSet("corpus", _corpus, "", _WEIGHTS),
    LearningSet("corpus, wrong weight", _corpus, "[search]\nweight = 1.0\n", _WEIGHTS),
    LearningSet("page, large chunks", _page, "", _SIZES),
)


@dataclass(frozen=True, slots=True)
class Night:
    """What a night changed, and what questions that nobody asked find after it, against the first night."""

    number: int
    judged: int
    adopted: tuple[str, ...]
    mean: float
    change: Interval


def nights(one: LearningSet, folder: Path, count: int = NIGHTS) -> Iterator[Night]:
    """Yield what each night does; the first one is before anybody judges."""
    docs, facts = one.make(folder)
    file, rng = folder / "docmill.toml", random.Random(_SEED)
    file.write_text(one.toml)
    shuffled = rng.sample([*facts], len(facts))
    held, asked = shuffled[::2], shuffled[1::2]
    with LocalEngine() as engine:
        ingest(_settings(folder), [str(docs)], engine)
    before = _measured(folder, held, one.options)
    yield Night(0, 0, (), _mean(before), difference(before, before))
    for number in range(1, count + 1):
        _judge(folder, asked, rng)
        found = learn(_settings(folder), file, [str(docs)], one.options)
        now = _measured(folder, held, one.options)
        adopted = tuple(change.what for change in found.adopted)
        yield Night(number, found.judged, adopted, _mean(now), difference(now, before))


def _settings(folder: Path) -> Settings:
    return load({("store",): str(folder / "store")}, folder / "docmill.toml")


def _judge(folder: Path, facts: Sequence[Fact], rng: random.Random) -> None:
    """Have some people ask and judge."""
    with open_store(folder / "store") as store:
        for person in rng.sample(range(PEOPLE), A_DAY):
            fact, own = rng.choice(facts), f"person {person}"
            query = spelled(fact.question, rng)
            if rng.random() < WRONG and (hits := store.search(query, 5)):
                store.judge(query, rng.choice(hits), by=own)
            else:
                store.judge(query, uri=fact.uri, quotation=fact.phrase, by=own)


def _measured(folder: Path, facts: Sequence[Fact], options: TuneOptions) -> Mapping[str, float]:
    questions = [Question(one.question, one.question, (Target(one.uri, one.phrase),)) for one in facts]
    way, depth = search_method_of(_settings(folder), "hybrid"), ReadingDepth(characters=options.characters)
    with open_store(folder / "store") as store:
        return evaluate(store, questions, [way], [_MEASURE], depth)[0].values[_MEASURE]


def _mean(values: Mapping[str, float]) -> float:
    return float(np.mean([*values.values()]))


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; all unless given")
    parser.add_argument("--nights", type=int, default=NIGHTS)
    given = parser.parse_args()
    for one in SETS:
        if given.sets and one.name not in given.sets:
            continue
        print(f"\n## {one.name}\n\n{_HEAD}")
        with tempfile.TemporaryDirectory() as folder:
            for night in nights(one, Path(folder), given.nights):
                change = f"{night.change.mean:+.3f} [{night.change.low:+.3f}, {night.change.high:+.3f}]"
                cells = (night.number, night.judged, ", ".join(night.adopted), f"{night.mean:.3f}", change)
                print("|", " | ".join(map(str, cells)), f"| {night.change.verdict} |", flush=True)


if __name__ == "__main__":
    main()
