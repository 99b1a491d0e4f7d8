"""Question report: the output of an evaluation by questions on both streams and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docmill.flows.cli.terminal.output import note, print_json, print_rows, print_text
from docmill.flows.measure.breakdown import Breakdown, MeasuredGroup
from docmill.flows.measure.evaluation import Measured, compared
from docmill.flows.runs.phases import counted
from docmill.storage.snapshots.read.store import open_store
from docmill.tasks.evaluate.ask_and_measure import strangers
from docmill.tasks.evaluate.bootstrap import Interval
from docmill.tasks.evaluate.questions import LeftOut, Question

_GROUPS = 20
"""Number of groups to print, worst first: there may be one for each document. `--json` prints all."""
_NAMED = 3
"""Unknown documents or questions to name. The note stays on one line, and a few examples show what is wrong."""


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """The questions, the measures in each way, the questions left out, and the groups."""

    asked: Sequence[Question]
    found: Sequence[Measured]
    left_out: Sequence[LeftOut]
    parts: Breakdown

    def tell(self, store: Path, depth: int) -> None:
        """Print on standard error what the measures are based on and what they do not cover."""
        _note_missing(store, self.found, self.asked)
        answers = sum(len(one.targets) for one in self.asked)
        note(f"{counted(len(self.asked), 'questions')} with {counted(answers, 'answers')}, ranking depth {depth}")
        unasked = {one.id for one in self.left_out} - {one.id for one in self.asked}
        _note_left_out(self.left_out, len(self.asked) + len(unasked))
        _note_cut(self.found)
        if worst := self.parts.worst:
            note(worst.spelled() + ("" if self.parts.by else f"; for all: --by {worst.by}"))

    def print(self, as_json: bool) -> None:
        """Print the means, and those of groups if requested."""
        if as_json:
            print_json([self._as_json(one) for one in self.found])
            return
        print_rows(compared(self.found))
        for name, groups in self.parts.by.items():
            self._print_groups(name, groups)

    def _print_groups(self, name: str, groups: Sequence[MeasuredGroup]) -> None:
        print_text("")
        print_rows([_group_row(name, one, self.found) for one in groups[: _GROUPS * len(self.found)]])
        count = len(groups) // len(self.found)
        if count > _GROUPS:
            note(f"{count - _GROUPS} more groups by {name}; --json has all")

    def _as_json(self, one: Measured) -> dict[str, Any]:
        evaluated, worst = one.evaluation, self.parts.worst
        found = {"snapshot": one.of, **evaluated.way.options, "measures": _means(evaluated.means())}
        found |= {"questions": evaluated.values, "cut": evaluated.cut}
        found["left_out"] = [
            {"question": it.id, "named": it.named, "reason": it.reason, "measures": it.measures} for it in self.left_out
        ]
        if self.parts.by:
            found["groups"] = {by: _groups_json(one, groups) for by, groups in self.parts.by.items()}
        if one is self.found[0]:
            return found | ({"worst": asdict(worst)} if worst else {})
        changes = evaluated.against(self.found[0].evaluation)
        return found | {"against": {name: {**asdict(v), "verdict": v.verdict} for name, v in changes.items()}}


def _note_missing(store: Path, found: Sequence[Measured], asked: Sequence[Question]) -> None:
    """Warn about pending vectors, and about missing documents in questions that also name existing ones."""
    left_out = {one.id for one in found[0].evaluation.left_out if not one.measures}
    kept = [one for one in asked if one.id not in left_out]
    for at in dict.fromkeys(one.of for one in found):
        opened = open_store(store, at)
        if opened.snapshot.pending:
            note(f"snapshot {at}: vectors {opened.snapshot.spelled_vectors()}; measure again when all are there")
        if missing := strangers(opened, kept):
            lacking = f"{len(missing)} documents that snapshot {at} lacks; they count as missed"
            note(f"the questions name {lacking}: {_first(missing)}")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _note_left_out(left_out: Sequence[LeftOut], all_of: int) -> None:
    """Name the questions that some or all measures leave out; the means are those of the others."""
    for measures in dict.fromkeys(one.measures for one in left_out):
        some = [one for one in left_out if one.measures == measures]
        which = f" of {', '.join(measures)}" if measures else ""
        more = f"; and {len(some) - _NAMED} more" if len(some) > _NAMED else ""
        named = "; ".join(one.spelled() for one in some[:_NAMED])
        note(f"left out{which}: {len(some)} of {all_of} questions: {named}{more}")


def _note_cut(found: Sequence[Measured]) -> None:
    """Print how many answers no single chunk contains: no ranking of chunks can find those."""
    for of, cut in dict.fromkeys((one.of, one.evaluation.cut) for one in found):
        if cut:
            note(
                f"snapshot {of}: bounds of chunks cut the answers to {counted(len(cut), 'questions')} ({_first(cut)}):"
                " nDCG, R, RR, AP and Success count these as missed, whatever is found;"
                " half@5 and recall@5 measure what is covered"
            )


def _group_row(by: str, one: MeasuredGroup, found: Sequence[Measured]) -> dict[str, Any]:
    several = len({each.of for each in found}) > 1
    way = {"snapshot": one.measured.of} if several else {}
    way |= {"mode": one.measured.evaluation.way.spelled()} if len(found) > 1 else {}
    means = {name: f"{one.means[name].mean:.3f}" if name in one.means else "" for name in found[0].evaluation.values}
    return {by: one.name, "questions": one.questions, **way, **means}


def _groups_json(one: Measured, groups: Sequence[MeasuredGroup]) -> dict[str, Any]:
    own = [group for group in groups if group.measured is one]
    return {group.name: {"questions": group.questions, "measures": _means(group.means)} for group in own}


def _means(means: Mapping[str, Interval]) -> dict[str, Any]:
    return {name: asdict(value) for name, value in means.items()}
