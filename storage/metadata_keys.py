"""Metadata keys: the types of keys in [metadata], and the column of their values in SQL."""

import json
from collections.abc import Mapping
from typing import Literal, get_args

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
