"""Phrasings: a language model says a chunk in other words, which find it; what is returned stays the slice."""

from pathlib import Path

import pyarrow as pa
import pytest

from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.errors import ConfigError
from docmill.storage.keys import embedding_key
from docmill.storage.schema import MISSING, REFUSED, indexed_text
from docmill.storage.snapshots.artifacts.multi_vector_rows import by_vector
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.tasks.chunking import chunk_options
from docmill.tasks.chunking.chunk_options import ChunkOptions, chunker_key
from docmill.tasks.chunking.route import Route
from docmill.tasks.context.model_context import MOST, MOST_TOKENS, phrased
from docmill.tasks.counting.counter import counter_of
from tests.kit.counting_encoder import LONG_RUN, Slow, slow_model
from tests.kit.documents import tokenizer
from tests.kit.model_server import ModelServer
from tests.kit.workbench import Workbench

PAGE = """# Buoy

The mooring holds in a gale. It drags in ooze.

## Lamp

The lamp blinks twice a minute. Its cell lasts a winter.
"""
BOTH = ("statements", "questions")


@pytest.fixture
def bench(tmp_path: Path, fake_model: str, server: ModelServer) -> Workbench:
    model = {"provider": "openai", "model": "loopback", "base_url": f"{server.url}/v1"}
    settings = {"embedding": {"model": fake_model}, "model": model, "chunk": {"phrasings": list(BOTH)}}
    made = Workbench(tmp_path, settings | {"split": {"structure": {"size": 24, "small": 0}}})
    made.write({"buoy.md": PAGE})
    return made


def test_a_chunk_has_the_phrasings_that_a_model_writes(bench: Workbench, server: ModelServer) -> None:
    planned = bench.ingest(dry_run=True)
    assert server.asked() == 0
    report = bench.ingest()
    mooring, lamp = bench.chunks()
    assert planned.model["calls"] == report.model["calls"] == server.asked() == 4
    assert lamp.phrasings == (
        "In Buoy \u203a Lamp, Lamp.",
        "In Buoy \u203a Lamp, The lamp blinks twice a minute.",
        "In Buoy \u203a Lamp, Its cell lasts a winter.",
        "What about Lamp?",
        "What about The lamp blinks twice a minute?",
        "What about Its cell lasts a winter?",
    )
    assert mooring.text == PAGE[mooring.start_char : mooring.end_char]
    state = snapshots.read(bench.root)
    texts = [indexed_text(lamp.context, lamp.text, lamp.unread), *lamp.phrasings]
    assert [lamp.embedding_key, *lamp.part_keys] == [embedding_key(text, state.space.id) for text in texts]
    assert state.vectors.rows == sum(1 + len(one.phrasings) for one in bench.chunks())
    assert bench.store.sql("SELECT purpose, calls FROM costs").to_pylist() == [{"purpose": "phrasings", "calls": 4}]
    assert verify(bench.root, deep=True) == []


def test_a_phrasing_finds_its_chunk_by_vectors_and_by_keywords(bench: Workbench, server: ModelServer) -> None:
    server.words = "An accumulator supplies the beacon until March."
    server.behave("obedient")
    bench.write({"buoy.md": None, "lamp.md": "The lamp blinks twice a minute."})
    bench.ingest()
    with bench.store as store:
        hit = store.search(server.words, 1, "vector")[0]
        assert hit.vector_score == pytest.approx(1)
        assert hit.text == "The lamp blinks twice a minute."
        (hit,) = store.search("accumulator", 1, "keyword")
        assert (hit.text, hit.fields) == ("The lamp blinks twice a minute.", {"accumul": ("phrasings",)})
        assert bench.chunks()[0].phrasings == (server.words,), "both prompts say it, and it is kept once"


def test_nothing_is_asked_again_of_an_unchanged_chunk(bench: Workbench, server: ModelServer) -> None:
    bench.ingest()
    assert server.asked() == 4
    assert bench.ingest().snapshot is None
    (bench.docs / "buoy.md").rename(bench.docs / "float.md")
    assert bench.ingest().documents.moved == 1
    assert server.asked() == 0
    bench.write({"float.md": PAGE.replace("a winter", "a summer")})
    report = bench.ingest()
    assert (server.asked(), report.chunks.added, report.chunks.kept) == (2, 1, 1)
    bench.settings["chunk"] = {"phrasings": ["statements"]}
    bench.ingest()
    assert server.asked() == 0
    assert not [said for row in bench.chunks() for said in row.phrasings if "?" in said]
    assert verify(bench.root, deep=True) == []
    before = {row.chunk_id for row in bench.chunks()}
    bench.settings["chunk"] = {}
    bench.ingest()
    assert {row.phrasings for row in bench.chunks()} == {()}
    assert {row.chunk_id for row in bench.chunks()} == before, "judgements of the chunks stay valid"
    assert bench.store.sql("SELECT count(*) AS n FROM vectors").to_pylist() == [{"n": 2}]


def test_an_outage_a_refusal_and_a_limit_are_reported(bench: Workbench, server: ModelServer) -> None:
    server.behave("500")
    report = bench.ingest()
    assert (report.model["failed"], report.exit_status) == (4, 3)
    assert {row.context_state for row in bench.chunks()} == {MISSING}
    server.behave("refusal")
    report = bench.ingest()
    assert (report.model["refused"], report.exit_status) == (4, 3)
    assert any("gave no usable answer" in problem for problem in report.problems)
    assert {(row.context_state, row.phrasings) for row in bench.chunks()} == {(REFUSED, ())}
    server.behave("well")
    server.asked()
    bench.ingest()
    assert server.asked() == 0
    assert bench.ingest(refresh_contexts=True).exit_status == 0
    assert (server.asked(), {row.context_state for row in bench.chunks()}) == (4, {""})


def test_a_limit_of_calls_leaves_the_rest_to_the_next_run(bench: Workbench, server: ModelServer) -> None:
    bench.settings["model"] |= {"max_calls": 3}
    report = bench.ingest()
    assert (report.model["left"], report.exit_status, server.asked()) == (1, 3, 3)
    assert bench.ingest().exit_status == 0
    assert (server.asked(), min(len(row.phrasings) for row in bench.chunks())) == (1, 6)


def test_a_commit_in_which_no_chunk_has_all_its_vectors_yet_is_no_failure(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Slow, "wait_s", 0.005)  # so that a few chunks take as long as several commits
    text = "\n\n".join(f"## Buoy {number}\n\nIts lamp blinks {number} times a minute." for number in range(34))
    bench.write({"buoy.md": text})
    bench.settings |= {"chunk": {"phrasings": ["questions"]}, "run": LONG_RUN["run"]}
    with slow_model():
        report = bench.ingest()
    state = snapshots.read(bench.root)
    assert (report.exit_status, state.pending, state.rows("chunks")) == (0, None, 34)
    assert state.number > 2
    assert verify(bench.root, deep=True) == []


def test_a_deleted_document_takes_its_phrasings_along(bench: Workbench) -> None:
    bench.write({"other.md": "The tide turns."})
    bench.ingest()
    bench.write({"buoy.md": None})
    bench.ingest(allow_delete=True)
    assert [row.uri for row in bench.chunks()] == ["other.md"]
    assert bench.store.search("mooring", 5, "keyword") == []
    assert verify(bench.root, deep=True) == []


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("1. One.\n2) Two.\n\u2022 Three.\n- Four.\n(5) Five.", ("One.", "Two.", "Three.", "Four.", "Five.")),
        ("Here they are:\n\n  It is 3.5 m long.  \n", ("It is 3.5 m long.",)),
        ("\x1b[2JBUY\u202e now\nnow\x00", ("[2JBUY now", "now")),
        ("2024 was dry.\n-5 degrees", ("2024 was dry.", "-5 degrees")),
        ("\n \n:", ()),
    ],
)
def test_lines_of_an_answer_become_plain_phrasings(answer: str, wanted: tuple[str, ...]) -> None:
    assert phrased(answer, MOST_TOKENS, counter_of(tokenizer())) == wanted


def test_an_endless_answer_is_bounded() -> None:
    counter = counter_of(tokenizer())
    many = phrased("and again\n" * 100_000, MOST_TOKENS, counter)
    (long,) = phrased("and again " * 100_000, MOST_TOKENS, counter)
    assert (len(many), counter.count(long)) == (MOST, MOST_TOKENS) == (8, 64)


def test_what_does_not_combine_is_refused(bench: Workbench) -> None:
    with pytest.raises(ConfigError, match="phrasings and late exclude each other"):
        ChunkOptions(256, late=True, phrasings=BOTH)
    with pytest.raises(ConfigError, match="phrasings must be some of statements, questions, got riddles"):
        ChunkOptions(256, phrasings=("riddles",))
    bench.settings["model"] = {}
    with pytest.raises(ConfigError, match=r"phrasings = \[\]"):
        bench.ingest()


def test_a_key_holds_phrasings_only_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> list[str]:
        options = [ChunkOptions(256, phrasings=some) for some in ((), BOTH, BOTH[:1])]
        return [chunker_key(Route("structure", {}), one, "t") for one in options]

    plain, *_ = before = keys()
    monkeypatch.setattr(chunk_options, "PHRASINGS", "changed")
    assert len({*before, *keys()}) == 5
    assert keys()[0] == plain


def test_rows_of_phrasings_have_no_context_and_tokens_of_their_own() -> None:
    row = {"chunk_id": "a", "text": "One. Two.", "context": "Title", "parts": [5], "unread": [], "tokens": 12}
    row |= {"embedding_key": "k1", "part_keys": ["k2", "k3"], "phrasings": ["Ones and twos."]}
    table = pa.Table.from_pylist([row], pa.schema([CHUNKS.field(name) for name in row]))
    found = by_vector(table).select(["embedding_key", "context", "text", "tokens"]).to_pylist()
    assert [tuple(one.values()) for one in found] == [
        ("k1", "Title", "One.", 6),
        ("k2", "Title", "Two.", 6),
        ("k3", "", "Ones and twos.", 4),
    ]
