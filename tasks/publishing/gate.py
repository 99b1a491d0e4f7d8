"""Gate: the test that a new snapshot has to pass, and its verdict; `judgement.py` asks the questions."""

from dataclasses import dataclass

# Not for the type checker alone: a gate is read from an order by the types of its fields.
from docmill.tasks.evaluate.asking import SearchMethod
from docmill.tasks.evaluate.bootstrap import Interval
from docmill.tasks.evaluate.questions import Question


@dataclass(frozen=True, slots=True)
class Gate:
    """Questions, the measure, and how much it may drop against the previous snapshot.

    Of the documents, questions of the kinds `made_from` are made: those that both snapshots give, so that a page that
    left on purpose is no drop.
    """

    questions: tuple[Question, ...]
    metric: str
    max_drop: float
    way: SearchMethod
    made_from: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from docmill.tasks.evaluate.asking import check_measures

        check_measures([self.metric])


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The measure before and after, and the paired difference over the questions that could be measured."""

    metric: str
    questions: int
    before: float
    after: float
    change: Interval
    max_drop: float

    @property
    def worse(self) -> bool:
        """Return whether the drop is significant and larger than allowed."""
        return self.change.verdict == "worse" and -self.change.mean > self.max_drop

    def spelled(self) -> str:
        """Return the verdict as a sentence for a person."""
        moved = f"{self.change.mean:+.3f} [{self.change.low:+.3f}, {self.change.high:+.3f}], {self.change.verdict}"
        return f"{self.metric} {self.before:.3f} → {self.after:.3f} over {self.questions} questions: {moved}"
