"""The comparison of vector stores: each holds the same chunks, and finds the nearest of all and of those that match."""

import pytest

from tests.bench.storing.targets import HEAD, STORES, make_chunks, measured


@pytest.mark.parametrize("name", STORES)
def test_each_store_finds_the_nearest_of_all_and_of_a_tenth(name: str) -> None:
    pytest.importorskip({"Qdrant, local mode": "qdrant_client"}.get(name, "lancedb"))
    chunks, queries = make_chunks(300, 3)
    cells = measured(name, chunks, queries)
    assert (cells[0], len(cells)) == (name, len(HEAD))
    if "hnsw" not in name:  # which may miss some
        assert (cells[5], cells[8]) == ("1.000", "1.000")
    assert all(float(cells[at]) > 0 for at in (3, 4, 6, 7))
