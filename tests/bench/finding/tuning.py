"""Show where `docmill tune` ends on judged sets, beside the best weight known.

    python -m tests.bench.finding.tuning --data FOLDER [--pages FOLDER] [--cache DIR] [--stores DIR] [--only SET]
        [--by own] [--by made]

Each set is tuned twice: by the half `look` of its questions, and by questions made from its documents, as `docmill
tune` does without questions. The weight in which a tuning ends is then measured by the half `report`, beside the weight
that is best there. Nobody can know that one before, so a tuning that ends below it by chance alone ends as
well as one can. Strategies, sizes and contexts are left as the set has them.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
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
ASKED = ("own", "made")
"""What a set is tuned by: the half `look` of its questions, or questions made from its documents."""
Found = Mapping[float, Mapping[str, float]]
_NO_TYPE = 1_000_000
"""Questions that a content type needs to be tuned: none has so many, as each trial of one embeds the set anew."""
_COLUMNS = ("set", "tuned by", "questions", "best weight known", "%", "tuned to", "%", "tuned against best")


def question(one: Asked, collection: Collection) -> Question:
    """Return a question as `docmill evaluate` reads it: with quotations of its answers, or with graded documents."""
    texts = {**collection.documents, **collection.read}
    graded = (Target(uri, grade=grade) for uri, grade in one.grades.items())
    quoted = (Target(at.document, texts[at.document][at.start : at.end], start=at.start) for at in one.references)
    hidden = tuple(Passage(uri, 0, len(texts[uri])) for uri in sorted(one.besides))
    return Question(one.id, one.text, tuple(graded if one.grades else quoted), hidden=hidden)


def tuned(one: JudgedSet, folder: Path, questions: Sequence[Question]) -> tuple[float, int]:
    """Return the weight in which the tuning ends, and by how many questions it was tuned."""
    settings = Settings(store=folder / "store", **one.settings)
    quoted = any(target.quotation for asked in questions for target in asked.targets)
    measure = "recall@5" if quoted else "nDCG@10"
    options = TuneOptions(measure=measure, least=_NO_TYPE, strategies=(), sizes=(), contexts=())
    found = tune(settings, [str(folder / "docs")], questions, options)
    return found.settings.search.weight, next((one.questions for one in found.trials if not one.content_type), 0)


def known(one: JudgedSet, collection: Collection, folder: Path) -> Found:
    """Return what each weight finds for the questions of the half `report`: the first measure of each, by question."""
    store, _ = build(one, collection, folder, ())
    with store:
        trial = Trial(one, collection, store, collection.asked("report"))
        return {own: next(iter(trial.ask({"weight": own}).values.values())) for own in KNOWN}


def row(one: JudgedSet, collection: Collection, folder: Path, found: Found, by: str) -> Iterator[str]:
    """Yield the cells of a set that is tuned by its `own` questions, or by questions `made` from its documents."""
    asked = () if by == "made" else tuple(question(own, collection) for own in collection.asked("look"))
    try:
        weight, count = tuned(one, folder, asked)
    except QueryError as error:
        yield from (one.name, by, "0", "", "", str(error), "", "")
        return
    means = {own: 100 * float(np.mean([*values.values()])) for own, values in found.items()}
    best = max(means, key=means.__getitem__)
    yield from (one.name, by, str(count), f"{best:g}", f"{means[best]:.1f}", f"{weight:g}", f"{means[weight]:.1f}")
    yield "the same" if weight == best else spelled(difference(found[weight], found[best]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Show where tuning ends.")
    for name in ("--data", "--pages", "--cache", "--stores"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", action="append", default=[], help="Sets that begin so; may be repeated.")
    parser.add_argument("--by", action="append", default=[], choices=ASKED, help="Tune by these questions alone.")
    given = parser.parse_args()
    print("|", " | ".join(_COLUMNS), "|\n" + "|---" * len(_COLUMNS) + "|", flush=True)
    with TemporaryDirectory() as temporary:
        remember(given.cache or Path(temporary) / "vectors")
        for one in chosen(given.only):
            collection = one.read(Given(given.data, given.pages))
            if collection is None:
                continue
            folder = (given.stores or Path(temporary)) / one.name
            found = known(one, collection, folder)
            for by in given.by or ASKED:
                print("|", " | ".join(row(one, collection, folder, found, by)), "|", flush=True)


if __name__ == "__main__":
    main()
