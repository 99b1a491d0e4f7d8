"""Measure commits into a large store whose rows, texts and vectors are given: no figure holds parsing or embedding."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from docmill.storage.remote.mirror.open_folder import open_folder
from tests.bench.storing.keywords import make_chunks
from tests.bench.storing.store import CHUNKS_PER_DOCUMENT, Shop, median
from tests.bench.storing.vectors import make_vectors
from tests.bench.table import Figure

_SEED = 7
_LARGE, _SMALL = 3, 15


def measure(chunks: int, folder: Path) -> list[Figure]:
    """Make the store, if it is not there, and commit into a copy of it."""
    with copied_shop(chunks, folder) as shop:
        return _commits(shop, chunks // CHUNKS_PER_DOCUMENT)


@contextmanager
def copied_shop(chunks: int, folder: Path) -> Iterator[Shop]:
    """Yield a copy of a filled store, which is made if it is not there."""
    filled = folder / f"shop-{chunks}"
    rng = np.random.default_rng(_SEED)
    texts = [text for _, text in make_chunks(chunks, rng)]
    vectors = make_vectors(chunks)
    if not (filled / "snapshots").exists():
        seconds = Shop(filled, texts, vectors).put(range(chunks // CHUNKS_PER_DOCUMENT))
        (folder / f"shop-{chunks}.txt").write_text(f"{seconds}")
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    # Files of a store are never changed, so that a name for each of them is a copy.
    subprocess.run(["cp", "-al", str(filled), str(copy)], check=True)
    try:
        yield Shop(copy, texts, vectors, open_folder(copy).newest())
    finally:
        shutil.rmtree(copy)


def _commits(shop: Shop, documents: int) -> list[Figure]:
    rng = np.random.default_rng(_SEED + 1)
    size, text = shop.bytes(), sum(len(one.encode()) for one in shop.texts)
    single = [shop.put([int(rng.integers(documents))], f"again {turn}") for turn in range(_SMALL)]
    some = rng.permutation(documents)[: _LARGE * max(1, documents // 100)].reshape(_LARGE, -1)
    several = [shop.put(numbers.tolist(), "changed") for numbers in some]
    return [
        Figure("size of the store / size of the texts", size / text, "", 7.0),
        Figure("commit of 1 % changed documents, p50", median(several), "s", 3.0),
        Figure("commit of one changed document, p50", median(single), "s", 0.15),
        Figure("the same, longest", max(single), "s"),
    ]
