"""All vectors of a small table in memory: nearest rows by comparing with every one."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_ROUNDING = 1e-5  # more than float32 sums of 10,000 products are off


class Matrix:
    """Unit vectors, float32 (n, dim), and their chunk ids."""

    def __init__(self, table: pa.Table) -> None:
        table = table.sort_by("chunk_id").combine_chunks()  # so that the earlier row wins a tie
        self._ids = table.column("chunk_id").combine_chunks()
        flat = table.column("vector").combine_chunks().flatten()
        self._vectors = np.asarray(flat, dtype=np.float32).reshape(table.num_rows, -1)

    def search(
        self, vector: npt.NDArray[np.float32], k: int, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return (chunk id, cosine similarity) of the nearest `k` rows, of the `allowed` ones if given."""
        scores = self._vectors @ vector
        rows = np.arange(len(scores)) if allowed is None else self._rows(allowed)
        if len(rows) > k:
            least = np.partition(scores[rows], -k)[-k]
            rows = rows[scores[rows] >= least - _ROUNDING]
        exact = (self._vectors[rows].astype(np.float64) * vector).sum(axis=1)  # equal for equal vectors, `@` is not
        best = np.argsort(-exact, kind="stable")[:k]
        return list(zip(self._ids.take(pa.array(rows[best])).to_pylist(), exact[best].tolist(), strict=True))

    def _rows(self, allowed: Collection[str]) -> npt.NDArray[np.int64]:
        found = pc.index_in(pa.array(list(allowed), pa.string()), value_set=self._ids).drop_null()
        return np.unique(found.to_numpy().astype(np.int64))
