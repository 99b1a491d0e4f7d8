"""Question groups: by document, source, content type or language of the answers, and the worst group.

A mean over all questions hides that one source is answered well and another is not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from docmill.storage.arrow_schema import from_table
from docmill.storage.schema import DocumentRow
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.evaluate.answer_ranks import Answers
from docmill.tasks.evaluate.bootstrap import FEWEST, Interval, gap
from docmill.tasks.evaluate.overlap import Passage
from docmill.tasks.evaluate.questions import Question

UNKNOWN = ""
"""The group of questions whose answers are not in the snapshot."""
_NOT_STATED = "not stated"


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """The group of questions that is answered worst: its mean, that of all others, and the difference."""

    by: str
    group: str
    measure: str
    questions: int
    mean: float
    others: float
    change: Interval

    def spelled(self) -> str:
        """Return it as readable text."""
        change = f"{self.change.mean:+.3f} [{self.change.low:+.3f}, {self.change.high:+.3f}]"
        chance = "" if self.change.high < 0 else ", which may be chance"
        return (
            f"worst {self.by}: {self.group}: {self.measure} {self.mean:.3f} over {self.questions} questions,"
            f" {self.others:.3f} over the others: {change}{chance}"
        )


class _Home(NamedTuple):
    """Where the answer to a question is; `place` is None if the question names a whole document."""

    row: DocumentRow
    place: Passage | None


def groups_of(answers: Answers, questions: Iterable[Question], by: str) -> dict[str, str]:
    """Return the group of each question by id, from its first answer that is in the snapshot.

    `by` is a key of `DIMENSIONS`.
    """
    rows = {row.uri: row for row in from_table(read_table(answers.store.stored, "documents"), DocumentRow)}
    homes = {one.id: _home(answers, rows, one) for one in questions}
    return {key: DIMENSIONS[by](home) if home else UNKNOWN for key, home in homes.items()}


def _home(answers: Answers, rows: Mapping[str, DocumentRow], question: Question) -> _Home | None:
    for target in question.targets:
        place = answers.place(target)
        uris = [place.document] if place else answers.documents(target)
        if uris:
            return _Home(rows[uris[0]], place)
    return None


def _content_type(home: _Home) -> str:
    """Return the content type of the region in which the answer begins, else that of the document."""
    place = home.place
    regions: Iterable[Mapping[str, Any]] = home.row.regions if place else ()
    within = (one for one in regions if place and one["start_char"] <= place.start < one["end_char"])
    return str(next((one["content_type"] for one in within), home.row.content_type))


def _language(home: _Home) -> str:
    """Return the natural language without its region, or the language of source code."""
    return home.row.lang.partition("-")[0].lower() or home.row.language or _NOT_STATED


DIMENSIONS: dict[str, Callable[[_Home], str]] = {
    "document": lambda home: home.row.uri,
    "source": lambda home: home.row.source,
    "type": _content_type,
    "language": _language,
}
"""The properties by which questions can be grouped."""


def worst(by: str, measure: str, values: Mapping[str, float], groups: Mapping[str, str]) -> WorstGroup | None:
    """Return the group with the lowest mean of those with at least 6 questions; None if there are not two groups.

    The interval of its difference from all other questions allows for the number of groups compared.
    """
    members: dict[str, list[float]] = {}
    for key, value in values.items():
        members.setdefault(groups[key], []).append(value)
    large = [name for name, own in members.items() if FEWEST <= len(own) <= len(values) - FEWEST]
    if not large:
        return None
    name = min(large, key=lambda one: (_mean(members[one]), one))
    others = [value for other, own in members.items() if other != name for value in own]
    own = members[name]
    return WorstGroup(by, name, measure, len(own), _mean(own), _mean(others), gap(own, others, len(large)))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
