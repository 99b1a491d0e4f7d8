"""Ask and measure: search a snapshot with questions whose answers are known, and measure the rankings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from docmill.storage.errors import QueryError
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import Mode, Rewrite, SearchArguments, SearchOptions
from docmill.storage.snapshots.history.measurements import AskedQuestion
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.evaluate.answer_ranks import Answers, asked_question, reasons
from docmill.tasks.evaluate.bootstrap import Interval, difference, interval
from docmill.tasks.evaluate.excerpts import Excerpts, excerpt_measure, only_passages
from docmill.tasks.evaluate.overlap import Passage, shared
from docmill.tasks.evaluate.questions import LeftOut, Question
from docmill.tasks.evaluate.retrieval_measures import (
    RankedHit,
    Values,
    is_target,
    measure,
    measure_of,
    names_of,
    ranked_hits,
)

_CHUNKS_PER_DOCUMENT = 5
"""Chunks to request for each document of a ranking, because several may be from one document.

With fewer, a ranking of documents would end too early; more only take longer.
"""

_NO_QUOTATION = "it has no quotation; recall@5, IoU@5 and the like need a quoted passage"


@dataclass(frozen=True, slots=True)
class SearchMethod:
    """A way to search: a mode, other options of `SearchOptions`, and the query rewriter if they need one."""

    mode: Mode
    how: SearchArguments = field(default_factory=SearchArguments)
    rewrite: Rewrite | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Return the mode, the fusion of a hybrid search, and every other option that differs from its default."""
        own, plain = SearchOptions(mode=self.mode, **self.how), SearchOptions()
        return {
            one.name: getattr(own, one.name)
            for one in fields(own)
            if one.name in ("mode", "weight", "fusion") or getattr(own, one.name) != getattr(plain, one.name)
        }

    def spelled(self) -> str:
        """Return the way as readable text."""
        more = self.options
        mode, weight, fusion = (more.pop(name) for name in ("mode", "weight", "fusion"))
        fused = "" if mode != "hybrid" else f" {weight:g}" if fusion == "linear" else f" {fusion}"
        return ", ".join([f"{mode}{fused}", *(f"{name} {value}" for name, value in more.items())])

    def with_passages(self, tokens: int) -> "SearchMethod":
        """Return the same way to rank, choosing passages of at most `tokens` tokens; 0 chooses none."""
        return replace(self, how=self.how | {"passages": tokens})

    def ask(self, store: Store, text: str, k: int) -> list[Hit]:
        """Return the hits for one question."""
        return self.ask_all(store, [text], k)[0]

    def ask_all(self, store: Store, texts: Sequence[str], k: int) -> list[list[Hit]]:
        """Return the hits for each question."""
        return store.search_all(texts, k, self.mode, rewrite=self.rewrite, **self.how)


@dataclass(frozen=True, slots=True)
class ReadingDepth:
    """How far a ranking is read: `depth` documents or passages, and a maximum of characters; 0 is no limit."""

    depth: int = 10
    characters: int = 0

    def read(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits up to the reading depth, the last one truncated."""
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
    """The results of one way to search: ranked ids by question, and each measure by question.

    `left_out` are the questions that no measure, or not every one, covers; they are not in `values`. `cut` are the ids
    of questions whose answers are in no single chunk: measures of rankings count them as missed, whatever a search
    finds. `asked` has the outcome of each question, also beyond the reading depth.
    """

    way: SearchMethod
    rankings: dict[str, list[str]]
    values: Values
    left_out: tuple[LeftOut, ...] = ()
    cut: tuple[str, ...] = ()
    asked: tuple[AskedQuestion, ...] = ()

    def means(self) -> dict[str, Interval]:
        """Return each measure's mean with its confidence interval."""
        return {name: interval(values) for name, values in self.values.items()}

    def against(self, other: "Evaluation") -> dict[str, Interval]:
        """Return the difference of each measure from another way."""
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
    """Ask one snapshot every question in every way; see `evaluate_all`."""
    return evaluate_all([store], questions, ways, measures, reading)[0]


def evaluate_all(
    stores: Sequence[Store],
    questions: Sequence[Question],
    ways: Sequence[SearchMethod],
    measures: Sequence[str],
    reading: ReadingDepth,
) -> list[list[Evaluation]]:
    """Ask each snapshot every question in every way; return the evaluations of each snapshot.

    All cover the same questions, so that they can be compared: every way can ask them, and at least one snapshot can
    answer them. Raise `QueryError`, which names one question, if there are none.
    """
    check_measures(measures)
    whole = any(map(excerpt_measure, measures))
    asked = [_ask_snapshot(store, questions, ways, reading, whole) for store in stores]
    left_out = _refused(questions, asked)
    left_out += _without_answer(_others(questions, left_out), asked)
    kept = _others(questions, left_out)
    bare = _without_quotation(kept, measures)
    if len(bare) == len(kept):
        raise QueryError([*left_out, *bare][0].spelled())
    return [one.evaluations(kept, measures, (*left_out, *bare)) for one in asked]


def _others(questions: Sequence[Question], left_out: Iterable[LeftOut]) -> list[Question]:
    gone = {one.id for one in left_out}
    return [one for one in questions if one.id not in gone]


@dataclass(frozen=True, slots=True)
class _AskedWay:
    """What one way found: rankings by question, the hits if measures of excerpts need them, and refusals.

    Beyond the reading depth, only the answers are kept: the rest of thousands of rankings would fill the memory.
    """

    way: SearchMethod
    rankings: dict[str, list[RankedHit]]
    hits: dict[str, list[Hit]]
    refused: dict[str, str]


@dataclass(frozen=True, slots=True)
class _AskedSnapshot:
    """What each way found in one snapshot, and where the answers are in it."""

    answers: Answers
    reading: ReadingDepth
    ways: list[_AskedWay]

    def found(self, question: Question) -> bool:
        """Return whether any way has found an answer to a question."""
        return any(is_target(hit.key) for one in self.ways for hit in one.rankings.get(question.id, ()))

    def evaluations(
        self, questions: Sequence[Question], measures: Sequence[str], left_out: tuple[LeftOut, ...]
    ) -> list[Evaluation]:
        """Return the measures for each way."""
        excerpts, cut = Excerpts(self.answers, questions), self._cut(questions)
        found = []
        for one in self.ways:
            rankings = {own.id: self._read(one.rankings[own.id]) for own in questions}
            values = measure(questions, rankings, [name for name in measures if not excerpt_measure(name)])
            values |= {name: excerpts.measure(one.hits, name) for name in measures if excerpt_measure(name)}
            kept = {name: values[name] for name in measures}
            found.append(Evaluation(one.way, rankings, kept, left_out, cut, self._asked(questions, one)))
        return found

    def _read(self, ranking: Sequence[RankedHit]) -> list[str]:
        return [hit.key for hit in ranking if hit.rank <= self.reading.depth]

    def _asked(self, questions: Sequence[Question], way: _AskedWay) -> tuple[AskedQuestion, ...]:
        """Return the outcome of each question in one of the ways."""
        return tuple(
            asked_question(own, way.rankings[own.id], [one.rankings[own.id] for one in self.ways], self.answers)
            for own in questions
        )

    def _cut(self, questions: Iterable[Question]) -> tuple[str, ...]:
        """Return the ids of questions whose answers are all in the snapshot, but in no single chunk."""
        missed = (one for one in questions if not self.found(one))
        return tuple(one.id for one in missed if all(map(self.answers.cut, one.targets)))


def _ask_snapshot(
    store: Store, questions: Sequence[Question], ways: Sequence[SearchMethod], reading: ReadingDepth, whole: bool
) -> _AskedSnapshot:
    found = []
    for way in ways:
        # The same depth for every measure, so that one search serves all of them.
        hits, refused = _hits(store, questions, way.with_passages(0), reading.depth * _CHUNKS_PER_DOCUMENT)
        read = {one.id: reading.read(_shown(one, hits[one.id])) for one in questions}
        rankings = {one.id: _held(ranked_hits(one, read[one.id]), reading.depth) for one in questions}
        # Hits contain texts, which would fill the memory for thousands of questions.
        if whole and way.how.get("passages"):
            read = _passages(store, questions, way, reading.depth)
        found.append(_AskedWay(way, rankings, read if whole else {}, refused))
    return _AskedSnapshot(Answers(store), reading, found)


def _held(ranking: Iterable[RankedHit], depth: int) -> list[RankedHit]:
    return [hit for hit in ranking if hit.rank <= depth or is_target(hit.key)]


def _passages(store: Store, questions: Sequence[Question], way: SearchMethod, depth: int) -> dict[str, list[Hit]]:
    """Return, for each question, the passages of its first hits as hits; the token budget applies to these."""
    hits, _ = _hits(store, questions, way, depth)
    return {one.id: only_passages(_shown(one, hits[one.id])) for one in questions}


def _shown(question: Question, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that overlap no place hidden from the question."""
    if not question.hidden:
        return list(hits)
    return [hit for hit in hits if not shared([Passage(hit.uri, hit.start_char, hit.end_char)], question.hidden)]


def _refused(questions: Sequence[Question], asked: Sequence[_AskedSnapshot]) -> list[LeftOut]:
    """Return the questions that some way refused."""
    refused = {key: said for one in asked for way in one.ways for key, said in way.refused.items()}
    return [LeftOut(one.id, one.named, refused[one.id], refused=True) for one in questions if one.id in refused]


def _without_answer(questions: Sequence[Question], asked: Sequence[_AskedSnapshot]) -> list[LeftOut]:
    """Return the questions that no search could answer, because their answers are in no snapshot."""
    missed = [one for one in questions if not any(snapshot.found(one) for snapshot in asked)]
    said = zip(missed, reasons(missed, [snapshot.answers for snapshot in asked]), strict=True)
    return [LeftOut(one.id, one.named, why) for one, why in said if why]


def _without_quotation(questions: Sequence[Question], measures: Sequence[str]) -> list[LeftOut]:
    """Return the questions that measures of excerpts leave out, because they quote no passage."""
    excerpts = tuple(name for name in measures if excerpt_measure(name))
    bare = [one for one in questions if excerpts and not any(target.quotation for target in one.targets)]
    return [LeftOut(one.id, one.named, _NO_QUOTATION, excerpts) for one in bare]


def _hits(
    store: Store, questions: Sequence[Question], way: SearchMethod, k: int
) -> tuple[dict[str, list[Hit]], dict[str, str]]:
    """Return the hits of each question, and the reasons of refusals.

    A query of only stop words, which a keyword search refuses, has no hits.
    """
    language = store.snapshot.keywords.language
    asked = [one for one in questions if way.mode != "keyword" or analyse(one.text, language)]
    found: dict[str, list[Hit]] = {one.id: [] for one in questions}
    refused: dict[str, str] = {}
    try:
        found |= zip((one.id for one in asked), way.ask_all(store, [one.text for one in asked], k), strict=True)
    except QueryError:
        # One of them cannot be asked; asking them one by one shows which.
        for one in asked:
            try:
                found[one.id] = way.ask(store, one.text, k)
            except QueryError as error:
                refused[one.id] = str(error)
    return found, refused


def strangers(store: Store, questions: Iterable[Question]) -> list[str]:
    """Return the documents that questions name but the snapshot lacks: no hit can answer these."""
    uris = store.sql("SELECT uri FROM documents").column(0).to_pylist()
    held = {name for uri in uris for name in names_of(uri)}
    return sorted({target.document for one in questions for target in one.targets if target.document} - held)
