"""Measure the default routes: questions on a store where each type goes its own way, and on one where all go one.

    python -m tests.bench.parsing.routes [--data FOLDER --questions CSV] [--against structure]
    python -m tests.bench.parsing.routes --labelled FOLDER [--types faq,code] [--strategies fixed] [--cache DIR]

Without a folder it takes the test corpus and its questions. Both stores are new and lie in a temporary folder;
the real model encodes both, which takes minutes.

With a folder of labelled documents (`manifest.csv`, as for `tests.bench.parsing.detect`) it measures the
strategies side by side for each content type: the default one, and `structure`, `recursive`, `sentence` and
`fixed`, in chunks of at most 200 tokens, by questions that the documents answer themselves
(`tests/bench/selves.py`). These are proxies. Of what a search of about 30,000 characters of the type finds the
first 800 are read, and it is told what share of the answers they hold, by vectors and by a hybrid search; of the
latter also, how many answers stand whole in one chunk."""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.errors import Rejected
from docmill.storage.keys import key_of
from docmill.storage.schema import Parsed
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.tasks.chunking.route import default_routes
from docmill.tasks.detect.content_types import CONTENT_TYPES
from docmill.tasks.evaluate.ask_and_measure import Evaluation, ReadingDepth, SearchMethod, evaluate
from docmill.tasks.evaluate.bootstrap import difference
from docmill.tasks.evaluate.overlap import Passage, overlap
from docmill.tasks.evaluate.questions import Question, load_questions
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from tests.bench.finding.contexts import Asked, Collection, found_by, index
from tests.bench.finding.quality import Store as Vectors
from tests.bench.parsing.detect import ACCEPTED
from tests.bench.selves import MAKERS, ask

TESTS = Path(__file__).parents[2]
MEASURES = ("nDCG@10", "R@5", "RR")
WAYS = (SearchMethod("vector"), SearchMethod("hybrid"))
SIDE_BY_SIDE = ("structure", "recursive", "sentence", "fixed")
SIZE = "200"
_OF_A_TYPE = 30_000
_OF_A_DOCUMENT = 8_000
_QUESTIONS = 80
_READ = 800
_WHOLE = ("code", "data")  # files that are not cut, since what is left would be broken


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


def labelled(folder: Path, kind: str) -> dict[str, Parsed]:
    """Return documents whose label means a content type first, which their names choose, cut where they are long."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as manifest:
        files = [row["file"] for row in csv.DictReader(manifest) if ACCEPTED.get(row["label"], ("",))[0] == kind]
    found, total = dict[str, Parsed](), 0
    for file in sorted(files, key=lambda file: key_of("order", file)):
        data = (folder / file).read_bytes()
        if kind not in _WHOLE and len(data) > _OF_A_DOCUMENT and b"\0" not in data:
            data = data[: data.rindex(b"\n", 0, _OF_A_DOCUMENT) + 1 if b"\n" in data[:_OF_A_DOCUMENT] else len(data)]
        try:
            parsed = parse(data, detect_file_type(Path(file).name, data), ParseOptions())
        except Rejected:
            continue
        if total + len(parsed.text) <= _OF_A_TYPE:
            found[file], total = parsed, total + len(parsed.text)
    return found


def read(found: list[Passage], characters: int) -> Iterator[Passage]:
    """Yield passages up to so many characters, the last one cut."""
    for one in found:
        if characters > 0:
            yield one._replace(end=min(one.end, one.start + characters))
        characters -= one.end - one.start


def side_by_side(folder: Path, kind: str, others: list[str], cache: Path) -> Iterator[str]:
    """Yield a row for each strategy, the default one of a type first."""
    documents = labelled(folder, kind)
    asked = [
        Asked(str(number), own.text, (Passage(uri, own.start, own.end),))
        for number, (uri, own) in enumerate(ask(kind, documents, _QUESTIONS))
    ]
    default, first = default_routes().by_type[kind].strategy, dict[str, float]()
    for strategy in dict.fromkeys((default, *others)):
        kept = Collection(kind, documents, asked, {}, strategy)
        own = index(kept, SIZE, "structural", Vectors(cache))
        held, whole = dict[str, dict[str, float]](), list[float]()
        for mode in ("vector", "hybrid"):
            ranked = found_by(kept, own, own, mode)
            found = {one.id: list(read(ranked[one.id], _READ)) for one in asked}
            held[mode] = {one.id: overlap(found[one.id], one.references).recall for one in asked}
            whole = [float(any(_holds(chunk, one) for chunk in found[one.id])) for one in asked]
        first = first or held["vector"]
        change = difference(held["vector"], first)
        said = f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f})" if strategy != default else "default"
        yield (
            f"| {kind} | {len(documents)} | {len(asked)} | {strategy} | {len(own.chunks)} | {own.tokens:.0f} |"
            f" {_mean(held['vector'].values())} | {said} | {_mean(held['hybrid'].values())} | {_mean(whole)} |"
        )


def _holds(chunk: Passage, asked: Asked) -> bool:
    return any(
        chunk.document == one.document and chunk.start <= one.start <= one.end <= chunk.end for one in asked.references
    )


def print_types(given: argparse.Namespace, cache: Path) -> None:
    """Print the strategies of each type side by side."""
    cache.mkdir(parents=True, exist_ok=True)
    print("| type | documents | questions | strategy | chunks | tokens | vector | difference, 95 % | hybrid | whole |")
    print("|---|---:|---:|---|---:|---:|---:|---|---:|---:|", flush=True)
    for kind in given.types.split(","):
        for row in side_by_side(given.labelled, kind, given.strategies.split(","), cache):
            print(row, flush=True)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=TESTS / "corpus")
    options.add_argument("--questions", type=Path, default=TESTS / "corpus_questions.csv")
    options.add_argument("--against", default="structure")
    options.add_argument("--labelled", type=Path)
    options.add_argument("--types", default=",".join(MAKERS))
    options.add_argument("--strategies", default=",".join(SIDE_BY_SIDE))
    options.add_argument("--cache", type=Path)
    given = options.parse_args()
    if given.labelled:
        with TemporaryDirectory(prefix="docmill-routes-") as folder:
            print_types(given, given.cache or Path(folder))
        return
    questions = load_questions(given.questions)
    plain = [{"type": kind, "strategy": given.against} for kind in CONTENT_TYPES]
    with TemporaryDirectory(prefix="docmill-routes-") as folder:
        own = filled(Path(folder) / "own", given.data, [])
        other = filled(Path(folder) / "other", given.data, plain)
        kinds = types_of(own, questions)
        print(f"| search | measure | questions | own routes | {given.against} | difference (95 %) |")
        print("|---|---|---:|---:|---:|---|")
        results = [evaluate(store, questions, WAYS, MEASURES, ReadingDepth()) for store in (own, other)]
        for mine, theirs in zip(*results, strict=True):
            print("\n".join(rows(mine, theirs, kinds)))


if __name__ == "__main__":
    main()
