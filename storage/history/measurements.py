"""Measurements: the results of evaluations, one row for each measure, stored next to the snapshots.

Each evaluation writes one small Parquet file in `evaluations/`, named by what was measured, so that a repeated
evaluation replaces it. `docmill sql` and `views.sql` show the files as the view `evaluations`.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.files import write_whole
from docmill.storage.history.folder import StoreFolder
from docmill.storage.history.snapshots import Snapshot
from docmill.storage.keys import key_of
from docmill.storage.objects.shared_files import NOTHING

FOLDER = "evaluations"
_NOTHING = f"{NOTHING}.parquet"


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """One measure of one snapshot, or of a candidate snapshot, which has the number 0.

    `state` is equal for snapshots of equal chunks and vectors. `kind` is the kind of evaluation, such as questions or
    chunks; `subject` names the file of the questions and `subject_hash` is the hash of its content. `settings` is JSON.
    `low` and `high` are the bounds of the 95 % interval of `value`, and `count` is the number of items that `value`
    averages. `items` are their names and `item_values` their values, if these were kept.
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


_KINDS: dict[str, pa.DataType] = {"snapshot": pa.int64(), "count": pa.int64(), "items": pa.list_(pa.string())}
_KINDS |= {name: pa.float64() for name in ("value", "low", "high")} | {"item_values": pa.list_(pa.float64())}
EVALUATIONS = pa.schema([(one.name, _KINDS.get(one.name, pa.string())) for one in fields(EvaluationRow)])


def state_of(snapshot: Snapshot) -> str:
    """Return the key of everything in a snapshot that a search reads, without the sources of its rows."""
    pieces = sorted(piece.file.hash for piece in snapshot.tables.get("chunks", ()))
    return key_of("state", pieces, snapshot.space.id, snapshot.keywords.analyser, snapshot.keywords.language)


def keep(folder: StoreFolder, rows: Sequence[EvaluationRow]) -> None:
    """Store rows and share them with all machines; they replace rows that were stored together under the same ids."""
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in EVALUATIONS.names}
    name = key_of("evaluation", [row.evaluation_id for row in rows])
    path = folder.root / FOLDER / f"{name}.parquet"
    write_whole(path, _encode(pa.table(columns, schema=EVALUATIONS)))
    folder.share(FOLDER, path)


def prepare(root: Path) -> None:
    """Create an empty file, so that a view over the folder works before the first evaluation."""
    if not (root / FOLDER / _NOTHING).exists():
        write_whole(root / FOLDER / _NOTHING, _encode(EVALUATIONS.empty_table()))


def read(root: Path) -> pa.Table:
    """Return all rows, oldest first, without those of damaged files."""
    tables = [table for file in _files(root) if (table := _read(file)) is not None]
    return pa.concat_tables([EVALUATIONS.empty_table(), *tables]).sort_by([("created", "ascending")])


def damaged(root: Path) -> list[Path]:
    """Return the files that cannot be read. Their results can only be measured again."""
    return [file for file in _files(root) if _read(file) is None and file.exists()]


def _files(root: Path) -> list[Path]:
    return sorted((root / FOLDER).glob("[!.]*.parquet"))


def _read(file: Path) -> pa.Table | None:
    try:
        return pq.read_table(file, schema=EVALUATIONS, partitioning=None)
    except (OSError, pa.ArrowException):
        return None


def _encode(table: pa.Table) -> bytes:
    data = io.BytesIO()
    pq.write_table(table, data, compression="zstd")
    return data.getvalue()
