"""Learn: let judgements change settings, with a record of each decision that can be undone.

`tune` tries settings on the judged queries: one half of them chooses, the other half decides. Adopted settings are
written into docmill.toml, but are undone if the gate of the next run rejects them. Each decision is a row of `learned`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from docmill.flows.config.configuration import load
from docmill.flows.config.settings import Settings
from docmill.flows.measure.trials import Trial, TuneDecision, Tuning
from docmill.flows.measure.tune import TuneOptions, hand_over, judged_questions, tune
from docmill.flows.measure.tuned_settings import fragment, merged, reverted, values_before
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.errors import QueryError
from docmill.storage.files import write_whole
from docmill.storage.keys import key_of
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.history import learned_settings, snapshots
from docmill.storage.snapshots.history.learned_settings import LearnedChange
from docmill.tasks.evaluate.questions import Question


@dataclass
class Learning:
    """The decisions of a learning run; `why` says why nothing was tried, or which content types were not."""

    changes: list[LearnedChange] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    judged: int = 0

    @property
    def adopted(self) -> list[LearnedChange]:
        """The settings that were changed."""
        return [one for one in self.changes if one.state == "adopted"]


def learn(
    settings: Settings,
    file: Path,
    sources: Sequence[str],
    options: TuneOptions,
    hear: Callable[[Trial], None] = lambda _: None,
) -> Learning:
    """Try settings on the judged queries of a store, and write the winning ones into a docmill.toml.

    The same judgements are used only once: if they were used every night, something would be adopted by chance sooner
    or later. Changes that a user has undone are not tried again. If the gate holds back the new snapshot, the change is
    undone.
    """
    folder = open_folder(settings.store).existing()
    before = learned_settings.read(folder.root)
    questions = judged_questions(settings.store)
    mark = _mark(questions)
    if before and before[-1].judged == mark:
        return Learning(why=["nothing was judged since the last decision"], judged=len(questions))
    back = frozenset((one.content_type, one.what) for one in before if one.state in ("taken back", "held back"))
    found = tune(settings, sources, (), replace(options, judged_only=True, refused=back), hear)
    learning = Learning(why=[*map(str, found.skipped)], judged=found.judged)
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    learning.changes = [_row(one, found, text, mark) for one in found.decisions]
    if learning.adopted:
        write_whole(file.absolute(), merged(text, found).encode(), closed=True)
        hand_over(found)
        if _is_held_back(settings, file, sources):
            write_whole(file.absolute(), text.encode(), closed=True)
            learning.changes = [_held(one) for one in learning.changes]
    for one in learning.changes:
        learned_settings.keep(folder, one)
    return learning


def take_back(settings: Settings, file: Path, change_id: str) -> LearnedChange:
    """Restore the setting that a change replaced, and note that a user did this.

    Raises `QueryError` if there is no such change in force, or if the file has another value now.
    """
    folder = open_folder(settings.store).existing()
    named = [one for one in learned_settings.read(folder.root) if change_id and one.change_id.startswith(change_id)]
    own = named[0] if len(named) == 1 else None
    if own is None or own.state != "adopted":
        state = f"is {own.state}" if own else "is none"
        raise QueryError(f"{change_id!r} {state}: docmill learn list shows the changes that are adopted")
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    write_whole(file.absolute(), reverted(text, own.before, own.after).encode(), closed=True)
    back = replace(own, state="taken back", created=learned_settings.now())
    learned_settings.keep(folder, back)
    return back


def _mark(questions: Sequence[Question]) -> str:
    return key_of("judged", sorted((one.text, sorted(map(repr, one.targets))) for one in questions))


def _row(one: TuneDecision, found: Tuning, text: str, mark: str) -> LearnedChange:
    created = learned_settings.now()
    after = fragment(found, one.content_type) if one.adopted else ""
    trials = [asdict(trial) for trial in found.trials if trial.content_type == one.content_type]
    numbers = snapshots.numbers(found.settings.store)
    return LearnedChange(
        key_of("learned change", created, one.content_type, one.what),
        created,
        "adopted" if one.adopted else "kept",
        one.content_type,
        one.what,
        values_before(text, after) if after else "",
        after,
        one.questions,
        one.change.mean,
        one.change.low,
        one.change.high,
        one.wanted,
        numbers[-1] if numbers else 0,
        mark,
        json.dumps({"measure": found.measure, "loses": one.loses, "trials": trials}),
    )


def _held(one: LearnedChange) -> LearnedChange:
    return replace(one, state="held back") if one.state == "adopted" else one


def _is_held_back(settings: Settings, file: Path, sources: Sequence[str]) -> bool:
    """Ingest with the current settings of the file; return whether the gate holds back the snapshot."""
    now = load({("store",): str(settings.store)}, file)
    changed = settings.model_copy(update={"search": now.search, "routes": now.routes})
    with LocalEngine() as engine:
        return bool(ingest(changed, sources, engine).candidate)
