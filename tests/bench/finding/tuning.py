"""Show where `docmill tune` ends on judged sets, beside the best weight known.

    python -m tests.bench.finding.tuning --data FOLDER [--pages FOLDER] [--cache DIR] [--stores DIR] [--only SET]
        [--made]

Each set is tuned by the half `look` of its questions, or with `--made` by questions made from its documents, as
`docmill tune` does without questions. The weight in which the tuning ends is then measured by the half `report`, beside
the weight that is best there. Nobody can know that one before, so a tuning that ends below it by chance alone ends as
well as one can. Strategies, sizes and contexts are left as the set has them.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from docmill.flows.config.settings import Settings
from docmill.flows.measure.tune import TuneOptions, tune
from docmill.storage.errors import QueryError
from docmill.tasks.evaluate.bootstrap import difference
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.questions import Question, Target
from tests.bench.finding.asking import Trial, build
from tests.bench.finding.remembering import remember
from tests.bench.finding.results import spelled
from tests.bench.sets.catalogue import chosen
from tests.bench.sets.collection import Asked, Collection, Given, JudgedSet

KNOWN = TuneOptions().weights
_NO_TYPE = 1_000_000
"""Questions that a content type needs to be tuned: none has so many, as each trial of one embeds the set anew."""
_COLUMNS = ("set", "tuned by", "questions", "best weight known", "%", "tuned to", "%", "tuned against best")


def question(one: Asked, collection: Collection) -> Question:
    """Return a question as `docmill evaluate` reads it."""
    texts = collection.documents
    graded = (Target(uri, grade=grade) for uri, grade in one.grades.items())
    quoted = (Target(at.document, texts[at.document][at.start : at.end], start=at.start) for at in one.references)
    hidden = tuple(Passage(uri, 0, len(texts[uri])) for uri in sorted(one.besides))
    return Question(one.id, one.text, tuple(quoted if one.references else graded), hidden=hidden)


def tuned(one: JudgedSet, folder: Path, questions: Sequence[Question]) -> tuple[float, int]:
    """Return the weight in which the tuning ends, and how many questions it asked."""
    settings = Settings(store=folder / "store", **one.settings)
    quoted = any(target.quotation for asked in questions for target in asked.targets)
    measure = "recall@5" if quoted else "nDCG@10"
    options = TuneOptions(measure=measure, least=_NO_TYPE, strategies=(), sizes=(), contexts=())
    found = tune(settings, [str(folder / "docs")], questions, options)
    return found.settings.search.weight, found.questions


def row(one: JudgedSet, collection: Collection, folder: Path, made: bool) -> Iterator[str]:
    """Yield the cells of a set."""
    store, _ = build(one, collection, folder, ())
    asked = () if made else tuple(question(own, collection) for own in collection.asked("look"))
    try:
        weight, count = tuned(one, folder, asked)
    except QueryError as error:
        yield from (one.name, "made" if made else "own", "0", "", "", str(error), "", "")
        return
    with store:
        trial = Trial(one, collection, store, collection.asked("report"))
        found = {own: next(iter(trial.ask({"weight": own}).values.values())) for own in KNOWN}
    means = {own: 100 * float(np.mean([*values.values()])) for own, values in found.items()}
    best = max(means, key=means.__getitem__)
    yield from (one.name, "made" if made else "own", str(count), f"{best:g}", f"{means[best]:.1f}", f"{weight:g}")
    yield from (
        f"{means[weight]:.1f}",
        "the same" if weight == best else spelled(difference(found[weight], found[best])),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Show where tuning ends.")
    for name in ("--data", "--pages", "--cache", "--stores"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", action="append", default=[], help="Sets that begin so; may be repeated.")
    parser.add_argument("--made", action="store_true", help="Tune by questions made from the documents.")
    given = parser.parse_args()
    print("|", " | ".join(_COLUMNS), "|\n" + "|---" * len(_COLUMNS) + "|", flush=True)
    with TemporaryDirectory() as temporary:
        remember(given.cache or Path(temporary) / "vectors")
        for one in chosen(given.only):
            collection = one.read(Given(given.data, given.pages))
            if collection is not None:
                folder = (given.stores or Path(temporary)) / one.name
                print("|", " | ".join(row(one, collection, folder, given.made)), "|", flush=True)


if __name__ == "__main__":
    main()
