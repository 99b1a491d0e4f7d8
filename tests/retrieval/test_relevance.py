"""Relevance: scores that a person can read, in every mode and after every step."""

import itertools
from pathlib import Path

import pytest

from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import rebuild
from docmill.storage.search.keywords.scoring import Scoring
from docmill.storage.search.rank.candidates.search_options import SearchArguments
from docmill.storage.snapshots.read.store import Store, open_store
from tests.kit.workbench import Workbench

MODES = ("hybrid", "vector", "keyword")
WAYS: list[SearchArguments] = [
    {},
    {"fusion": "rrf"},
    {"fusion": "weighted_rrf", "weight": 0.2},
    {"spread": 1.0},
    {"lift": 1.0},
    {"cover": 1.0},
    {"diversity": 1.0},
    {"rerank": "late", "rerank_depth": 1},
    {"expand": "feedback"},
    {"parents": True},
]


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Path:
    bench = Workbench(tmp_path_factory.mktemp("relevance"), {"embedding": {"model": fake_model}})
    herbs: dict[str, str | bytes] = {
        f"{name}.md": f"# {name}\n\nThe {name} grows here.\n" for name in ("sage", "mint", "dill", "thyme", "rue")
    }
    bench.write(herbs | {"tea.txt": "Green tea is made of leaves, and so is mint tea.\n"})
    bench.ingest()
    return bench.root


@pytest.fixture
def herbs(laid: Path) -> Store:
    return open_store(laid)


@pytest.fixture
def teas(tmp_path: Path, fake_model: str) -> Store:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"black.txt": "Black tea is good.\n", "green.txt": "Green tea is good.\n"})
    bench.ingest()
    return bench.store


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", WAYS, ids=str)
def test_relevance_is_between_0_and_1_and_falls_with_the_rank(herbs: Store, how: SearchArguments, mode: str) -> None:
    hits = herbs.search("where mint tea grows", 5, mode, **how)  # type: ignore[arg-type]
    assert len(hits) > 1
    assert all(0 <= hit.relevance <= 1 for hit in hits)
    assert all(one.relevance >= two.relevance for one, two in itertools.pairwise(hits))


def test_relevance_is_the_share_of_the_highest_score_of_the_search(herbs: Store) -> None:
    query = "green tea"
    keyword = herbs.search(query, mode="keyword")
    assert [hit.relevance for hit in keyword] == pytest.approx([hit.score / keyword[0].score for hit in keyword])
    vector = herbs.search(query, mode="vector")
    assert [hit.relevance for hit in vector] == pytest.approx([max(0, hit.score) for hit in vector])
    linear = herbs.search(query)
    assert [hit.relevance for hit in linear] == pytest.approx([hit.score for hit in linear])
    for how, highest in (({"fusion": "rrf"}, 2 / 61), ({"fusion": "weighted_rrf"}, 1 / 61)):
        hits = herbs.search(query, **how)  # type: ignore[arg-type]
        assert [hit.relevance for hit in hits] == pytest.approx([hit.score / highest for hit in hits])


def test_a_small_store_ranks_the_chunk_with_more_words_of_the_query_first(teas: Store) -> None:
    hits = teas.search("green tea", mode="keyword")
    assert [hit.uri for hit in hits] == ["green.txt", "black.txt"]
    assert all(gain > 0 for hit in hits for gain in hit.terms.values())
    assert hits[0].relevance == 1
    assert 0 < hits[1].relevance < 1


@pytest.mark.parametrize("chunks", [1, 2, 3, 4, 7, 30])
def test_every_word_of_the_query_that_a_chunk_contains_raises_its_score(tmp_path: Path, chunks: int) -> None:
    rows = [(f"{number:02}", f"rye w{number} {'oven' * (number % 2)}") for number in range(chunks)]
    index = KeywordIndex(tmp_path, rebuild(tmp_path, rows), Scoring(idf="positive"))
    hits = index.search("rye oven w0", chunks)
    assert len(hits) == chunks
    assert all(gain > 0 for hit in hits for gain in hit.terms.values())
