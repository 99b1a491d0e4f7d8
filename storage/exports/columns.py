"""Columns: the columns of exported rows in every destination."""

import pyarrow as pa

COLUMNS: tuple[tuple[str, pa.DataType], ...] = (
    ("chunk_id", pa.string()),
    ("uri", pa.string()),
    ("source_url", pa.string()),
    ("start_char", pa.int64()),
    ("end_char", pa.int64()),
    ("page", pa.int32()),
    ("headings", pa.list_(pa.string())),
    ("text", pa.string()),
    ("context", pa.string()),
    ("content_type", pa.string()),
    ("strategy", pa.string()),
    ("language", pa.string()),
    ("lang", pa.string()),
    ("figures", pa.list_(pa.string())),
    ("snapshot", pa.int64()),
    ("digest", pa.string()),
)
"""All columns but the vector. `digest` is the key of a row's content, by which the next export detects changes.
`snapshot` is the one from which the row was written; a row that does not change keeps it."""
DELETED = "deleted"
"""The column that marks removed chunks in an export since a snapshot; for those, only the id is filled."""

HELD = pa.schema([("chunk_id", pa.string()), ("digest", pa.string())])
"""The columns that an export reads from a destination."""


def row_schema(dimension: int, is_delta: bool = False) -> pa.Schema:
    """Return the schema of rows whose vectors are float32 (dimension,); `is_delta` for an export since a snapshot."""
    fields = [*COLUMNS, ("vector", pa.list_(pa.float32(), dimension))]
    return pa.schema([*fields, (DELETED, pa.bool_())] if is_delta else fields)
