"""Trials: what a tuning tried, skipped and decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from docmill.flows.config.settings import RouteRule, Settings
from docmill.flows.runs.phases import counted
from docmill.storage.keys import key_of
from docmill.tasks.evaluate.bootstrap import Interval, enough_questions

MadeBy = Literal["judges", "docmill", "caller"]
_UNITS: Mapping[MadeBy, str] = {"judges": "judged questions", "docmill": "made questions", "caller": "questions"}


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial: its content type ("" for all), what was tried, the mean, and the change against the settings in use.

    `change` is None for the settings in use themselves, and `mean` is None if the budget ran out. `embedded` counts new
    texts.
    """

    content_type: str
    what: str
    questions: int
    mean: Interval | None = None
    change: Interval | None = None
    embedded: int = -1


@dataclass(frozen=True, slots=True)
class TuneDecision:
    """The decision about a setting: one half of the judged questions chose it, the other half accepts or rejects it.

    `change` is the change over the deciding half, of `questions` in number. To be adopted, it must be a significant
    gain, without a significant loss for any content type. `wanted` is about how many more judged questions would make a
    gain significant; None if there is no gain, or if it is significant.
    """

    content_type: str
    what: str
    questions: int
    change: Interval
    loses: bool = False

    @property
    def adopted(self) -> bool:
        """Whether the setting is adopted."""
        return self.change.verdict == "better" and not self.loses

    @property
    def wanted(self) -> int | None:
        """About how many more judged questions are needed, in both halves."""
        if self.change.verdict != "indistinguishable":
            return None
        needed = enough_questions(self.change, self.questions)
        return None if needed is None else 2 * max(1, needed - self.questions)


@dataclass(frozen=True, slots=True)
class SkippedTrial:
    """A skipped trial: its content type ("" for all), its name, and the number of questions with their origin.

    Fewer than `needed` questions are too few. An `error` says that the settings do not allow the trial.
    """

    content_type: str
    what: str
    questions: int = 0
    made_by: MadeBy = "caller"
    needed: int = 0
    hidden: bool = False
    error: str = ""

    def __str__(self) -> str:
        """Return a line for the user."""
        if self.error:
            return f"{self.content_type}, {self.what}: {self.error}"
        asked = counted(self.questions, _UNITS[self.made_by])
        if not self.needed:
            return f"{self.what}: {asked} whose answer no document holds"
        hidden = " taken from a place other than their answer" if self.hidden else ""
        return f"{self.what}: {asked}{hidden}, {self.needed} are needed: {self.needed - self.questions} more"


@dataclass
class Tuning:
    """The trials and the winning settings, with which the trials' store is ingested at `snapshot`.

    `made` is true if questions were generated. `judged` is the number of questions that people have judged, and
    `decisions` are those of the deciding half.
    """

    settings: Settings
    measure: str = "nDCG@10"
    made: bool = False
    judged: int = 0
    decisions: list[TuneDecision] = field(default_factory=list)
    questions: int = 0
    trials: list[Trial] = field(default_factory=list)
    skipped: list[SkippedTrial] = field(default_factory=list)
    embedded: int = 0
    routes: list[RouteRule] = field(default_factory=list)
    weight: float | None = None
    snapshot: int = 0


def held_back(by_type: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the half of the questions that decides, from the ids of each content type; the other half chooses.

    For each type and for all together, one more question may choose than decide. The halves depend only on content: the
    later half in the order of a hash is held back. An added question moves at most two others to the other half.
    """
    middles: list[str] = []
    held: list[str] = []
    for ids in by_type.values():
        own = _in_order(ids)
        half = len(own) // 2
        held += own[len(own) - half :]
        middles += own[half : len(own) - half]
    return frozenset((*held, *_in_order(middles)[(len(middles) + 1) // 2 :]))


def _in_order(ids: Sequence[str]) -> list[str]:
    return sorted(ids, key=lambda own: key_of("held back", own))
