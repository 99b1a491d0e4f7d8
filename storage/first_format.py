"""First format: read tables that were written in format 1 as if they had today's columns.

Format 1 called the columns `start` and `end`, which is a reserved word of SQL, and wrote page 0 for "no page". The
first commit of a newer docmill rewrites all tables, so only older snapshots are read this way.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

RENAMED = {"start": "start_char", "end": "end_char"}
"""Columns, and fields of a region, with the names that they had in format 1."""
_FORMER = {today: former for former, today in RENAMED.items()}


def is_first(schema: pa.Schema) -> bool:
    """Return whether columns are those of format 1."""
    if "regions" in schema.names:
        return "start" in _parts(schema.field("regions"))
    return not RENAMED.keys().isdisjoint(schema.names)


def as_today(table: pa.Table) -> pa.Table:
    """Return a table of format 1 with today's column names, and with null instead of page 0."""
    for place, name in enumerate(table.schema.names):
        if name == "regions":
            table = table.set_column(place, name, _regions(table.column(name)))
        elif name == "page":
            pages = table.column(name)
            none = pa.scalar(None, pages.type)
            table = table.set_column(place, name, pc.if_else(pc.equal(pages, 0), none, pages))
    return table.rename_columns([RENAMED.get(name, name) for name in table.schema.names])


def former(names: Iterable[str]) -> list[str]:
    """Return the names that today's columns had in format 1."""
    return [_FORMER.get(name, name) for name in names]


def former_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema that a table had in format 1."""
    return pa.schema([_former_field(field) for field in schema])


def former_sql(field: pa.Field) -> str:
    """Return the SQL expression that reads one of today's columns from a table of format 1."""
    if field.name == "regions":
        parts = ", ".join(f'{name} := r."{_FORMER.get(name, name)}"' for name in _parts(field))
        return f"list_transform(regions, lambda r: struct_pack({parts}))"
    return "nullif(page, 0)" if field.name == "page" else f'"{_FORMER.get(field.name, field.name)}"'


def both_schemas(schema: pa.Schema) -> list[pa.Field]:
    """Return the columns of both formats, as they appear in one scan over files of both."""
    both = [*schema, *(field for field in former_schema(schema) if field.name not in schema.names)]
    return [_both_parts(field) if field.name == "regions" else field for field in both]


def either_sql(field: pa.Field, blank: str) -> str:
    """Return the SQL expression that reads one of today's columns from a scan over files of both formats."""
    if field.name == "regions":
        parts = ", ".join(f"{name} := {_either('r.', name)}" for name in _parts(field))
        return f"coalesce(list_transform(regions, lambda r: struct_pack({parts})), {blank})"
    if field.name == "page":
        return "nullif(page, 0)"
    return f"coalesce({_either('', field.name)}, {blank})"


def _either(prefix: str, name: str) -> str:
    names = [name, _FORMER[name]] if name in _FORMER else [name]
    spelled = ", ".join(f'{prefix}"{one}"' for one in names)
    return f"coalesce({spelled})" if len(names) > 1 else spelled


def _both_parts(field: pa.Field) -> pa.Field:
    parts = [*_struct(field), *(part.with_name(_FORMER[part.name]) for part in _struct(field) if part.name in _FORMER)]
    return field.with_type(pa.list_(pa.struct(parts)))


def _former_field(field: pa.Field) -> pa.Field:
    if field.name == "regions":
        parts = [part.with_name(_FORMER.get(part.name, part.name)) for part in _struct(field)]
        return field.with_type(pa.list_(pa.struct(parts)))
    return field.with_name(_FORMER.get(field.name, field.name))


def _regions(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return lists of regions with today's field names."""
    kind = pa.list_(pa.struct([part.with_name(RENAMED.get(part.name, part.name)) for part in column.type.value_type]))
    return pa.chunked_array([_relabelled(chunk, kind) for chunk in column.chunks], kind)


def _relabelled(lists: pa.ListArray, kind: pa.ListType) -> pa.ListArray:
    structs = lists.flatten()
    named = pa.StructArray.from_arrays(structs.flatten(), fields=list(kind.value_type))
    return pa.ListArray.from_arrays(
        pa.array([0, *pc.cumulative_sum(lists.value_lengths()).to_pylist()], pa.int32()), named
    )


def _struct(field: pa.Field) -> pa.StructType:
    return field.type.value_type


def _parts(field: pa.Field) -> list[str]:
    return [part.name for part in _struct(field)]
