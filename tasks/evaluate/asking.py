"""Asking: put the questions whose answers are known to a snapshot, and measure what it gives."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.search import Fusion, Mode
from storage.store import Store
from tasks.evaluate.bootstrap import Interval, difference, interval
from tasks.evaluate.questions import Question
from tasks.evaluate.ranking import Values, measure, ranked

_CHUNKS_PER_DOCUMENT = 5


@dataclass(frozen=True, slots=True)
class Way:
    """One way to search: a mode, and how a hybrid one fuses."""

    mode: Mode
    weight: float = 0.5
    fusion: Fusion = "linear"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one way to search gave: ids in order by question, and each measure by question."""

    way: Way
    rankings: dict[str, list[str]]
    values: Values

    def means(self) -> dict[str, Interval]:
        """Return each measure's mean with its interval."""
        return {name: interval(values) for name, values in self.values.items()}

    def against(self, other: "Evaluation") -> dict[str, Interval]:
        """Return by how much each measure is higher than another way's."""
        return {name: difference(values, other.values[name]) for name, values in self.values.items()}


def evaluate(
    store: Store, questions: Sequence[Question], ways: Sequence[Way], measures: Sequence[str], depth: int
) -> list[Evaluation]:
    """Ask every question in every way; rankings are `depth` documents or passages long, at most."""
    return [_evaluate(store, questions, way, measures, depth) for way in ways]


def _evaluate(store: Store, questions: Sequence[Question], way: Way, measures: Sequence[str], depth: int) -> Evaluation:
    rankings = {question.id: _ask(store, question, way, depth) for question in questions}
    return Evaluation(way, rankings, measure(questions, rankings, measures))


def _ask(store: Store, question: Question, way: Way, depth: int) -> list[str]:
    k = depth * _CHUNKS_PER_DOCUMENT
    hits = store.search(question.text, k, way.mode, weight=way.weight, fusion=way.fusion)
    return ranked(question, hits)[:depth]
