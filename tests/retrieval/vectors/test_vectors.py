"""The vector index against numpy, and the ways of LanceDB that would lose rows, versions or writes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from docmill.storage.errors import Locked, QueryError, StoreError
from docmill.storage.search.vectors import fence, vectors
from docmill.storage.search.vectors.vectors import VectorIndex, VectorState
from tests.retrieval.vectors.vector_rows import (
    DIMENSION,
    SPACE,
    Vectors,
    agree,
    build,
    named,
    opened,
    oracle,
    rows_of,
    unit,
)


@pytest.mark.parametrize("k", [1, 10, 500, 5000])
def test_search_ranks_as_numpy_does(tmp_path: Path, k: int) -> None:
    held = named(unit(3000, 1))
    index = VectorIndex(tmp_path, build(tmp_path, held), SPACE)
    for query in unit(3, 2):
        agree(index.search(query, k), oracle(held, query, k))


@pytest.mark.parametrize("count", [1, 7, 900, 1500, 2999])
def test_search_among_allowed_chunks_is_exact(tmp_path: Path, count: int) -> None:
    held = named(unit(3000, 1))
    index = VectorIndex(tmp_path, build(tmp_path, held), SPACE)
    query = unit(1, 3)[0]
    worst = {key for key, _ in oracle(held, query, 3000)[-count:]}  # what over-fetching meets last
    agree(index.search(query, 10, worst), oracle(held, query, 10, worst))
    assert index.search(query, 10, set()) == []
    assert index.search(query, 10, {"unknown"}) == []


def test_equal_scores_come_in_the_order_of_their_ids(tmp_path: Path) -> None:
    one = unit(1, 4)[0]
    held = named(np.repeat(one[None], 300, axis=0), "same") | named(unit(200, 5), "other")
    index = VectorIndex(tmp_path, build(tmp_path, dict(reversed(held.items()))), SPACE)
    assert [key for key, _ in index.search(one, 5)] == [f"same{i:06d}" for i in range(5)]


def test_any_sequence_of_updates_holds_what_a_dictionary_holds(tmp_path: Path) -> None:
    held = named(unit(400, 6))
    state = build(tmp_path, held)
    draw = np.random.default_rng(7)
    for step in range(2, 8):
        removed = set(draw.choice(sorted(held), 60, replace=False).tolist())
        added = named(unit(50, 10 + step), f"s{step}-")
        held = {key: row for key, row in held.items() if key not in removed} | added
        state = vectors.update(tmp_path, state, SPACE, removed, rows_of(added), f"snapshot-{step:06d}")
        index = VectorIndex(tmp_path, state, SPACE)
        assert sorted(index.chunk_ids().to_pylist()) == sorted(held)
        assert state.rows == len(held)
        query = unit(1, 100 + step)[0]
        agree(index.search(query, 10), oracle(held, query, 10))


def test_a_reader_keeps_its_version(tmp_path: Path) -> None:
    held = named(unit(300, 8))
    first = build(tmp_path, held)
    index, query = VectorIndex(tmp_path, first, SPACE), unit(1, 9)[0]
    state = first
    for number in range(2, 6):
        gone = set(list(held)[: 10 * number])
        state = vectors.update(tmp_path, replace(state), SPACE, (), rows_of(named(unit(5, number), f"n{number}")), "t")
        assert gone <= set(index.chunk_ids().to_pylist())
    agree(index.search(query, 300), oracle(held, query, 300))
    agree(VectorIndex(tmp_path, first, SPACE).search(query, 10), oracle(held, query, 10))


def test_what_a_dead_writer_left_is_taken_back(tmp_path: Path) -> None:
    held = named(unit(100, 10))
    state = build(tmp_path, held)
    vectors.update(tmp_path, state, SPACE, list(held)[:50], rows_of(named(unit(9, 1), "lost")), "snapshot-000002")
    added = named(unit(5, 2), "kept")
    again = vectors.update(tmp_path, state, SPACE, list(held)[:2], rows_of(added), "snapshot-000002")
    wanted = set(list(held)[2:]) | set(added)
    assert set(VectorIndex(tmp_path, again, SPACE).chunk_ids().to_pylist()) == wanted
    assert opened(tmp_path, again).tags.get_version("snapshot-000002") == again.version


def test_what_a_foreign_program_wrote_before_is_taken_back(tmp_path: Path) -> None:
    held = named(unit(100, 10))
    state = build(tmp_path, held)
    opened(tmp_path, state).delete("document_id = 'c0'")
    assert set(VectorIndex(tmp_path, state, SPACE).chunk_ids().to_pylist()) == set(held)
    again = vectors.update(tmp_path, state, SPACE, list(held)[:1], [], "snapshot-000002")
    assert set(VectorIndex(tmp_path, again, SPACE).chunk_ids().to_pylist()) == set(list(held)[1:])


def test_a_foreign_write_in_the_middle_is_seen(tmp_path: Path) -> None:
    held = named(unit(100, 10))
    state = build(tmp_path, held)

    def meanwhile() -> Iterator[pa.RecordBatch]:
        opened(tmp_path, state).delete("chunk_id = 'c000099'")
        yield from rows_of(named(unit(3, 1), "new"))

    with pytest.raises(Locked, match="another program"):
        vectors.update(tmp_path, state, SPACE, (), meanwhile(), "snapshot-000002")
    again = vectors.update(tmp_path, state, SPACE, (), rows_of(named(unit(3, 1), "new")), "snapshot-000002")
    assert again.rows == 103
    assert "c000099" in VectorIndex(tmp_path, again, SPACE).chunk_ids().to_pylist()


def test_an_update_without_rows_makes_no_version_and_is_tagged(tmp_path: Path) -> None:
    state = build(tmp_path, named(unit(10, 1)))
    assert vectors.update(tmp_path, state, SPACE, (), [], "snapshot-000002") == state
    assert opened(tmp_path, state).tags.get_version("snapshot-000002") == state.version


def test_a_store_without_chunks_can_be_searched_and_filled(tmp_path: Path) -> None:
    state = build(tmp_path, {})
    assert VectorIndex(tmp_path, state, SPACE).search(unit(1, 1)[0], 5) == []
    assert VectorIndex(tmp_path, state, SPACE).chunk_ids().to_pylist() == []
    assert vectors.update(tmp_path, state, SPACE, (), rows_of(named(unit(3, 1))), "t").rows == 3


def test_a_chunk_id_that_is_added_twice_is_refused(tmp_path: Path) -> None:
    twice = [*rows_of(named(unit(2, 1))), *rows_of(named(unit(2, 2)))]
    with pytest.raises(StoreError, match="twice"):  # LanceDB itself inserts both
        vectors.update(tmp_path, None, SPACE, (), twice, "t")


def test_a_chunk_that_is_not_there_cannot_be_removed(tmp_path: Path) -> None:
    state = build(tmp_path, named(unit(10, 1)))
    with pytest.raises(StoreError, match="hold 1 of 2"):
        vectors.update(tmp_path, state, SPACE, ["c000001", "nowhere"], [], "t")


def test_more_ids_than_one_statement_takes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fence, "IDS_AT_ONCE", 7)
    held = named(unit(50, 1))
    state = vectors.update(tmp_path, build(tmp_path, held), SPACE, list(held)[:40], [], "t")
    assert VectorIndex(tmp_path, state, SPACE).chunk_ids().to_pylist() == list(held)[40:]


def test_vectors_of_another_space_are_refused(tmp_path: Path) -> None:
    state = build(tmp_path, named(unit(10, 1)))
    other = replace(SPACE, revision="1" * 32)
    with pytest.raises(StoreError, match="another space"):
        vectors.update(tmp_path, state, other, (), [], "t")
    with pytest.raises(StoreError, match="another space"):
        VectorIndex(tmp_path, state, other)
    with pytest.raises(QueryError, match=r"\(31,\)"):
        VectorIndex(tmp_path, state, SPACE).search(unit(1, 1)[0][:31], 5)
    wide = replace(SPACE, dimension=64)
    with pytest.raises(StoreError, match="64"):
        vectors.rebuild(tmp_path, wide, rows_of(named(unit(2, 1))), "t")


def test_a_vector_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="NaN"):
        build(tmp_path, {"c": np.full(DIMENSION, np.nan, np.float32)})


def test_a_failure_while_rows_are_made_writes_nothing_and_is_told(tmp_path: Path) -> None:
    state = build(tmp_path, named(unit(10, 1)))

    def rows() -> Iterator[pa.RecordBatch]:
        yield from rows_of(named(unit(5, 2), "n"))
        raise StoreError("a pack is damaged")

    with pytest.raises(StoreError, match=r"^a pack is damaged$"):
        vectors.update(tmp_path, state, SPACE, (), rows(), "t")
    assert opened(tmp_path, state).count_rows() == 10


def drop(root: Path, state: VectorState) -> None:
    import lancedb

    lancedb.connect(root / "vectors").drop_table(state.table)


def reset(root: Path, state: VectorState) -> None:
    import lancedb

    lancedb.connect(root / "vectors").create_table(state.table, schema=fence.schema(DIMENSION), mode="overwrite")


def truncate(root: Path, state: VectorState) -> None:
    for file in (root / "vectors" / f"{state.table}.lance" / "data").iterdir():
        file.write_bytes(file.read_bytes()[:100])


def unname(root: Path, state: VectorState) -> None:
    for file in (root / "vectors" / f"{state.table}.lance" / "_versions").iterdir():
        file.unlink()


@pytest.mark.parametrize("damage", [drop, truncate, unname])
def test_a_damaged_table_is_an_error_that_names_repair(
    tmp_path: Path, damage: Callable[[Path, VectorState], None]
) -> None:
    held = named(unit(200, 1))
    state = build(tmp_path, held)
    damage(tmp_path, state)
    with pytest.raises(StoreError, match="docmill repair"):
        VectorIndex(tmp_path, state, SPACE).search(unit(1, 1)[0], 3)
    again = vectors.rebuild(tmp_path, SPACE, rows_of(held), "snapshot-000001")
    agree(VectorIndex(tmp_path, again, SPACE).search(unit(1, 1)[0], 3), oracle(held, unit(1, 1)[0], 3))


def test_a_table_reset_by_hand_is_not_believed(tmp_path: Path) -> None:
    held = named(unit(20, 1))
    state = vectors.update(tmp_path, build(tmp_path, held), SPACE, (), rows_of(named(unit(2, 2), "n")), "t")
    drop(tmp_path, state)
    reset(tmp_path, state)
    with pytest.raises(StoreError, match="docmill repair"):
        VectorIndex(tmp_path, state, SPACE)
    with pytest.raises(StoreError, match="docmill repair"):
        vectors.update(tmp_path, state, SPACE, (), [], "t")


def test_a_reader_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="missing"):
        VectorIndex(tmp_path, VectorState(f"space_{SPACE.id}_1", 1, 0), SPACE)
    assert list(tmp_path.iterdir()) == []


def test_a_rebuilt_table_leaves_the_old_one_until_it_is_swept(tmp_path: Path) -> None:
    held = named(unit(20, 1))
    old = build(tmp_path, held)
    new = vectors.rebuild(tmp_path, SPACE, rows_of(held), "snapshot-000002")
    assert old.table != new.table
    assert VectorIndex(tmp_path, old, SPACE).search(unit(1, 1)[0], 3)
    assert vectors.sweep(tmp_path, [old, new]) == []
    assert vectors.sweep(tmp_path, [new]) == [old.table]
    assert VectorIndex(tmp_path, new, SPACE).search(unit(1, 1)[0], 3)
    assert vectors.sweep(tmp_path / "elsewhere", []) == []


def test_many_small_commits_are_compacted_and_their_versions_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fence, "MAX_FRAGMENTS", 8)
    held: dict[str, Vectors] = {}
    state: VectorState | None = None
    kept: list[tuple[VectorState, set[str]]] = []
    for number in range(30):
        added = named(unit(3, number), f"n{number}-")
        held |= added
        state = vectors.update(tmp_path, state, SPACE, (), rows_of(added), f"snapshot-{number:06d}")
        kept.append((state, set(held)))
    assert state is not None
    assert opened(tmp_path, state).stats()["fragment_stats"]["num_fragments"] <= 9
    for old, ids in kept:
        assert set(VectorIndex(tmp_path, old, SPACE).chunk_ids().to_pylist()) == ids
