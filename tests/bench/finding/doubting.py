"""Show whether confidence tells questions that the documents answer from those that they do not, and fit it.

    python -m tests.bench.finding.doubting --data FOLDER [--cache DIR] [--stores DIR] [--only SET] [--mode keyword]

Each set is asked its own questions and as many of other sets, in its language as far as there are such: those of one
store are off-topic in another. A hit is right if it overlaps an answer, or is of a right document. The weights are
fitted on the half `look` of the questions, each set and kind counting the same, and printed; the table is of the half
`report` under the weights in use:

- AUC: how often the first hit of an answerable question has a higher confidence than that of an off-topic one;
- precision at 90 % recall: of the questions above the confidence that 90 % of the answerable ones reach, the share that
  is answerable, with as many questions of both kinds;
- the confidence of first hits: its mean for answerable and for off-topic questions, and the share of the former that
  is right.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from docmill.storage.search.rank.candidates import confidence
from docmill.storage.search.rank.candidates.confidence import FITTED, Floats, evidence
from docmill.storage.search.rank.candidates.hit import Candidate, Hit
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.evaluate.overlap import Passage
from tests.bench.finding.asking import build
from tests.bench.finding.remembering import remember
from tests.bench.sets.catalogue import chosen
from tests.bench.sets.collection import Asked, Given

MOST = 160
"""Questions of each kind for a set."""
_HITS = 5
_RECALL = 0.9
_SHRUNK = 1e-4
_SEED = 5
_SAME_TEXTS = {"untitled": "scifact", "xquad": "xquad-en"}
_FOREIGN = ("xquad-de", "xquad-es", "xquad-zh", "jaquad")
"""Sets in a language that no other set has: their questions are asked of no other set, as any search would notice."""
_COLUMNS = ("set", "questions", "AUC", "precision at 90 %", "answerable", "off-topic", "first hits right")


@dataclass(frozen=True, slots=True)
class Judged:
    """Hits of a set: their evidence (n, 4), whether each is right, the question of each, and what that question is."""

    evidence: Floats
    right: Floats
    first: Floats
    answerable: Floats
    report: Floats


def of_other_sets(name: str, sets: Mapping[str, Sequence[Asked]]) -> list[Asked]:
    """Return questions for which a set has no answer."""
    draw, family = random.Random(_SEED), _family(name)
    others = [
        one for other, asked in sets.items() if _family(other) != family and other not in _FOREIGN for one in asked
    ]
    return draw.sample(others, min(MOST, len(others)))


def _family(name: str) -> str:
    return _SAME_TEXTS.get(name, name).split("-")[0]


def judged(store: Store, own: Sequence[Asked], others: Sequence[Asked], mode: Mode) -> Judged:
    """Ask a store both kinds of questions."""
    seen = list[Floats]()
    known = confidence.confidences

    def noted(best: Sequence[Candidate], query: Query) -> list[float]:
        seen.append(evidence(best, query))
        return known(best, query)

    confidence.confidences = noted
    try:
        rows = [
            row for kind, asked in ((1.0, own), (0.0, others)) for one in asked for row in _hits(store, one, kind, mode)
        ]
    finally:
        confidence.confidences = known
    return Judged(np.concatenate(seen), *np.array(rows, np.float64).reshape(-1, 4).T)


def _hits(store: Store, asked: Asked, kind: float, mode: Mode) -> Iterator[tuple[float, float, float, float]]:
    """Yield for each hit whether it is right, whether it is the first, and what the question is."""
    for hit in store.search(asked.text, _HITS, mode):
        yield float(kind and _answers(hit, asked)), float(hit.rank == 1), kind, float(asked.half == "report")


def _answers(hit: Hit, asked: Asked) -> bool:
    own = Passage(hit.uri, hit.start_char, hit.end_char)
    if not asked.references:
        return hit.uri in asked.grades
    return any(own.document == one.document and own.start < one.end and one.start < own.end for one in asked.references)


def fit(sets: Sequence[Judged]) -> Floats:
    """Return the constant and the weights of the evidence, fitted on the half `look`."""
    from scipy.optimize import minimize

    rows = np.concatenate([one.evidence[one.report == 0] for one in sets])
    inputs = np.column_stack([np.ones(len(rows)), rows])
    right = np.concatenate([one.right[one.report == 0] for one in sets])
    shares = np.concatenate([_shares(one.answerable[one.report == 0]) for one in sets])

    def loss(b: Floats) -> tuple[float, Floats]:
        logits = inputs @ b
        misses = right * np.logaddexp(0, -logits) + (1 - right) * np.logaddexp(0, logits)
        slope = ((1 / (1 + np.exp(-logits)) - right) * shares) @ inputs
        price = np.concatenate([[0.0], b[1:]])
        return float((misses * shares).sum() + _SHRUNK * (price**2).sum()), slope + 2 * _SHRUNK * price

    return np.asarray(minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B").x)


def _shares(kinds: Floats) -> Floats:
    """Return what each hit counts: each kind of question of a set the same in all."""
    found = np.zeros(len(kinds))
    for kind in (0.0, 1.0):
        found[kinds == kind] = 1 / max(1, (kinds == kind).sum())
    return found


def measured(one: Judged, weights: Sequence[float]) -> list[float]:
    """Return the figures of the table: AUC, precision, mean confidence of both kinds, and the share that is right."""
    first = (one.first == 1) & (one.report == 1)
    logits = np.column_stack([np.ones(first.sum()), one.evidence[first]]) @ np.array(weights)
    asked, sure = one.answerable[first] == 1, 1 / (1 + np.exp(-logits))
    bound = np.quantile(logits[asked], 1 - _RECALL)
    kept, passed = (logits[asked] >= bound).mean(), (logits[~asked] >= bound).mean()
    right = one.right[first][asked].mean()
    return [area(logits, asked), kept / (kept + passed), sure[asked].mean(), sure[~asked].mean(), right]


def area(values: Floats, positive: Floats) -> float:
    """Return the probability that a positive value is above a negative one; equal ones count half."""
    from scipy.stats import rankdata

    ranks, many = rankdata(values), positive.sum()
    return float((ranks[positive].sum() - many * (many + 1) / 2) / (many * (len(values) - many)))


def table(sets: Mapping[str, Judged], weights: Sequence[float]) -> Iterator[str]:
    """Yield the lines of the table; the last has the means over the sets."""
    yield f"| {' | '.join(_COLUMNS)} |\n|---|{'---:|' * (len(_COLUMNS) - 1)}"
    found = {name: measured(one, weights) for name, one in sets.items()}
    for name, values in found.items():
        asked = int(((sets[name].first == 1) & (sets[name].report == 1)).sum())
        yield f"| {name} | {asked} | {' | '.join(f'{value:.3f}' for value in values)} |"
    yield f"| mean | | {' | '.join(f'{value:.3f}' for value in np.mean([*found.values()], axis=0))} |"


def main() -> None:
    """Print the weights and the table."""
    parser = argparse.ArgumentParser(description="Measure and fit the confidence of hits.")
    for name in ("--data", "--pages", "--cache", "--stores"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", action="append", default=[], help="Sets that begin so; may be repeated.")
    parser.add_argument("--mode", choices=[*FITTED], default="hybrid")
    given = parser.parse_args()
    with TemporaryDirectory() as temporary:
        encoder = remember(given.cache or Path(temporary) / "vectors")
        kinds = {one.name: one for one in chosen(given.only)}
        read = {name: one.read(Given(given.data, given.pages)) for name, one in kinds.items()}
        collections = {name: one for name, one in read.items() if one}
        asked = {name: one.questions for name, one in collections.items()}
        encoder.encode_queries([one.text for some in asked.values() for one in some])
        found = dict[str, Judged]()
        for name, collection in collections.items():
            store, _ = build(kinds[name], collection, (given.stores or Path(temporary)) / name, ())
            own = random.Random(_SEED).sample(asked[name], min(MOST, len(asked[name])))
            with store:
                found[name] = judged(store, own, of_other_sets(name, asked), given.mode)
    print("fitted:", ", ".join(f"{one:.1f}" for one in fit([*found.values()])))
    for line in table(found, FITTED[given.mode]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
