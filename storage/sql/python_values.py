"""Python values: convert the columns of an SQL result to numbers, texts, and lists and dicts of these."""

import json
from typing import Any

import pyarrow as pa

from docmill.storage.sql.statement_pool import query

_HELD = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_null,
)
"""The types of columns whose values Python can represent without exception."""
_HELD_IN_LISTS = (pa.types.is_integer, pa.types.is_float64, pa.types.is_boolean, pa.types.is_string, pa.types.is_null)
"""The types whose values are the same in DuckDB's JSON; it shortens float32 and turns decimals into floats."""


def columns_of(table: pa.Table) -> list[list[Any]]:
    """Return the columns of a table as numbers, texts, booleans, None, and lists and dicts of these.

    Bytes become hexadecimal text. Dates, intervals and the like become text as DuckDB writes them, because Python has
    no year 0, no infinity and no nanoseconds. `Decimal` stays, because it is exact.
    """
    named = table.rename_columns([f"c{place}" for place in range(table.num_columns)])  # names may repeat
    odd = [field.name for field in named.schema if not _is_held(field.type)]
    spelled = _as_json(named.select(odd)) if odd else {}
    return [spelled[name] if name in spelled else _values(named.column(name)) for name in named.column_names]


def _is_held(kind: pa.DataType) -> bool:
    return any(holds(kind) for holds in _HELD) or _is_plain(kind)


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether values of a type are the same in JSON, also within lists and structs."""
    if pa.types.is_list(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        return len({*names}) == len(names) and all(_is_plain(field.type) for field in kind)
    return any(holds(kind) for holds in _HELD_IN_LISTS)


def _values(column: pa.ChunkedArray) -> list[Any]:
    return [cell.hex() if isinstance(cell, bytes) else cell for cell in column.to_pylist()]


def _as_json(table: pa.Table) -> dict[str, list[Any]]:
    """Return columns as DuckDB writes them, in a statement process: in this process, it would report leaks at exit."""
    cells = ", ".join(f'to_json("{name}")::VARCHAR AS "{name}"' for name in table.column_names)
    found = query({}, {"found": table}, f"SELECT {cells} FROM found")
    pairs = zip(found.column_names, found.columns, strict=True)
    return {name: [None if c is None else json.loads(c) for c in column.to_pylist()] for name, column in pairs}
