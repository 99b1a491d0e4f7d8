"""Passages: what of the hits answers, in exact slices and under a budget of tokens."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import QueryError, StoreError
from docmill.storage.search.rank.candidates import snapshot_sources
from docmill.storage.search.rank.candidates.hit import Hit, HitPassage
from docmill.storage.search.rank.steps.hit_passages import JudgedSentences, best_runs
from docmill.storage.search.sentences.sentence_spans import sentence_spans
from docmill.storage.search.vectors import vectors
from docmill.tasks.evaluate.ask_and_measure import ReadingDepth, SearchMethod, evaluate
from docmill.tasks.evaluate.questions import Question, Target
from tests.kit.documents import tokenizer
from tests.kit.drawing import examples
from tests.kit.model_server import ModelServer
from tests.kit.workbench import Workbench

CORPUS = Path(__file__).parents[2] / "corpus"
FILES = (
    "engineering/runbook-ingest.md", "legal/supply-contract-lindwurm.txt", "company/novel-chapter-seven.txt",
    "products/price-list-2025.csv", "support/help-pairing.html", "src/gateway/buffer.go", "support/faq.md",
    "support/chat/2024-08-09-ops.txt", "support/mail/gleissbach-gauge-thread.txt",
)  # fmt: skip
QUESTION = "what must be done when the gauge of the supplier fails, and how long does it take"
CHATTER = "Thank you all for the kind words after the last meeting, which went on far longer than planned. "
PLACES = ("north", "south", "east", "west")
BIRDS = "".join(
    f"The heron of the {place} pond eats fish. Its nest is high in the {tree}. Nobody has counted its eggs. "
    f"The ruff of the {place} meadow has number {number}. It leaves in the autumn of each year. "
    for number, (place, tree) in enumerate(product(PLACES, ("oak", "elm", "ash")), start=1)
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    """Return documents of many types, with long chunks in parts, short ones that overlap, and parents."""
    routes = [
        {"glob": "**/*.md", "strategy": "fixed", "options": {"size": 60, "overlap": 20}},
        {"glob": "**/*.txt", "strategy": "hierarchical"},
    ]
    split = {"structure": {"size": 300}}
    settings = {"embedding": {"model": fake_model, "parts": 40}, "split": split, "routes": routes}
    bench = Workbench(tmp_path_factory.mktemp("corpus"), settings)
    bench.ingest(*(str(CORPUS / name) for name in FILES))
    return bench


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    settings = {"embedding": {"model": fake_model, "parts": 40}, "split": {"structure": {"size": 200}}}
    bench = Workbench(tmp_path_factory.mktemp("birds"), settings)
    bench.write({"birds.md": f"# Birds\n\n{BIRDS}", "tea.md": "# Tea\n\nThe kettle stands on the stove.\n"})
    bench.ingest()
    return bench


def tokens_of(hits: list[Hit]) -> int:
    texts = [hit.passage.text for hit in hits if hit.passage]
    return sum(len(found.ids) for found in tokenizer().encode_batch(texts, add_special_tokens=False))


@pytest.mark.parametrize(
    "how",
    [{}, {"mode": "keyword"}, {"mode": "vector"}, {"parents": True}, {"widen": 400}, {"distinct": False}],
    ids=str,
)
def test_passages_are_whole_sentences_of_their_hits(corpus: Workbench, how: dict[str, Any]) -> None:
    with corpus.store as store:
        texts: dict[str, str] = {}
        plain = store.search(QUESTION, 12, **how)
        assert not any(hit.passage for hit in plain)
        for budget in (40, 1000):
            hits = store.search(QUESTION, 12, **how, passages=budget)
            assert hits == store.search(QUESTION, 12, **how, passages=budget)
            assert [replace(hit, passage=None) for hit in hits] == plain
            assert 0 < tokens_of(hits) <= budget
            taken = set[tuple[str, int]]()
            for hit in hits:
                if not (one := hit.passage):
                    continue
                texts.setdefault(hit.uri, store.document(hit.uri).text)
                assert texts[hit.uri][one.start_char : one.end_char] == one.text
                assert hit.start_char <= one.start_char < one.end_char <= hit.end_char
                spans = sentence_spans(hit.text, hit.content_type in ("code", "data", "log", "table"))
                assert one.start_char - hit.start_char in {start for start, _ in spans}
                assert one.end_char - hit.start_char in {end for _, end in spans}
                own = {(hit.uri, place) for place in range(one.start_char, one.end_char)}
                assert not taken & own, "nothing is given twice, though hits overlap"
                taken |= own


def test_the_sentence_with_the_rare_words_is_chosen_and_a_part_breaks_the_tie(birds: Workbench) -> None:
    with birds.store as store:
        hits = store.search("number of the ruff of the east meadow", 3, passages=30)
        assert hits[0].passage
        assert "ruff of the east meadow has number" in hits[0].passage.text
        keywords = store.search("number of the ruff of the east meadow", 3, mode="keyword", passages=30)
        assert keywords[0].passage
        assert "ruff of the east meadow" in keywords[0].passage.text
        whole = store.search("kettle stove", 5, passages=10_000)
    assert [hit.passage.text for hit in whole if hit.passage] == ["# Tea\n\nThe kettle stands on the stove."]
    assert sum(hit.passage is None for hit in whole) == len(whole) - 1, "what does not answer is left out"


def test_phrasings_choose_no_passage(tmp_path: Path, fake_model: str, server: ModelServer) -> None:
    found = list[list[HitPassage | None]]()
    for kinds in ([], ["statements", "questions"]):
        settings = {
            "embedding": {"model": fake_model, "parts": 40}, "split": {"structure": {"size": 200}},
            "model": {"provider": "openai", "model": "loopback", "base_url": f"{server.url}/v1"},
            "chunk": {"phrasings": kinds},
        }  # fmt: skip
        bench = Workbench(tmp_path / f"{len(kinds)}", settings)
        bench.write({"birds.md": BIRDS[:600]})
        bench.ingest()
        (row,) = bench.chunks()
        assert row.parts
        assert bool(row.phrasings) == bool(kinds)
        with bench.store as store:
            hits = [store.search(text, passages=25)[0] for text in ("nest of the elm", "eggs", "eats in the north")]
        found.append([hit.passage for hit in hits])
    assert found[0] == found[1]


def test_a_long_query_is_read_in_windows_here_too(birds: Workbench) -> None:
    with birds.store as store:
        hits = store.search(
            f"{CHATTER * 8}\nWhich number has the ruff of the west meadow?\n{CHATTER * 8}", 3, passages=40
        )
    assert tokens_of(hits) <= 40
    assert "west" in " ".join(hit.passage.text for hit in hits if hit.passage)


def test_a_sentence_beyond_the_budget_is_left_whole(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"giant.md": f"Kettles {'and kettles ' * 60}are hot.\n\nA kettle sings.\n"})
    bench.ingest()
    with bench.store as store:
        hits = store.search("kettle", 3, passages=20)
        nothing = store.search("kettle", 3, passages=1)
        none = store.search("kettle", 3, passages=20, where="uri = 'other'")
    assert [hit.passage.text for hit in hits if hit.passage] == ["A kettle sings."]
    assert nothing
    assert not any(hit.passage for hit in nothing)
    assert none == []
    with bench.store as store, pytest.raises(QueryError, match="passages must be a whole number of at least 0, got -3"):
        store.search("kettle", passages=-3)


def test_a_table_gives_rows(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"prices.csv": "good,price\n" + "".join(f"flour {n},{n} pence. No rebate\n" for n in range(12))})
    bench.ingest()
    with bench.store as store:
        (hit,) = [hit for hit in store.search("price of flour 7", 5, passages=25) if hit.passage][:1]
    assert hit.passage
    assert "| flour 7 | 7 pence. No rebate |" in hit.passage.text.splitlines()
    assert all(line.startswith("|") and line.endswith("|") for line in hit.passage.text.splitlines())


def test_without_its_model_a_store_says_why_it_counts_no_tokens(
    birds: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with birds.store as store:
        monkeypatch.setattr(snapshot_sources, "tokenizer_dir", lambda *_: Path("/nowhere"))
        assert store.search("heron", mode="keyword")
        with pytest.raises(StoreError, match="passages are counted in tokens of token-counts"):
            store.search("heron", mode="keyword", passages=50)


def test_every_index_gives_the_vectors_of_parts_in_their_order(
    birds: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with birds.store as store:
        state = store.snapshot.vectors
        rows = store.chunks([row.chunk_id for row in birds.chunks()])
        keys = [*rows, "f" * 32]
        small = store._sources.part_vectors(keys)
        assert {key: len(own) for key, own in small.items()} == {key: 1 + len(row.parts) for key, row in rows.items()}
        assert max(map(len, small.values())) > 3
        table = vectors.VectorIndex(birds.root, state, store.snapshot.space)
        monkeypatch.setattr(table, "_indexed", True)
        found = table.vectors_of(keys)
        means = store._sources.vectors([*rows])
    assert found.keys() == small.keys() == rows.keys()
    for key, own in small.items():
        np.testing.assert_array_equal(own, found[key])
        mean = own.sum(axis=0)
        np.testing.assert_allclose(mean / np.linalg.norm(mean), means[key], atol=1e-6)


JUDGED = st.lists(
    st.lists(st.tuples(st.integers(1, 30), st.sampled_from([0.0, 0.001, 0.02, 0.2, 0.21, 0.9])), max_size=8), max_size=5
)


@examples(150)
@given(JUDGED, st.integers(1, 120))
def test_runs_keep_the_budget_and_skip_what_must_not_be_taken(
    drawn: list[list[tuple[int, float]]], budget: int
) -> None:
    hits = [JudgedSentences([cost for cost, _ in hit], [worth for _, worth in hit]) for hit in drawn]
    runs = best_runs(hits, budget)
    taken = [(number, place) for number, (first, last) in runs.items() for place in range(first, last + 1)]
    assert sum(hits[number].tokens[place] for number, place in taken) <= budget
    assert all(hits[number].likelihoods[place] > 0 for number, place in taken)
    best = max(((worth, cost) for hit in drawn for cost, worth in hit), default=(0.0, 0))
    if best[0] > 0 and all(cost <= budget for hit in drawn for cost, _ in hit):
        assert taken, "one sentence fits, so one is given"


def test_evaluations_measure_passages_in_place_of_chunks(birds: Workbench) -> None:
    text = "The ruff of the east meadow has number 7."
    asked = [Question("1", "ruff of the east meadow number 7", (Target("birds.md", text),))]
    ways = [SearchMethod("hybrid"), SearchMethod("hybrid", {"passages": 60})]
    with birds.store as store:
        chunks, passages = evaluate(store, asked, ways, ["recall@5", "precision@5", "R@5"], ReadingDepth(5))
    assert passages.values["recall@5"]["1"] == chunks.values["recall@5"]["1"] == 1.0
    assert passages.values["precision@5"]["1"] > 3 * chunks.values["precision@5"]["1"]
    assert passages.values["R@5"] == chunks.values["R@5"]
    assert passages.way.spelled() == "hybrid 0.4, passages 60"
