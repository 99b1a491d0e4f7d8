"""The vector index: a LanceDB table, of which each snapshot names one version.

Tables and artifacts are the truth; this can be dropped and rebuilt. A version is a commit of LanceDB's
own, kept by a tag; whatever a writer that died left above the snapshot's version is taken back.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from storage.encoder import EmbeddingSpace
from storage.errors import StoreError

FOLDER = "vectors"
INDEX_ROWS = 100_000
_SLICE = 5_000
_FEW = 2_000


@dataclass(frozen=True, slots=True)
class VectorState:
    """One state of the index: a table of LanceDB, its version, and the rows it holds."""

    table: str
    version: int
    rows: int


def schema(dimension: int) -> pa.Schema:
    """Return the columns of the table."""
    return pa.schema(
        [("chunk_id", pa.string()), ("document_id", pa.string()), ("vector", pa.list_(pa.float32(), dimension))]
    )


def _connect(root: Path) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # it warns of tables that it is about to create
    import lancedb

    return lancedb.connect(root / FOLDER)


def update(
    root: Path,
    state: VectorState | None,
    space: EmbeddingSpace,
    removed: Collection[str],
    added: Iterable[pa.RecordBatch],
    tag: str,
) -> VectorState:
    """Return the state without the chunks `removed` and with `added`: batches of chunk_id, document_id, vector.

    `tag` keeps the new version. Raises `StoreError` when somebody else writes to the table meanwhile.
    """
    with _explained(root):
        table = _create(root, space) if state is None else _return_to(root, state)
        fence = Fence(table)
        for part in _slices(sorted(removed)):
            fence.step(partial(table.delete, _among(part)))
        batches = iter(added)
        first = next(batches, None)
        if first is not None:
            reader = pa.RecordBatchReader.from_batches(schema(space.dimension), _cast(first, batches, space.dimension))
            fence.step(lambda: table.add(reader))
        _index(table, fence)
        _tag(table, tag)
        return VectorState(table.name, fence.version, table.count_rows())


def rebuild(root: Path, space: EmbeddingSpace, added: Iterable[pa.RecordBatch], tag: str) -> VectorState:
    """Return a state that holds `added` alone; the table of the space is made anew."""
    return update(root, None, space, (), added, tag)


class Fence:
    """Sees to it that every version of the table is ours: the next one after the last."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.version: int = table.version

    def step(self, write: Any) -> None:
        """Make one write, which makes one version."""
        write()
        self._table.checkout_latest()
        if self._table.version != self.version + 1:
            raise StoreError(
                f"vector table {self._table.name} went from version {self.version} to {self._table.version}: "
                "another program writes to it; run again when it has stopped"
            )
        self.version += 1


def _create(root: Path, space: EmbeddingSpace) -> Any:
    return _connect(root).create_table(f"chunks_{space.id[:16]}", schema=schema(space.dimension), mode="overwrite")


def _return_to(root: Path, state: VectorState) -> Any:
    """Open the table at the version of a snapshot; versions above it were never committed."""
    table = _connect(root).open_table(state.table)
    if table.version != state.version:
        table.checkout(state.version)
        table.restore()
    return table


def _index(table: Any, fence: Fence) -> None:
    """Index a table that has grown past brute force; rows that came later are found without."""
    if table.count_rows() < INDEX_ROWS or table.list_indices():
        return
    from lancedb.index import IvfRq

    fence.step(lambda: table.create_index("vector", config=IvfRq(distance_type="dot")))


def _tag(table: Any, tag: str) -> None:
    if tag in table.tags.list():  # of a commit that died before its snapshot was put
        table.tags.delete(tag)
    table.tags.create(tag, table.version)


def _slices(ids: list[str]) -> Iterator[list[str]]:
    return (ids[first : first + _SLICE] for first in range(0, len(ids), _SLICE))


def _among(ids: Iterable[str]) -> str:
    return f"chunk_id IN ({', '.join(repr(key) for key in ids)})"


def _cast(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], dimension: int) -> Iterator[pa.RecordBatch]:
    for batch in (first, *rest):
        yield batch.cast(schema(dimension))


@contextmanager
def _explained(root: Path) -> Iterator[None]:
    """Turn what LanceDB raises into one kind of error."""
    try:
        yield
    except (ValueError, RuntimeError, OSError) as error:
        said = str(error).split("\n")[0]
        raise StoreError(f"{root / FOLDER}: {said}; rebuild it with: docmill repair --store {root}") from error


class VectorIndex:
    """A reader of one state; it keeps answering from it whatever writers do meanwhile."""

    def __init__(self, root: Path, state: VectorState, space: EmbeddingSpace) -> None:
        self.root = root
        self.space = space
        with _explained(root):
            self._table = _connect(root).open_table(state.table)
            self._table.checkout(state.version)
            self._rows = self._table.count_rows()
        if self._rows != state.rows:
            raise StoreError(f"vector table {state.table} has {self._rows} rows, not {state.rows}")

    def search(
        self, vector: npt.NDArray[np.float32], k: int, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return (chunk id, cosine similarity) of the nearest `k`, best first, equal ones by id.

        With `allowed` the search is exact: an index would lose rows that a filter makes rare.
        """
        with _explained(self.root):
            if allowed is None:
                return self._nearest(vector, k)
            if len(allowed) <= _FEW:
                return self._nearest(vector, k, _among(sorted(allowed)))
            return self._filtered(vector, k, allowed)

    def _filtered(self, vector: npt.NDArray[np.float32], k: int, allowed: Collection[str]) -> list[tuple[str, float]]:
        """Take ever more of the nearest until `k` of them are allowed."""
        wanted, limit = set(allowed), 10 * k
        while True:
            hits = [hit for hit in self._nearest(vector, limit, exact=True) if hit[0] in wanted]
            if len(hits) >= k or limit >= self._rows:
                return hits[:k]
            limit *= 4

    def _nearest(
        self, vector: npt.NDArray[np.float32], k: int, where: str = "", exact: bool = False
    ) -> list[tuple[str, float]]:
        if not self._rows or k < 1:
            return []
        query = self._table.search(vector, vector_column_name="vector").distance_type("dot")
        query = query.select(["chunk_id", "_distance"]).limit(min(k, self._rows))
        if where:
            query = query.where(where, prefilter=True)
        query = query.bypass_vector_index() if where or exact or self._rows < INDEX_ROWS else query.refine_factor(10)
        found = query.to_arrow()
        ids, distances = found.column("chunk_id").to_pylist(), found.column("_distance").to_pylist()
        return sorted(((key, 1.0 - far) for key, far in zip(ids, distances, strict=True)), key=lambda h: (-h[1], h[0]))

    def chunk_ids(self) -> pa.Array:
        """Return the ids of the chunks in the index."""
        with _explained(self.root):
            return self._table.search().select(["chunk_id"]).limit(max(self._rows, 1)).to_arrow().column(0)
