"""Chunks that come back under other ids keep their vectors, which the index hands over without the packs."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from docmill.storage.errors import StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.vectors.vectors import VectorIndex
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.vector_rows import MovedVectors, moved_vectors, vector_rows
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")

PARTS = {"split": {"structure": {"size": 300}}, "embedding": {"model": NAME, "parts": 40}}


def page(number: int) -> str:
    return f"# Page {number}\n\n" + " ".join(
        f"Knob {number} of row {row} turns the mill while snow falls." for row in range(60)
    )


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path_factory.mktemp("laid"), settings=PARTS)
    made.write({**{f"old/{n}.md": page(n) for n in range(3)}, "stays.txt": "Snow.\n"})
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def newest(bench: Workbench) -> StoredSnapshot:
    return open_folder(bench.root).read()


def keys_by_chunk(stored: StoredSnapshot) -> dict[str, tuple[str, ...]]:
    columns = (column.to_pylist() for column in read_table(stored, "chunks", ["chunk_id", *KEYS]).columns)
    return {chunk: (first, *others) for chunk, first, others in zip(*columns, strict=True)}


def test_the_index_hands_over_what_the_packs_hold(bench: Workbench) -> None:
    stored = newest(bench)
    sources = keys_by_chunk(stored)
    assert max(map(len, sources.values())) > 1, "a chunk has several vectors"
    moved = moved_vectors(stored, sources)
    assert moved is not None
    assert sorted(moved.keys.to_pylist()) == sorted(key for keys in sources.values() for key in keys)
    packs = Packs(stored.packs("embeddings"))
    wanted = pa.array([*moved.keys.to_pylist()][::-1])
    found = moved.take(wanted, Packs([]))
    assert np.array_equal(found.flatten(), packs.take(wanted).column("vector").combine_chunks().flatten())


def test_vectors_that_have_not_moved_come_from_the_packs_in_their_order(bench: Workbench) -> None:
    stored = newest(bench)
    every = moved_vectors(stored, keys_by_chunk(stored))
    assert every is not None
    half = MovedVectors(every.keys[::2], every.vectors.take(pa.array(range(0, len(every.keys), 2))))
    found = half.take(every.keys, Packs(stored.packs("embeddings")))
    assert np.array_equal(found.flatten(), every.vectors.flatten())
    with pytest.raises(StoreError, match="in none of 0 packs"):
        half.take(every.keys, Packs([]))


def test_a_chunk_that_the_index_does_not_have_whole_is_left_out(bench: Workbench) -> None:
    stored = newest(bench)
    sources = keys_by_chunk(stored)
    short = next(chunk for chunk, keys in sources.items() if len(keys) > 1)
    moved = moved_vectors(stored, {**sources, short: sources[short][:1], "0" * 32: ("absent",)})
    assert moved is not None
    assert len(moved.keys) == sum(len(keys) for chunk, keys in sources.items() if chunk != short)


def test_a_renamed_folder_keeps_its_vectors(bench: Workbench) -> None:
    before = newest(bench)
    (bench.docs / "old").rename(bench.docs / "new")
    assert summary(bench.ingest()) == {"moved": 3, "unchanged": 1}
    assert verify(bench.root, deep=True) == [], "which compares each vector of the index with the packs"
    after = newest(bench)
    chunks = read_table(after, "chunks")
    from_packs = pa.Table.from_batches(vector_rows(after.packs("embeddings"), chunks))
    index = VectorIndex(after.root, after.snapshot.vectors, after.snapshot.space)
    assert index.rows().sort_by("chunk_id").num_rows == from_packs.num_rows
    assert after.snapshot.artifacts["embeddings"] == before.snapshot.artifacts["embeddings"]
