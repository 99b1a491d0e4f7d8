"""Evaluation: search snapshots in several ways with the same questions, and save the measures as rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docmill.flows.config.from_settings import search_method_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import QueryError
from docmill.storage.files import hash_file
from docmill.storage.keys import hash_bytes, key_of
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.storage.snapshots.history import measurements, snapshots
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.history.measurements import EvaluationRow, state_of
from docmill.storage.snapshots.history.snapshots import Snapshot
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.tasks.evaluate.ask_and_measure import Evaluation, ReadingDepth, SearchMethod
from docmill.tasks.evaluate.ask_and_measure import evaluate_all as ask_all
from docmill.tasks.evaluate.bootstrap import interval
from docmill.tasks.evaluate.judgement_questions import as_csv, questions_of
from docmill.tasks.evaluate.proxy_questions import proxies, read_sources
from docmill.tasks.evaluate.questions import Question


@dataclass(frozen=True, slots=True)
class EvaluationSubject:
    """The subject of an evaluation: kind, name and content hash of the question file, and settings."""

    kind: str
    name: str = ""
    hash: str = ""
    settings: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluation of a snapshot; `of` is its number, or the name of a candidate."""

    of: str
    snapshot: Snapshot
    evaluation: Evaluation

    @property
    def title(self) -> str:
        """Return a title that differs from those of the other evaluations."""
        name = f"snapshot {self.of}" if self.of.isdecimal() else self.of
        return f"{name}, {self.evaluation.way.spelled()}"


def ways_of(
    settings: Settings, modes: Sequence[Mode], weights: Sequence[float], passages: int | None = None
) -> list[SearchMethod]:
    """Return the ways to search: one for each mode, and for hybrid search one for each weight, if any are given.

    `passages` overrides the setting, if given.
    """
    budget = settings.search.passages if passages is None else passages
    ways = [search_method_of(settings, mode).with_passages(budget) for mode in modes]
    return _weighted(ways, weights) if weights else ways


def _weighted(ways: Sequence[SearchMethod], weights: Sequence[float]) -> list[SearchMethod]:
    hybrid = [way for way in ways if way.mode == "hybrid"]
    return [way for way in ways if way not in hybrid] + [
        replace(way, how=way.how | {"weight": weight}) for way in hybrid for weight in weights
    ]


def evaluate(
    root: Path,
    ats: Sequence[str | None],
    ways: Sequence[SearchMethod],
    questions: Sequence[Question],
    measures: Sequence[str],
    depth: int = 10,
) -> list[Measured]:
    """Search each snapshot with every question in every way; None means the newest snapshot."""
    held = snapshots.candidates(root)
    stores = [open_store(root, at) for at in ats]
    found = ask_all(stores, questions, ways, measures, ReadingDepth(depth))
    names = [at if at in held else str(store.snapshot.number) for at, store in zip(ats, stores, strict=True)]
    return [
        Measured(name, store.snapshot, one)
        for name, store, several in zip(names, stores, found, strict=True)
        for one in several
    ]


def compared(found: Sequence[Measured]) -> list[dict[str, str]]:
    """Return a row for each way: the means, and the change of the first measure relative to the first way."""
    rows = []
    several = len({one.of for one in found}) > 1
    for one in found:
        row = {"snapshot": one.of} if several else {}
        row |= {"mode": one.evaluation.way.spelled()}
        row |= {name: f"{value.mean:.3f}" for name, value in one.evaluation.means().items()}
        if one is not found[0]:
            name, change = next(iter(one.evaluation.against(found[0].evaluation).items()))
            interval = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
            first = found[0].title if several else found[0].evaluation.way.spelled()
            row[f"{name} against {first}"] = f"{interval} {change.verdict}"
        rows.append(row)
    # The first way is compared with none, so its row lacks the last column, which a table needs in each row.
    return [dict.fromkeys(rows[-1], "") | row for row in rows]


def subject_of(
    path: Path, qrels: Path | None, settings: Mapping[str, Any], kind: str = "questions"
) -> EvaluationSubject:
    """Return the description of the questions that is saved with each row."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    # By content, because changed questions lead to other measures with the same name.
    hashes = [hash_file(file) for file in (*files, *([qrels] if qrels else []))]
    return EvaluationSubject(kind, path.name, hash_bytes("".join(hashes).encode()), settings)


def made_questions(root: Path, at: str | None, kinds: Sequence[str], most: int) -> list[Question]:
    """Return at most `most` questions made from the documents of a snapshot; raise `QueryError` if there are none."""
    with open_store(root, at) as store:
        found = proxies(read_sources(store), most, kinds)
    if not found:
        raise QueryError(f"the documents have no {', '.join(kinds)} to make questions from; give some with --questions")
    return found


def judged_questions(root: Path, at: str | None) -> list[Question]:
    """Return the questions from people's judgements in a snapshot; raise `QueryError` if there are none."""
    with open_store(root, at) as store:
        found = questions_of(store.judgements())
    if not found:
        raise QueryError("no query has a passage that was judged right; judge some on the page, or: docmill judge add")
    return found


def judged_subject(questions: Sequence[Question], settings: Mapping[str, Any]) -> EvaluationSubject:
    """Return the description of questions from judgements."""
    return EvaluationSubject("questions", "judged", hash_bytes(as_csv(questions).encode()), settings)


def made_subject(kinds: Sequence[str], questions: Sequence[Question], settings: Mapping[str, Any]) -> EvaluationSubject:
    """Return the description of questions that were made from the documents."""
    hashed = hash_bytes("".join(one.id for one in questions).encode())
    return EvaluationSubject("questions", f"from {', '.join(kinds)}", hashed, settings)


def keep(
    store: str | Path | StoreFolder, measured: Sequence[Measured], subject: EvaluationSubject, values: bool = True
) -> None:
    """Save a row for each measure, with the value and the first hits of every question if `values`."""
    folder = open_folder(store)
    for one in measured:
        settings = {**one.evaluation.way.options, **(subject.settings or {})}
        own = EvaluationSubject(subject.kind, subject.name, subject.hash, settings)
        rows = [row_of(one.snapshot, one.of, own, *found, values) for found in one.evaluation.values.items()]
        measurements.keep(folder, rows, one.evaluation.asked if values else ())


def keep_values(
    store: Store, of: str, subject: EvaluationSubject, found: Mapping[str, Mapping[str, float]], values: bool = True
) -> None:
    """Save a row for each measure of a snapshot, given its values by item."""
    measurements.keep(store.stored.folder, [row_of(store.snapshot, of, subject, *one, values) for one in found.items()])


def row_of(
    snapshot: Snapshot,
    of: str,
    subject: EvaluationSubject,
    measure: str,
    found: Mapping[str, float],
    values: bool = True,
) -> EvaluationRow:
    """Return the row of a measure: the mean of its values by item."""
    mean, settings, state = interval(found), json.dumps(subject.settings or {}, sort_keys=True), state_of(snapshot)
    # With the version: another release may search differently and must not replace these measures.
    parts = (version("docmill"), state, subject.kind, subject.hash, settings, measure)
    items = sorted(found) if values else []
    return EvaluationRow(
        evaluation_id=key_of("evaluation", *parts),
        created=datetime.now(UTC).isoformat("T", "seconds"),
        # The number of a candidate is not final: another snapshot may get it.
        snapshot=0 if of.startswith("candidate-") else snapshot.number,
        candidate=of if of.startswith("candidate-") else "",
        state=state,
        kind=subject.kind,
        subject=subject.name,
        subject_hash=subject.hash,
        settings=settings,
        measure=measure,
        value=mean.mean,
        low=mean.low,
        high=mean.high,
        count=len(found),
        items=tuple(items),
        item_values=tuple(found[item] for item in items),
    )
