"""Timestamps: the times that a document states, as points in time.

A file may state a time with any precision: a year, a day, a local time. The columns `created` and `modified` of the
Parquet files contain that text; `created_at` and `modified_at` are the instants in UTC. A time without an offset counts
as UTC, and a day, a month or a year as its first instant. Times before the year 1 or after 9999 in UTC are null,
because Python does not have them.

Rows written by an older docmill have only the text; SQL and `instants` convert it in the same way.
"""

from datetime import UTC, datetime

import pyarrow as pa

INSTANT = pa.timestamp("us", tz="UTC")
STATED = {"created_at": "created", "modified_at": "modified"}
"""The columns of instants, and those with the original texts."""
WRITTEN = {
    "rejects": ("first_seen", "last_seen"),
    "runs": ("started",),
    "deleted": ("deleted",),
    "snapshots": ("created",),
    "evaluations": ("created",),
    "asked_questions": ("created",),
    "judgements": ("created",),
    "queries": ("created",),
    "learned": ("created",),
}
"""The columns of each table with times written by docmill, as texts in ISO 8601 and UTC."""
_REST = {4: "-01-01T00:00:00+00:00", 7: "-01T00:00:00+00:00", 10: "T00:00:00+00:00", 19: "+00:00"}
"""What a stated text lacks, by length: for `2027`, `2027-01`, `2027-01-14` and `2027-01-14T02:00:00`."""

_FIRST, _LAST = (f"TIMESTAMPTZ '{time}+00:00'" for time in ("0001-01-01T00:00:00", "9999-12-31T23:59:59"))


def instant(stated: str) -> datetime | None:
    """Return the instant of a text of the columns `created` and `modified`, or None."""
    try:
        return datetime.fromisoformat(stated + _REST.get(len(stated), "")).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def instants(stated: pa.ChunkedArray) -> pa.Array:
    """Return the instants of a column of texts."""
    return pa.array([instant(text) for text in stated.to_pylist()], INSTANT)


def with_instants(select: str) -> str:
    """Return the SELECT of documents with `created` and `modified` as instants and their texts in further columns."""
    replaced = ", ".join(f"{_instant_sql(column, text)} AS {text}" for column, text in STATED.items())
    texts = ", ".join(f"{text} AS {text}_stated" for text in STATED.values())
    return f"SELECT * EXCLUDE ({', '.join(STATED)}) REPLACE ({replaced}), {texts} FROM ({select})"


def with_written_times(name: str, select: str) -> str:
    """Return the SELECT of a table with the times written by docmill as instants."""
    columns = ", ".join(f"TRY_CAST({column} AS TIMESTAMPTZ) AS {column}" for column in WRITTEN.get(name, ()))
    return f"SELECT * REPLACE ({columns}) FROM ({select})" if columns else select


def _instant_sql(column: str, text: str) -> str:
    rests = " ".join(f"WHEN {length} THEN '{rest}'" for length, rest in _REST.items())
    found = f"TRY_CAST({text} || CASE length({text}) {rests} ELSE '' END AS TIMESTAMPTZ)"
    return f"coalesce({column}, CASE WHEN {found} BETWEEN {_FIRST} AND {_LAST} THEN {found} END)"
