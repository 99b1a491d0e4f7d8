"""Asking: search a snapshot with questions whose answers are known, and measure the rankings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from docmill.storage.errors import QueryError
from docmill.storage.keywords.analysis.analyser import analyse
from docmill.storage.reader.store import Store
from docmill.storage.retrieval.candidates.hit import Hit
from docmill.storage.retrieval.candidates.search_options import Mode, Rewrite, SearchArguments, SearchOptions
from docmill.tasks.evaluate.bootstrap import Interval, difference, interval
from docmill.tasks.evaluate.excerpts import Excerpts, excerpt_measure
from docmill.tasks.evaluate.questions import Question
from docmill.tasks.evaluate.ranking import Values, measure, measure_of, names_of, ranked

_CHUNKS_PER_DOCUMENT = 5
"""Chunks to request for each document of a ranking: several may be of one document.

With fewer, a ranking of documents ends too early; more only take longer.
"""


@dataclass(frozen=True, slots=True)
class SearchMethod:
    """One way to search: a mode, other options of `SearchOptions`, and the query rewriter if they need one."""

    mode: Mode
    how: SearchArguments = field(default_factory=SearchArguments)
    rewrite: Rewrite | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Return the mode, the fusion of a hybrid one, and every other option that differs from its default."""
        own, plain = SearchOptions(mode=self.mode, **self.how), SearchOptions()
        return {
            one.name: getattr(own, one.name)
            for one in fields(own)
            if one.name in ("mode", "weight", "fusion") or getattr(own, one.name) != getattr(plain, one.name)
        }

    def spelled(self) -> str:
        """Return the way as text for a person."""
        more = self.options
        mode, weight, fusion = (more.pop(name) for name in ("mode", "weight", "fusion"))
        fused = "" if mode != "hybrid" else f" {weight:g}" if fusion == "linear" else f" {fusion}"
        return ", ".join([f"{mode}{fused}", *(f"{name} {value}" for name, value in more.items())])

    def ask(self, store: Store, text: str, k: int) -> list[Hit]:
        """Return the hits for one question."""
        return self.ask_all(store, [text], k)[0]

    def ask_all(self, store: Store, texts: Sequence[str], k: int) -> list[list[Hit]]:
        """Return the hits for each question."""
        return store.search_all(texts, k, self.mode, rewrite=self.rewrite, **self.how)


@dataclass(frozen=True, slots=True)
class ReadingDepth:
    """How far a ranking is read: `depth` documents or passages, and a maximum of characters; 0 is all."""

    depth: int = 10
    characters: int = 0

    def read(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits up to the reading depth, the last of them truncated."""
        if not self.characters:
            return list(hits)
        found, left = [], self.characters
        for hit in hits:
            if left > 0:
                found.append(replace(hit, text=hit.text[:left], end_char=min(hit.end_char, hit.start_char + left)))
            left -= len(hit.text)
        return found


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of one way to search: ranked ids by question, and each measure by question."""

    way: SearchMethod
    rankings: dict[str, list[str]]
    values: Values

    def means(self) -> dict[str, Interval]:
        """Return each measure's mean with its confidence interval."""
        return {name: interval(values) for name, values in self.values.items()}

    def against(self, other: "Evaluation") -> dict[str, Interval]:
        """Return the difference of each measure to another way."""
        return {name: difference(values, other.values[name]) for name, values in self.values.items()}


def check_measures(names: Iterable[str]) -> None:
    """Raise `ConfigError` for a measure that `evaluate` does not know."""
    for name in names:
        if not excerpt_measure(name):
            measure_of(name)


def evaluate(
    store: Store,
    questions: Sequence[Question],
    ways: Sequence[SearchMethod],
    measures: Sequence[str],
    reading: ReadingDepth,
) -> list[Evaluation]:
    """Ask every question in every way. Raises `QueryError`, which names the question, for one that cannot be asked."""
    check_measures(measures)
    excerpts = Excerpts(store, questions)
    return [_evaluate(excerpts, way, measures, reading) for way in ways]


def _evaluate(excerpts: Excerpts, way: SearchMethod, measures: Sequence[str], reading: ReadingDepth) -> Evaluation:
    questions, depth = excerpts.questions, reading.depth
    # The same depth for every measure, so that one search serves them all.
    k = depth * _CHUNKS_PER_DOCUMENT
    hits = {question.id: reading.read(found) for question, found in _answers(excerpts.store, questions, way, k)}
    rankings = {question.id: ranked(question, hits[question.id])[:depth] for question in questions}
    found = measure(questions, rankings, [name for name in measures if not excerpt_measure(name)])
    found |= {name: excerpts.measure(hits, name) for name in measures if excerpt_measure(name)}
    return Evaluation(way, rankings, {name: found[name] for name in measures})


def _answers(
    store: Store, questions: Sequence[Question], way: SearchMethod, k: int
) -> list[tuple[Question, list[Hit]]]:
    """Return the hits of each question; a query of stop words alone, which a keyword search refuses, has none."""
    language = store.snapshot.keywords.language
    asked = [one for one in questions if way.mode != "keyword" or analyse(one.text, language)]
    try:
        found = way.ask_all(store, [one.text for one in asked], k)
    except QueryError:
        # One of them cannot be asked; one by one tells which.
        found = [_ask(store, one, way, k) for one in asked]
    answers = {one.id: hits for one, hits in zip(asked, found, strict=True)}
    return [(one, answers.get(one.id, [])) for one in questions]


def _ask(store: Store, question: Question, way: SearchMethod, k: int) -> list[Hit]:
    try:
        return way.ask(store, question.text, k)
    except QueryError as error:
        raise QueryError(f"question {question.id}: {error}") from None


def strangers(store: Store, questions: Iterable[Question]) -> list[str]:
    """Return the documents that questions name and the snapshot lacks: no hit can answer these."""
    uris = store.sql("SELECT uri FROM documents").column(0).to_pylist()
    held = {name for uri in uris for name in names_of(uri)}
    return sorted({target.document for one in questions for target in one.targets if target.document} - held)
