"""Stated metadata: metadata from a document's sidecar, folders or source, as one JSON object.

The column `described` contains it as text, or "" if there is none. Names that begin with `$` are docmill's own:
`PROBLEMS` lists what is wrong with the files that describe the document. `COLUMN` has the values of keys in [metadata].
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

Record = Mapping[str, Any]

ACCESS = "access"
"""The key for who may read a document: a list of strings; an empty list means nobody."""
_SHOWN = 100  # characters of a wrong value in a message
PROBLEMS = "$problems"
"""The key of the problems, in words, with the files that describe a document."""


def record_of(text: str) -> dict[str, Any]:
    """Return the record in a column `described`; an empty one for ""."""
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def record_text(record: Record) -> str:
    """Return a record as the text of the column: keys sorted, so that equal records have equal texts."""
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":")) if record else ""


def with_access(record: Record, said_by: str) -> dict[str, Any]:
    """Return a record with `access`, if any, as a list of strings. An invalid one hides the document, as a problem.

    A single string becomes a list. `said_by` names the origin in the problem.
    """
    access = record.get(ACCESS, [])
    if isinstance(access, str):
        return {**record, ACCESS: [access]}
    if isinstance(access, list | tuple) and all(isinstance(one, str) for one in access):
        return {**record, **({ACCESS: [*access]} if ACCESS in record else {})}
    shown = json.dumps(access, ensure_ascii=False, default=str)[:_SHOWN]
    problem = f"{said_by}: access must be a list of strings, got {shown}"
    return {**record, ACCESS: [], PROBLEMS: [*record.get(PROBLEMS, ()), problem]}


def merged(below: Record, above: Record) -> dict[str, Any]:
    """Merge two records: values of `above` take precedence, and problems are concatenated."""
    problems = [*below.get(PROBLEMS, ()), *above.get(PROBLEMS, ())]
    return {**below, **above, **({PROBLEMS: problems} if problems else {})}


Kind = Literal["text", "date", "time", "number", "bool", "list"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SQL: Mapping[str, str | list[str]] = {
    "text": "VARCHAR", "date": "DATE", "time": "TIMESTAMPTZ", "number": "DOUBLE", "bool": "BOOLEAN",
    "list": ["VARCHAR"],
}  # fmt: skip
COLUMN = "declared"
"""The column of documents with the values, as JSON in the files and as a struct in SQL."""


def as_struct(keys: Mapping[str, str], select: str) -> str:
    """Return the SELECT of documents with the values as a struct with a field for each key, null if missing."""
    if not keys:
        return select
    shape = json.dumps({key: _SQL[kind] for key, kind in keys.items()})
    return f"SELECT * REPLACE (json_transform(nullif({COLUMN}, ''), '{shape}') AS {COLUMN}) FROM ({select})"
