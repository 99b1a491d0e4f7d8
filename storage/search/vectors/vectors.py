"""Vectors: the vector index, one LanceDB table for each embedding space.

Every write makes a version of the table. A snapshot names one version, and a tag keeps it. The next write first reverts
any later versions, which no snapshot names. A lost vector table can be rebuilt from the Parquet tables and packs.
"""

import errno
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docmill.storage.errors import QueryError, StoreError
from docmill.storage.failpoints import boundary
from docmill.storage.process.computed_once import computed_once
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.vectors.deferred_client import import_lancedb
from docmill.storage.search.vectors.fence import IDS_AT_ONCE, Writer, among, schema
from docmill.storage.search.vectors.flat_index import FlatIndex
from docmill.storage.search.vectors.index_kind import bits_of, kind_of, refined
from docmill.storage.search.vectors.mapped_vectors import UNREADABLE, MappedVectors

FOLDER = "vectors"
_SELECTED_SHARE = 20  # up to a twentieth of the rows are selected by id: 1,000 of 100,000 take 11 ms of CPU
_TIE_MARGIN = 8  # extra hits to fetch, so that up to 8 ties with the last hit need no second search
_FIRST_FETCH = 1.5  # times the rows expected for k hits of a filter; with less, a second fetch is needed more often
_NEXT_FETCH = 4  # times the rows of the previous fetch; with more, fewer fetches read more unneeded rows
_PROBES = 40  # partitions of 8,192 rows; with 20, recall@10 at 1,000,000 rows is .01 lower
_IDS_AFTER, _MOST_IDS = 16, 1 << 20
"""After how many searches the ids of all rows are cached, and for up to how many rows, at 44 bytes each. LanceDB takes
2 ms of CPU to look up the ids of one search, and 20 ms to read those of 100,000 rows."""
_MOST_UNINDEXED = 1 << 14
"""Unindexed rows that are compared here at most: this takes as long as LanceDB takes to read 200 rows."""

_SOURCE_PLACES = re.compile(r"(?:, \S+\.rs:\d+:\d+)+$")  # LanceDB names the lines of Rust that an error came through


@dataclass(frozen=True, slots=True)
class VectorState:
    """The version of a table that a snapshot names; a chunk with parts has several rows."""

    table: str
    version: int
    rows: int


def update(
    root: Path,
    state: VectorState | None,
    space: EmbeddingSpace,
    removed: Collection[str],
    added: Iterable[pa.RecordBatch],
    tag: str,
) -> VectorState:
    """Return the state without the chunks `removed` and with the rows `added`; `tag` keeps its version.

    Raises `Locked` if another program wrote meanwhile; the next call reverts those writes.
    """
    if state is None:
        return rebuild(root, space, added, tag)
    _check_space(state, space)
    with _explained(root):
        table = _open(root, state)
        _take_back(table, state)
        writer = Writer(table)
        left = state.rows - writer.delete(removed)
        return _finish(table, writer, left + writer.add(added), space, tag)


def _take_back(table: Any, state: VectorState) -> None:
    """Revert everything that was written after a state."""
    if table.version != state.version:
        # A writer that died between LanceDB's write and the snapshot leaves versions that no snapshot names.
        table.checkout(state.version)
        with boundary("lance restore"):
            table.restore()


def rebuild(root: Path, space: EmbeddingSpace, added: Iterable[pa.RecordBatch], tag: str) -> VectorState:
    """Write a new table with the rows `added`; `sweep` removes older tables later."""
    with _explained(root):
        table = _create(root, space)
        writer = Writer(table)
        return _finish(table, writer, writer.add(added), space, tag)


def clean(root: Path, state: VectorState, space: EmbeddingSpace, kept: Mapping[str, int], tag: str) -> VectorState:
    """Rewrite a state to few files; remove the versions before the oldest in `kept`, which are versions by tag.

    Other tags are deleted first, because LanceDB keeps all versions after the oldest tagged one.
    """
    with _explained(root):
        table = _open(root, state)
        _take_back(table, state)
        _untag(table, kept)
        writer = Writer(table)
        writer.clean(min([state.version, *kept.values()]))
        return _finish(table, writer, state.rows, space, tag)


def prune(root: Path, state: VectorState, kept: Mapping[str, int]) -> None:
    """Remove the versions before the oldest in `kept`, which are versions by tag; the state stays unchanged."""
    with _explained(root):
        table = _open(root, state)
        _untag(table, kept)
        Writer(table).prune(min([state.version, *kept.values()]))


def _untag(table: Any, kept: Mapping[str, int]) -> None:
    for name in table.tags.list():
        if name not in kept:
            with boundary("lance untag"):
                table.tags.delete(name)


def tag(root: Path, state: VectorState, name: str) -> None:
    """Add a tag that keeps the version of a state."""
    with _explained(root):
        tags = _open(root, state).tags
        with boundary("lance tag"):
            (tags.update if name in tags.list() else tags.create)(name, state.version)


def untag(root: Path, state: VectorState, name: str) -> None:
    """Delete a tag if it exists."""
    with _explained(root):
        tags = _open(root, state).tags
        if name in tags.list():
            with boundary("lance untag"):
                tags.delete(name)


def sweep(root: Path, named: Collection[VectorState]) -> list[str]:
    """Drop the tables that none of the `named` states uses; return their names."""
    garbage = sorted(set(_tables(root)) - {state.table for state in named})
    with _explained(root):
        for name in garbage:
            with boundary("lance drop"):
                _connect(root).drop_table(name)
    return garbage


def _finish(table: Any, writer: Writer, rows: int, space: EmbeddingSpace, tag: str) -> VectorState:
    writer.compact()
    writer.index(rows, kind_of(space))
    writer.keep(rows, tag)
    return VectorState(table.name, writer.version, rows)


class VectorIndex:
    """A reader of one state; later writes do not affect it. With `only`, it shows only these chunks."""

    def __init__(
        self, root: Path, state: VectorState, space: EmbeddingSpace, only: frozenset[str] | None = None
    ) -> None:
        _check_space(state, space)
        self._root = root
        self._only = only
        self._rows = state.rows
        self._each = 1.0  # rows per chunk, estimated from the fetches so far
        self._fetches = 0
        self._dimension = space.dimension
        with _explained(root):
            self._table = _open(root, state)
            self._table.checkout(state.version)
            indices = [index for index in self._table.list_indices() if "vector" in index.columns]
            self._indexed = bool(indices)
            self._index = max((str(index.name) for index in indices), default="")
            self._unindexed = max((int(index.num_unindexed_rows) for index in indices), default=0)
            self._refined = refined(min(map(bits_of, indices), default=0))
            # A table that another program has changed must not answer as if it were complete.
            held = self._table.count_rows()
        if held != state.rows:
            raise StoreError(f"version {state.version} of {state.table} has {held} rows, not {state.rows}")

    def search(
        self, vector: npt.NDArray[np.float32], k: int, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return (chunk id, cosine similarity) of the `k` chunks nearest to a unit vector; equal scores by id.

        A chunk is as similar as the best of its vectors. With `allowed`, only these chunks are ranked, without the
        index, which misses rows if there is a filter.
        """
        if vector.shape != (self._dimension,):
            raise QueryError(f"the query vector has shape {vector.shape}, the store's are ({self._dimension},)")
        allowed = self._only if allowed is None else allowed
        if k < 1 or not self._rows or (allowed is not None and not allowed):
            return []
        with _explained(self._root):
            if not self._indexed:
                return self._matrix.search(vector, k, allowed)
            if allowed is not None and len(allowed) * _SELECTED_SHARE <= self._rows:
                return self._nearest(vector, k, where=among(sorted(set(allowed))))
            return self._nearest(vector, k, None if allowed is None else frozenset(allowed))

    @computed_once
    def _matrix(self) -> FlatIndex:
        return FlatIndex(self._table.search().select(["chunk_id", "vector"]).limit(self._rows).to_arrow())

    def _nearest(
        self, vector: npt.NDArray[np.float32], k: int, wanted: frozenset[str] | None = None, where: str = ""
    ) -> list[tuple[str, float]]:
        """Fetch more rows until the k-th hit is above everything that was not fetched, so that ties are complete."""
        limit = int(k * self._each * (1.0 if wanted is None else self._fetched_for(wanted))) + _TIE_MARGIN
        exact = bool(where) or wanted is not None
        while True:
            fetched = self._fetch(vector, min(limit, self._rows), where, exact)
            best: dict[str, float] = {}
            for key, score in fetched:
                best.setdefault(key, score)
            # Remembered for the next search: chunks with parts take several rows of every fetch.
            self._each = max(self._each, len(fetched) / max(1, len(best)))
            hits = [hit for hit in best.items() if wanted is None or hit[0] in wanted]
            # Strictly above: there may be more ties with the last row fetched that were not fetched.
            if len(fetched) < limit or (len(hits) >= k and hits[k - 1][1] > fetched[-1][1]):
                return hits[:k]
            limit *= _NEXT_FETCH

    def _fetched_for(self, wanted: Collection[str]) -> float:
        """Return how many rows to fetch for each of the wanted ones."""
        return _FIRST_FETCH / min(1.0, len(wanted) / self._rows)

    def _fetch(self, vector: npt.NDArray[np.float32], limit: int, where: str, exact: bool) -> list[tuple[str, float]]:
        self._fetches += 1
        known = self._ids_by_row if self._fetches > _IDS_AFTER and self._rows <= _MOST_IDS else None
        # Not `Table.search`, which would read the schema of the table to look for the column.
        query = _lancedb().query.LanceVectorQueryBuilder(self._table, vector, "vector").distance_type("dot")
        query = query.select(["_distance"] if known else ["chunk_id", "_distance"]).with_row_id(known is not None)
        times, rows = self._refined
        times = max(times, rows // limit)
        mapped = self._mapped if known and not exact else None
        if mapped:
            query = query.nprobes(_PROBES).limit(limit * times).fast_search()
        else:
            query = query.limit(limit)
            query = query.bypass_vector_index() if exact else query.nprobes(_PROBES).refine_factor(times)
        # Not `to_arrow`, which would read the schema twice, and that takes a twentieth of a hybrid search.
        found = (query.where(where, prefilter=True) if where else query).to_batches().read_all()
        distances = found.column("_distance").to_numpy()
        if known is None:
            return _ranked(found.column("chunk_id").to_pylist(), distances)
        numbers = found.column("_rowid").to_numpy()
        if mapped:
            numbers, distances = mapped.nearest(vector, numbers, limit)
        return _ranked(known.of(numbers), distances)

    @computed_once
    def _mapped(self) -> MappedVectors | None:
        """The vectors of the table read without LanceDB; None if `MappedVectors` cannot read its files."""
        with suppress(*UNREADABLE):
            folder, numbers = self._root / FOLDER / f"{self._table.name}.lance", self._ids_by_row.numbers
            mapped = MappedVectors(folder, int(self._table.version), self._index, self._dimension, numbers)
            taken = self._table.take_row_ids(mapped.samples.tolist()).select(["vector"]).with_row_id().to_arrow()
            flat = taken.column("vector").combine_chunks().flatten().to_numpy()
            held = mapped.at(taken.column("_rowid").to_numpy())
            same = held.dtype == flat.dtype and np.array_equal(held.reshape(-1), flat)
            if same and len(mapped.unindexed) == self._unindexed <= _MOST_UNINDEXED:
                return mapped
        return None

    @computed_once
    def _ids_by_row(self) -> "_IdsByRow":
        return _IdsByRow(self._table.search().select(["chunk_id"]).with_row_id(True).limit(self._rows).to_arrow())

    def held(self, ids: Collection[str]) -> set[str]:
        """Return the ids among `ids` of chunks that have a vector."""
        if not self._rows or not ids:
            return set()
        ids = ids if self._only is None else self._only.intersection(ids)
        with _explained(self._root):
            if not self._indexed:
                return self._matrix.held(ids)
            query = self._table.search().where(among(sorted(set(ids)))).select(["chunk_id"]).limit(self._rows)
            return set(query.to_arrow().column("chunk_id").to_pylist())

    def vectors_of(self, ids: Collection[str]) -> dict[str, npt.NDArray[np.float32]]:
        """Return the vectors of chunks, (n, dim) in the order of their parts; chunks without vectors are left out."""
        if not self._rows or not ids:
            return {}
        with _explained(self._root):
            if not self._indexed:
                return self._matrix.vectors_of(ids)
        return FlatIndex(self.rows_of(ids)).vectors_of(ids)

    def rows_of(self, ids: Collection[str]) -> pa.Table:
        """Return chunk_id and vector of some chunks; the rows of each are adjacent, in the order of its parts."""
        wanted = sorted(set(ids))
        with _explained(self._root):
            found = [self._selected(wanted[i : i + IDS_AT_ONCE]) for i in range(0, len(wanted), IDS_AT_ONCE)]
        # The parts of a chunk were written next to each other, and rewriting the table does not change their order.
        return pa.concat_tables(found).sort_by("_rowid").select(["chunk_id", "vector"])

    def _selected(self, ids: Sequence[str]) -> pa.Table:
        query = self._table.search().where(among(ids)).select(["chunk_id", "vector"])
        return query.with_row_id(True).limit(max(1, self._rows)).to_arrow()

    def version_of(self, tag: str) -> int | None:
        """Return the version that a tag keeps, or None if there is no such tag."""
        with _explained(self._root):
            held = self._table.tags.list().get(tag)
        return int(held["version"]) if held else None

    def rows(self) -> pa.Table:
        """Return chunk_id, document_id and vector of all rows, in no order."""
        columns = ["chunk_id", "document_id", "vector"]
        with _explained(self._root):
            # A search without a vector reads the version that was checked out.
            return self._table.search().select(columns).limit(max(1, self._rows)).to_arrow().select(columns)

    def chunk_ids(self) -> pa.Array:
        """Return the chunk ids of all rows, in no order."""
        with _explained(self._root):
            found = self._table.search().select(["chunk_id"]).limit(max(1, self._rows)).to_arrow()
        return found.column("chunk_id").combine_chunks()


class _IdsByRow:
    """The chunk ids of all rows of one version of a table, by LanceDB's row number."""

    def __init__(self, table: pa.Table) -> None:
        ordered = table.sort_by("_rowid").combine_chunks()
        self.numbers = ordered.column("_rowid").to_numpy()
        self._whole = len(ordered) > 0 and int(self.numbers[-1]) == len(ordered) - 1  # each number is its own place
        self._ids = ordered.column("chunk_id").combine_chunks()

    def of(self, numbers: npt.NDArray[np.uint64]) -> list[str]:
        """Return the chunk id of each row."""
        places = numbers if self._whole else self.numbers.searchsorted(numbers)
        found: list[str] = self._ids.take(pa.array(places)).to_pylist()
        return found


def _ranked(ids: list[str], distances: npt.NDArray[np.float32]) -> list[tuple[str, float]]:
    """Return ids with their cosines, the nearest first; equal distances are ordered by id."""
    nearest = sorted(zip(distances.tolist(), ids, strict=True))
    return [(key, 1.0 - distance) for distance, key in nearest]


def _prefix(space: EmbeddingSpace) -> str:
    return f"space_{space.id}_"


def _check_space(state: VectorState, space: EmbeddingSpace) -> None:
    if not state.table.startswith(_prefix(space)):
        raise StoreError(f"{state.table} holds vectors of another space than {space.id}; use the store's own model")


def _tables(root: Path) -> list[str]:
    return [path.stem for path in (root / FOLDER).glob("space_*.lance")]


def load_ahead() -> None:
    """Import LanceDB in a thread while other work waits for files or workers, so that a commit need not wait for it."""
    # Not a daemon thread: a process that ends while a library is being imported may crash.
    Thread(target=_lancedb, name="docmill-lancedb").start()


def _lancedb() -> Any:
    # Before the import, because its log messages would appear in the output of a command.
    os.environ.setdefault("LANCEDB_LOG", "error")
    return import_lancedb()


def _connect(root: Path) -> Any:
    return _lancedb().connect(root / FOLDER)


def _create(root: Path, space: EmbeddingSpace) -> Any:
    """Create an empty table under a name never used before, so that no older snapshot loses its own."""
    used = [int(name.rsplit("_", 1)[1]) for name in _tables(root) if name.startswith(_prefix(space))]
    name = f"{_prefix(space)}{max(used, default=0) + 1}"
    with boundary("lance create"):
        return _connect(root).create_table(name, schema=schema(space.dimension, space.indexed))


def _open(root: Path, state: VectorState) -> Any:
    folder = root / FOLDER / f"{state.table}.lance"
    if not folder.is_dir():  # checked before `connect`, which would create the folder
        raise StoreError(f"{folder} is missing; rebuild it with: docmill repair --store {root}")
    return _connect(root).open_table(state.table)


@contextmanager
def _explained(root: Path) -> Iterator[None]:
    """Turn every error of LanceDB into a `StoreError` that says what to do."""
    try:
        yield
    except (ValueError, RuntimeError, OSError) as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(root / FOLDER)) from error
        said = _SOURCE_PLACES.sub("", str(error).split("\n", 1)[0]).rpartition("Wrapped error: ")[2]
        raise StoreError(f"{root / FOLDER}: {said}; rebuild it with: docmill repair --store {root}") from error
