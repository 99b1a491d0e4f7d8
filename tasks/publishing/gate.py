"""Gate: check whether a new snapshot answers the gate's questions worse than the previous one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from docmill.storage.errors import QueryError
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.evaluate.ask_and_measure import ReadingDepth, SearchMethod, check_measures, evaluate_all
from docmill.tasks.evaluate.bootstrap import Interval
from docmill.tasks.evaluate.proxy_questions import proxies, read_sources
from docmill.tasks.evaluate.questions import LeftOut, Question

_DEPTH = 10
"""Length of a ranking if the measure names no cutoff: a first page of results."""
_MOST, _EVERY = 500, 1_000_000
"""Most generated questions to ask, and to generate: both snapshots must generate all, or each would pick others."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Questions, a measure, and how much the measure may drop against the previous snapshot.

    Questions of the kinds `made_from` are generated from the documents. Only questions of both snapshots are asked,
    so that a page removed on purpose is not a drop.
    """

    questions: tuple[Question, ...]
    metric: str
    max_drop: float
    way: SearchMethod
    made_from: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_measures([self.metric])


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The measure before and after, and the paired difference over the questions that could be asked."""

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
        """Return the verdict as a readable sentence."""
        moved = f"{self.change.mean:+.3f} [{self.change.low:+.3f}, {self.change.high:+.3f}], {self.change.verdict}"
        return f"{self.metric} {self.before:.3f} → {self.after:.3f} over {self.questions} questions: {moved}"


def judge(base: StoredSnapshot, made: StoredSnapshot, gate: Gate) -> GateVerdict | None:
    """Ask both snapshots the gate's questions; the caller holds the writer's lock.

    Questions that neither snapshot can answer are left out. Return None if there are none to ask. Raise `QueryError`
    for a question that no search accepts, or if none is left.
    """
    cutoff = re.search(r"@(\d+)$", gate.metric)
    depth = int(cutoff[1]) if cutoff else _DEPTH
    stores = [Store(base), Store(made)]
    questions = [*gate.questions, *_made(stores, gate.made_from)]
    if not questions:
        return None
    try:
        (before,), (after,) = evaluate_all(stores, questions, [gate.way], [gate.metric], ReadingDepth(depth))
        _check_asked(after.left_out)
    except QueryError as error:
        raise QueryError(f"[gate] {error}") from error
    change = after.against(before)[gate.metric]
    was, now = before.means()[gate.metric].mean, after.means()[gate.metric].mean
    return GateVerdict(gate.metric, len(after.values[gate.metric]), was, now, change, gate.max_drop)


def _made(stores: Sequence[Store], kinds: Sequence[str]) -> list[Question]:
    """Return the questions that both snapshots give, hiding the places of their words in either."""
    if not kinds:
        return []
    before, after = ({one.id: one for one in proxies(read_sources(store), _EVERY, kinds)} for store in stores)
    common = [(before[key], after[key]) for key in sorted(before.keys() & after.keys())]
    return [replace(new, hidden=tuple({*old.hidden, *new.hidden})) for old, new in common][:_MOST]


def _check_asked(left_out: Iterable[LeftOut]) -> None:
    # An answer may leave the documents for good, but a question that no search accepts is a mistake in the file.
    for one in left_out:
        if one.refused:
            raise QueryError(one.spelled())
