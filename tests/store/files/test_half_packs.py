"""Vectors that were computed in bfloat16 take half the room in packs, beside packs of vectors in float32."""

import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docmill.storage.search.encode import encoder
from docmill.storage.search.encode.space import describe_model
from docmill.storage.search.encode.text_encoder import half_rounded, unit
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.artifacts.packs import Packs, pack_embeddings, write_pack
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.retention import Retention
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench

Vectors = npt.NDArray[np.float32]
KEYS = [f"{number:032x}" for number in range(3000)]


def vectors(seed: int = 1) -> Vectors:
    return unit(np.random.default_rng(seed).standard_normal((len(KEYS), 384)).astype(np.float32))


def written(path: Path, keys: list[str], matrix: Vectors) -> Path:
    write_pack(path, pack_embeddings(keys, matrix), "embeddings")
    return path


def numbers_of(path: Path) -> pa.DataType:
    return pq.read_schema(path).field("vector").type.value_type


def test_rounded_vectors_are_kept_in_half_the_bytes_and_others_to_the_last_bit(tmp_path: Path) -> None:
    exact, rounded = vectors(), half_rounded(vectors())
    assert 0 < np.abs(exact - rounded).max() < 2e-4
    whole = written(tmp_path / "whole", KEYS, exact)
    half = written(tmp_path / "half", KEYS, rounded)
    assert (numbers_of(whole), numbers_of(half)) == (pa.float32(), pa.float16())
    assert half.stat().st_size < 0.57 * whole.stat().st_size
    for path, right in ((whole, exact), (half, rounded)):
        found = Packs([path]).take(KEYS).column("vector").combine_chunks().flatten()
        assert found.type == pa.float32()
        assert found.to_numpy().tobytes() == right.tobytes()


def test_vectors_come_from_packs_of_both_kinds_in_the_order_of_their_keys(tmp_path: Path) -> None:
    exact, rounded = vectors(), half_rounded(vectors())
    paths = [written(tmp_path / "a", KEYS[::2], exact[::2]), written(tmp_path / "b", KEYS[1::2], rounded[1::2])]
    right = exact.copy()
    right[1::2] = rounded[1::2]
    found = Packs(paths).take(KEYS).column("vector").combine_chunks().flatten().to_numpy()
    assert found.tobytes() == right.tobytes()


def test_numbers_beyond_float16_stay_as_they_are(tmp_path: Path) -> None:
    large = np.array([[70_000.0, 1.0]], np.float32)
    path = written(tmp_path / "large", KEYS[:1], large)
    assert Packs([path]).take(KEYS[:1]).column("vector").to_pylist() == large.tolist()


def test_portions_of_both_kinds_end_as_a_pack_of_each(tmp_path: Path) -> None:
    matrix = vectors()

    def encode(rows: pa.Table) -> pa.Table:
        numbers = rows.column("number").to_numpy()
        made = matrix[numbers]  # as the light network gives them, until the one for many texts is loaded
        return pack_embeddings([KEYS[number] for number in numbers], made if 0 in numbers else half_rounded(made))

    rows = pa.table({"number": [*range(len(KEYS))], "tokens": [3] * len(KEYS)})
    staging.embed_in_portions(rows, encode, tmp_path / "embeddings-7.parquet")
    paths = sorted(tmp_path.iterdir())
    assert [numbers_of(path) for path in paths] == [pa.float32(), pa.float16()]
    assert paths[1].name == "embeddings-7.parquet"
    assert Packs(paths).missing(KEYS) == set()


def fill_with_both(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ingest documents whose vectors are float32, and then others whose vectors are those of bfloat16."""
    bench.write({f"{number}.md": f"# Owl {number}\n\nAn owl of {number} words sat still.\n" for number in range(4)})
    bench.ingest()
    monkeypatch.setattr(encoder, "unit", lambda made: half_rounded(unit(made)))
    bench.write({f"new-{number}.md": f"# Page {number}\n\nPage {number} is new here.\n" for number in range(5)})
    bench.write({"_metadata.toml": 'access = ["all"]\n'})
    bench.write({f"{name}.md.meta.toml": 'access = ["board"]\n' for name in ("0", "new-0")})
    bench.ingest()
    kinds = {numbers_of(path) for path in bench.store.stored.packs("embeddings")}
    assert kinds == {pa.float32(), pa.float16()}


@pytest.fixture
def mixed(tmp_path: Path, fake_model: str, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    assert fake_model
    bench = Workbench(tmp_path)
    fill_with_both(bench, monkeypatch)
    return bench


def hits(bench: Workbench) -> list[tuple[str, float | None]]:
    with bench.store as store:
        return [(hit.uri, hit.vector_score) for hit in store.search("a page of an owl", k=9, mode="vector")]


def test_a_store_of_both_kinds_is_searched_asked_and_mended(mixed: Workbench) -> None:
    before = hits(mixed)
    assert len({uri for uri, _ in before}) == 9
    assert verify(mixed.root, deep=True) == []
    with mixed.store as store:
        held = store.sql("SELECT key, vector FROM embeddings ORDER BY key")
        right = Packs(store.stored.packs("embeddings")).take(held.column("key").to_pylist()).column("vector")
        assert held.column("vector").to_pylist() == right.to_pylist()
    shutil.rmtree(mixed.root / "vectors")
    assert verify(mixed.root)
    repair(mixed.root, lambda _: pytest.fail("nothing is embedded"))
    assert verify(mixed.root, deep=True) == []
    assert hits(mixed) == before


def test_a_compaction_keeps_each_kind_as_it_is(mixed: Workbench) -> None:
    before = hits(mixed)
    compact(mixed.root, Retention(keep_snapshots=1, undelete_days=0))
    packs = mixed.store.stored.packs("embeddings")
    assert sorted(str(numbers_of(path)) for path in packs) == ["float", "halffloat"]
    assert verify(mixed.root, deep=True) == []
    assert hits(mixed) == before


def test_the_views_of_a_plain_duckdb_read_both_kinds(mixed: Workbench) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute((mixed.root / "views.sql").read_text())
    found = dict(connection.sql("SELECT key, vector FROM embeddings").fetchall())
    right = Packs(mixed.store.stored.packs("embeddings")).take(sorted(found)).column("vector").to_pylist()
    assert [list(found[key]) for key in sorted(found)] == right
    assert len(right[0]) == describe_model(mixed.store.snapshot.space.model).dimension


def test_machines_that_share_a_bucket_read_both_kinds(far: RemoteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_with_both(far, monkeypatch)
    before, two = hits(far), far.on("two")
    assert hits(two) == before
    compact(two.root, Retention(keep_snapshots=1, undelete_days=0))
    assert sorted(str(numbers_of(path)) for path in two.store.stored.packs("embeddings")) == ["float", "halffloat"]
    for machine in (far, two, far.on("three")):
        assert hits(machine) == before
        assert verify(machine.root, deep=True) == []


def test_principals_get_the_scores_of_vectors_of_both_kinds(mixed: Workbench) -> None:
    all_hits = hits(mixed)
    with mixed.store as store:
        seen = store.seen_by(["all"])
        found = [(hit.uri, hit.vector_score) for hit in seen.search("a page of an owl", k=9, mode="vector")]
        rows = seen.sql("SELECT vector FROM embeddings").num_rows
    assert found == [hit for hit in all_hits if hit[0] not in ("0.md", "new-0.md")]
    assert (len(found), rows) == (7, 7)
