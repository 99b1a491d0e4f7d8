"""Tables: rows in immutable Parquet files, one for each bucket; a change replaces whole files.

A document's rows are in the bucket of its id. Rows are sorted by document and position, so equal rows make equal files.
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from math import isqrt
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.errors import StoreError
from docmill.storage.files import put_immutable
from docmill.storage.keys import bucket_of
from docmill.storage.schema import SCHEMA_VERSION
from docmill.storage.schema_evolution import conform
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import Snapshot, StoredFile

T = TypeVar("T")
R = TypeVar("R")
Ints = npt.NDArray[np.integer]

OF_DOCUMENTS = ("documents", "chunks")
"""The tables in buckets, which an ingest can rebuild from the sources."""
ROWS_PER_BUCKET = 500
"""Documents or chunks in a bucket of a small store. Changing a document rewrites its buckets, which takes 12 us of CPU
for each row and 1.5 ms for each file; below 500 rows, the cost of files exceeds that of rows."""
_ROWS_PER_GROUP = 128
"""Rows in a row group, which is read whole for the row of one hit. With 512, a search takes a third more CPU time;
smaller groups make files larger, those of 128 by 7 %."""
_BUCKETS_AHEAD = 16  # buckets that are read before the rows of the first are used; more keep more rows in memory
_FILES_AT_ONCE = min(4, os.cpu_count() or 1)
# Compressing ids and numbers, or using dictionaries for distinct values, takes longer than all else and saves little.
_COMPRESSED = ("text", "context", "metadata", "message", "described", "declared")
_REPEATED = ("document_id", "uri", "source", "format", "language", "lang", "author", "content_type", "strategy", "role",
             "note", "status", "page", "line", "depth", "above", "parent_id", "headings.list.element",
             "content_types.list.element", "regions.list.element.content_type", "regions.list.element.runner_up",
             "regions.list.element.evidence.list.element", "regions.list.element.strategy",
             "regions.list.element.options", "reason", "parser")  # fmt: skip
_BOUNDED = ("document_id", "uri", "ordinal", "page", "content_type", "strategy", "role", "format", "modified",
            "source_url")  # fmt: skip
_SORT = {
    "documents": [("document_id", "ascending")],
    "chunks": [("document_id", "ascending"), ("ordinal", "ascending")],
    "rejects": [("uri", "ascending")],
    "runs": [("snapshot", "ascending")],
    "costs": [("snapshot", "ascending"), ("run_id", "ascending"), ("purpose", "ascending")],
    "deleted": [("uri", "ascending")],
    "deleted_chunks": [("document_id", "ascending"), ("ordinal", "ascending")],
}


def bucket_count(rows: int, current: int) -> int:
    """Return how many buckets a table with this number of rows needs; prefer `current` while it is within bounds.

    Buckets between a quarter and twice the wanted size stay, so a growing store re-buckets only when it has doubled.
    """
    # Every commit lists each file, which takes 20 us per file. So in stores of more than a million chunks, both the
    # number and the size of buckets grow with the square root: 4 million chunks are 4,096 buckets of 1,000.
    size = max(ROWS_PER_BUCKET, isqrt(rows) // 2)
    if current and (size / 4 <= rows / current <= size * 2):
        return current
    wanted = 1
    while wanted * size < rows:
        wanted *= 2
    return wanted


def bucket_counts(documents: int, chunks: int, before: Snapshot | None) -> dict[str, int]:
    """Return how many buckets the tables of documents and of chunks need, given those of the snapshot `before`.

    The number for documents divides the number for chunks, so the documents of a file of chunks are in one file.
    """
    current = {name: before.buckets_of(name) if before else 0 for name in OF_DOCUMENTS}
    of_chunks = bucket_count(chunks, current["chunks"])
    return {"documents": min(of_chunks, bucket_count(documents, current["documents"])), "chunks": of_chunks}


def read_stored_file(
    root: Path, piece: StoredFile, columns: list[str] | None = None, documents: Sequence[str] = ()
) -> pa.Table:
    """Read one Parquet file of a table, or some of its columns, in the current schema.

    With the sorted ids of some `documents`, only the row groups that may have their rows are read.
    """
    path = root / piece.file.path
    schema = SCHEMAS.get(path.parent.name)
    if schema is None:
        raise StoreError(f"{path} is a file of no table; see: docmill verify --store {root}")
    wanted = schema if columns is None else pa.schema([schema.field(column) for column in columns])
    with _explained(root, path), pq.ParquetFile(path, memory_map=True) as file:
        own = file.schema_arrow  # a property that rebuilds the schema on each access
        held = None if columns is None else [name for name in columns if name in own.names]
        if not documents:
            return conform(file.read(held, use_threads=False), wanted)
        groups = list(_groups_with(file, documents))
        return conform(file.read_row_groups(groups, held, use_threads=False), wanted)


def _groups_with(file: pq.ParquetFile, wanted: Sequence[str]) -> Iterator[int]:
    """Yield the row groups that may have rows of the sorted `wanted` documents."""
    column = file.schema.names.index("document_id")
    for number in range(file.num_row_groups):
        found = file.metadata.row_group(number).column(column).statistics
        place = bisect_left(wanted, found.min) if found and found.has_min_max else -1
        if place < 0 or (place < len(wanted) and wanted[place] <= found.max):
            yield number


@contextmanager
def _explained(root: Path, path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        raise StoreError(f"{path} cannot be read: {error}; see: docmill verify --store {root}") from error


def read_table(stored: StoredSnapshot | None, name: str, columns: list[str] | None = None) -> pa.Table:
    """Read a table of a snapshot, or some of its columns; without a snapshot, return an empty table."""
    schema = SCHEMAS[name]
    wanted = schema if columns is None else pa.schema([schema.field(column) for column in columns])
    held = at_once(lambda piece: read_stored_file(stored.root, piece, columns), stored.pieces(name)) if stored else []
    return pa.concat_tables(held or [wanted.empty_table()])


def read_buckets(
    stored: StoredSnapshot, name: str, documents: Collection[str], columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of some documents, or some columns of these rows, bucket by bucket.

    Files of other buckets are not read. At most `_BUCKETS_AHEAD` buckets are in memory unless the caller keeps them.
    """
    by_bucket: dict[int, list[str]] = {}
    for key in sorted(documents):
        by_bucket.setdefault(bucket_of(key, stored.snapshot.buckets_of(name)), []).append(key)

    def found(piece: StoredFile) -> pa.Table:
        own = by_bucket[piece.bucket]
        table = read_stored_file(stored.root, piece, columns, own)
        return table.filter(pc.is_in(table.column("document_id"), value_set=pa.array(own)))

    touched = [piece for piece in stored.pieces(name) if piece.bucket in by_bucket]
    for first in range(0, len(touched), _BUCKETS_AHEAD):
        yield from at_once(found, touched[first : first + _BUCKETS_AHEAD])


def at_once(call: Callable[[T], R], items: Collection[T]) -> list[R]:
    """Return the results of `call` for the items, in order; several threads work in parallel."""
    if len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        return list(pool.map(call, items))


def write_bucket(root: Path, name: str, table: pa.Table, bucket: int) -> StoredFile:
    """Write the rows of a bucket, sorted; equal rows make equal files."""
    # Always the same schema, and one chunk of memory per column, so that equal rows make equal files.
    schema = SCHEMAS[name].with_metadata({"docmill.schema": str(SCHEMA_VERSION)})
    ordered = pa.Table.from_arrays(table.combine_chunks().sort_by(_SORT[name]).combine_chunks().columns, schema=schema)
    # Encoded in memory first: writing each of hundreds of pages by itself takes half the time of a small file.
    file = put_immutable(root, f"tables/{name}", ".parquet", _as_parquet(ordered))
    return StoredFile(file, ordered.num_rows, bucket)


def _as_parquet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows,
        sink,
        row_group_size=_ROWS_PER_GROUP,
        compression=dict.fromkeys(_COMPRESSED, "zstd"),
        use_dictionary=list(_REPEATED),
        write_statistics=list(_BOUNDED),
    )
    return bytes(sink.getvalue())


def write_single(root: Path, name: str, table: pa.Table) -> tuple[StoredFile, ...]:
    """Write a table that fits into one file; write no file if it has no rows."""
    return (write_bucket(root, name, table, 0),) if table.num_rows else ()


def rebucket(root: Path, pieces: tuple[StoredFile, ...], name: str, buckets: int) -> tuple[StoredFile, ...]:
    """Return the table spread over another number of buckets.

    Both numbers are powers of two, so only old buckets that are equal modulo the new number share new buckets.
    """
    groups: dict[int, list[StoredFile]] = {}
    for piece in pieces:
        groups.setdefault(piece.bucket % buckets, []).append(piece)

    def spread(group: Sequence[StoredFile]) -> list[StoredFile]:
        table = pa.concat_tables(read_stored_file(root, piece) for piece in group)
        return [write_bucket(root, name, part, bucket) for bucket, part in partition(table, buckets).items()]

    made = chain.from_iterable(at_once(spread, groups.values()))
    return tuple(sorted(made, key=lambda piece: piece.bucket))


def rewrite(
    root: Path, pieces: tuple[StoredFile, ...], name: str, change: Callable[[pa.Table], pa.Table] = lambda table: table
) -> tuple[StoredFile, ...]:
    """Return the table with every file rewritten by this docmill, which adds columns that older files lack.

    `change` may change values, but not which document a row belongs to.
    """
    return tuple(
        at_once(lambda piece: write_bucket(root, name, change(read_stored_file(root, piece)), piece.bucket), pieces)
    )


def partition(table: pa.Table, buckets: int) -> dict[int, pa.Table]:
    """Split rows by the buckets of their documents."""
    return split(table, bucket_numbers(table, buckets))


def split(table: pa.Table, numbers: Ints) -> dict[int, pa.Table]:
    """Return the rows grouped by number, in their order, as slices of one sorted copy: filters would take longer."""
    ordered = table.take(pa.array(np.argsort(numbers, kind="stable")))
    found, counts = np.unique(numbers, return_counts=True)
    ends = np.cumsum(counts)
    spans = zip(found.tolist(), (ends - counts).tolist(), counts.tolist(), strict=True)
    return {number: ordered.slice(first, count) for number, first, count in spans}


def bucket_numbers(table: pa.Table, buckets: int) -> Ints:
    """Return the bucket of each row."""
    return np.array([bucket_of(key, buckets) for key in table.column("document_id").to_pylist()], np.int32)
