"""Copies of one text do not take the places of other hits: a search with too few hits looks further, within a bound."""

from typing import Any

import pytest

from docmill.storage.search.rank import search_pipeline
from docmill.storage.snapshots.read.store import Store
from tests.kit.workbench import MakeBench

COPIES, OTHERS = 300, 20
QUERY = "battery lifetime"


@pytest.fixture(scope="module")
def store(make_bench: MakeBench) -> Store:
    copy = "# Battery\n\nBattery lifetime battery lifetime battery lifetime.\n"
    others = {
        f"other{n:02}.md": f"# Device {n}\n\nDevice {n} has a long text about the weather and mentions its battery"
        f" lifetime of {n + 3} weeks once, in a sentence about deployment.\n"
        for n in range(OTHERS)
    }
    return make_bench({f"copy{n:03}.md": copy for n in range(COPIES)} | others).store


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"mode": "vector"},
        {"mode": "keyword"},
        {"fusion": "rrf"},
        {"expand": "feedback"},
        {"rerank": "late"},
        {"diversity": 0.5},
        {"parents": True},
        {"where": "uri <> 'other00.md'"},
    ],
    ids=str,
)
def test_other_hits_keep_their_places_among_hundreds_of_copies(store: Store, how: dict[str, Any]) -> None:
    hits = store.search(QUERY, 10, **how)
    assert len(hits) == len({hit.text for hit in hits}) == 10
    assert [hit.rank for hit in hits] == [*range(1, 11)]
    assert "other00.md" not in {hit.uri for hit in hits} or "where" not in how


def test_a_hit_lists_the_first_of_its_copies_and_counts_the_others(store: Store) -> None:
    (best, *_) = store.search(QUERY, 10, "keyword")
    assert len(best.also_at) == 200
    assert best.steps[-1].said == f"also represents {COPIES - 201} further chunks, which repeat it"


def test_a_search_looks_no_further_than_its_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_pipeline, "_WIDEST", 250)
    assert len(store.search(QUERY, 10, "keyword")) == 1


def test_a_search_that_finds_all_there_is_asks_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    search = search_pipeline._first

    def count(query: Any, rewrite: Any) -> Any:
        asked.append(query.options.breadth)
        return search(query, rewrite)

    monkeypatch.setattr(search_pipeline, "_first", count)
    assert len(store.search("weather", 50, "keyword")) == OTHERS
    assert asked == [200]
    store.search(QUERY, 10)
    assert asked[1:] == [200, 800]


def test_a_model_words_a_query_once_however_often_the_indexes_are_asked(store: Store) -> None:
    asked: list[str] = []

    def rewrite(text: str) -> list[str]:
        asked.append(text)
        return ["lifetime of a battery"]

    assert len(store.search(QUERY, 10, expand="model", rewrite=rewrite)) == 10
    assert asked == [QUERY]
