"""The postings against `rank_bm25`, whatever has been added, removed and merged."""

import errno
import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic import TypeAdapter

from docmill.storage import failpoints
from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.files import hash_file
from docmill.storage.search.keywords import keyword_search, keyword_writer, topk
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.keywords.keyword_search import KeywordHit, KeywordIndex
from docmill.storage.search.keywords.keyword_writer import merge_ahead, merged, rebuild, update
from docmill.storage.search.keywords.reference import MemoryIndex
from docmill.storage.search.keywords.scoring import Scoring
from docmill.storage.search.keywords.segments import build, merge_segments
from docmill.storage.search.keywords.segments.chunk_fields import ChunkFields
from docmill.storage.search.keywords.segments.merge_segments import MOST_SEGMENTS
from docmill.storage.search.keywords.segments.postings import StringLookup
from docmill.storage.search.keywords.segments.state import KeywordState
from tests.kit.drawing import examples

WORDS = ["alpha", "beta", "gamma", "parseHTTPHeader", "snake_case", "the", "résumé", "3.8.8", "自然言語"]
WORDS += [f"{first}{second}" for first in "bdfghk" for second in ("ax", "ox", "ux")]
Chunks = dict[str, str]


def make_chunks(count: int, seed: int = 0, prefix: str = "chunk") -> Chunks:
    draw = random.Random(seed)
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    return {
        f"{prefix}-{number:05d}": " ".join(draw.choices(WORDS, weights, k=draw.randint(0, 30)))
        for number in range(count)
    }


def assert_scores_equal(root: Path, state: KeywordState, chunks: Chunks, queries: list[str]) -> None:
    index, model = KeywordIndex(root, state), MemoryIndex(chunks.items(), state.language)
    assert sorted(index.chunk_ids().to_pylist()) == sorted(chunks)
    assert state.rows == len(chunks)
    for query in queries:
        scores = dict(zip(index.chunk_ids().to_pylist(), index.scores(query), strict=True))
        expected = dict(zip(model.chunk_ids, model.scores(query), strict=True))
        assert scores == pytest.approx(expected, rel=0, abs=1e-9)
        assert_hits_equal(index.search(query, 5), model.search(query, 5))


def assert_hits_equal(found: Sequence[KeywordHit], expected: list[KeywordHit]) -> None:
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], rel=0, abs=1e-9)
    for hit, other in zip(found, expected, strict=True):
        assert hit.score == pytest.approx(sum(hit.terms.values()))
        if hit.chunk_id == other.chunk_id:
            assert hit.terms == pytest.approx(other.terms, rel=0, abs=1e-9)


class Postings(RuleBasedStateMachine):
    """Any sequence of additions, edits, removals, compactions and merges, which few segments suffice for here.

    The next change takes over what has been merged ahead.
    """

    texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
    ids = st.integers(0, 30).map("chunk-{:02d}".format)

    @initialize()
    def open(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.state: KeywordState | None = None
        self.chunks: Chunks = {}
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(merge_segments, "MOST_SEGMENTS", 2)

    @rule(added=st.dictionaries(ids, texts, max_size=4), removed=st.sets(ids, max_size=4))
    def change(self, added: Chunks, removed: set[str]) -> None:
        self.state = update(self.root, self.state, removed, added.items())
        for gone in removed:
            self.chunks.pop(gone, None)
        self.chunks.update(added)

    @rule(text=texts)
    def add_one(self, text: str) -> None:
        self.change({f"one-{len(self.chunks)}-{text[:2]}": text}, set())

    @precondition(lambda self: self.chunks)
    @rule(draw=st.randoms(use_true_random=False), text=texts)
    def edit_one(self, draw: random.Random, text: str) -> None:
        self.change({draw.choice(sorted(self.chunks)): text}, set())

    @rule()
    def empty(self) -> None:
        self.change({}, set(self.chunks))

    @precondition(lambda self: self.state is not None)
    @rule()
    def compact(self) -> None:
        self.state = keyword_writer.compact(self.root, self.state or KeywordState())
        assert all(not segment.dead for segment in self.state.segments)

    @precondition(lambda self: self.state is not None)
    @rule(ahead=st.booleans())
    def merge(self, ahead: bool) -> None:
        if ahead:
            merge_ahead(self.root, self.state or KeywordState())
        else:
            self.state = merged(self.root, self.state or KeywordState())
            assert len(self.state.segments) <= 2

    @invariant()
    def scores_are_those_of_rank_bm25(self) -> None:
        if self.state is not None:
            queries = ["alpha", "beta the 3.8.8 beta", "parseHTTPHeader bax dox 自然言語 unheard"]
            assert_scores_equal(self.root, self.state, self.chunks, queries)

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.root)


Postings.TestCase.settings = examples(25, stateful_step_count=25)
test_any_sequence_of_changes_keeps_the_scores_of_rank_bm25 = Postings.TestCase


@pytest.mark.parametrize("ahead", [True, False])
def test_many_small_commits_leave_few_segments_and_the_scores(tmp_path: Path, ahead: bool) -> None:
    chunks = make_chunks(400)
    state = rebuild(tmp_path, chunks.items())
    for number in range(200):
        more = make_chunks(3, number + 1, f"commit-{number:03d}")
        gone = random.Random(number).sample(sorted(chunks), 2)
        state = update(tmp_path, state, gone, more.items())
        chunks = {key: text for key, text in chunks.items() if key not in gone} | more
        assert len(state.segments) <= (MOST_SEGMENTS if ahead else MOST_SEGMENTS + 1)
        if ahead:
            merge_ahead(tmp_path, state)
        else:
            state = merged(tmp_path, state)
    assert_scores_equal(tmp_path, state, chunks, [" ".join(WORDS), "alpha gux", "kux"])


@examples(50)
@given(st.lists(st.text(), min_size=1, max_size=5))
def test_any_text_is_counted_as_it_is_analysed(texts: list[str]) -> None:
    chunks = {f"chunk-{number}": text for number, text in enumerate(texts)}
    with tempfile.TemporaryDirectory() as folder:
        state = rebuild(Path(folder), chunks.items())
        assert state.tokens == sum(len(analyse(text)) for text in texts)
        assert_scores_equal(Path(folder), state, chunks, texts)


@pytest.mark.parametrize("long", [0, 300, topk._LONG])
def test_pruning_loses_nothing(tmp_path: Path, long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topk, "_LONG", long)
    index = KeywordIndex(tmp_path, rebuild(tmp_path, make_chunks(3000).items()))
    draw = random.Random(7)
    for k in (1, 10, 200):
        for _ in range(20):
            query = " ".join(draw.choices(WORDS, k=5))
            scores = np.sort(index.scores(query))[::-1][:k]
            assert [hit.score for hit in index.search(query, k)] == pytest.approx(scores[scores > 0].tolist(), abs=1e-9)


def test_equal_scores_come_in_the_order_of_chunk_ids(tmp_path: Path) -> None:
    state = rebuild(tmp_path, [(f"id-{i}", "zebra crossing") for i in (9, 3, 7)] + [("long", "road " * 20)])
    for i in (5, 1, 8):
        state = update(tmp_path, state, [], [(f"id-{i}", "zebra crossing")])
    state = update(tmp_path, state, [], [(f"other-{i}", "road works") for i in range(20)])
    hits = KeywordIndex(tmp_path, state).search("zebra", 4)
    assert [hit.chunk_id for hit in hits] == ["id-1", "id-3", "id-5", "id-7"]
    assert len({hit.score for hit in hits}) == 1


def test_of_many_equal_chunks_the_first_ids_come(tmp_path: Path) -> None:
    chunks = [(f"id-{(number * 7919) % 5000:04d}", "alpha beta") for number in range(5000)]
    state = rebuild(tmp_path, [*chunks, *((f"other-{number}", "gamma") for number in range(6000))])
    hits = KeywordIndex(tmp_path, state).search("beta alpha", 3)
    assert [hit.chunk_id for hit in hits] == ["id-0000", "id-0001", "id-0002"]


def test_allowed_chunks_keep_their_scores(tmp_path: Path) -> None:
    chunks = make_chunks(500)
    index = KeywordIndex(tmp_path, rebuild(tmp_path, chunks.items()))
    every = {hit.chunk_id: hit.score for hit in index.search("gamma bax kux", 500)}
    allowed = sorted(chunks)[::7]
    hits = index.search("gamma bax kux", 500, allowed)
    assert {hit.chunk_id: hit.score for hit in hits} == {key: every[key] for key in allowed if key in every}
    assert [*index.search("gamma bax kux", 3, pa.array(allowed))] == hits[:3]
    assert not index.search("gamma", 3, ["unheard"])
    assert not index.search("gamma", 3, [])


@pytest.mark.parametrize("query", ["", "the and of", "😀 ❤️", "unheardofword"])
def test_a_query_that_matches_nothing_has_no_hits(tmp_path: Path, query: str) -> None:
    state = rebuild(tmp_path, make_chunks(50).items())
    assert not KeywordIndex(tmp_path, state).search(query, 5)
    assert not KeywordIndex(tmp_path, state).scores(query).any()


def test_an_empty_index_answers(tmp_path: Path) -> None:
    for state in (KeywordState(), rebuild(tmp_path, []), rebuild(tmp_path, [("a", ""), ("b", "the")])):
        index = KeywordIndex(tmp_path, state)
        assert not index.search("alpha", 5)
        assert len(index.scores("alpha")) == len(index.chunk_ids()) == state.rows


def test_a_word_of_half_of_the_chunks_is_found_though_it_scores_nothing(tmp_path: Path) -> None:
    state = rebuild(tmp_path, [("a", "alpha"), ("b", "beta")])
    assert [*KeywordIndex(tmp_path, state).search("alpha", 5)] == [
        KeywordHit("a", 0.0, {"alpha": 0.0}, {"alpha": ("text",)})
    ]
    chunks = {str(number): "alpha" if number < 4 else "beta rare" if number == 4 else "beta" for number in range(8)}
    state = rebuild(tmp_path, chunks.items())
    assert [hit.chunk_id for hit in KeywordIndex(tmp_path, state).search("alpha rare", 3)] == ["4", "0", "1"]
    assert_scores_equal(tmp_path, state, chunks, ["alpha rare", "rare", "alpha beta rare"])


def test_hits_can_be_sliced_and_say_which_of_them_have_a_term_in_the_title(tmp_path: Path) -> None:
    chunks = [("a", ChunkFields("alpha", title="beta")), ("b", ChunkFields("alpha beta")), ("c", ChunkFields("beta"))]
    hits = KeywordIndex(tmp_path, rebuild(tmp_path, chunks)).search("alpha beta", 5)
    assert hits.titled == {"a"}
    assert [hit.chunk_id for hit in hits[1:]] == [*hits.ids[1:]]
    assert [sum(hit.terms.values()) for hit in hits] == pytest.approx([*hits.scores])


def test_terms_are_found_again_after_the_kept_ones_were_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword_search, "_TERMS_KEPT", 2)
    index = KeywordIndex(tmp_path, rebuild(tmp_path, [("a", "alpha beta gamma"), ("b", "beta")]))
    before = [[*index.search(word, 5)] for word in ("alpha", "beta", "gamma", "delta")]
    assert [[*index.search(word, 5)] for word in ("alpha", "beta", "gamma", "delta")] == before
    assert len(index._known) <= 2


def test_an_added_id_replaces_its_text(tmp_path: Path) -> None:
    state = rebuild(tmp_path, [("a", "alpha"), ("b", "beta"), ("c", "gamma")])
    state = update(tmp_path, state, [], [("a", "delta")])
    index = KeywordIndex(tmp_path, state)
    assert state.rows == 3
    assert not index.search("alpha", 5)
    assert [hit.chunk_id for hit in index.search("delta", 5)] == ["a"]


def test_an_id_added_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="chunk id b was added"):
        rebuild(tmp_path, [("a", "alpha"), ("b", "beta"), ("b", "gamma")])


def test_nothing_to_change_is_the_same_state(tmp_path: Path) -> None:
    state = rebuild(tmp_path, make_chunks(20).items())
    files = sorted(tmp_path.rglob("*"))
    assert update(tmp_path, state, ["unheard"], []) is state
    assert sorted(tmp_path.rglob("*")) == files


def test_a_state_survives_json(tmp_path: Path) -> None:
    state = update(tmp_path, rebuild(tmp_path, make_chunks(50).items()), ["chunk-00003"], [("new", "alpha")])
    adapter = TypeAdapter(KeywordState)
    assert adapter.validate_json(adapter.dump_json(state)) == state
    assert {(tmp_path / file.path).stat().st_size for file in state.files()} == {file.bytes for file in state.files()}
    assert all(hash_file(tmp_path / file.path) == file.hash for file in state.files())


def test_the_same_changes_write_the_same_files(tmp_path: Path) -> None:
    def write(root: Path) -> KeywordState:
        state = rebuild(root, make_chunks(100).items())
        return update(root, state, ["chunk-00003"], make_chunks(5, 1, "more").items())

    assert write(tmp_path / "one") == write(tmp_path / "two")


@pytest.mark.parametrize("tokens", [1, 100, 1500])
def test_postings_counted_in_pieces_are_those_counted_at_once(
    tmp_path: Path, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = make_chunks(300)
    monkeypatch.setattr(build, "_BATCH_CHUNKS", 7)
    whole = keyword_writer.rebuild(tmp_path / "whole", chunks.items())
    monkeypatch.setattr(build, "_TOKENS_AT_ONCE", tokens)
    assert keyword_writer.rebuild(tmp_path / "pieces", chunks.items()) == whole
    left = {path.name for path in (tmp_path / "pieces").rglob("*") if path.is_file()}
    assert left == {Path(file.path).name for file in whole.files()}, "what waited on disk is gone"


def test_a_disk_that_fills_up_while_postings_wait_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def watch(seen: str) -> None:
        if seen == "before spill keywords":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(build, "_TOKENS_AT_ONCE", 1)
    monkeypatch.setattr(failpoints, "watch", watch)
    with pytest.raises(OSError, match="No space left"):
        keyword_writer.rebuild(tmp_path, make_chunks(3).items())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_reader_keeps_its_state_while_writers_commit_and_files_go(tmp_path: Path) -> None:
    chunks = make_chunks(100)
    state = rebuild(tmp_path, chunks.items())
    index = KeywordIndex(tmp_path, state)
    before = [*index.search("alpha gux", 10)]
    later = update(tmp_path, state, sorted(chunks)[:50], make_chunks(10, 1, "more").items())
    for file in set(state.files()) - set(later.files()):
        (tmp_path / file.path).unlink()
    assert [*index.search("alpha gux", 10)] == before


def test_a_lost_or_damaged_file_is_named(tmp_path: Path) -> None:
    state = rebuild(tmp_path, make_chunks(50).items())
    path = tmp_path / state.segments[0].file.path
    data = path.read_bytes()
    path.write_bytes(b"x" * len(data))
    with pytest.raises(StoreError, match=r"is damaged: .*docmill repair"):
        KeywordIndex(tmp_path, state)
    path.write_bytes(data[:-1])
    with pytest.raises(StoreError, match=r"postings\.arrow has [\d,]+ bytes instead of"):
        KeywordIndex(tmp_path, state)
    path.unlink()
    with pytest.raises(StoreError, match="is missing"):
        KeywordIndex(tmp_path, state)


def test_postings_of_another_analyser_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"with analyser version 0, but this docmill has version 7; .*docmill repair"):
        KeywordIndex(tmp_path, KeywordState(analyser=0))


def test_lucene_idf_is_never_negative(tmp_path: Path) -> None:
    state = rebuild(tmp_path, [("a", "alpha beta"), ("b", "alpha gamma"), ("c", "alpha")])
    hits = KeywordIndex(tmp_path, state, Scoring(idf="lucene")).search("alpha", 5)
    assert len(hits) == 3
    assert all(hit.score > 0 for hit in hits)
    with pytest.raises(ConfigError, match='"okapi" or "lucene", got \'other\''):
        Scoring(idf="other")  # type: ignore[arg-type]


def test_a_language_holds_for_texts_and_queries(tmp_path: Path) -> None:
    state = rebuild(tmp_path, [("a", "Die Häuser der Stadt"), ("b", "ein Fluss"), ("c", "der Wald")], "german")
    assert [hit.chunk_id for hit in KeywordIndex(tmp_path, state).search("das Haus", 5)] == ["a"]
    assert update(tmp_path, state, [], [("d", "ein Haus")], "english").language == "german"


def test_few_and_many_are_found_alike() -> None:
    values = sorted(f"word{number * 7}" for number in range(1000))
    order = np.random.default_rng(0).permutation(1000).astype(np.int32)
    shuffled = [""] * 1000
    for value, place in zip(values, order, strict=True):
        shuffled[place] = value
    for lookup in (StringLookup(pa.array(values)), StringLookup(pa.array(shuffled), order)):
        wanted = ["word7", "word70", "", "a", "zebra", "word6993"]
        few = lookup.find_all(wanted)
        assert few.tolist() == lookup.find_all(wanted * 100)[:6].tolist()
        assert [lookup.values[int(place)].as_py() for place in few if place >= 0] == ["word7", "word70", "word6993"]
    assert StringLookup(pa.array([], pa.string())).find("a") == -1
