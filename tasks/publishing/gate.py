"""Gate: check whether a new snapshot answers the gate's questions worse than the one before."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from docmill.storage.errors import QueryError
from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.reader.store import Store
from docmill.tasks.evaluate.asking import ReadingDepth, SearchMethod, check_measures, evaluate_all
from docmill.tasks.evaluate.bootstrap import Interval
from docmill.tasks.evaluate.questions import LeftOut, Question

_DEPTH = 10
"""Length of a ranking if the measure names no cutoff: a first page of results."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Questions, the measure, and how much it may drop against the previous snapshot."""

    questions: tuple[Question, ...]
    metric: str
    max_drop: float
    way: SearchMethod

    def __post_init__(self) -> None:
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


def judge(base: StoredSnapshot, made: StoredSnapshot, gate: Gate) -> GateVerdict:
    """Ask both snapshots the gate's questions; the caller holds the writer's lock.

    Questions that neither can answer are left out. Raises `QueryError` for a question that cannot be asked, or if
    there is none left.
    """
    cutoff = re.search(r"@(\d+)$", gate.metric)
    depth = int(cutoff[1]) if cutoff else _DEPTH
    try:
        stores = [Store(base), Store(made)]
        (before,), (after,) = evaluate_all(stores, gate.questions, [gate.way], [gate.metric], ReadingDepth(depth))
        _check_asked(after.left_out)
    except QueryError as error:
        raise QueryError(f"[gate] {error}") from error
    change = after.against(before)[gate.metric]
    was, now = before.means()[gate.metric].mean, after.means()[gate.metric].mean
    return GateVerdict(gate.metric, len(after.values[gate.metric]), was, now, change, gate.max_drop)


def _check_asked(left_out: Iterable[LeftOut]) -> None:
    # An answer may leave the documents for good; a question that no search takes is a mistake in the file.
    for one in left_out:
        if one.refused:
            raise QueryError(one.spelled())
