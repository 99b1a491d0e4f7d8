"""Vectors for tests of the index, and what numpy says of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.vectors import vectors
from docmill.storage.search.vectors.vectors import VectorState

DIMENSION = 32
SPACE = EmbeddingSpace("tests", "0" * 32, DIMENSION, True, 256)
Vectors = npt.NDArray[np.float32]


def unit(rows: int, seed: int, spread: float = 0.7) -> Vectors:
    """Make vectors in 20 heaps, as texts of 20 topics are."""
    draw = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((20, DIMENSION))
    found = topics[draw.integers(0, 20, rows)] + spread * draw.standard_normal((rows, DIMENSION))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def rows_of(held: dict[str, Vectors], batch_rows: int = 700) -> Iterator[pa.RecordBatch]:
    keys = list(held)
    for first in range(0, len(keys), batch_rows):
        some = keys[first : first + batch_rows]
        flat = pa.array(np.concatenate([held[key] for key in some]))
        column = pa.FixedSizeListArray.from_arrays(flat, DIMENSION)
        yield pa.RecordBatch.from_arrays(
            [pa.array(some), pa.array([key[:2] for key in some]), column], ["chunk_id", "document_id", "vector"]
        )


def named(matrix: Vectors, prefix: str = "c") -> dict[str, Vectors]:
    return {f"{prefix}{i:06d}": row for i, row in enumerate(matrix)}


def oracle(held: dict[str, Vectors], query: Vectors, k: int, allowed: Any = None) -> list[tuple[str, float]]:
    scores = {key: float(row @ query) for key, row in held.items() if allowed is None or key in allowed}
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]


def agree(found: list[tuple[str, float]], wanted: list[tuple[str, float]]) -> None:
    """Check the scores, and the ids but for the order of scores that only rounding tells apart."""
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-6)
    right = dict(wanted)
    for key, score in found:
        assert right.get(key, wanted[-1][1] if wanted else None) == pytest.approx(score, abs=1e-6)
    assert len(dict(found)) == len(found)


def build(root: Path, held: dict[str, Vectors], tag: str = "snapshot-000001") -> VectorState:
    return vectors.update(root, None, SPACE, (), rows_of(held), tag)


def opened(root: Path, state: VectorState) -> Any:
    """Open the table as a program would that knows nothing of docmill."""
    import lancedb

    return lancedb.connect(root / "vectors").open_table(state.table)
