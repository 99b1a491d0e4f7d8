"""The index of a large table: what it finds, with filters, changes, and as older stores have it."""

from dataclasses import replace
from pathlib import Path

import pytest

from docmill.storage.search.vectors import index_kind, vectors
from docmill.storage.search.vectors.vectors import VectorIndex, VectorState
from tests.retrieval.vectors.vector_rows import SPACE, Vectors, agree, build, named, opened, oracle, rows_of, unit


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, VectorState, dict[str, Vectors]]:
    """Build a table that is large enough for an index."""
    monkeypatch.setattr(index_kind, "INDEX_ROWS", 5000)
    held = named(unit(6000, 1))
    return tmp_path, build(tmp_path, held), held


def recall(index: VectorIndex, held: dict[str, Vectors], k: int = 10) -> float:
    queries = unit(20, 50)
    hits = [len(dict(index.search(q, k)).keys() & dict(oracle(held, q, k)).keys()) for q in queries]
    return sum(hits) / (k * len(queries))


def test_a_large_table_is_indexed_and_still_finds(indexed: tuple[Path, VectorState, dict[str, Vectors]]) -> None:
    root, state, held = indexed
    assert {entry.index_type for entry in opened(root, state).list_indices()} == {"IvfRq", "BTree"}
    assert state.version == opened(root, state).version  # the index is a version, inside the fence
    assert recall(VectorIndex(root, state, SPACE), held) >= 0.98


def test_an_index_of_one_bit_which_older_stores_have_still_finds(
    indexed: tuple[Path, VectorState, dict[str, Vectors]],
) -> None:
    from lancedb.index import IvfRq

    root, state, held = indexed
    table = opened(root, state)
    table.create_index("vector", config=IvfRq(distance_type="dot", num_bits=1))
    assert recall(VectorIndex(root, replace(state, version=table.version), SPACE), held) >= 0.85  # of 32 dimensions


def test_a_filter_on_an_index_loses_no_row(indexed: tuple[Path, VectorState, dict[str, Vectors]]) -> None:
    root, state, held = indexed
    index = VectorIndex(root, state, SPACE)
    query = unit(1, 3)[0]
    for count in (5, 400, 3000):
        worst = {key for key, _ in oracle(held, query, len(held))[-count:]}
        agree(index.search(query, 10, worst), oracle(held, query, 10, worst))


def test_hits_stay_the_same_once_the_ids_of_all_rows_are_kept(
    indexed: tuple[Path, VectorState, dict[str, Vectors]],
) -> None:
    root, state, held = indexed
    gone, fresh = [*held][:900], named(unit(300, 7), "fresh")
    state = vectors.update(root, state, SPACE, gone, rows_of(fresh), "snapshot-000002")
    index, queries = VectorIndex(root, state, SPACE), unit(vectors._IDS_AFTER, 70)
    before = [index.search(query, 40) for query in queries]
    assert "_ids_by_row" not in vars(index), "a command that searches once does not read all ids"
    assert [index.search(query, 40) for query in queries] == before
    assert "_ids_by_row" in vars(index)
    few = {key for key, _ in before[0][5:25]}
    agree(index.search(queries[0], 5, few), before[0][5:10])


def test_the_ids_of_a_table_of_very_many_rows_are_not_kept(
    indexed: tuple[Path, VectorState, dict[str, Vectors]], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, state, held = indexed
    monkeypatch.setattr(vectors, "_MOST_IDS", len(held) - 1)
    index = VectorIndex(root, state, SPACE)
    for query in unit(vectors._IDS_AFTER + 1, 71):
        index.search(query, 3)
    assert "_ids_by_row" not in vars(index)


def test_new_and_removed_rows_are_right_before_the_index_is_made_anew(
    indexed: tuple[Path, VectorState, dict[str, Vectors]],
) -> None:
    root, state, held = indexed
    query = unit(1, 60)[0]
    gone = [key for key, _ in oracle(held, query, 20)]
    fresh = {"fresh": query}
    held = {key: row for key, row in held.items() if key not in gone} | fresh
    state = vectors.update(root, state, SPACE, gone, rows_of(fresh), "snapshot-000002")
    index = VectorIndex(root, state, SPACE)
    assert index.search(query, 1)[0][0] == "fresh"
    assert index.search(query, 1)[0][1] == pytest.approx(1.0, abs=2e-6)
    assert not set(gone) & set(dict(index.search(query, 50)))
    assert recall(index, held) >= 0.98
