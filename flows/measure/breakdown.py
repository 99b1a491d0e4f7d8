"""Breakdown: the measures of an evaluation by the document, source, content type or language of the answers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from docmill.flows.measure.evaluation import Measured
from docmill.storage.snapshots.read.store import open_store
from docmill.tasks.evaluate.answer_ranks import Answers
from docmill.tasks.evaluate.bootstrap import Interval, interval
from docmill.tasks.evaluate.question_groups import DIMENSIONS, UNKNOWN, WorstGroup, groups_of, worst
from docmill.tasks.evaluate.questions import Question

NOWHERE = "not in this snapshot"


class MeasuredGroup(NamedTuple):
    """The measures of a way to search over the questions of a group."""

    name: str
    questions: int
    measured: Measured
    means: dict[str, Interval]


class Breakdown(NamedTuple):
    """The groups by each requested dimension, the worst first, and the worst group of all."""

    by: dict[str, list[MeasuredGroup]]
    worst: WorstGroup | None


def broken_down(
    root: Path, found: Sequence[Measured], questions: Sequence[Question], chosen: Sequence[str]
) -> Breakdown:
    """Group the questions by the chosen dimensions, and find the worst group.

    Without a choice, all dimensions are searched, and the worst group is None if none is significantly worse. Groups
    are those of the first snapshot, and the worst is that of its first way and first measure.
    """
    with open_store(root, found[0].of) as store:
        answers, asked = Answers(store), _covered(found[0], questions)
        groups = {by: groups_of(answers, asked, by) for by in chosen or DIMENSIONS}
    return Breakdown({by: _measured(found, groups[by]) for by in chosen}, _worst(found[0], groups, bool(chosen)))


def _covered(found: Measured, questions: Sequence[Question]) -> list[Question]:
    """Return the questions that a measure covers."""
    covered = {key for own in found.evaluation.values.values() for key in own}
    return [one for one in questions if one.id in covered]


def _worst(found: Measured, groups: Mapping[str, Mapping[str, str]], at_any_rate: bool) -> WorstGroup | None:
    """Return the worst group by the first measure; with `at_any_rate` even if it is not significantly worse."""
    name, values = next(iter(found.evaluation.values.items()))
    ranked = filter(None, (worst(by, name, values, own) for by, own in groups.items()))
    certain = [one for one in ranked if at_any_rate or one.change.high < 0]
    return min(certain, key=lambda one: one.change.mean, default=None)


def _measured(found: Sequence[Measured], groups: Mapping[str, str]) -> list[MeasuredGroup]:
    """Return the groups with all ways, sorted by the first measure of the first way, the worst first."""
    members: dict[str, list[str]] = defaultdict(list)
    for key, name in groups.items():
        members[name].append(key)
    rows = [[_one(name, keys, one) for one in found] for name, keys in members.items()]
    return [one for several in sorted(rows, key=_first_mean) for one in several]


def _one(name: str, keys: Sequence[str], found: Measured) -> MeasuredGroup:
    values = {
        measure: {key: own[key] for key in keys if key in own} for measure, own in found.evaluation.values.items()
    }
    means = {measure: interval(own) for measure, own in values.items() if own}
    return MeasuredGroup(NOWHERE if name == UNKNOWN else name, len(keys), found, means)


def _first_mean(several: Sequence[MeasuredGroup]) -> tuple[float, str]:
    return next(iter(several[0].means.values())).mean, several[0].name
