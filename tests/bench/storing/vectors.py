"""Measure the vector index against numpy on generated vectors, in one process and one run.

    python -m tests.bench.storing.vectors [--chunks N ...] [--queries N]

Vectors lie in heaps of near ones and have most of their variance in few directions, as those of texts do.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.vectors import vectors
from docmill.storage.search.vectors.vectors import VectorIndex, VectorState
from tests.bench.table import Figure, show

DIMENSION = 384
SPACE = EmbeddingSpace("bench", "0" * 32, DIMENSION, True, 256)
_HEAP = 1000  # vectors about one topic: so close that one bit a number tells few of them apart
_BATCH = 4096
Vectors = npt.NDArray[np.float32]


def make_vectors(count: int, seed: int = 7) -> Vectors:
    """Return float32 (count, 384), rows of unit norm."""
    draw = np.random.default_rng(seed)
    spectrum = (1 + np.arange(DIMENSION)) ** -0.35
    topics = draw.standard_normal((max(1, count // _HEAP), DIMENSION), dtype=np.float32) * spectrum
    rows = topics[draw.integers(0, len(topics), count)]
    rows += 0.5 * draw.standard_normal((count, DIMENSION), dtype=np.float32) * spectrum
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def rows_of(ids: list[str], matrix: Vectors) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the index."""
    for first in range(0, len(ids), _BATCH):
        some = pa.array(ids[first : first + _BATCH])
        flat = pa.array(matrix[first : first + _BATCH].reshape(-1))
        column = pa.FixedSizeListArray.from_arrays(flat, DIMENSION)
        yield pa.RecordBatch.from_arrays([some, some, column], ["chunk_id", "document_id", "vector"])


def timed(call: Callable[..., object], *arguments: object) -> float:
    """Return the wall clock of a call in milliseconds."""
    start = time.perf_counter()
    call(*arguments)
    return 1000 * (time.perf_counter() - start)


def measure(count: int, queries: int, root: Path) -> list[Figure]:
    """Build, search and change an index of `count` vectors."""
    drawn = make_vectors(count + queries)
    matrix, asked = drawn[:count], drawn[count:]
    ids = [f"{i:032x}" for i in range(count)]
    start = time.process_time()
    state = vectors.rebuild(root, SPACE, rows_of(ids, matrix), "snapshot-000001")
    built = time.process_time() - start
    opening = statistics.median(timed(VectorIndex, root, state, SPACE) for _ in range(5))
    index = VectorIndex(root, state, SPACE)
    first = timed(index.search, asked[0], 10)
    ours = [timed(index.search, query, 10) for query in asked]
    found = [{int(key, 16) for key, _ in index.search(query, 10)} for query in asked]
    right = [set(np.argpartition(-(matrix @ query), 10)[:10].tolist()) for query in asked]
    lost = 1 - sum(len(a & b) for a, b in zip(found, right, strict=True)) / (10 * queries)
    return [
        Figure("build, CPU for 100,000 vectors", built * 100_000 / count, "s"),
        Figure("open", opening, "ms", 60),
        Figure("first search", first, "ms"),
        Figure("search, top 10, p50", statistics.median(ours), "ms", 20),
        Figure("1 - recall@10 against all vectors", lost, "", 0.02),
        *_filtered(index, ids, asked),
        *_commits(root, state, ids, matrix),
    ]


def _filtered(index: VectorIndex, ids: list[str], asked: Vectors) -> Iterator[Figure]:
    draw = np.random.default_rng(1)
    for part in (0.001, 0.01, 0.1):
        allowed = set(draw.choice(ids, int(part * len(ids)), replace=False).tolist())
        spent = [timed(index.search, query, 10, allowed) for query in asked[:20]]
        yield Figure(f"exact search of {part:.1%} of the chunks, p50", statistics.median(spent), "ms")


def _commits(root: Path, state: VectorState, ids: list[str], matrix: Vectors) -> Iterator[Figure]:
    for count in (10, len(ids) // 100):
        spent = []
        for turn in range(5):
            old, ids = ids[:count], [*ids[count:], *(f"new-{count}-{turn}-{i}" for i in range(count))]
            start = time.perf_counter()
            state = vectors.update(
                root, state, SPACE, old, rows_of(ids[-count:], matrix[:count]), f"turn-{count}-{turn}"
            )
            spent.append(1000 * (time.perf_counter() - start))
        yield Figure(f"commit that replaces {count:,} chunks, p50", statistics.median(spent), "ms")


def main() -> None:
    """Parse the arguments and print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[20_000, 100_000], help="sizes of the index")
    parser.add_argument("--queries", type=int, default=100, help="queries for each size")
    arguments = parser.parse_args()
    for count in arguments.chunks:
        with tempfile.TemporaryDirectory() as folder:
            show(f"Vectors, {count:,} chunks", measure(count, arguments.queries, Path(folder)))


if __name__ == "__main__":
    main()
