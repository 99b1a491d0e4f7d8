"""Learned settings: what nightly learning decided, with its evidence, stored next to the snapshots.

Each decision is one small Parquet file in `learned/`, which is written once. A later row of the same id replaces it, as
when a person takes a change back.
"""

import io
import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.errors import Transient
from docmill.storage.files import explain_full_disk, write_whole
from docmill.storage.history.folder import StoreFolder
from docmill.storage.keys import key_of
from docmill.storage.objects.shared_files import NOTHING

FOLDER = "learned"
_NOTHING = f"{NOTHING}.parquet"
_LOG = logging.getLogger("docmill.remote")


@dataclass(frozen=True, slots=True)
class LearnedChange:
    """What learning decided about a setting that half of the judged queries preferred.

    Attributes:
        change_id: The id.
        created: When it was decided, ISO 8601 in UTC.
        state: `adopted`; `kept` if the setting in use stays; `held back` by the gate; `taken back` by a person.
        content_type: The content type whose route is meant, "" for all.
        what: What was preferred, such as `weight 0.6`.
        before: The setting before, as TOML; "" if the file had none.
        after: The setting that was preferred, as TOML; "" if it was kept.
        questions: The judged queries that decided, which did not choose.
        gain: The gain over these in the measure, such as nDCG@10.
        low: The lower end of its 95 % interval.
        high: The upper end of it.
        wanted: About how many more judged queries would decide, or None.
        snapshot: The snapshot whose documents were tried.
        judged: Equal for equal sets of judged queries.
        evidence: The trials and their means, as JSON.
    """

    change_id: str
    created: str
    state: str
    content_type: str
    what: str
    before: str
    after: str
    questions: int
    gain: float
    low: float
    high: float
    wanted: int | None
    snapshot: int
    judged: str
    evidence: str


_KINDS: dict[str, pa.DataType] = {name: pa.int64() for name in ("questions", "wanted", "snapshot")}
_KINDS |= {name: pa.float64() for name in ("gain", "low", "high")}
LEARNED = pa.schema([(one.name, _KINDS.get(one.name, pa.string())) for one in fields(LearnedChange)])


def now() -> str:
    """Return the time of a decision: the microseconds tell two of one night apart."""
    return datetime.now(UTC).isoformat("T", "microseconds")


def keep(folder: StoreFolder, change: LearnedChange) -> None:
    """Store a decision and share it with all machines; it replaces an earlier one of the same id."""
    path = folder.root / FOLDER / f"{key_of('learned', asdict(change))}.parquet"
    with explain_full_disk(folder.root):
        write_whole(path, _encode([change]))
    try:
        folder.share(FOLDER, path)
    except Transient as error:  # the next refresh shares what only this machine has
        _LOG.warning("%s: kept here, and not shared yet: %s", path, error)


def read(root: Path) -> list[LearnedChange]:
    """Return the decisions, oldest first: the newest row of each id, at the place of its first."""
    rows = sorted((one for path in _files(root) for one in _read(path)), key=lambda one: one.created)
    return list({one.change_id: one for one in rows}.values())


def table(root: Path) -> pa.Table:
    """Return the decisions, as rows."""
    return pa.Table.from_pylist([asdict(one) for one in read(root)], schema=LEARNED)


def prepare(root: Path) -> None:
    """Create an empty file with all columns, so that a view over the folder works before the first decision."""
    path = root / FOLDER / _NOTHING
    if not path.exists():
        write_whole(path, _encode([]))


def _files(root: Path) -> Iterator[Path]:
    return (path for path in sorted((root / FOLDER).glob("[!.]*.parquet")) if path.name != _NOTHING)


def _read(path: Path) -> list[LearnedChange]:
    try:
        rows: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
        return [LearnedChange(**{name: value for name, value in row.items() if name in LEARNED.names}) for row in rows]
    except (OSError, pa.ArrowException, ValueError, TypeError) as error:
        _LOG.warning("%s, a learned setting, cannot be read: %s", path, error)
        return []


def _encode(rows: Iterable[LearnedChange]) -> bytes:
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([asdict(one) for one in rows], schema=LEARNED), data)
    return data.getvalue()
