"""Fence: write to a LanceDB table such that another writer is noticed, because each call makes exactly one version."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import Locked, QueryError, StoreError
from docmill.storage.failpoints import boundary
from docmill.storage.search.encode.space import FLOAT16, FLOAT32, EmbeddingSpace
from docmill.storage.search.vectors.index_kind import IndexKind, bits_of, by_id

MAX_FRAGMENTS = 64  # files of a table; a reader opens them all, and with fewer they are rewritten more often
MAX_SEGMENTS = 8  # segments of the vector index, for the same reason
IDS_AT_ONCE = 10_000  # ids in one predicate, because LanceDB parses it as text
_FOR_EVER = timedelta(days=36_500)
_MARGINS_S = (0.0, 0.1, 5.0)


def schema(dimension: int, indexed: str = FLOAT32) -> pa.Schema:
    """Return the columns of a vector table; vectors are float32 unless `indexed` is float16."""
    vector = pa.list_(pa.float16() if indexed == FLOAT16 else pa.float32(), dimension)
    return pa.schema([("chunk_id", pa.string()), ("document_id", pa.string()), ("vector", vector)])


def of_other_numbers(space: EmbeddingSpace, other: EmbeddingSpace) -> bool:
    """Return whether the tables of two spaces differ in the number type of their vectors."""
    return (space.indexed == FLOAT16) != (other.indexed == FLOAT16)


def among(ids: Sequence[str]) -> str:
    """Return the predicate that selects rows by chunk id."""
    for chunk_id in ids:
        if not chunk_id.replace("-", "").replace("_", "").isalnum():
            raise QueryError(f"not a chunk id: {chunk_id!r}")
    return "chunk_id IN (" + ",".join(f"'{chunk_id}'" for chunk_id in ids) + ")"


class Writer:
    """A LanceDB table, and the version that it has unless another program writes to it."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.version = int(table.version)

    def _step(self, version: int) -> None:
        if version != self.version + 1:
            raise Locked(
                f"the vector table is at version {version}, not {self.version + 1}: "
                "another program writes to it; run again when it has stopped"
            )
        self.version = version

    def delete(self, ids: Collection[str]) -> int:
        """Remove all rows of the given chunk ids, at least one each; return the number of removed rows."""
        # A chunk that is named twice would count as missing below.
        wanted = sorted(set(ids))
        deleted = 0
        for first in range(0, len(wanted), IDS_AT_ONCE):
            with boundary("lance delete"):
                result = self._table.delete(among(wanted[first : first + IDS_AT_ONCE]))
            self._step(result.version)
            deleted += result.num_deleted_rows
        if deleted < len(wanted):
            raise StoreError(
                f"the vectors hold {deleted} of {len(wanted)} chunks to remove; repair with: docmill repair"
            )
        return deleted

    def add(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Append rows from a stream as one version, and return their number. The rows of a chunk must be adjacent."""
        counts = list[int]()
        failed: list[Exception] = []
        rows = _noting(_checked(batches, self._table.schema, counts), failed)
        # An empty stream would still make a version, which nobody needs.
        first = next(rows, None)
        if first is None:
            return 0
        try:
            reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))
            with boundary("lance add"):
                self._step(self._table.add(reader).version)
        except RuntimeError:
            if failed:
                raise failed[0] from None
            raise
        return sum(counts)

    def compact(self) -> None:
        """Merge the small files of many commits, and add new rows to the index."""
        if self._table.stats()["fragment_stats"]["num_fragments"] > MAX_FRAGMENTS:
            # Without an age, `optimize` would prune versions, and fail if one of them has a tag.
            self._optimize(_FOR_EVER)
            self.version = int(self._table.version)

    def _optimize(self, age: timedelta, delete_unverified: bool = False) -> None:
        with boundary("lance optimize"):
            self._table.optimize(cleanup_older_than=age, delete_unverified=delete_unverified)

    def clean(self, oldest: int) -> None:
        """Merge small files and remove the versions before `oldest`; none of them has a tag any more."""
        self._optimize(_FOR_EVER)
        self.prune(oldest)

    def prune(self, oldest: int) -> None:
        """Remove the versions before `oldest`; none of them has a tag any more.

        LanceDB selects versions by age, measured from a moment slightly after ours. It raises if a tagged
        version then counts as old; in that case a few more versions stay.
        """
        made = {entry["version"]: entry["timestamp"].timestamp() for entry in self._table.list_versions()}
        if oldest in made and min(made) < oldest:
            for margin_s in _MARGINS_S:
                try:
                    self._optimize(timedelta(seconds=time.time() - made[oldest] + margin_s), delete_unverified=True)
                    break
                except RuntimeError as error:
                    if "tagged version" not in str(error):
                        raise
        self.version = int(self._table.version)

    def index(self, rows: int, kind: IndexKind) -> None:
        """Index a large table; rebuild an index if a fifth of the rows is newer, or if its kind differs.

        It is also rebuilt when repeated `optimize` calls have added too many segments to it.
        """
        held = {entry.columns[0]: entry for entry in self._table.list_indices()}
        other = "vector" in held and bits_of(held["vector"]) != kind.bits
        if rows < kind.least_rows:
            if other:
                with boundary("lance drop index"):
                    self._table.drop_index(held["vector"].name)
                self._step(int(self._table.version))
            return
        whole = [entry for entry in held.values() if entry.num_segments <= MAX_SEGMENTS]
        covered = {entry.columns[0]: rows - entry.num_unindexed_rows for entry in whole}
        if other:
            covered["vector"] = 0
        for column, config in (("vector", kind.config), ("chunk_id", by_id())):
            if covered.get(column, 0) < rows - rows // 5:
                with boundary("lance index"):
                    self._table.create_index(column, config=config)
                self._step(int(self._table.version))

    def keep(self, rows: int, tag: str) -> None:
        """Tag the current version after checking that it has `rows` rows."""
        held = self._table.count_rows()
        if held != rows:
            raise StoreError(f"the vector table has {held} rows, not {rows}; repair with: docmill repair")
        tags = self._table.tags
        with boundary("lance tag"):
            (tags.update if tag in tags.list() else tags.create)(tag, self.version)  # a commit that died may leave one


def _noting(rows: Iterator[pa.RecordBatch], failed: list[Exception]) -> Iterator[pa.RecordBatch]:
    """Record the exception that `rows` raises, because LanceDB only keeps its text."""
    try:
        yield from rows
    except Exception as error:
        failed.append(error)
        raise


def _checked(batches: Iterable[pa.RecordBatch], wanted: pa.Schema, counts: list[int]) -> Iterator[pa.RecordBatch]:
    seen, last = [pa.array([], pa.string())], ""
    for batch in batches:
        if not batch.num_rows:
            continue
        kind, right = batch.schema.field("vector").type, wanted.field("vector").type
        if not pa.types.is_fixed_size_list(kind) or kind.list_size != right.list_size:
            raise StoreError(f"vectors are {kind}, the store's are {right}; use the store's own model")
        ids = pc.run_end_encode(batch.column("chunk_id")).values
        seen.append(ids[1:] if ids[0].as_py() == last else ids)
        last = ids[-1].as_py()
        counts.append(batch.num_rows)
        yield batch.select(wanted.names).cast(wanted)
    together = pa.chunked_array(seen)
    if pc.count_distinct(together).as_py() != len(together):  # raised before LanceDB adds anything
        raise StoreError("a chunk id is added twice; chunk ids are unique in a store")
