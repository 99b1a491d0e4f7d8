"""Smaller vectors in the index of a store: float16, int8 and binary; an ingest changes them and embeds nothing."""

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pytest

from docmill.flows.config.from_settings import space_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import ConfigError
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.rank.candidates import snapshot_sources
from docmill.storage.search.vectors import index_kind, vectors
from docmill.storage.search.vectors.index_kind import kind_of
from docmill.storage.search.vectors.vectors import VectorIndex, VectorState
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.bench.storing import shorter
from tests.kit.fake_encoder import DIMENSION, NAME
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench, all_is_past, summary
from tests.retrieval.vectors.vector_rows import SPACE, agree, named, opened, oracle, rows_of, unit

BIRDS = ("owl", "tit", "finch", "crane", "heron", "swift", "dove", "wren")
PAGES: dict[str, str | bytes | None] = {
    f"{name}.md": f"# {name}\n\nThe {name} bird has {count} eggs in its nest.\n" for count, name in enumerate(BIRDS)
}
FEW = 5  # chunks, from which on the stores here have an index of int8 or binary


def never(*_: object) -> NoReturn:
    raise AssertionError("nothing has to be embedded")


def indices(root: Path, state: VectorState) -> dict[str, str]:
    """Return the kind of each index of a table, by its column; that of the vectors with its bits."""
    found = {index.columns[0]: index for index in opened(root, state).list_indices()}
    bits = found["vector"].index_details["compression"]["num_bits"] if "vector" in found else ""
    return {name: f"{one.index_type}{bits if name == 'vector' else ''}" for name, one in found.items()}


@pytest.mark.parametrize(("indexed", "made", "least"), [("int8", "IvfSq8", 0.98), ("binary", "IvfRq1", 0.95)])
def test_a_smaller_index_is_made_earlier_and_ranks_the_best_by_float32(
    tmp_path: Path, indexed: str, made: str, least: float
) -> None:
    held = named(unit(index_kind.SMALL_ROWS, 1))
    space = replace(SPACE, indexed=indexed)
    state = vectors.rebuild(tmp_path, space, rows_of(held), "snapshot-000001")
    assert indices(tmp_path, state) == {"vector": made, "chunk_id": "BTree"}
    assert opened(tmp_path, state).schema.field("vector").type == pa.list_(pa.float32(), SPACE.dimension)
    index, queries = VectorIndex(tmp_path, state, space), unit(20, 50)
    found = [index.search(query, 10) for query in queries]
    right = [oracle(held, query, 10) for query in queries]
    assert sum(len(dict(a).keys() & dict(b).keys()) for a, b in zip(found, right, strict=True)) >= 200 * least
    for query, hits in zip(queries, found, strict=True):
        agree(hits, oracle(held, query, 10, dict(hits)))  # the scores are exact cosines
    some = set([*held][:3000])
    agree(index.search(queries[0], 10, some), oracle(held, queries[0], 10, some))


def test_below_that_size_all_vectors_are_compared(tmp_path: Path) -> None:
    held = named(unit(index_kind.SMALL_ROWS - 1, 1))
    space = replace(SPACE, indexed="binary")
    state = vectors.rebuild(tmp_path, space, rows_of(held), "snapshot-000001")
    assert indices(tmp_path, state) == {}
    query = unit(1, 3)[0]
    agree(VectorIndex(tmp_path, state, space).search(query, 10), oracle(held, query, 10))


def test_a_commit_gives_a_table_the_index_of_another_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_kind, "SMALL_ROWS", 500)
    held, state = named(unit(600, 1)), None
    kinds = {"float32": {}, "int8": {"vector": "IvfSq8"}, "binary": {"vector": "IvfRq1"}}
    versions = {}
    for number, name in enumerate(("float32", "int8", "binary", "int8", "float32", "binary"), start=1):
        space, rows = replace(SPACE, indexed=name), rows_of({} if state else held)
        state = vectors.update(tmp_path, state, space, (), rows, f"snapshot-{number:06d}")
        found = indices(tmp_path, state)
        assert {key: kind for key, kind in found.items() if key == "vector"} == kinds[name]
        assert state.version == opened(tmp_path, state).version, "every step is inside the fence"
        versions[name] = state
    again = vectors.update(tmp_path, state, replace(SPACE, indexed="binary"), (), [], "snapshot-000009")
    assert again == state, "an index of that kind is not made again"
    query = unit(1, 3)[0]
    for name, old in versions.items():  # past snapshots keep theirs
        best = VectorIndex(tmp_path, old, replace(SPACE, indexed=name)).search(query, 1)
        agree(best, oracle(held, query, 1))


def test_dimensions_that_four_bits_cannot_pack_get_eight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_kind, "INDEX_ROWS", 400)
    matrix = unit(400, 1)[:, :30]
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    space = EmbeddingSpace("tests", "0" * 32, 30, True, 256)
    rows = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), 30)
    ids = pa.array([f"c{i:06d}" for i in range(400)])
    batch = pa.RecordBatch.from_arrays([ids, ids, rows], ["chunk_id", "document_id", "vector"])
    state = vectors.rebuild(tmp_path, space, [batch], "snapshot-000001")
    assert indices(tmp_path, state)["vector"] == "IvfSq8"
    assert VectorIndex(tmp_path, state, space).search(matrix[7], 1)[0][0] == "c000007"


def test_a_space_has_the_index_of_its_numbers() -> None:
    def kind(indexed: str, dimension: int = 32) -> tuple[int, int]:
        found = kind_of(replace(SPACE, indexed=indexed, dimension=dimension))
        return found.bits, found.least_rows

    assert kind("float32") == kind("float16") == (4, 100_000)
    assert kind("float32", 30) == (8, 100_000)
    assert kind("int8") == kind("int8", 30) == (8, 10_000)
    assert kind("binary") == (1, 10_000)


def test_binary_wants_dimensions_that_it_can_pack(fake_model: str) -> None:
    chosen = {"model": fake_model, "dimensions": 12, "indexed": "binary"}
    with pytest.raises(ConfigError, match=r"needs dimensions that are a multiple of 8, .* has 12; set 'int8'$"):
        space_of(Settings.model_validate({"embedding": chosen}))
    assert space_of(Settings.model_validate({"embedding": {**chosen, "indexed": "int8"}})).dimension == 12


def made_as(bench: Workbench) -> dict[str, str]:
    """Ingest, check that the index alone has changed, and return the kinds of its indices."""
    plan = bench.ingest(dry_run=True)
    assert plan.headline == "Plan: this run would commit a snapshot"
    assert summary(bench.ingest()) == {"unchanged": len(PAGES)}
    assert bench.ingest(dry_run=True).headline == "Plan: nothing to do"
    assert bench.ingest().snapshot is None
    snapshot = snapshots.read(bench.root)
    assert snapshot.space.indexed == bench.settings["embedding"]["indexed"]
    assert verify(bench.root, deep=True) == []
    return indices(bench.root, snapshot.vectors)


def kind_of_numbers(bench: Workbench) -> pa.DataType:
    snapshot = snapshots.read(bench.root)
    return VectorIndex(bench.root, snapshot.vectors, snapshot.space).rows().schema.field("vector").type


@pytest.fixture
def bench(tmp_path: Path, fake_model: str, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    monkeypatch.setattr(index_kind, "SMALL_ROWS", FEW)
    made = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    made.write(PAGES)
    made.ingest()
    return made


def test_an_ingest_changes_the_numbers_of_an_index_and_embeds_nothing(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_sources, "_is_small", lambda _: False)  # which compares the vectors of the packs

    def hits() -> dict[str, float]:
        return {hit.uri: hit.score for hit in bench.store.search("owl bird", k=8, mode="vector")}

    before, first = hits(), snapshots.read(bench.root)
    for indexed, vector, numbers in (
        ("int8", "IvfSq8", pa.float32()),
        ("float16", None, pa.float16()),
        ("binary", "IvfRq1", pa.float32()),
        ("float16", None, pa.float16()),
        ("float32", None, pa.float32()),
    ):
        bench.settings["embedding"]["indexed"] = indexed
        assert made_as(bench).get("vector") == vector, indexed
        assert kind_of_numbers(bench) == pa.list_(numbers, DIMENSION)
        assert hits() == pytest.approx(before, abs=1e-3)
    assert snapshots.read(bench.root).artifacts == first.artifacts, "no vector was made again"


def test_documents_change_together_with_the_index(bench: Workbench) -> None:
    for indexed in ("binary", "float16", "int8", "float32"):
        bench.settings["embedding"]["indexed"] = indexed
        bench.write({"owl.md": None, f"{indexed}/owl.md": PAGES["owl.md"], "new.md": f"# new\n\n{indexed}, a bird.\n"})
        done = summary(bench.ingest())
        assert done["moved"] == done["parsed"] == done["embedded"] == 1
        assert verify(bench.root, deep=True) == []
        assert {hit.uri for hit in bench.store.search("owl bird", k=9, mode="vector")} >= {
            f"{indexed}/owl.md",
            "new.md",
        }
        bench.write({"owl.md": PAGES["owl.md"], f"{indexed}/owl.md": None})
        bench.ingest()


@pytest.mark.parametrize("indexed", ["int8", "binary"])
def test_verbs_keep_the_kind_of_an_index(bench: Workbench, indexed: str) -> None:
    bench.settings["embedding"]["indexed"] = indexed
    made = made_as(bench)
    for path in (bench.root / "vectors").rglob("*.lance"):
        if path.is_file():
            path.unlink()
    repair(bench.root, never)
    snapshot = snapshots.read(bench.root)
    assert indices(bench.root, snapshot.vectors) == made
    assert all_is_past(bench)
    compact(bench.root, Retention(keep_snapshots=1))
    snapshot = snapshots.read(bench.root)
    assert (snapshot.space.indexed, indices(bench.root, snapshot.vectors)) == (indexed, made)
    assert verify(bench.root, deep=True) == []


def test_reembed_changes_the_numbers_too(bench: Workbench, fake_model: str) -> None:
    space = space_of(Settings.model_validate({"embedding": {"model": fake_model, "indexed": "binary"}}))
    done = reembed(bench.root, space, CommitTerms(Retention()))
    assert (done.embedded, snapshots.read(bench.root).space.indexed) == (0, "binary")
    assert reembed(bench.root, space, CommitTerms(Retention())).published is None


def test_an_index_in_a_bucket_changes_for_all_machines(far: RemoteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_kind, "SMALL_ROWS", FEW)
    far.write(PAGES)
    far.ingest()
    reader = far.on("two")
    before = [hit.uri for hit in reader.store.search("owl bird", k=8, mode="vector")]
    for indexed, made in (("binary", "IvfRq1"), ("float16", None), ("int8", "IvfSq8"), ("float32", None)):
        far.settings["embedding"] = {"model": NAME, "indexed": indexed}
        assert summary(far.on(indexed).ingest()) == {"unchanged": len(PAGES)}
        found = reader.store
        assert [hit.uri for hit in found.search("owl bird", k=8, mode="vector")] == before
        assert indices(reader.root, found.snapshot.vectors).get("vector") == made
    assert verify(far.root, deep=True) == []


def test_the_measurement_tells_what_each_kind_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("INDEX_ROWS", "SMALL_ROWS"):
        monkeypatch.setattr(index_kind, name, getattr(index_kind, name))  # put back after the measurement
    matrix, queries = unit(2000, 1), unit(20, 50)
    wanted = [{f"{int(row):08d}" for row in np.argsort(-(matrix @ query))[:10]} for query in queries]
    found = [row.strip("| ").split(" | ") for row in shorter.measure(SPACE, matrix, queries, wanted)]
    assert [row[1] for row in found] == [
        "float32, all compared",
        "float32, index of 4 bits",
        "float16, index of 4 bits",
        "int8, index of 8 bits",
        "binary, index of 1 bit",
    ]
    whole, four, half, eight, one = (int(row[2]) for row in found)
    assert whole == 4 * SPACE.dimension > four == half > one
    assert whole > eight >= SPACE.dimension
    assert [float(row[4]) >= 0.95 for row in found] == [True] * 5
