"""Compare vector stores on the same chunks: `python -m tests.bench.storing.targets [--chunks N] [--queries N]`.

Generated vectors of 384 numbers go into docmill's own index, and by the code of `docmill export` into LanceDB, DuckDB
(from the exported Parquet file), PostgreSQL with pgvector and the local mode of Qdrant's client. Each is asked the same
queries for ten chunks, of all and of the tenth whose `content_type` is code. Recall is against all vectors in numpy.
docmill's filter is given as ids, which a search gets from SQL first. What cannot be started here is left out.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

from docmill.storage.exports.columns import row_schema
from docmill.storage.exports.export import destination_of
from docmill.storage.exports.last_export import Revision, Stamp
from docmill.storage.search.vectors import vectors as lance_vectors
from docmill.storage.search.vectors.vectors import VectorIndex
from tests.bench.storing.vectors import DIMENSION, SPACE, Vectors, make_vectors, rows_of
from tests.exports.postgres_server import postgres_server

_K = 10
_AT_ONCE = 5_000  # rows of a table that is handed to an export
_CODE_EVERY = 10
_CONDITION = "content_type = 'code'"
Ask = Callable[[Any, bool], Sequence[str]]
"""Returns the ids of the nearest chunks of a vector, of all or of those that are code."""


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunk ids and their vectors; every tenth is code."""

    ids: list[str]
    matrix: Vectors

    @property
    def code(self) -> list[int]:
        """The numbers of those that are code."""
        return [*range(0, len(self.ids), _CODE_EVERY)]

    @property
    def stamp(self) -> Stamp:
        """What an export of them says of itself."""
        return Stamp("bench", 1, len(self.ids), None, None, SPACE.id, SPACE.model, DIMENSION)

    def tables(self) -> Iterator[pa.Table]:
        """Yield them as the rows of an export, with texts of some 60 words."""
        for first in range(0, len(self.ids), _AT_ONCE):
            some = range(first, min(first + _AT_ONCE, len(self.ids)))
            rows = [self._row(number) for number in some]
            flat = pa.array(self.matrix[some.start : some.stop].reshape(-1))
            columns = [pa.array([row[name] for row in rows], kind) for name, kind in _kinds()]
            vectors = pa.FixedSizeListArray.from_arrays(flat, DIMENSION)
            yield pa.table([*columns, vectors], schema=row_schema(DIMENSION))

    def _row(self, number: int) -> dict[str, Any]:
        text = f"Paragraph {number} of the manual. " + "The mill turns its wheel by day and night. " * 6
        kind = "narrative" if number % _CODE_EVERY else "code"
        return {
            "chunk_id": self.ids[number], "uri": f"manual/{number // 50}.md", "source_url": "", "start_char": 0,
            "end_char": len(text), "page": None, "headings": ["Manual"], "text": text, "context": "Manual",
            "content_type": kind, "strategy": "structure", "language": "", "lang": "en", "figures": [], "snapshot": 1,
            "digest": self.ids[number],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ready:
    """A store that can be asked, its bytes on disk, and the seconds in which it was built."""

    ask: Ask
    size: int
    built: float


def _kinds() -> list[tuple[str, pa.DataType]]:
    return [(one.name, one.type) for one in row_schema(DIMENSION) if one.name != "vector"]


def _export(chunks: Chunks, to: str) -> None:
    target = destination_of(to, None)
    with target.claimed():
        target.apply(Revision(chunks.stamp, (), anew=True), chunks.tables())


@contextmanager
def docmill(chunks: Chunks, folder: Path) -> Iterator[Ready]:
    """docmill's own index, as a store builds and asks it."""
    begun = time.perf_counter()
    state = lance_vectors.rebuild(folder, SPACE, rows_of(chunks.ids, chunks.matrix), "snapshot-000001")
    built = time.perf_counter() - begun
    index, code = VectorIndex(folder, state, SPACE), {chunks.ids[one] for one in chunks.code}

    def ask(query: Any, only: bool) -> Sequence[str]:
        return [key for key, _ in index.search(query, _K, code if only else None)]

    yield Ready(ask, _size(folder), built)


@contextmanager
def lancedb(chunks: Chunks, folder: Path) -> Iterator[Ready]:
    """The exported table of LanceDB, which has no index."""
    import lancedb as library

    begun = time.perf_counter()
    _export(chunks, f"lancedb:{folder / 'base'}")
    built = time.perf_counter() - begun
    table = library.connect(folder / "base").open_table("chunks")

    def ask(query: Any, only: bool) -> Sequence[str]:
        asked: Any = table.search(query)
        asked = asked.distance_type("cosine").select(["chunk_id"]).limit(_K)
        found: list[str] = (
            (asked.where(_CONDITION, prefilter=True) if only else asked).to_arrow()["chunk_id"].to_pylist()
        )
        return found

    yield Ready(ask, _size(folder), built)


@contextmanager
def duckdb(chunks: Chunks, folder: Path) -> Iterator[Ready]:
    """A table of DuckDB, read from an exported Parquet file."""
    import duckdb as library

    begun = time.perf_counter()
    _export(chunks, f"{folder / 'chunks.parquet'}")
    file = folder / "base.duckdb"
    with library.connect(file) as base:
        source = f"read_parquet('{folder / 'chunks.parquet'}')"
        base.execute(f"CREATE TABLE chunks AS SELECT * REPLACE (vector::FLOAT[{DIMENSION}] AS vector) FROM {source}")
        base.execute("CHECKPOINT")
        built = time.perf_counter() - begun

        def ask(query: Any, only: bool) -> Sequence[str]:
            order = f"array_inner_product(vector, ?::FLOAT[{DIMENSION}]) DESC"
            where = f"WHERE {_CONDITION}" if only else ""
            rows = base.execute(f"SELECT chunk_id FROM chunks {where} ORDER BY {order} LIMIT {_K}", [query.tolist()])
            return [key for (key,) in rows.fetchall()]

        yield Ready(ask, _size(file), built)


@contextmanager
def qdrant(chunks: Chunks, folder: Path) -> Iterator[Ready]:
    """A collection in the local mode of Qdrant's client, which is no server and has no index."""
    from qdrant_client import QdrantClient, models

    begun = time.perf_counter()
    _export(chunks, f"qdrant:{folder / 'points'}")
    built = time.perf_counter() - begun
    client = QdrantClient(path=str(folder / "points"))
    match = models.FieldCondition(key="content_type", match=models.MatchValue(value="code"))

    def ask(query: Any, only: bool) -> Sequence[str]:
        chosen = models.Filter(must=[match]) if only else None
        found = client.query_points("chunks", query=query.tolist(), query_filter=chosen, limit=_K, with_payload=False)
        return [UUID(str(one.id)).hex for one in found.points]

    yield Ready(ask, _size(folder), built)
    client.close()


@contextmanager
def pgvector(chunks: Chunks, _: Path, indexed: bool = False) -> Iterator[Ready]:
    """A table of PostgreSQL, with pgvector's index `hnsw` if `indexed`, which may miss some of the nearest."""
    import psycopg

    with ExitStack() as stack:
        address = stack.enter_context(postgres_server())
        begun = time.perf_counter()
        _export(chunks, address)
        base = stack.enter_context(psycopg.connect(address, autocommit=True))
        if indexed:
            base.execute("CREATE INDEX ON chunks USING hnsw (vector vector_cosine_ops)")
            with suppress(psycopg.Error):  # before pgvector 0.8, a filter loses rows
                base.execute("SET hnsw.iterative_scan = strict_order")
        base.execute("ANALYZE chunks")
        built = time.perf_counter() - begun
        size = base.execute("SELECT pg_total_relation_size('chunks')").fetchone()
        assert size is not None

        def ask(query: Any, only: bool) -> Sequence[str]:
            where = f"WHERE {_CONDITION}" if only else ""
            statement = f"SELECT chunk_id FROM chunks {where} ORDER BY vector <=> %s::vector LIMIT {_K}"
            return [key for (key,) in base.execute(statement.encode(), [str(query.tolist())]).fetchall()]

        yield Ready(ask, int(size[0]), built)


STORES: dict[str, Callable[[Chunks, Path], AbstractContextManager[Ready]]] = {
    "docmill (LanceDB)": docmill,
    "LanceDB": lancedb,
    "DuckDB": duckdb,
    "pgvector": pgvector,
    "pgvector, hnsw": lambda chunks, folder: pgvector(chunks, folder, indexed=True),
    "Qdrant, local mode": qdrant,
}
HEAD = ("store", "build s", "MB", "p50 ms", "p99 ms", "recall@10", "filtered p50 ms", "p99 ms", "recall@10")


def measured(name: str, chunks: Chunks, queries: Vectors) -> list[str]:
    """Return the row of a store; raise `pytest.skip.Exception` or `ImportError` where it cannot be started."""
    with tempfile.TemporaryDirectory() as temporary, STORES[name](chunks, Path(temporary)) as ready:
        own = [cell for only in (False, True) for cell in _asked(ready.ask, chunks, queries, only)]
        return [name, f"{ready.built:.1f}", f"{ready.size / 1e6:.0f}", *own]


def _asked(ask: Ask, chunks: Chunks, queries: Vectors, only: bool) -> Iterator[str]:
    rows = np.array(chunks.code) if only else np.arange(len(chunks.ids))
    ask(queries[0], only)  # what is loaded with the first question is no part of the others
    times, hits = list[float](), 0
    for query in queries:
        begun = time.perf_counter()
        found = ask(query, only)
        times.append(1000 * (time.perf_counter() - begun))
        best = rows[np.argsort(-(chunks.matrix[rows] @ query), kind="stable")[:_K]]
        hits += len({*found} & {chunks.ids[one] for one in best})
    yield f"{statistics.median(times):.1f}"
    yield f"{np.percentile(times, 99):.1f}"
    yield f"{hits / (_K * len(queries)):.3f}"


def _size(place: Path) -> int:
    return sum(path.stat().st_size for path in ([place] if place.is_file() else place.rglob("*")) if path.is_file())


def make_chunks(count: int, queries: int) -> tuple[Chunks, Vectors]:
    """Return chunks and the vectors of queries about the same topics."""
    drawn = make_vectors(count + queries)
    return Chunks([f"{number:032x}" for number in range(count)], drawn[:count]), drawn[count:]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("stores", nargs="*", help="beginnings of the names of stores; all unless given")
    given = parser.parse_args()
    chunks, queries = make_chunks(given.chunks, given.queries)
    print(f"\n## {given.chunks:,} chunks, {given.queries} queries\n\n| {' | '.join(HEAD)} |\n|---|{'---:|' * 8}")
    for name in STORES:
        if given.stores and not name.startswith(tuple(given.stores)):
            continue
        try:
            print("|", " | ".join(measured(name, chunks, queries)), "|", flush=True)
        except (pytest.skip.Exception, ImportError) as error:
            print(f"| {name} | {error} |" + " |" * 7, flush=True)


if __name__ == "__main__":
    main()
