"""Flat index: all vectors of a small table in memory; a search compares the query with every one of them."""

from bisect import bisect_left
from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.process.library_threads import one_blas_thread

_ROUNDING = 1e-5  # larger than the error of float32 sums of 10,000 products


class FlatIndex:
    """Unit vectors, float32 (n, dim), and their chunk ids. A chunk is as similar as the best of its vectors."""

    def __init__(self, table: pa.Table) -> None:
        table = table.sort_by("chunk_id").combine_chunks()  # so that the earlier row wins a tie
        runs = pc.run_end_encode(table.column("chunk_id").combine_chunks())
        self._ids = runs.values
        ends = np.asarray(runs.run_ends, np.int64)
        self._starts, self._counts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]), np.diff(ends, prepend=0)
        flat = table.column("vector").combine_chunks().flatten()
        dimension = table.schema.field("vector").type.list_size
        self._vectors = np.asarray(flat, dtype=np.float32).reshape(table.num_rows, dimension)

    def search(
        self, vector: npt.NDArray[np.float32], k: int, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return (chunk id, cosine similarity) of the nearest `k` chunks, only among `allowed` if given."""
        chunks = np.arange(len(self._ids)) if allowed is None else self._chunks(allowed)
        if not len(chunks):
            return []
        with one_blas_thread():  # with 16 parallel searches, a second thread makes a product take six times the CPU
            similar = self._vectors @ vector
        scores = np.maximum.reduceat(similar, self._starts)
        if len(chunks) > k:
            least = np.partition(scores[chunks], -k)[-k]
            chunks = chunks[scores[chunks] >= least - _ROUNDING]
        exact = self._exact(vector, chunks, similar)
        best = np.argsort(-exact, kind="stable")[:k]
        return list(zip(self._ids.take(pa.array(chunks[best])).to_pylist(), exact[best].tolist(), strict=True))

    def held(self, ids: Collection[str]) -> set[str]:
        """Return the ids among `ids` of chunks that have a vector."""
        return set(self._ids.take(pa.array(self._chunks(ids))).to_pylist())

    def vectors_of(self, ids: Collection[str]) -> dict[str, npt.NDArray[np.float32]]:
        """Return the vectors of chunks, (n, dim), in the order of the table's rows; chunks without one are left out."""
        found = {}
        for key in ids:
            place = bisect_left(self._ids, key, key=lambda one: one.as_py())
            if place < len(self._ids) and self._ids[place].as_py() == key:
                first = self._starts[place]
                found[key] = self._vectors[first : first + self._counts[place]]
        return found

    def _exact(
        self, vector: npt.NDArray[np.float32], chunks: npt.NDArray[np.int64], similar: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float64]:
        """Return the cosine of each chunk, bit-equal for equal vectors, which `@` does not guarantee.

        Only vectors that may be the nearest of their chunk, according to `similar`, are computed again.
        """
        counts = self._counts[chunks]
        first = np.cumsum(counts) - counts
        rows = np.repeat(self._starts[chunks] - first, counts) + np.arange(counts.sum())
        near = similar[rows] >= np.repeat(np.maximum.reduceat(similar[rows], first), counts) - _ROUNDING
        products = (self._vectors[rows[near]].astype(np.float64) * vector).sum(axis=1)
        owners = np.repeat(np.arange(len(chunks)), counts)[near]
        found: npt.NDArray[np.float64] = np.maximum.reduceat(products, np.flatnonzero(np.diff(owners, prepend=-1)))
        return found

    def _chunks(self, allowed: Collection[str]) -> npt.NDArray[np.int64]:
        found = pc.index_in(pa.array(list(allowed), pa.string()), value_set=self._ids).drop_null()
        return np.unique(found.to_numpy().astype(np.int64))
