"""Measure the keyword index against `rank_bm25` on generated chunks, in one process and one run.

    python -m tests.bench.storing.keywords [--chunks N ...] [--queries N]

Words follow Zipf's law over a vocabulary that grows with the corpus; a query is five different words of one chunk,
so common words come up as often as they are written. Ratios are of medians over the same queries.
"""

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from rank_bm25 import BM25Okapi

from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import rebuild, update
from docmill.storage.search.keywords.segments.state import KeywordState
from tests.bench.table import Figure, show

_CONSONANTS, _VOWELS = "bdfghklmnprstvwz", "aeiou"
_MODEL_QUERIES = 15
_TOP = 10


def make_words(size: int, rng: np.random.Generator) -> list[str]:
    """Return distinct words of two to five syllables."""
    words: dict[str, None] = {}
    while len(words) < size:
        syllables = zip(rng.integers(0, 16, 5), rng.integers(0, 5, 5), strict=True)
        letters = [_CONSONANTS[consonant] + _VOWELS[vowel] for consonant, vowel in syllables]
        words["".join(letters[: rng.integers(2, 6)])] = None
    return list(words)


def make_chunks(count: int, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Yield (chunk id, text) pairs of 40 to 180 words, as sentences."""
    words = np.array(make_words(10_000 + count // 2, rng), object)
    share = 1 / (np.arange(len(words)) + 2.7)
    lasts = np.cumsum(share / share.sum())
    for number in range(count):
        length = int(rng.integers(40, 181))
        picked = words[np.searchsorted(lasts, rng.random(length)).clip(max=len(words) - 1)]
        sentences = (" ".join(picked[start : start + 12]).capitalize() for start in range(0, length, 12))
        yield f"{number:08x}{rng.integers(1 << 62):024x}", ". ".join(sentences) + "."


def make_queries(texts: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """Return queries of five different words of one text."""
    queries = []
    for place in rng.integers(0, len(texts), count):
        words = sorted(set(texts[place].lower().replace(".", "").split()))
        queries.append(" ".join(rng.permutation(words)[:5]))
    return queries


def timed(call: Callable[..., object], *arguments: object) -> float:
    """Return the wall clock of one call in milliseconds."""
    start = time.perf_counter()
    call(*arguments)
    return (time.perf_counter() - start) * 1000


def measure(count: int, queries: int, root: Path) -> list[Figure]:
    """Build both indexes of `count` chunks, compare and time them."""
    rng = np.random.default_rng(count)
    chunks = list(make_chunks(count, rng))
    asked = make_queries([text for _, text in chunks], queries, rng)
    analyse("warm the imports")
    start = time.process_time()
    state = rebuild(root, chunks)
    built = time.process_time() - start
    opening = statistics.median(timed(KeywordIndex, root, state) for _ in range(9))
    index = KeywordIndex(root, state)
    ours = [timed(index.search, query, _TOP) for query in asked]
    size = sum(file.bytes for file in state.files()) / sum(len(text.encode()) for _, text in chunks)
    model, difference = _compare(chunks, index, asked[:_MODEL_QUERIES])
    ratio = statistics.median(ours[:_MODEL_QUERIES]) / statistics.median(model)
    return [
        Figure("build, CPU for 100,000 chunks", built * 100_000 / count, "s"),
        Figure("size / size of the texts", size, "", judged=True),
        Figure("open", opening, "ms", 60),
        Figure(f"search, 5 terms, top {_TOP}, p50", statistics.median(ours), "ms", 2.5),
        Figure("search, p95", float(np.quantile(ours, 0.95)), "ms"),
        Figure("rank_bm25 on the same queries, p50", statistics.median(model), "ms"),
        Figure("search / rank_bm25", ratio, "", 0.01 if count >= 100_000 else None),
        Figure("greatest difference of a score to rank_bm25", difference, "", 1e-9),
        *_commits(root, state, chunks, asked),
    ]


def _compare(
    chunks: Sequence[tuple[str, str]], index: KeywordIndex, queries: Sequence[str]
) -> tuple[list[float], float]:
    """Return rank_bm25's milliseconds for each query, and the greatest difference of any score."""
    model = BM25Okapi([analyse(text) for _, text in chunks])
    times, difference = [], 0.0
    for query in queries:
        terms = analyse(query)
        start = time.perf_counter()
        scores = model.get_scores(terms)
        best = np.argsort(scores)[::-1][:_TOP]
        times.append((time.perf_counter() - start) * 1000)
        hits = index.search(query, _TOP)
        difference = max(difference, float(np.abs(scores - index.scores(query)).max()))
        difference = max(difference, *np.abs(scores[best] - [hit.score for hit in hits]))
    del model
    gc.collect()
    return times, difference


def _commits(root: Path, state: KeywordState, chunks: Sequence[tuple[str, str]], queries: list[str]) -> list[Figure]:
    """Measure one added chunk, one replaced document of ten chunks, and searching what 30 of each leave."""
    adding, replacing, before = [], [], dict(chunks)
    for number in range(30):
        new = [(f"new-{number}", chunks[number][1])]
        start = time.perf_counter()
        state = update(root, state, [], new)
        adding.append((time.perf_counter() - start) * 1000)
        old = [chunk_id for chunk_id, _ in chunks[number * 10 : number * 10 + 10]]
        start = time.perf_counter()
        state = update(root, state, old, [(f"{chunk_id}-2", before[chunk_id]) for chunk_id in old])
        replacing.append((time.perf_counter() - start) * 1000)
    many = [chunk_id for chunk_id, _ in chunks[-len(chunks) // 100 :]]
    start = time.perf_counter()
    state = update(root, state, many, [(f"{chunk_id}-2", before[chunk_id]) for chunk_id in many])
    hundredth = time.perf_counter() - start
    index = KeywordIndex(root, state)
    after = [timed(index.search, query, _TOP) for query in queries]
    return [
        Figure("commit of one new chunk, p50", statistics.median(adding), "ms", 100),
        Figure("commit of one replaced document of 10 chunks, p50", statistics.median(replacing), "ms", 100),
        Figure("the slowest of these commits", max(adding + replacing), "ms"),
        Figure("commit of 1 % of the chunks replaced", hundredth, "s", 1),
        Figure(
            f"search after these commits ({len(state.segments)} segments), p50", statistics.median(after), "ms", 2.5
        ),
    ]


def main() -> None:
    """Parse the arguments and print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[20_000, 100_000], help="sizes of the corpora")
    parser.add_argument("--queries", type=int, default=200, help="queries for each corpus")
    arguments = parser.parse_args()
    for count in arguments.chunks:
        with tempfile.TemporaryDirectory() as folder:
            show(f"Keywords, {count:,} chunks", measure(count, arguments.queries, Path(folder)))


if __name__ == "__main__":
    main()
