"""Spill: keep rows on disk, so that the memory of a run does not grow with its input."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Spill:
    """A file with rows of one schema, which is read into memory part by part."""

    path: Path
    num_rows: int


Rows: TypeAlias = pa.Table | Spill


def spill(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> Spill:
    """Write tables one after the other to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = 0
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for table in tables:
            writer.write_table(table.cast(schema))
            rows += table.num_rows
    return Spill(path, rows)


def parts(rows: Rows, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the named columns of rows, part by part."""
    if isinstance(rows, pa.Table):
        yield rows.select(columns)
        return
    with pa.OSFile(str(rows.path)) as source:
        schema = pa.ipc.open_stream(source).schema
        source.seek(0)
        wanted = pa.ipc.IpcReadOptions(included_fields=sorted(map(schema.get_field_index, columns)))
        for batch in pa.ipc.open_stream(source, options=wanted):
            yield pa.Table.from_batches([batch]).select(columns)


def gathered(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of tables in batches of `rows` (the last may be smaller): join small tables, cut large ones."""
    held, count = list[pa.Table](), 0
    for table in tables:
        held.append(table)
        count += table.num_rows
        if count >= rows:
            whole = pa.concat_tables(held).combine_chunks()
            full = count - count % rows
            yield from whole.slice(0, full).to_batches(rows)
            held, count = [whole.slice(full)], count - full
    if count:
        yield from pa.concat_tables(held).combine_chunks().to_batches(rows)
