"""Measurements: the results of evaluations, one row for each measure, stored next to the snapshots.

Each evaluation writes one small Parquet file in `evaluations/`, named by what was measured, so that a repeated
evaluation replaces it. `docmill sql` and `views.sql` show the files as the view `evaluations`. The first row of a file
also has the outcome of each question, which they show as the view `asked_questions`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.files import write_whole
from docmill.storage.keys import key_of
from docmill.storage.snapshots.history import row_files
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.history.snapshots import Snapshot

FOLDER = "evaluations"


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """One measure of one snapshot, or of a candidate snapshot, which has the number 0.

    `state` is equal for snapshots with equal chunks and vectors. `kind` is the kind of evaluation, such as questions or
    chunks. `subject` names the file of the questions, and `subject_hash` is the hash of its content. `settings` is
    JSON. `low` and `high` are the bounds of the 95 % interval of `value`, and `count` is the number of items that
    `value` averages. `items` are their names and `item_values` their values, if they were kept. `asking` is equal for
    measures of the same searches and names their questions in `asked_questions`; it is empty if these were not kept.
    """

    evaluation_id: str
    created: str
    snapshot: int
    candidate: str
    state: str
    kind: str
    subject: str
    subject_hash: str
    settings: str
    measure: str
    value: float
    low: float
    high: float
    count: int
    items: tuple[str, ...] = ()
    item_values: tuple[float, ...] = ()
    asking: str = ""


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """An expected answer of a question, and where it is: in the hit that gave it, or else where it is quoted.

    `document` and `quotation` are as the question states them. If the place is unknown, `uri` is empty and the span is
    None. `rank` is the rank of the hit, counted from 1 in documents or passages, or None if no hit gave the answer.
    """

    document: str
    quotation: str
    uri: str
    start_char: int | None
    end_char: int | None
    rank: int | None


@dataclass(frozen=True, slots=True)
class FirstHit:
    """One of the first hits for a question; `right` says whether it gave an answer."""

    rank: int
    uri: str
    chunk_id: str
    right: bool


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """The outcome of a question: the rank of its first answer (None if not found), its answers, and the first hits."""

    question: str
    text: str
    rank: int | None
    answers: tuple[ExpectedAnswer, ...]
    hits: tuple[FirstHit, ...]


_KINDS: dict[str, pa.DataType] = {"snapshot": pa.int64(), "count": pa.int64(), "items": pa.list_(pa.string())}
_KINDS |= {name: pa.float64() for name in ("value", "low", "high")} | {"item_values": pa.list_(pa.float64())}
EVALUATIONS = row_files.schema_of(EvaluationRow, **_KINDS)
_NUMBERS = {name: pa.int64() for name in ("rank", "start_char", "end_char")} | {"right": pa.bool_()}


def _struct(kind: type[Any], **lists: pa.DataType) -> pa.StructType:
    kinds = {**_NUMBERS, **lists}
    return pa.struct([(one.name, kinds.get(one.name, pa.string())) for one in fields(kind)])


_ASKED = _struct(AskedQuestion, answers=pa.list_(_struct(ExpectedAnswer)), hits=pa.list_(_struct(FirstHit)))
ASKED_AT = ("created", "snapshot", "candidate", "subject", "subject_hash", "settings", "asking")
"""The columns that the rows of questions share with the rows of their evaluation."""
QUESTIONS = pa.schema([*(EVALUATIONS.field(name) for name in ASKED_AT), *_ASKED])
STORED = EVALUATIONS.append(pa.field("asked", pa.list_(_ASKED)))


def state_of(snapshot: Snapshot) -> str:
    """Return a key of everything in a snapshot that a search reads."""
    pieces = sorted(piece.file.hash for piece in snapshot.tables.get("chunks", ()))
    return key_of("state", pieces, snapshot.space.id, snapshot.keywords.analyser, snapshot.keywords.language)


def keep(folder: StoreFolder, rows: Sequence[EvaluationRow], asked: Sequence[AskedQuestion] = ()) -> None:
    """Store the rows of an evaluation with its questions, and share them with all machines.

    They replace rows that were stored together under the same ids.
    """
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in EVALUATIONS.names}
    name = key_of("evaluation", [row.evaluation_id for row in rows])
    columns["asking"] = [name if asked else ""] * len(rows)
    columns["asked"] = [list(map(asdict, asked)) if number == 0 else [] for number in range(len(rows))]
    path = folder.root / FOLDER / f"{name}.parquet"
    row_files.keep(folder, path, row_files.encoded(pa.table(columns, schema=STORED)), "the evaluation")


def forget_questions(folder: StoreFolder, uris: Collection[str]) -> int:
    """Remove kept questions with answers or hits in some documents, and return their number. Measures stay."""
    gone = 0
    for path in _files(folder.root):
        table = _read(path, STORED)
        asked = table.column("asked").to_pylist() if table else []
        left = [[one for one in each or () if not _names(one, uris)] for each in asked]
        count = sum(len(each or ()) for each in asked) - sum(map(len, left))
        if table and count:
            column = pa.array(left, STORED.field("asked").type)
            write_whole(path, row_files.encoded(table.set_column(STORED.get_field_index("asked"), "asked", column)))
            folder.share(FOLDER, path)
            gone += count
    return gone


def _names(asked: Mapping[str, Any], uris: Collection[str]) -> bool:
    named = ((one["uri"], one.get("document")) for one in (*asked["answers"], *asked["hits"]))
    return any(name in uris for pair in named for name in pair)


def read(root: Path) -> pa.Table:
    """Return all rows, oldest first, without those of damaged files."""
    tables = [table for file in _files(root) if (table := _read(file)) is not None]
    found = pa.concat_tables([EVALUATIONS.empty_table(), *tables]).sort_by([("created", "ascending")])
    # An older docmill did not write this column.
    return found.set_column(len(EVALUATIONS) - 1, "asking", pc.fill_null(found.column("asking"), ""))


def read_asked(root: Path) -> pa.Table:
    """Return a row for each kept question of each evaluation, oldest first, in the columns of `QUESTIONS`."""
    tables = [_questions(table) for file in _files(root) if (table := _read(file, STORED)) is not None]
    return pa.concat_tables([QUESTIONS.empty_table(), *tables]).sort_by([("created", "ascending")])


def _questions(stored: pa.Table) -> pa.Table:
    stored = stored.combine_chunks()
    of_row = pc.list_parent_indices(stored.column("asked"))
    asked = pc.list_flatten(stored.column("asked")).combine_chunks()
    columns = [stored.column(name).take(of_row) for name in ASKED_AT]
    return pa.table([*columns, *asked.flatten()], schema=QUESTIONS)


def damaged(root: Path) -> list[Path]:
    """Return the files that cannot be read. Their results can only be measured again."""
    return [file for file in _files(root) if _read(file) is None and file.exists()]


def _files(root: Path) -> list[Path]:
    return sorted((root / FOLDER).glob("[!.]*.parquet"))


def _read(file: Path, schema: pa.Schema = EVALUATIONS) -> pa.Table | None:
    try:
        return pq.read_table(file, schema=schema, partitioning=None)
    except (OSError, pa.ArrowException):
        return None
