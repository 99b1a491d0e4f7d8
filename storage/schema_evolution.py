"""Schema evolution: read rows written by an older docmill as current rows."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.arrow_schema import OPTIONAL, SCHEMAS
from docmill.storage.errors import StoreError
from docmill.storage.keys import key_of
from docmill.storage.schema import EVERYONE
from docmill.storage.timestamps import INSTANT, STATED, instants

_BLANKS: tuple[tuple[Callable[[pa.DataType], bool], Any, str], ...] = (
    (pa.types.is_string, "", "''"),
    (pa.types.is_integer, 0, "0"),
    (pa.types.is_floating, 0.0, "0.0"),
    (pa.types.is_boolean, False, "false"),
    (pa.types.is_list, [], "[]"),
    (pa.types.is_timestamp, None, "NULL"),
)

_ACCESS = "access"  # the column whose blank is not an empty list, which would hide the documents of an older store


def blank(field: pa.Field) -> Any:
    """Return the value for a column that an older file lacks: None if it may be None, else "", 0, 0.0, False or []."""
    if field.name == _ACCESS:
        return [EVERYONE]
    if field.name in OPTIONAL:
        return None
    return next(value for suits, value, _ in _BLANKS if suits(field.type))


def blank_sql(field: pa.Field) -> str:
    """Return the value of `blank` as an SQL literal."""
    if field.name == _ACCESS:
        return f"['{EVERYONE}']"
    if field.name in OPTIONAL:
        return "NULL"
    return next(literal for suits, _, literal in _BLANKS if suits(field.type))


def sql_type(kind: pa.DataType) -> str:
    """Return the name of a type in DuckDB's SQL."""
    names = {
        pa.string(): "VARCHAR",
        pa.int32(): "INTEGER",
        pa.int64(): "BIGINT",
        pa.float64(): "DOUBLE",
        INSTANT: "TIMESTAMPTZ",
    }
    if pa.types.is_struct(kind):
        parts = (f'"{part.name}" {sql_type(part.type)}' for part in kind)
        return f"STRUCT({', '.join(parts)})"
    return f"{sql_type(kind.value_type)}[]" if pa.types.is_list(kind) else names.get(kind, "BOOLEAN")


def schema_key() -> str:
    """Return the key of the columns that this docmill writes."""
    return key_of("schemas", {name: [(f.name, str(f.type)) for f in schema] for name, schema in SCHEMAS.items()})


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with exactly the columns of `schema`; columns that an older file lacks get blank values.

    A time is read from its text, if the table has that column.

    Raises `StoreError` for a column that only a newer docmill knows, because rewriting the row would lose it.
    """
    if table.schema.equals(schema):
        return table
    if unknown := [name for name in table.schema.names if name not in schema.names]:
        raise StoreError(f"a newer docmill wrote the columns {', '.join(unknown)}; use that version")

    def column(field: pa.Field) -> Any:
        if field.name in table.schema.names:
            return table.column(field.name).cast(field.type)
        if STATED.get(field.name) in table.schema.names:
            return instants(table.column(STATED[field.name]))
        return pa.array([blank(field)] * table.num_rows, field.type)

    return pa.table([column(field) for field in schema], schema=schema)


def lacking(paths: Sequence[Path], schema: pa.Schema) -> set[str]:
    """Return the columns of `schema` that at least one of the files lacks."""
    wanted = frozenset(schema.names)
    return {name for path in paths for name in wanted - _names_of(path)}


@lru_cache(maxsize=4096)
def _names_of(path: Path) -> frozenset[str]:
    return frozenset(schema_of(path).names)


@lru_cache(maxsize=4096)
def schema_of(path: Path) -> pa.Schema:
    """Return the columns of a file. They are cached: a file of the store never changes under its name."""
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise StoreError(f"{path} cannot be read: {error}; see: docmill verify") from error
