"""Long queries: a pasted mail is read in parts, and the answer says so."""

from pathlib import Path

import numpy as np
import pytest

from docmill.storage.errors import QueryError
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.rank.candidates.long_query import MOST_WORDS, best_words, windows_of
from docmill.storage.search.rank.candidates.search_options import LONGEST_QUERY
from docmill.tasks.evaluate.ask_and_measure import ReadingDepth, SearchMethod, evaluate
from docmill.tasks.evaluate.questions import Question, Target
from tests.kit.workbench import Workbench

CHATTER = "Dear all, thank you for the kind words after the last meeting, which went on far longer than planned. "
MAIL = f"{CHATTER * 8}\nWhich bird has number 7?\n{CHATTER * 8}"
FACTS: dict[str, str | bytes] = {
    f"{bird}.md": f"# {bird}\n\nThe {bird} has number {i}." for i, bird in enumerate(["heron", "ruff", "teal"])
}


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write(FACTS)
    bench.ingest()
    return bench


def test_a_long_query_is_answered_by_its_nearest_part_and_the_hits_say_so(bench: Workbench) -> None:
    with bench.store as store:
        encoder = load_encoder(store.snapshot.space.model)
        windows = windows_of(MAIL, encoder)
        assert "".join(windows) == MAIL
        assert len(windows) > 1
        assert all(encoder.fits(windows))
        with pytest.raises(QueryError, match="shorten it"):
            encoder.encode_query(MAIL)
        hits = store.search(MAIL, 3)
        own = store._sources.vectors([hit.chunk_id for hit in hits])
        (alone,) = store.search_all([MAIL, "heron"], 3)[:1]
    assert [hit.chunk_id for hit in hits] == [hit.chunk_id for hit in alone]
    assert [hit.vector_score for hit in hits] == pytest.approx([hit.vector_score for hit in alone], abs=1e-5)
    said = [note.said for hit in hits for note in hit.steps if note.step == "query"]
    assert said == [f"the query is long: it is read by meaning in {len(windows)} parts"] * 3
    vectors = encoder.encode_queries(windows)
    for hit in hits:
        assert hit.vector_score == pytest.approx(float(np.max(vectors @ own[hit.chunk_id])), abs=1e-5)


@pytest.mark.parametrize("text", ["x" * 3000, "word " * 2000, ". " * 1500 + "end", "鳥" * 2000])
def test_whatever_a_long_query_is_made_of_every_window_fits(text: str, fake_model: str) -> None:
    encoder = load_encoder(fake_model)
    assert all(encoder.fits(windows_of(text, encoder)))


def test_of_many_words_the_keyword_index_is_asked_for_the_heaviest_in_their_order() -> None:
    words = [f"bird{i}" for i in range(2 * MOST_WORDS)]
    chosen, held = best_words(" ".join(["The", *words, "bird3"]), "english", lambda term: float(len(term)))
    assert held == len(words)
    assert len(set(chosen.split())) == MOST_WORDS
    assert chosen.split()[-1] == "bird3"
    assert chosen.split()[0] == "bird3", "which is short, but the query repeats it"
    short = " ".join(words[:9])
    assert best_words(short, "english", lambda _: 1.0) == (short, 9)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_query_of_many_words_finds_what_a_short_one_finds(bench: Workbench, mode: str) -> None:
    many = " ".join(f"word{i}" for i in range(3 * MOST_WORDS))
    first = bench.store.search(f"{many} heron", 1, mode=mode)[0]  # type: ignore[arg-type]
    assert first.uri == "heron.md"
    assert f"the {MOST_WORDS} heaviest of its" in " ".join(note.said for note in first.steps)


@pytest.mark.parametrize("how", [{"rerank": "late"}, {"expand": "feedback"}, {"diversity": 0.3}, {"widen": 40}])
def test_every_step_takes_a_long_query(bench: Workbench, how: dict[str, object]) -> None:
    assert len(bench.store.search(MAIL, 3, **how)) == 3  # type: ignore[arg-type]


def test_a_long_question_does_not_refuse_an_evaluation(bench: Workbench) -> None:
    questions = [Question("1", MAIL, (Target("heron.md"),)), Question("2", "teal", (Target("teal.md"),))]
    (found,) = evaluate(bench.store, questions, [SearchMethod("hybrid")], ["R@5"], ReadingDepth())
    assert found.values["R@5"] == {"1": 1.0, "2": 1.0}


def test_a_text_longer_than_any_question_is_still_refused(bench: Workbench) -> None:
    with pytest.raises(QueryError, match="shorten it"):
        bench.store.search("word " * LONGEST_QUERY)
