"""The cache of answers: what it answers, what it does not, and that it is bounded."""

from types import SimpleNamespace

import pytest

from docmill.flows.serving import answers, kept_searches
from docmill.flows.serving.answers import AskedSearch, Searching
from docmill.flows.serving.http.metrics import Metrics
from docmill.flows.serving.kept_searches import KeptSearches
from docmill.flows.serving.open_stores import OpenStores, ServedStore
from docmill.storage.errors import QueryError
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.storage.snapshots.read.store import Store
from tests.bench.serving.cache import measure, stream
from tests.kit.workbench import MakeBench, Workbench

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"git.md": "# Undo\n\nTo undo a commit, reset.\n", "mill.md": "# Mill\n\nIt grinds wheat.\n"})


@pytest.fixture
def served(bench: Workbench) -> ServedStore:
    return OpenStores({"handbook": bench.root}).get()


def ask(
    served: ServedStore, kept: KeptSearches | None, query: str, mode: Mode = "hybrid", k: int = 5,
    where: str | None = None,
) -> dict[str, object]:  # fmt: skip
    return answers.found(served, AskedSearch(query, k, mode, where, Searching({}, kept=kept), 100_000))


def test_the_same_question_is_searched_once(served: ServedStore) -> None:
    kept = KeptSearches(10, 1.0)
    first, again = ask(served, kept, "grind wheat"), ask(served, kept, "grind wheat")
    assert first == again == ask(served, None, "grind wheat")
    assert kept.counts == {"new": 1, "same": 1}


def test_a_question_with_the_same_vector_is_answered_as_the_other_and_says_so(served: ServedStore) -> None:
    kept = KeptSearches(10, 0.99)
    first = ask(served, kept, "grind wheat")
    other = ask(served, kept, "wheat grind")
    assert (other["answered_as"], other["query"]) == ("grind wheat", "wheat grind")
    assert other["hits"] == first["hits"]
    assert "answered_as" not in ask(served, kept, "undo a commit")  # too far
    assert "answered_as" not in ask(served, kept, "wheat grind", "keyword")  # words count, not vectors
    assert "answered_as" not in ask(served, kept, "wheat grind", k=1)  # asked otherwise
    assert kept.counts == {"new": 4, "alike": 1}


def test_with_a_bound_of_one_only_the_same_words_count(served: ServedStore) -> None:
    kept = KeptSearches(10, 1.0)
    ask(served, kept, "grind wheat")
    ask(served, kept, "wheat grind")
    assert kept.counts == {"new": 2}


def test_the_answer_that_nobody_asked_for_longest_goes_first(served: ServedStore) -> None:
    kept = KeptSearches(2, 1.0)
    for query in ("undo", "wheat", "undo", "mill", "undo", "wheat"):
        ask(served, kept, query)
    assert kept.counts == {"new": 4, "same": 2}


def test_a_newer_snapshot_is_asked_anew_and_the_answers_about_the_old_one_are_freed(bench: Workbench) -> None:
    stores, kept = OpenStores({"handbook": bench.root}), KeptSearches(10, 0.9)
    before = ask(stores.get(), kept, "grind wheat")
    bench.write({"mill.md": "# Mill\n\nIt grinds wheat no more.\n"})
    bench.ingest()
    stores.take_up()
    after = ask(stores.get(), kept, "grind wheat")
    assert "no more" not in str(before)
    assert "no more" in str(after)
    assert kept.counts["new"] == 2
    assert len(kept._kept) == 1


def test_an_answer_with_a_condition_is_kept_for_a_minute(served: ServedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = KeptSearches(10, 0.9), [1000.0]
    monkeypatch.setattr(kept_searches, "time", SimpleNamespace(monotonic=lambda: now[0]))
    ask(served, kept, "wheat", where="modified < now()")
    now[0] += 59
    ask(served, kept, "wheat", where="modified < now()")
    now[0] += 2
    ask(served, kept, "wheat", where="modified < now()")
    assert kept.counts == {"new": 2, "same": 1}


def test_a_wrong_question_is_refused_and_not_kept(served: ServedStore) -> None:
    kept = KeptSearches(10, 0.9)
    for _ in range(2):
        with pytest.raises(QueryError, match="contains no word"):
            ask(served, kept, "?!")
    assert kept.counts == {}


def test_a_question_that_is_too_long_for_the_model_is_kept_by_its_words(served: ServedStore) -> None:
    kept, long = KeptSearches(10, 0.9), "wheat mill undo " * 200
    assert ask(served, kept, long) == ask(served, kept, long)
    assert kept.counts == {"new": 1, "same": 1}


def test_the_vector_of_a_query_is_made_once_for_each_snapshot(bench: Workbench) -> None:
    with bench.store as store:
        made = _counted(store)
        for mode in ("hybrid", "vector", "hybrid"):
            store.search("grind wheat", mode=mode)
        store.facets("format", "grind wheat")
        assert made == ["grind wheat"]
        for number in range(1000):  # as many as are kept
            store._sources.query_vector(f"wheat {number}")
        store._sources.query_vector("wheat 0")
        assert len(made) == 1001
        store.search("grind wheat")
        assert len(made) == 1002


def _counted(store: Store) -> list[str]:
    """Return the texts that the model of a store is asked for from now on."""
    made, encoder = list[str](), store._sources.encoder

    class Counting:
        def __getattr__(self, name: str) -> object:
            return getattr(encoder, name)

        def encode_query(self, text: str) -> object:
            made.append(text)
            return encoder.encode_query(text)

    vars(store._sources)["encoder"] = Counting()
    return made


def test_what_the_cache_did_is_told_to_prometheus(bench: Workbench) -> None:
    stores, kept = OpenStores({"handbook": bench.root}), KeptSearches(10, 0.99)
    for query in ("grind wheat", "grind wheat", "wheat grind"):
        ask(stores.get(), kept, query)
    text = Metrics(stores, kept).text().decode()
    told = [line for line in text.splitlines() if line.startswith("docmill_cached_searches_total")]
    assert told == [f'docmill_cached_searches_total{{found="{one}"}} 1.0' for one in ("same", "alike", "new")]
    assert "docmill_cached_searches" not in Metrics(stores).text().decode()


def test_the_bench_tells_what_the_cache_answers_and_how_right_it_is(bench: Workbench) -> None:
    asked = [("grind wheat", "Grind?"), ("grind wheat", "Grind?"), ("wheat grind", "Wheat?"), ("undo", "Undo?")]
    exact, near = measure(bench.root, asked, (1, 0.99))
    assert (exact.same, exact.alike, exact.other, exact.overlap, exact.best) == (0.25, 0.0, 0.0, 1.0, 1.0)
    assert (near.same, near.alike, near.other, near.overlap) == (0.25, 0.25, 0.25, 1.0), "another question's answer"
    assert stream(["Where is it?", "Who?"]) == stream(["Where is it?", "Who?"])
    assert len({*stream(["Where is it?"])}) > 3, "people spell a question in several ways"
