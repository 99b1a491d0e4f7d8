"""Measure searches of very many generated vectors, which are drawn batch by batch and need not fit in memory."""

import os
import resource
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from docmill.storage.files import disk_use
from docmill.storage.search.vectors import vectors
from docmill.storage.search.vectors.vectors import VectorIndex
from tests.bench.storing.millions.noop import sampling
from tests.bench.storing.vectors import DIMENSION, SPACE, Vectors, rows_of, timed
from tests.bench.table import Figure

_AT_ONCE = 100_000
_HEAP = 1000  # vectors about one topic
_QUERIES, _TOP = 50, 10
_SPECTRUM = (1 + np.arange(DIMENSION)) ** -0.35


def measure(count: int, folder: Path) -> list[Figure]:
    """Build an index of so many vectors and search it; it is removed afterwards."""
    root = folder / f"search-{count}"
    shutil.rmtree(root, ignore_errors=True)
    try:
        return _measured(count, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _measured(count: int, root: Path) -> list[Figure]:
    began = time.perf_counter()
    with sampling(os.getpid()) as building:
        state = vectors.rebuild(root, SPACE, _rows(count), "snapshot-000001")
    built = time.perf_counter() - began
    index = VectorIndex(root, state, SPACE)
    asked = _drawn(count, -1)[:_QUERIES]
    first = timed(index.search, asked[0], _TOP)
    with sampling(os.getpid()) as searching:
        times = [timed(index.search, query, _TOP) for query in asked]
    found = [{int(key, 16) for key, _ in index.search(query, _TOP)} for query in asked]
    recall = sum(len(a & b) for a, b in zip(_nearest(count, asked), found, strict=True)) / (_TOP * _QUERIES)
    return [
        Figure("build, wall", built, "s"),
        Figure("build, memory of its own", building[0] / 1e6, "MB"),
        Figure("bytes on disk for each vector", disk_use(root) / count, "B"),
        Figure("first search", first, "ms"),
        Figure(f"search, top {_TOP}, p50", statistics.median(times), "ms", 20),
        Figure("search, p95", float(np.quantile(times, 0.95)), "ms"),
        Figure(f"1 - recall@{_TOP} against all vectors", 1 - recall, "", 0.02),
        Figure("memory of its own while it searches", searching[0] / 1e6, "MB"),
        Figure("peak of resident memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, "MB"),
    ]


def _drawn(count: int, batch: int) -> Vectors:
    """Return a batch of the vectors, of unit norm, in heaps of near ones; batch -1 is not in the index."""
    topics = np.random.default_rng(7).standard_normal((max(1, count // _HEAP), DIMENSION), dtype=np.float32) * _SPECTRUM
    draw = np.random.default_rng([7, batch + 1])
    size = min(_AT_ONCE, count - max(batch, 0) * _AT_ONCE)
    rows = topics[draw.integers(0, len(topics), size)]
    rows += 0.5 * draw.standard_normal((size, DIMENSION), dtype=np.float32) * _SPECTRUM
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _batches(count: int) -> Iterator[tuple[int, Vectors]]:
    return ((number * _AT_ONCE, _drawn(count, number)) for number in range(-(-count // _AT_ONCE)))


def _rows(count: int) -> Iterator[pa.RecordBatch]:
    for first, drawn in _batches(count):
        yield from rows_of([f"{first + place:032x}" for place in range(len(drawn))], drawn)


def _nearest(count: int, asked: Vectors) -> list[set[int]]:
    """Return the numbers of the vectors nearest to each query, by comparing it with all of them."""
    scores, numbers = np.full((len(asked), _TOP), -np.inf, np.float32), np.zeros((len(asked), _TOP), np.int64)
    for first, drawn in _batches(count):
        both = np.concatenate([scores, asked @ drawn.T], axis=1)
        here = np.broadcast_to(first + np.arange(len(drawn)), (len(asked), len(drawn)))
        named = np.concatenate([numbers, here], axis=1)
        best = np.argpartition(-both, _TOP, axis=1)[:, :_TOP]
        scores, numbers = np.take_along_axis(both, best, 1), np.take_along_axis(named, best, 1)
    return [set(row) for row in numbers.tolist()]
