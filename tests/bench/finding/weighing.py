"""Fit a weight of the vectors for each question by a logistic model, and measure it on sets it was not fitted on.

    python -m tests.bench.finding.weighing --data FOLDER [--pages FOLDER] [--cache DIR] [--stores DIR] [--only SET]

Each set is asked with eleven weights from 0 to 1. The model gives a question the weight sigmoid(b · features); b is
fitted on the questions of all sets but those made of the same data, so that these know as little of the set as of a
user's documents. The half `report` of the set then compares it with the weight in use, and with the one weight that is
best for the set, which nobody knows before. The last table has b, fitted on all sets, for features of a spread of 1.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.search_options import SearchOptions
from docmill.storage.search.rank.candidates.snapshot_sources import SnapshotReader
from tests.bench.finding.asking import Trial, build
from tests.bench.finding.remembering import remember
from tests.bench.finding.results import Comparison, mean_difference, spelled
from tests.bench.sets.catalogue import chosen
from tests.bench.sets.collection import Collection, Given, JudgedSet

Floats = npt.NDArray[np.float64]
WEIGHTS = tuple(step / 10 for step in range(11))
_FINE = np.linspace(0, 1, 51)
_SMOOTH = 3
"""Steps of `_FINE` over which a question's worth is smoothed: hits change place at one weight, and have no slope."""
_SHRUNK = 1e-3
"""The price of large b: with 1e-4 the model fits chance, with 1e-2 it gives all questions one weight."""
_LITTLE = 1e-9
IN_USE = SearchOptions().weight
_SAME_DATA = {"untitled": "scifact"}
"""Sets whose questions are those of another; otherwise, sets of the same data begin with the same word."""
_IDENTIFIER = re.compile(r"[A-Za-z]\d|\d[A-Za-z]|_|[a-z][A-Z]|\w\.\w")
_QUOTE = re.compile(r"[\"'\u201c]\w.*\w[\"'\u201d]")
_ASKS = re.compile(r"\s*(what|who|where|when|why|how|which|is|are|can|do|does|did|should)\b", re.IGNORECASE)
_COLUMNS = ("set", "questions", f"weight {IN_USE:g}, %", "by question, %", "change", "best weight", "against it")

Feature = Callable[[str, Sequence[float]], float]
FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        "has a digit": lambda text, _: float(any(map(str.isdigit, text))),
        "has an identifier": lambda text, _: float(_IDENTIFIER.search(text) is not None),
        "has a quotation": lambda text, _: float(_QUOTE.search(text) is not None),
        "share of capitals": lambda text, _: sum(word[0].isupper() for word in text.split()[1:]) / len(text.split()),
        "number of terms": lambda _, rarities: float(np.log1p(len(rarities))),
        "begins like a question": lambda text, _: float(_ASKS.match(text) is not None),
        "rarest term": lambda _, rarities: max(rarities, default=0.0),
        "mean rarity": lambda _, rarities: float(np.mean(rarities)) if rarities else 0.0,
    }
)
"""What is read of a question: its text, and how rare its terms are in the store, from 0 to about 1."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A set: the features of its questions (n, features), their worth by weight (n, weights), and who reports."""

    name: str
    features: Floats
    worth: Floats
    reports: npt.NDArray[np.bool_]

    @property
    def data(self) -> str:
        """The name of the data that the set is made of."""
        return _SAME_DATA.get(self.name, self.name.split("-")[0])

    def at(self, weights: Floats) -> Floats:
        """Return the worth of each question of the half `report` at a weight of its own."""
        found = [np.interp(weight, WEIGHTS, worth) for weight, worth in zip(weights, self.worth, strict=True)]
        return np.array(found)[self.reports]


def weighed(one: JudgedSet, collection: Collection, folder: Path) -> Weighed:
    """Ask all questions of a set with every weight."""
    store, _ = build(one, collection, folder, ())
    with store:
        trial, sources = Trial(one, collection, store, collection.questions), SnapshotReader(store.stored)
        worth = [[*next(iter(trial.ask({"weight": own}).values.values())).values()] for own in WEIGHTS]
        rows = np.log1p(sources.snapshot.keywords.rows)
        read = [(asked.text, Query(asked.text, SearchOptions(), sources).term_weights) for asked in trial.asked]
        features = [
            [of(text, [own / rows for own in terms.values()]) for of in FEATURES.values()] for text, terms in read
        ]
    reports = np.array([asked.half == "report" for asked in trial.asked])
    return Weighed(one.name, np.array(features), np.array(worth).T, reports)


@dataclass(frozen=True, slots=True)
class Model:
    """A logistic model of the weight: `b` for the constant and each feature, which are scaled by these."""

    b: Floats
    mean: Floats
    spread: Floats

    def weights(self, features: Floats) -> Floats:
        """Return the weight of each question, shape (n,), from features (n, features)."""
        return _sigmoid(_with_one((features - self.mean) / self.spread) @ self.b)


def fit(sets: Sequence[Weighed]) -> Model:
    """Return the model whose weights are worth most, each set counting once."""
    from scipy.ndimage import gaussian_filter1d
    from scipy.optimize import minimize

    features = np.vstack([one.features for one in sets])
    mean, spread = features.mean(axis=0), features.std(axis=0) + _LITTLE
    inputs = _with_one((features - mean) / spread)
    fine = np.array([np.interp(_FINE, WEIGHTS, own) for one in sets for own in one.worth])
    worth = gaussian_filter1d(fine, _SMOOTH, axis=1, mode="nearest")
    slopes = np.gradient(worth, _FINE, axis=1)
    shares = np.concatenate([np.full(len(one.worth), 1 / len(one.worth) / len(sets)) for one in sets])

    def loss(b: Floats) -> tuple[float, Floats]:
        weights = _sigmoid(inputs @ b)
        grown = shares * _read(slopes, weights) * weights * (1 - weights)
        price = np.concatenate([[0.0], 2 * _SHRUNK * b[1:]])
        return float(_SHRUNK * (b[1:] ** 2).sum() - (shares * _read(worth, weights)).sum()), price - grown @ inputs

    start = np.zeros(inputs.shape[1])
    start[0] = np.log(IN_USE / (1 - IN_USE))
    return Model(np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x), mean, spread)


def _sigmoid(values: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-values))
    return found


def _with_one(values: Floats) -> Floats:
    return np.column_stack([np.ones(len(values)), values])


def _read(table: Floats, weights: Floats) -> Floats:
    """Return the value of each row at its weight, between the columns of `_FINE`."""
    places = np.clip(weights, 0, 1) * (len(_FINE) - 1)
    left = np.minimum(places.astype(int), len(_FINE) - 2)
    rows, part = np.arange(len(table)), places - left
    found: Floats = table[rows, left] * (1 - part) + table[rows, left + 1] * part
    return found


def table(sets: Sequence[Weighed]) -> Iterator[str]:
    """Yield the lines of both tables."""
    yield f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}"
    pairs = list[tuple[Comparison, Comparison]]()
    for one in sets:
        others = [other for other in sets if other.data != one.data]
        if others:
            cells, pair = _row(one, fit(others))
            pairs.append(pair)
            yield f"| {' | '.join(cells)} |"
    if pairs:
        used, best = (spelled(mean_difference(some)) for some in zip(*pairs, strict=True))
        yield f"| mean | | | | {used} | | {best} |"
    yield "\n| feature | b |\n|---|---:|"
    yield from (f"| {name} | {b:+.2f} |" for name, b in zip(("", *FEATURES), fit(sets).b, strict=True))


def _row(one: Weighed, model: Model) -> tuple[list[str], tuple[Comparison, Comparison]]:
    """Return the cells of a set, and the model beside the weight in use and beside the best one."""
    mine, used = one.at(model.weights(one.features)), one.worth[one.reports, WEIGHTS.index(IN_USE)]
    place = int(one.worth[one.reports].mean(axis=0).argmax())
    pair = _compared(mine, used), _compared(mine, one.worth[one.reports, place])
    means = [f"{100 * float(own.mean()):.1f}" for own in (used, mine)]
    changes = [spelled(each.interval()) for each in pair]
    return [one.name, str(len(mine)), *means, changes[0], f"{WEIGHTS[place]:g}", changes[1]], pair


def _compared(mine: Floats, other: Floats) -> Comparison:
    keys = [f"{number:05}" for number in range(len(mine))]
    return Comparison(dict(zip(keys, mine.tolist(), strict=True)), dict(zip(keys, other.tolist(), strict=True)))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Fit a weight for each question.")
    for name in ("--data", "--pages", "--cache", "--stores"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", action="append", default=[], help="Sets that begin so; may be repeated.")
    given = parser.parse_args()
    with TemporaryDirectory() as temporary:
        remember(given.cache or Path(temporary) / "vectors")
        read = ((one, one.read(Given(given.data, given.pages))) for one in chosen(given.only))
        folder = given.stores or Path(temporary)
        sets = [weighed(one, collection, folder / one.name) for one, collection in read if collection]
    for line in table(sets):
        print(line, flush=True)


if __name__ == "__main__":
    main()
