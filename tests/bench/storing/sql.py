"""Measure what a process for statements costs: the same statements there and in this process.

    python -m tests.bench.storing.sql [--chunks N] [--turns N]

The store is one of `tests.bench.storing.store`. The two take turns, and the best turn of each counts. The process is
warm, as it is from the second statement on; the first waits for its start.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.sql.sandbox import KeptConnections, answered
from docmill.storage.sql.statement import Statement
from docmill.storage.sql.statement_pool import StatementPool
from tests.bench.storing.keywords import make_chunks
from tests.bench.storing.store import CHUNKS_PER_DOCUMENT, Shop
from tests.bench.storing.vectors import make_vectors
from tests.bench.table import Figure, show

_SEED = 7
_MORE_MS = 5.0
_STATEMENTS = (
    ("SELECT count(*) FROM chunks", False, _MORE_MS),
    ("ordinal < 5", True, _MORE_MS),
    ("SELECT chunk_id, text FROM chunks LIMIT 10000", False, None),  # all of its 9 MB pass through the socket
)
"""Statements, whether each is a predicate as in `where`, and the most milliseconds that its process may cost."""

Ask = Callable[[Statement], pa.Table]


def measure(count: int, turns: int, root: Path) -> list[Figure]:
    """Fill a store with `count` chunks and ask it."""
    texts = [text for _, text in make_chunks(count, np.random.default_rng(_SEED))]
    Shop(root, texts, make_vectors(count)).put(range(count // CHUNKS_PER_DOCUMENT))
    store, pool = open_store(root), StatementPool()
    files = {name: store.stored.paths(name) for name in SCHEMAS}
    first = _timed(lambda one: pool.ask(one, {}), Statement("SELECT 1", {}))
    figures = [Figure("the first statement, with the start of its process", first, "ms")]
    for sql, is_predicate, bound in _STATEMENTS:
        statement = Statement(sql, files, is_predicate=is_predicate)
        times = [(_timed(_here, statement), _timed(lambda one: pool.ask(one, {}), statement)) for _ in range(turns)]
        here, there = (min(column) for column in zip(*times, strict=True))
        figures += [
            Figure(f"`{sql}` in this process", here, "ms"),
            Figure(f"`{sql}` in a process of its own", there, "ms"),
            Figure(f"`{sql}`: what that costs more", there - here, "ms", bound),
        ]
    pool.close()
    return figures


def _here(statement: Statement) -> pa.Table:
    with answered(statement, {}, KeptConnections()) as (schema, batches):
        return pa.Table.from_batches(batches, schema)


def _timed(ask: Ask, statement: Statement) -> float:
    """Return the wall clock of one statement in milliseconds."""
    began = time.perf_counter()
    ask(statement)
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000, help="chunks in the store")
    parser.add_argument("--turns", type=int, default=60, help="times that each statement is asked")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show("SQL", measure(arguments.chunks, arguments.turns, Path(folder) / "store"))


if __name__ == "__main__":
    main()
