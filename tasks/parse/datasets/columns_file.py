"""Parquet and Arrow: the columns of a table and its first rows, by pyarrow."""

import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.datasets.data_table import MAX_ROWS, draw_table
from docmill.tasks.parse.format import ParseOptions

_STREAM = b"\xff\xff\xff\xff"  # the continuation marker before the first message
_BATCH = 1_000  # rows that are in memory at once
_MAX_COLUMNS = 2_000  # more are measurements, of which a row is no text


def parse_parquet(data: bytes, options: ParseOptions) -> Parsed:
    """Return the columns of a Parquet file and its first rows."""
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(io.BytesIO(data))
    unpacked = sum(file.metadata.row_group(number).total_byte_size for number in range(file.metadata.num_row_groups))
    _check(unpacked, file.schema_arrow, options)
    batches = file.iter_batches(batch_size=_BATCH)
    return _drawn(file.schema_arrow, (row for batch in batches for row in _rows(batch)), file.metadata.num_rows)


def parse_arrow(data: bytes, options: ParseOptions) -> Parsed:
    """Return the columns of an Arrow file or stream (IPC, or Feather of its second version) and its first rows."""
    import pyarrow

    if data.startswith(_STREAM):
        return _parse_stream(data, options)
    file = pyarrow.ipc.open_file(io.BytesIO(data))
    _check(len(data), file.schema, options)
    batches, first = list[Any](), 0
    while len(batches) < file.num_record_batches and first < MAX_ROWS:
        batches.append(file.get_batch(len(batches)))
        first += batches[-1].num_rows
    total = first if len(batches) == file.num_record_batches else -1
    return _drawn(file.schema, (row for batch in batches for row in _rows(batch)), total)


def _parse_stream(data: bytes, options: ParseOptions) -> Parsed:
    import pyarrow

    stream = pyarrow.ipc.open_stream(io.BytesIO(data))
    _check(len(data), stream.schema, options)
    return _drawn(stream.schema, islice((row for batch in stream for row in _rows(batch)), MAX_ROWS + 1), -1)


def _check(size: int, schema: Any, options: ParseOptions) -> None:
    if size > options.max_unpacked_bytes:
        raise Rejected("too_large", f"the table unpacks to {size} bytes, the limit is {options.max_unpacked_bytes}")
    if len(schema) > _MAX_COLUMNS:
        raise Rejected("too_large", f"{len(schema)} columns, the limit is {_MAX_COLUMNS}")


def _rows(batch: Any) -> Iterator[tuple[Any, ...]]:
    yield from zip(*(column.to_pylist() for column in batch.slice(0, MAX_ROWS).columns), strict=True)


def _drawn(schema: Any, rows: Iterator[tuple[Any, ...]], total: int) -> Parsed:
    canvas = Canvas()
    draw_table(canvas, "Columns", [(field.name, str(field.type)) for field in schema], rows, total)
    facts = {"columns": len(schema)} | ({"rows": total} if total >= 0 else {})
    return canvas.parsed("", facts)
