"""Row reader: keep the files of a table open, and read single rows by id without the rest of the file."""

from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.errors import StoreError
from docmill.storage.keys import BUCKET_DIGITS, bucket_of
from docmill.storage.schema_evolution import conform
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import StoredFile

_KEPT, _MOST_KEPT = 256, 1024
"""How many files of a table stay open, at 20 kB and one handle each, and how many if the process may open four times
that number. 300,000 chunks are in 1,024 files, and opening a file takes as long as reading a row."""


class OpenedTable:
    """A table of a snapshot whose rows can be read by the id of a document or a chunk."""

    def __init__(self, stored: StoredSnapshot, name: str) -> None:
        self._root = stored.root
        self._name = name
        self._buckets = stored.snapshot.buckets_of(name)
        self._pieces = {piece.bucket: piece for piece in stored.pieces(name)}
        self._opened = lru_cache(_kept())(self._open)

    def rows(self, column: str, ids: Collection[str], names: Sequence[str] = ()) -> pa.Table:
        """Return the rows whose id in `column` is among `ids`, in no order.

        If `names` are given, only these columns are read; `column` must be among them.
        """
        schema = _schema(self._name, tuple(names))
        files = [(self._opened(bucket), own) for bucket, own in self._by_bucket(ids).items()]
        found = [conform(file.rows(column, own, names), schema) for file, own in files]
        return pa.concat_tables(found) if found else schema.empty_table()

    def filled(self, column: str, ids: Collection[str]) -> list[str]:
        """Return the ids whose files may have a value other than "" in a text column.

        Only the statistics of the files are read, so a column that is "" throughout costs nothing.
        """
        own = self._by_bucket(ids)
        return [key for bucket, held in own.items() if not self._opened(bucket).is_blank(column) for key in held]

    def _by_bucket(self, ids: Collection[str]) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for key in ids:
            found.setdefault(bucket_of(key, self._buckets), []).append(key)
        return {bucket: own for bucket, own in found.items() if bucket in self._pieces}

    def _open(self, bucket: int) -> "_OpenedFile":
        return _OpenedFile(self._root, self._pieces[bucket])


class _OpenedFile:
    """One open Parquet file, with the range of the first digits of the ids in each of its row groups."""

    def __init__(self, root: Path, piece: StoredFile) -> None:
        self._root = root
        self._path = root / piece.file.path
        self._lock = Lock()  # a Parquet reader serves one thread at a time
        try:
            self._file = pq.ParquetFile(self._path, memory_map=True)
        except (OSError, pa.ArrowInvalid) as error:
            raise self._damaged(error) from error
        self._names = frozenset(self._file.schema_arrow.names)
        self._spans = list(_spans(self._file.metadata))
        self.is_blank = lru_cache(_KEPT)(partial(_is_blank, self._file.metadata))

    def rows(self, column: str, ids: Collection[str], names: Sequence[str]) -> pa.Table:
        """Return the rows whose `column` is among `ids`, with all columns of the file or those among `names`."""
        heads = [key[:BUCKET_DIGITS] for key in ids]
        groups = [i for i, (low, high) in enumerate(self._spans) if any(low <= head <= high for head in heads)]
        table, wanted = self._read(groups, names), frozenset(ids)
        places = [place for place, key in enumerate(table.column(column).to_pylist()) if key in wanted]
        # One row, or the rows of one document, are adjacent: a slice copies no column.
        if places and places[-1] - places[0] == len(places) - 1:
            return table.slice(places[0], len(places))
        return table.take(pa.array(places, pa.int64()))

    def _read(self, groups: list[int], names: Sequence[str]) -> pa.Table:
        held = [name for name in names if name in self._names]
        try:
            with self._lock:
                return self._file.read_row_groups(groups, held or None, use_threads=False)
        except (OSError, pa.ArrowInvalid) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> StoreError:
        return StoreError(f"{self._path} cannot be read: {error}; see: docmill verify --store {self._root}")


@cache
def _schema(table: str, names: tuple[str, ...]) -> pa.Schema:
    every = SCHEMAS[table]
    return pa.schema([every.field(name) for name in names]) if names else every


def _kept() -> int:
    """Return how many files of a table may stay open."""
    most, _ = getrlimit(RLIMIT_NOFILE)
    return _MOST_KEPT if most == RLIM_INFINITY else min(_MOST_KEPT, max(_KEPT, most // 4))


def _is_blank(metadata: pq.FileMetaData, name: str) -> bool:
    names = metadata.schema.names
    if name not in names:
        return True
    groups = (metadata.row_group(group).column(names.index(name)) for group in range(metadata.num_row_groups))
    held = (group.statistics for group in groups)
    return all(one is not None and one.has_min_max and one.max == "" for one in held)


def _spans(metadata: pq.FileMetaData) -> Iterator[tuple[str, str]]:
    """Yield the first digits of the least and greatest document id of each row group; a wide range if unknown."""
    names = metadata.schema.names
    column = names.index("document_id")
    for group in range(metadata.num_row_groups):
        held = metadata.row_group(group).column(column).statistics
        known = held is not None and held.has_min_max
        yield (held.min[:BUCKET_DIGITS], held.max[:BUCKET_DIGITS]) if known else ("", "~")
