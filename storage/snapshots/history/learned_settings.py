"""Learned settings: what nightly learning decided, with its evidence, stored next to the snapshots.

Each decision is one small Parquet file in `learned/`, which is written once. A later row of the same id replaces it,
for example when a person takes a change back.
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from docmill.storage.keys import key_of
from docmill.storage.snapshots.history import row_files
from docmill.storage.snapshots.history.folder import StoreFolder

FOLDER = "learned"


@dataclass(frozen=True, slots=True)
class LearnedChange:
    """What learning decided about a setting that half of the judged queries proposed.

    Attributes:
        change_id: The id.
        created: When it was decided, ISO 8601 in UTC.
        state: `adopted`; `kept` if the setting in use stays; `held back` by the gate; `taken back` by a person.
        content_type: The content type whose route is meant, "" for all.
        what: What was preferred, such as `weight 0.6`.
        before: The setting before, as TOML; "" if the file had none.
        after: The setting that was preferred, as TOML; "" if it was kept.
        questions: The number of judged queries that decided; the others chose the setting.
        gain: The gain in the measure, such as nDCG@10, over these queries.
        low: The lower end of its 95 % interval.
        high: The upper end of its 95 % interval.
        wanted: About how many more judged queries are needed for a decision, or None.
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
FILES = row_files.RowFiles("learned", LearnedChange, **_KINDS)


def now() -> str:
    """Return the time of a decision, in microseconds so that two of the same night differ."""
    return datetime.now(UTC).isoformat("T", "microseconds")


def keep(folder: StoreFolder, change: LearnedChange) -> None:
    """Store a decision and share it with all machines; it replaces an earlier one of the same id."""
    path = folder.root / FOLDER / f"{key_of('learned', asdict(change))}.parquet"
    row_files.keep(folder, path, row_files.encoded(FILES.as_table([change])), "the learned setting")


def read(root: Path) -> list[LearnedChange]:
    """Return the decisions, oldest first: the newest row of each id, at the place of the id's first row."""
    for path in FILES.damaged(root):
        row_files.LOG.warning("%s, a learned setting, cannot be read", path)
    found = (one for path in FILES.paths(root) for one in FILES.rows_in(path) or ())
    return list({one.change_id: one for one in sorted(found, key=lambda one: one.created)}.values())


def table(root: Path) -> pa.Table:
    """Return the decisions, as rows."""
    return FILES.as_table(read(root))
