"""Parts: a long chunk has a vector of each of its parts, and a search finds the chunk by the nearest of them."""

import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.flows.config.settings import Settings
from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.errors import ConfigError
from docmill.storage.keys import embedding_key
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import Parsed, indexed_text, part_readings, part_texts
from docmill.storage.search.encode import encoder, space
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.space import describe_model
from docmill.storage.search.vectors.flat_index import FlatIndex
from docmill.storage.snapshots.artifacts.multi_vector_rows import by_vector, vector_keys, with_keys
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.chunking.chunk import chunk as split
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.kit.documents import tokenizer
from tests.kit.drawing import examples
from tests.kit.fake_encoder import NAME, TokenCounts, write_model
from tests.kit.workbench import Workbench, all_is_past, summary

LIMIT = 64
WORDS = ["valve", "seal", "pump", "gasket", "flange", "hose", "bolt", "nut", "washer", "clamp", "naïve", "水", "x" * 90]
PARTS = {"embedding": {"model": NAME, "parts": 40}, "split": {"structure": {"size": 300}}}


def prose(count: int, seed: int, words: list[str] = WORDS[:10]) -> str:
    rng = random.Random(seed)
    return " ".join(" ".join(rng.choices(words, k=rng.randint(4, 14))).capitalize() + "." for _ in range(count))


def counted(text: str) -> int:
    return len(tokenizer().encode(text).ids)


@examples(60)
@given(st.integers(0, 10_000), st.sampled_from([16, 24, 32]), st.sampled_from(["structure", "fixed", "recursive"]))
def test_parts_make_up_their_chunk_and_each_fits_the_model(seed: int, size: int, strategy: str) -> None:
    text = prose(40, seed, WORDS)
    options = ChunkOptions(LIMIT, context_tokens=8, parts=size)
    route = Route(strategy, {"size": 150})
    drafts = split(Parsed(text, (), "A Title"), "narrative", route, tokenizer(), options)
    assert max(draft.tokens for draft in drafts) > LIMIT
    for draft in drafts:
        assert text[draft.start_char : draft.end_char] == draft.text
        parts = part_texts(draft.text, draft.parts)
        assert "".join("".join(parts).split()) == "".join(draft.text.split())
        assert all(counted(indexed_text(draft.context, part)) <= LIMIT for part in parts)
        assert all(counted(part) - 2 <= size for part in parts if "xx" not in part)


def test_a_short_chunk_is_one_part() -> None:
    (draft,) = split(
        Parsed("The pump leaks.", ()), "", Route("structure", {}), tokenizer(), ChunkOptions(256, parts=40)
    )
    assert draft.parts == ()
    assert part_texts(draft.text, draft.parts) == ["The pump leaks."]


def test_parts_out_of_bounds_and_late_vectors_with_parts_are_refused() -> None:
    for wrong in (-1, 3, 250):
        with pytest.raises(ConfigError, match="parts"):
            ChunkOptions(256, parts=wrong)
    with pytest.raises(ConfigError, match="late"):
        ChunkOptions(256, parts=40, late=True)
    assert Settings().embedding.parts == 0


def test_a_row_for_each_vector_and_back() -> None:
    rows: list[tuple[object, ...]] = [
        ("a", "One. Two. Three.", [5, 10], "k1", ["k2", "k3"], []),
        ("b", "Four.", [], "k4", [], []),
    ]
    columns = ["chunk_id", "text", "parts", "embedding_key", "part_keys", "unread"]
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    table = pa.Table.from_pylist(named, pa.schema([CHUNKS.field(name) for name in columns]))
    found = by_vector(table)
    assert found.column("text").to_pylist() == ["One.", "Two.", "Three.", "Four."]
    assert found.column("embedding_key").to_pylist() == vector_keys(table) == ["k1", "k2", "k3", "k4"]
    assert with_keys(table, ["k1", "k2", "k3", "k4"]) == table
    assert by_vector(table.slice(1)) == table.slice(1)


@examples(100)
@given(st.integers(0, 1000), st.integers(1, 12))
def test_the_nearest_chunks_are_those_of_the_nearest_vectors(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    owners = [f"c{i}" for i in range(8) for _ in range(int(rng.integers(1, 4)))]
    vectors = rng.normal(size=(len(owners), 4)).astype(np.float32)
    order = rng.permutation(len(owners))
    columns = {"chunk_id": [owners[i] for i in order], "vector": list(vectors[order])}
    matrix = FlatIndex(pa.table(columns, pa.schema([("chunk_id", pa.string()), ("vector", pa.list_(pa.float32(), 4))])))
    query = rng.normal(size=4).astype(np.float32)
    best: dict[str, float] = {}
    for owner, score in zip(owners, vectors.astype(np.float64) @ query, strict=True):
        best[owner] = max(best.get(owner, -np.inf), score)
    wanted = sorted(best, key=lambda key: -best[key])
    assert [key for key, _ in matrix.search(query, k)] == wanted[:k]
    assert [key for key, _ in matrix.search(query, k, {"c1", "c5"})] == [key for key in wanted if key in "c1 c5"][:k]


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path_factory.mktemp("laid"), settings=PARTS)
    made.write({f"page-{i}.md": f"# Page {i}\n\n" + prose(60, i) for i in range(3)})
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def test_ingest_gives_every_part_the_vector_of_its_text(bench: Workbench) -> None:
    state = snapshots.read(bench.root)
    chunks = bench.chunks()
    assert max(chunk.tokens for chunk in chunks) > 256
    assert state.vectors.rows == sum(1 + len(chunk.parts) for chunk in chunks) > 4 * len(chunks)
    for chunk in chunks:
        texts = [indexed_text(chunk.context, part) for part in part_readings(chunk.text, chunk.parts, chunk.unread)]
        assert [chunk.embedding_key, *chunk.part_keys] == [embedding_key(text, state.space.id) for text in texts]
    assert verify(bench.root, deep=True) == []


def test_a_chunk_is_as_near_as_its_nearest_part_and_found_once(bench: Workbench) -> None:
    chunk = bench.chunks()[1]
    part = part_readings(chunk.text, chunk.parts, chunk.unread)[-1]
    hits = bench.store.search(indexed_text(chunk.context, part), k=5, mode="vector")
    assert hits[0].chunk_id == chunk.chunk_id
    assert hits[0].vector_score == pytest.approx(1)
    assert len({hit.chunk_id for hit in hits}) == len(hits)
    only = bench.store.search(part, k=5, mode="vector", where=f"chunk_id = '{chunk.chunk_id}'")
    assert [hit.chunk_id for hit in only] == [chunk.chunk_id]
    again = bench.store.search(part, k=20, rerank="late", diversity=0.3, distinct=False)
    assert {hit.chunk_id for hit in again} == {one.chunk_id for one in bench.chunks()}


def test_a_second_run_embeds_nothing_and_an_edit_the_parts_it_touched(bench: Workbench) -> None:
    assert summary(bench.ingest()) == {"unchanged": 3}
    path = bench.docs / "page-1.md"
    text = path.read_text()
    place = text.index(". ", len(text) // 2) + 2
    path.write_text(text[:place] + "The manifold is new. " + text[place:])
    report = bench.ingest()
    assert 1 <= report.embedded <= 6
    assert verify(bench.root, deep=True) == []


def test_a_deleted_document_takes_all_its_vectors_along(bench: Workbench) -> None:
    (bench.docs / "page-2.md").unlink()
    bench.ingest(allow_delete=True)
    assert snapshots.read(bench.root).vectors.rows == sum(1 + len(chunk.parts) for chunk in bench.chunks())
    assert verify(bench.root, deep=True) == []


def test_parts_can_be_turned_on_and_off_in_a_store(bench: Workbench) -> None:
    ids = {chunk.chunk_id for chunk in bench.chunks()}
    finer = Workbench(bench.folder, settings=PARTS | {"embedding": {"model": NAME, "parts": 20}})
    finer.ingest()
    assert {chunk.chunk_id for chunk in bench.chunks()} == ids
    assert snapshots.read(bench.root).vectors.rows > 1.5 * sum(1 + len(one.parts) for one in bench.chunks()) / 2
    assert verify(bench.root, deep=True) == []
    plain = Workbench(bench.folder, settings={"split": {"structure": {"size": 100}}})
    plain.ingest()
    assert snapshots.read(bench.root).vectors.rows == len(bench.chunks())
    assert verify(bench.root, deep=True) == []


def test_lost_indexes_and_vectors_are_built_again(bench: Workbench) -> None:
    before = bench.store.search("pump valve seal", k=5)
    shutil.rmtree(bench.root / "vectors")
    repair(bench.root, lambda texts: pytest.fail(f"embedded {texts}"))
    assert bench.store.search("pump valve seal", k=5) == before
    for path in (bench.root / "artifacts" / "embeddings").iterdir():
        path.unlink()
    repair(bench.root, load_encoder(NAME).encode)
    assert bench.store.search("pump valve seal", k=5) == before
    assert all_is_past(bench)


def test_compaction_keeps_the_vectors_of_parts(bench: Workbench) -> None:
    bench.write({"page-0.md": "# Page 0\n\n" + prose(60, 7)})
    bench.ingest()
    compact(bench.root, Retention(keep_snapshots=1, undelete_days=0))
    assert verify(bench.root, deep=True) == []


def test_another_model_reads_the_parts_anew(bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "wide", dimension=24)
    monkeypatch.setitem(space.FOLDERS, "wide", lambda: folder)
    monkeypatch.setitem(encoder.LOADERS, "wide", TokenCounts)
    done = reembed(bench.root, describe_model("wide"), CommitTerms(Retention()))
    state = snapshots.read(bench.root)
    assert done.embedded == len(set(vector_keys(read_table(open_folder(bench.root).read(), "chunks"))))
    assert state.vectors.rows == sum(1 + len(chunk.parts) for chunk in bench.chunks())
    assert verify(bench.root, deep=True) == []


def test_an_index_without_vectors_finds_nothing() -> None:
    empty = pa.schema([("chunk_id", pa.string()), ("vector", pa.list_(pa.float32(), 4))]).empty_table()
    index = FlatIndex(empty)
    assert index.search(np.ones(4, np.float32), 3) == []
    assert index.held(["a"]) == set()
