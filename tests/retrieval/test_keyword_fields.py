"""Keyword search over several fields: its scores against the formula of BM25F, and what a field is good for."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from docmill.storage.errors import ConfigError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.keywords.analysis.analyser import ANALYSER_VERSION, analyse
from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import compact, merge_ahead, rebuild, update
from docmill.storage.search.keywords.scoring import FieldScoring, Scoring
from docmill.storage.search.keywords.segments import merge_segments
from docmill.storage.search.keywords.segments.chunk_fields import FIELDS, ChunkFields
from docmill.storage.search.keywords.segments.postings import read_postings
from docmill.storage.search.keywords.segments.state import KeywordState
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from tests.kit.drawing import examples
from tests.kit.workbench import Workbench

WORDS = ["alpha", "beta", "gamma", "delta", "snake_case", "1.2.3", "kux", "box"]
QUERIES = ["alpha", "beta kux beta", "snake_case 1.2.3 unheard gamma box"]
Chunks = Mapping[str, ChunkFields]


def bm25f(chunks: Sequence[ChunkFields], query: str, scoring: Scoring) -> npt.NDArray[np.float64]:
    """Return the score of every chunk, by the formula as it is printed, with the idf of rank_bm25.

    Robertson, Zaragoza, Taylor, "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004: weighted frequencies
    are added up before they saturate. Zaragoza, Craswell, Taylor, Saria, Robertson, "Microsoft Cambridge at TREC-13:
    Web and HARD tracks", TREC 2004, equations 1 and 2: each field is normalised by its own length before that. The mean
    length of a field besides the text is that over the chunks that have it.
    """
    tokens = [[analyse(text) for text in chunk] for chunk in chunks]
    lengths = [[len(chunk[number]) for chunk in tokens] for number in range(len(FIELDS))]
    averages = [sum(own) / max(1, sum(map(bool, own)) if number else len(own)) for number, own in enumerate(lengths)]
    holders: dict[str, int] = {}
    for chunk in tokens:
        for term in {term for field in chunk for term in field}:
            holders[term] = holders.get(term, 0) + 1
    idfs = {term: np.log(len(chunks) - count + 0.5) - np.log(count + 0.5) for term, count in holders.items()}
    floor = scoring.epsilon * sum(idfs.values()) / max(1, len(idfs))
    scores = np.zeros(len(chunks))
    for term in (term for term in analyse(query) if term in idfs):
        for place, chunk in enumerate(tokens):
            weighted = 0.0
            for (weight, b), field, average in zip(scoring.fields, chunk, averages, strict=True):
                if term in field:
                    weighted += weight * field.count(term) / (1 - b + b * len(field) / average)
            idf = idfs[term] if idfs[term] >= 0 else floor
            scores[place] += idf * (scoring.k1 + 1) * weighted / (scoring.k1 + weighted) if weighted else 0.0
    return scores


def draw_chunk(draw: random.Random) -> ChunkFields:
    sizes = [draw.randint(0, most) for most in (20, 4, 4, 2, 3, 9)]
    return ChunkFields(*(" ".join(draw.choices(WORDS, k=size)) for size in sizes))


def scorings() -> list[Scoring]:
    draw = random.Random(3)
    mixed = (
        tuple(FieldScoring(draw.choice([0.3, 1.0, 2.0]), draw.choice([0.0, 0.4, 1.0])) for _ in FIELDS)
        for _ in range(3)
    )
    return [Scoring(), Scoring(k1=0.0), *(Scoring(fields=fields) for fields in mixed)]


def assert_scores_are_those_of_the_formula(root: Path, state: KeywordState, chunks: Chunks) -> None:
    for scoring in scorings():
        index = KeywordIndex(root, state, scoring)
        ids = index.chunk_ids().to_pylist()
        assert sorted(ids) == sorted(chunks)
        for query in QUERIES:
            expected = bm25f([chunks[key] for key in ids], query, scoring)
            assert index.scores(query) == pytest.approx(expected, rel=0, abs=1e-9)
            hits = index.search(query, 4)
            best = np.sort(expected)[::-1][: len(hits)]
            if (expected > 0).sum() >= 4:
                assert [hit.score for hit in hits] == pytest.approx(best.tolist(), rel=0, abs=1e-9)
            for hit in hits:
                assert_fields_are_those_that_have_the_words(chunks[hit.chunk_id], hit.fields)


def assert_fields_are_those_that_have_the_words(chunk: ChunkFields, found: Mapping[str, tuple[str, ...]]) -> None:
    for term, names in found.items():
        assert names == tuple(name for name, text in zip(FIELDS, chunk, strict=True) if term in analyse(text))


@examples(15)
@given(st.randoms(use_true_random=False))
def test_any_sequence_of_changes_keeps_the_scores_of_the_formula(
    tmp_path_factory: pytest.TempPathFactory, draw: random.Random
) -> None:
    root, state = tmp_path_factory.mktemp("index"), None
    chunks: dict[str, ChunkFields] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_segments, "MOST_SEGMENTS", 2)
        for _ in range(8):
            added = {f"chunk-{draw.randint(0, 15):02d}": draw_chunk(draw) for _ in range(draw.randint(0, 6))}
            removed = set(draw.sample(sorted(chunks), draw.randint(0, min(3, len(chunks)))))
            state = update(root, state, removed, added.items())
            chunks = {key: chunk for key, chunk in chunks.items() if key not in removed} | added
            if draw.random() < 0.2:
                state = compact(root, state)
            if draw.random() < 0.5:
                merge_ahead(root, state)
    assert_scores_are_those_of_the_formula(root, state or KeywordState(), chunks)


@pytest.mark.parametrize("field", FIELDS)
def test_words_of_one_field_score_as_rank_bm25_scores_them(tmp_path: Path, field: str) -> None:
    draw = random.Random(5)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 20))) for _ in range(60)]
    chunks = {f"chunk-{n:02d}": ChunkFields("")._replace(**{field: text}) for n, text in enumerate(texts)}
    alone = tuple(FieldScoring(1.0 if name == field else 0.0, 0.75) for name in FIELDS)
    index = KeywordIndex(tmp_path, rebuild(tmp_path, chunks.items()), Scoring(fields=alone))
    model = BM25Okapi([analyse(text) for text in texts])
    for query in QUERIES:
        assert index.scores(query) == pytest.approx(model.get_scores(analyse(query)), rel=0, abs=1e-9)


def test_a_title_in_one_document_does_not_change_how_others_with_titles_rank(tmp_path: Path) -> None:
    titled = {"long": ChunkFields("kux", title="alpha beta gamma delta"), "short": ChunkFields("box", title="alpha")}
    plain = {f"plain-{n}": ChunkFields("gamma delta") for n in range(20)}
    apart = KeywordIndex(tmp_path, rebuild(tmp_path, titled.items()), Scoring(idf="lucene"))
    among = KeywordIndex(tmp_path, rebuild(tmp_path, (titled | plain).items()), Scoring(idf="lucene"))
    first, second = ({hit.chunk_id: hit.score for hit in index.search("alpha", 2)} for index in (apart, among))
    assert second["short"] / second["long"] == pytest.approx(first["short"] / first["long"])


def test_pruning_loses_nothing_where_words_stand_in_several_fields(tmp_path: Path) -> None:
    draw = random.Random(7)
    state = rebuild(tmp_path, ((f"chunk-{number:04d}", draw_chunk(draw)) for number in range(2000)))
    index = KeywordIndex(tmp_path, state, Scoring(idf="positive"))
    for k in (1, 10, 100):
        for query in QUERIES:
            scores = np.sort(index.scores(query))[::-1][:k]
            assert [hit.score for hit in index.search(query, k)] == pytest.approx(scores[scores > 0].tolist(), abs=1e-9)


def test_a_filter_keeps_the_scores_of_all_fields(tmp_path: Path) -> None:
    draw = random.Random(9)
    chunks = {f"chunk-{n:03d}": draw_chunk(draw) for n in range(200)}
    index = KeywordIndex(tmp_path, rebuild(tmp_path, chunks.items()))
    every = {hit.chunk_id: hit for hit in index.search("alpha kux", 200)}
    allowed = sorted(chunks)[::3]
    assert {hit.chunk_id: hit for hit in index.search("alpha kux", 200, allowed)} == {
        key: every[key] for key in allowed if key in every
    }


def test_a_weight_below_0_is_refused_by_name() -> None:
    wrong = (*(FieldScoring(1.0, 0.5) for _ in FIELDS[1:]), FieldScoring(-1.0, 0.5))
    with pytest.raises(ConfigError, match=r"phrasings must have a weight of at least 0 .*, got -1\.0 and 0\.5"):
        Scoring(fields=wrong)


LINES = "Turn the red knob until it clicks. " * 12


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


@pytest.mark.usefixtures("fake_model")
def test_words_of_a_path_find_its_file_and_a_rename_embeds_nothing(bench: Workbench) -> None:
    bench.write({"pumps/primingValve.txt": f"{LINES}\n", "other.txt": "Snow lies on the mast.\n"})
    bench.ingest()
    hit = bench.store.search("pumps priming", mode="keyword")[0]
    assert (hit.uri, hit.fields) == ("pumps/primingValve.txt", {"pump": ("path",), "prime": ("path",)})
    (bench.docs / "wells").mkdir()
    (bench.docs / "pumps/primingValve.txt").rename(bench.docs / "wells/drain_valve.txt")
    assert bench.ingest().tokens_embedded == 0
    assert bench.store.search("pumps priming", mode="keyword") == []
    assert bench.store.search("drain", mode="keyword")[0].uri == "wells/drain_valve.txt"


@pytest.mark.usefixtures("fake_model")
def test_an_edited_heading_is_searchable_without_embedding_what_stays(bench: Workbench) -> None:
    body = "\n\n".join(f"{LINES}Step {number}." for number in range(4))
    bench.settings = {"chunk": {"contextualizer": "none"}}
    bench.write({"guide.md": f"# Priming\n\n{body}\n"})
    bench.ingest()
    before = bench.chunks()
    bench.write({"guide.md": f"# Venting\n\n{body}\n"})
    bench.ingest()
    assert bench.store.search("priming", mode="keyword") == []
    found = bench.store.search("venting", mode="keyword", k=20, distinct=False)
    assert {hit.chunk_id for hit in found} == {chunk.chunk_id for chunk in bench.chunks()}
    assert len({chunk.chunk_id for chunk in before} & {hit.chunk_id for hit in found}) == len(before) - 1 > 0
    assert {"headings", "title"} <= {name for hit in found for name in hit.fields["vent"]}
    assert verify(bench.root, deep=True) == []


@pytest.mark.usefixtures("fake_model")
def test_an_ingest_without_other_work_brings_the_postings_up(bench: Workbench) -> None:
    bench.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    bench.ingest()
    path = max((bench.root / "snapshots").iterdir())
    state = json.loads(path.read_bytes())
    path.write_text(json.dumps(state | {"keywords": state["keywords"] | {"analyser": ANALYSER_VERSION - 1}}))
    done = bench.ingest()
    assert (done.snapshot, done.tokens_embedded) == (2, 0)
    assert state_of_keywords(bench).analyser == ANALYSER_VERSION
    assert bench.store.search("guide", mode="keyword")[0].fields["guid"] == ("text", "headings", "title", "path")
    assert bench.ingest().snapshot is None


@pytest.mark.usefixtures("fake_model")
def test_a_repair_builds_the_postings_of_all_fields_again(bench: Workbench) -> None:
    bench.write({"pumps/valve.md": "# Priming\n\nTurn the red knob.\n"})
    bench.ingest()
    whole = state_of_keywords(bench)
    for file in whole.files():
        (bench.root / file.path).unlink()
    repair(bench.root, lambda texts: pytest.fail(f"embedded {texts}"))
    assert state_of_keywords(bench) == whole


def state_of_keywords(bench: Workbench) -> KeywordState:
    return open_folder(bench.root).read().snapshot.keywords


def test_an_index_of_an_older_docmill_takes_chunks_with_phrasings(tmp_path: Path) -> None:
    old = rebuild(tmp_path, [("a", ChunkFields("alpha", "beta", "gamma", "delta", "kux"))])
    old = replace(old, side_tokens=old.side_tokens[:-1])
    (segment,) = old.segments
    assert len(read_postings(tmp_path, segment.file).side.lengths) == len(old.side_tokens), "a run of each older field"
    assert [hit.chunk_id for hit in KeywordIndex(tmp_path, old).search("delta", 1)] == ["a"]
    both = update(tmp_path, old, (), [("b", ChunkFields("box", phrasings="alpha"))])
    assert both.side_tokens == (1, 1, 1, 1, 1)
    rising = Scoring(idf="lucene")
    for state in (both, compact(tmp_path, both)):
        (first, second) = KeywordIndex(tmp_path, state, rising).search("alpha", 2)
        assert (first.chunk_id, second.chunk_id) == ("a", "b")
        assert second.fields == {"alpha": ("phrasings",)}
    assert update(tmp_path, both, ["b"], []).side_tokens == (1, 1, 1, 1, 0)
