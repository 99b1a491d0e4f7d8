"""Arrow schema: the schema of each row class in `storage/schema.py`, and the conversion between rows and tables."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import pyarrow as pa

from docmill.storage.schema import ChunkRow, CostRow, DocumentRow, RejectRow, RunRow
from docmill.storage.timestamps import INSTANT

R = TypeVar("R")

_ARROW = {
    "str": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "tuple[str, ...]": pa.list_(pa.string()),
    "datetime.datetime": INSTANT,
}


def _schema(row: type, **narrow: pa.DataType) -> pa.Schema:
    def kind(name: str, annotation: Any) -> pa.DataType:
        spelled = annotation.__name__ if isinstance(annotation, type) else str(annotation)
        spelled = "tuple[str, ...]" if spelled.startswith("tuple") else spelled.removesuffix(" | None")
        return narrow.get(name, _ARROW[spelled])

    return pa.schema([(f.name, kind(f.name, f.type)) for f in fields(row)])


REGION = pa.struct(
    [
        ("start_char", pa.int64()),
        ("end_char", pa.int64()),
        ("content_type", pa.string()),
        ("score", pa.float64()),
        ("runner_up", pa.string()),
        ("runner_up_score", pa.float64()),
        ("evidence", pa.list_(pa.string())),
        ("strategy", pa.string()),
        ("options", pa.string()),
    ]
)
"""A region of a document: a span of one content type; `options` is JSON."""

FIGURE = pa.struct(
    [
        ("key", pa.string()),
        ("start_char", pa.int64()),
        ("end_char", pa.int64()),
        ("media_type", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("bytes", pa.int64()),
        ("page", pa.int32()),
        ("box", pa.list_(pa.float64())),
        ("caption", pa.string()),
        ("alt", pa.string()),
    ]
)
"""A figure of a document: `key` addresses its picture; `page` is null and `box` empty where the format has none."""

DOCUMENTS = _schema(DocumentRow, regions=pa.list_(REGION), figures=pa.list_(FIGURE))
CHUNKS = _schema(
    ChunkRow,
    ordinal=pa.int32(),
    page=pa.int32(),
    line=pa.int32(),
    tokens=pa.int32(),
    depth=pa.int32(),
    above=pa.int32(),
    parts=pa.list_(pa.int32()),
    unread=pa.list_(pa.int32()),
)
REJECTS = _schema(RejectRow)
RUNS = _schema(RunRow)
COSTS = _schema(CostRow)

OPTIONAL = frozenset(
    one.name
    for row in (DocumentRow, ChunkRow, RejectRow, RunRow, CostRow)
    for one in fields(row)
    if str(one.type).endswith(" | None")
)
"""Columns that are NULL if unknown, as in the rows of an older docmill."""

DELETED = DOCUMENTS.append(pa.field("deleted", pa.string()))
"""Recently deleted documents and the times of their deletion; `deleted_chunks` holds their chunks."""

SCHEMAS: dict[str, pa.Schema] = {
    "documents": DOCUMENTS,
    "chunks": CHUNKS,
    "rejects": REJECTS,
    "runs": RUNS,
    "costs": COSTS,
    "deleted": DELETED,
    "deleted_chunks": CHUNKS,
}


def to_table(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    """Return dataclass rows as an Arrow table with the columns of `schema`, in order."""
    columns = [pa.array([getattr(row, name) for row in rows], schema.field(name).type) for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def from_table(table: pa.Table, row: type[R]) -> list[R]:
    """Return the rows of an Arrow table as `row` dataclasses; the table has at least a column for each field."""
    names = [f.name for f in fields(row)]  # type: ignore[arg-type]
    columns: Iterable[list[Any]] = (
        [tuple(v) for v in values] if values and isinstance(values[0], list) else values
        for values in (table.column(name).to_pylist() for name in names)
    )
    return [row(*values) for values in zip(*columns, strict=True)]
