"""Embedding models by API, against a server on loopback that speaks OpenAI's protocol; no provider was called."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.config.from_settings import space_of
from docmill.flows.config.settings import EmbeddingSettings, Settings
from docmill.flows.maintenance.remove_and_erase import erase
from docmill.storage.errors import BudgetReached, ConfigError, DocmillError, StoreError, Terminal, Transient
from docmill.storage.process.client_errors import RETRIES
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.encode.api import api_address, embedding_server, kept_vectors
from docmill.storage.search.encode.api.api_address import OTHER_LIMIT, OWN_LIMIT, ApiAddress, allowed, parse_address
from docmill.storage.search.encode.api.kept_vectors import KEPT, Keeping, KeptVectors
from docmill.storage.search.encode.api.same_model import PROBE_TEXTS, TOLERANCE, distance, sketch_of
from docmill.storage.search.encode.api_encoder import MOST_TOKENS, api_encoder, most_tokens
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.model_spaces import describe_model, late_space
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.tasks.model.embedding_costs import Payment
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.kit.model_server import DIMENSION, UNKNOWN, ModelServer, model_server, vector_of
from tests.kit.workbench import Workbench, all_is_past, summary

KEY = "sk-not-a-real-key"
MODEL = "openai:loopback"
PAGES: dict[str, str | bytes | None] = {
    f"{name}.md": f"# {name}\n\nThe {name} bird has {count} eggs in its nest.\n"
    for count, name in enumerate(("owl", "tit", "finch", "crane", "heron", "swift", "dove", "wren"))
}
TERMS = CommitTerms(Retention())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    """Serve, for a user who has an empty cache and has named no server yet."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(api_address, "_NAMED", {})
    with model_server() as own:
        yield own


def address(server: ModelServer, **options: Any) -> str:
    return str(ApiAddress("loopback", server.url + "/v1", **options))


def unit(text: str, dimension: int = DIMENSION) -> np.ndarray[Any, np.dtype[np.float32]]:
    vector = np.array(vector_of(text, dimension), np.float32)
    return vector / np.linalg.norm(vector)


def twice(server: ModelServer) -> dict[str, int]:
    """Return the texts that were paid for more than once, without those of the probe."""
    return {text: count for text, count in server.embedded.items() if count > 1 and text not in PROBE_TEXTS}


def test_a_model_gives_unit_vectors_in_the_order_of_the_texts(server: ModelServer) -> None:
    encoder = load_encoder(address(server, batch_texts=2))
    texts = ["one owl", "two owls", "three", "one owl", "five"]
    assert np.allclose(encoder.encode(texts), [unit(text) for text in texts], atol=1e-6)
    assert np.allclose(encoder.encode_query("one"), unit("one"), atol=1e-6)
    assert encoder.encode([]).shape == (0, DIMENSION)
    assert encoder.fits(["a", "word " * OTHER_LIMIT]) == [True, False]
    sent = [body["input"] for _, _, body in server.requests[1:]]
    assert sorted(sent[:-1]) == [["five"], ["one owl", "two owls"], ["three"]] or sorted(map(len, sent[:-1])) == [2, 2]
    assert all(headers["authorization"] == f"Bearer {KEY}" for _, headers, _ in server.requests)
    with pytest.raises(StoreError, match="is beyond the 512 of openai:loopback"):
        encoder.encode(["word " * OTHER_LIMIT])
    with pytest.raises(ConfigError, match="gives no vectors of tokens"):
        late_space(encoder.space)


def test_prefixes_types_and_dimensions_are_sent(server: ModelServer) -> None:
    options = {"query_prefix": "query: ", "document_prefix": "passage: ", "query_type": "q", "document_type": "d"}
    encoder = load_encoder(address(server, dimensions=16, **options))
    assert encoder.encode(["owl"]).shape == (1, 16)
    encoder.encode_query("owl")
    bodies = [body for _, _, body in server.requests]
    assert [body["input"] for body in bodies] == [["passage: owl"], ["query: owl"]]
    assert [body["input_type"] for body in bodies] == ["d", "q"]
    assert {body["dimensions"] for body in bodies} == {16}


def test_a_request_has_no_more_tokens_than_servers_take(server: ModelServer) -> None:
    long = ["ab" * 7_000 + str(number) for number in range(16)]  # each of 7,000 tokens and those of its number
    encoder = api_encoder(address(server, token_limit=8_000))
    encoder.encode(long)
    sizes = [len(body["input"]) for _, _, body in server.requests if body["input"][0] in long]
    assert sorted(sizes) == [2, 14]
    assert 14 * 7_001 <= MOST_TOKENS < 15 * 7_001


def test_a_text_is_sent_once_and_a_question_asked_again_asks_no_server(server: ModelServer) -> None:
    encoder = load_encoder(address(server))
    first = encoder.encode(["one", "two", "one"]), encoder.encode_query("one")
    count = len(server.requests)
    again = encoder.encode(["two", "one"]), encoder.encode_query("one")
    assert len(server.requests) == count
    assert np.array_equal(first[0][[1, 0]], again[0])
    assert np.array_equal(first[1], again[1])
    assert server.embedded["one"] == 2, "as a document and as a query, which may have other prefixes"


def test_without_a_cache_that_can_be_written_the_server_is_asked(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "cache" / "docmill").mkdir(parents=True)
    (tmp_path / "cache" / "docmill" / "api").touch()
    encoder = load_encoder(address(server))
    assert np.allclose(encoder.encode_query("two"), unit("two"), atol=1e-6)


def test_kept_vectors_are_private_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cache" / "queries.sqlite"
    kept = KeptVectors(path, "queries")
    monkeypatch.setitem(kept_vectors.KEPT, "queries", Keeping(1000.0, 3))
    few = KeptVectors(path, "queries")
    for text in ("one", "two", "three", "four"):
        few.put({text: unit(text)})
    assert {*kept.take(["one", "two", "three", "four"])} == {"two", "three", "four"}
    assert path.stat().st_mode & 0o077 == 0
    monkeypatch.setattr("time.time", lambda: 1e12)
    few.put({"five": unit("five")})
    assert [*kept.take(["two", "three", "four", "five"])] == ["five"]


def test_as_many_documents_are_kept_as_a_run_may_lose() -> None:
    from docmill.storage.snapshots.artifacts.staging import PORTION_TEXTS

    assert KEPT["documents"].rows >= PORTION_TEXTS
    assert KEPT["documents"].seconds <= 86400, "they only bridge the time until the store has them"


@pytest.mark.parametrize("mood", ["429", "500"])
def test_what_passes_is_tried_again(server: ModelServer, mood: str) -> None:
    encoder = load_encoder(address(server, dimensions=DIMENSION))
    server.behave(mood, times=RETRIES)
    assert encoder.encode(["owl"]).shape == (1, DIMENSION)
    assert len(server.requests) == RETRIES + 1
    assert server.embedded == {"owl": 1}


def test_a_timeout_is_tried_again(server: ModelServer) -> None:
    encoder = load_encoder(address(server, dimensions=DIMENSION, timeout_s=0.2))
    server.behave("slow", times=1)
    assert encoder.encode(["owl"]).shape == (1, DIMENSION)
    assert server.embedded == {"owl": 1}


@pytest.mark.parametrize(
    ("mood", "options", "kind", "problem"),
    [
        ("429", {}, Transient, r"http://127\S+/v1 did not answer: 429 RateLimitError$"),
        ("unauthorized", {}, ConfigError, r"\[embedding\] the key in OPENAI_API_KEY was refused$"),
        (
            "400",
            {},
            Terminal,
            r"\[embedding\] http\S+ refused a request for openai:loopback \(400\): does it take 1",
        ),
        ("400", {"dimensions": 9}, Terminal, r"\(400\): does the model take dimensions = 9\?$"),
        (
            "narrow",
            {"dimensions": 9},
            ConfigError,
            r"gave vectors of 8 dimensions for openai:loopback, but",
        ),
        ("narrow", {}, StoreError, r"openai:loopback has changed: http\S+ gives vectors of 8 dimensions, it gave 64$"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    mood: str,
    options: dict[str, Any],
    kind: type[DocmillError],
    problem: str,
) -> None:
    monkeypatch.setattr(embedding_server, "RETRIES", 0)
    encoder = load_encoder(address(server, **options))
    server.behave(mood)
    with pytest.raises(kind, match=problem) as caught:
        encoder.encode(["a secret"])
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_key_model_or_server_is_told(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_server, "RETRIES", 0)
    with pytest.raises(ConfigError, match=r"\[embedding\] http\S+ has no model 'other'$"):
        load_encoder(address(server).replace("loopback", UNKNOWN))
    with pytest.raises(Transient, match=r"^http://127.0.0.1:9/v1 did not answer: APIConnectionError$"):
        load_encoder("openai:loopback?base_url=http://127.0.0.1:9/v1")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert load_encoder(address(server)).space.dimension == DIMENSION, "a server of one's own needs no key"
    for name in ("x", "y"):
        Settings.model_validate({"embedding": {"model": f"openai:{name}"}})
    with pytest.raises(ConfigError, match=r"\[embedding\] model openai:x needs a key in the environment variable"):
        load_encoder("openai:x")
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ConfigError, match=r"\[embedding\] model openai:y needs the package openai: pip install"):
        load_encoder("openai:y")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("openai:", "'openai:' names no model; give one, such as openai:text-embedding-3-small"),
        ("openai:a?size=3", r"openai:a\?size=3: there is no option size; there are base_url, dimensions,"),
        ("openai:a?dimensions=x", r"dimensions must be a number, got 'x'"),
    ],
)
def test_a_wrong_name_is_refused(model: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_address(model)


def test_a_name_holds_all_that_the_server_is_asked() -> None:
    own = ApiAddress("a/b-3", "https://host/v1", 256, "2", "query: ", "a&b=c? ", token_limit=99, timeout_s=2.5)
    assert parse_address(str(own)) == own
    assert str(ApiAddress("a")) == "openai:a"
    assert (ApiAddress("a").limit, ApiAddress("a", "http://b").limit) == (OWN_LIMIT, OTHER_LIMIT)
    chosen = EmbeddingSettings(model="openai:a", base_url="http://localhost:1/v1", dimensions=3, revision="2")
    assert chosen.where() == ("openai:a?base_url=http://localhost:1/v1&dimensions=3&revision=2", "")
    assert EmbeddingSettings(model="openai:a?dimensions=4", dimensions=3).where() == ("openai:a?dimensions=4", "")
    assert EmbeddingSettings(model="folder", revision="r", price=3).where() == ("folder", "r")


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({"base_url": "http://other/v1", "batch_texts": 2, "max_concurrency": 1, "timeout_s": 1.0}, True),
        ({"dimensions": 3}, False),
        ({"revision": "2"}, False),
        ({"query_prefix": "q"}, False),
        ({"document_type": "d"}, False),
    ],
)
def test_what_decides_a_vector_decides_the_space(options: dict[str, Any], same: bool) -> None:
    own = ApiAddress("a").identity
    assert own == "3eda15c2b368db1b63fb154a5d0bceed", "another one embeds the stores of all users again"
    assert (ApiAddress("a", **options).identity == own) is same


def test_a_store_does_not_decide_where_texts_are_sent(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    far = parse_address("openai:loopback?base_url=https://far.example/v1")
    with pytest.raises(StoreError, match=r"^the store names the server https://far.example/v1 for openai:loopback; to"):
        load_encoder(str(far))
    with pytest.raises(StoreError, match=r"^the store names the server https://api.openai.com/v1 for openai:a; to"):
        allowed(ApiAddress("a"))
    Settings.model_validate({"embedding": {"model": "openai:a"}})
    assert allowed(ApiAddress("a")) == ApiAddress("a")
    monkeypatch.setenv("DOCMILL_EMBEDDING__BASE_URL", server.url + "/v1")
    assert load_encoder(str(far)).encode_query("owl").shape == (DIMENSION,)
    monkeypatch.delenv("DOCMILL_EMBEDDING__BASE_URL")
    Settings.model_validate({"embedding": {"model": MODEL, "base_url": "https://far.example/v1"}})
    assert allowed(far) == far
    Settings.model_validate({"embedding": {"model": MODEL, "base_url": server.url}})
    assert allowed(far).base_url == server.url, "the server of a store has moved"


def test_rounding_is_the_same_model_and_other_weights_are_not() -> None:
    made = np.random.default_rng(0).standard_normal((3, 7, 1536)).astype(np.float32)
    own, noise, other = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in made)
    assert distance(sketch_of(own), sketch_of(own.astype(np.float16).astype(np.float32))) < 0.002
    assert distance(sketch_of(own), sketch_of(own + 0.01 * noise)) < TOLERANCE / 2
    assert distance(sketch_of(own), sketch_of(own + 0.1 * noise)) > TOLERANCE
    assert 1.0 < distance(sketch_of(own), sketch_of(other)) < 2.5
    swapped = own[[1, 0, 2, 3, 4, 5, 6]]
    assert distance(sketch_of(own), sketch_of(swapped)) > 1.0
    assert len(sketch_of(own)) < 320


@pytest.fixture
def bench(server: ModelServer, tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "bench", {"embedding": {"model": MODEL, "base_url": server.url + "/v1"}})
    made.write(PAGES)
    return made


def test_a_store_is_embedded_through_faults_and_no_text_is_sent_twice(bench: Workbench, server: ModelServer) -> None:
    moods = iter(["well", "well", "429", "500", "slow", "429", "well"])

    def stumble(own: ModelServer) -> None:
        own.behave(next(moods, "well"), 1)

    server.before = stumble
    bench.settings["embedding"] |= {"batch_texts": 2, "timeout_s": 0.3}
    assert summary(bench.ingest()) == {"added": 8, "parsed": 8, "embedded": 8}
    assert twice(server) == {}
    assert next(moods, "all") == "all"
    assert sum(count for text, count in server.embedded.items() if text not in PROBE_TEXTS) == 8
    assert verify(bench.root, deep=True) == []
    (best, *_) = bench.store.search("owl bird", k=1, mode="vector")
    assert best.uri == "owl.md"
    asked = len(server.requests)
    bench.store.search("owl bird", k=1, mode="vector")
    assert len(server.requests) == asked
    bench.write({"new.md": "# New\n\nA page more.\n"})
    assert summary(bench.ingest()) == {"added": 1, "unchanged": 8, "parsed": 1, "embedded": 1}
    assert twice(server) == {}


def test_reembed_moves_a_store_to_a_model_by_api_and_back(
    bench: Workbench, server: ModelServer, fake_model: str
) -> None:
    api, bench.settings["embedding"] = bench.settings["embedding"], {"model": fake_model}
    bench.ingest()
    local = snapshots.read(bench.root).space
    far = space_of(Settings.model_validate({"embedding": api}))
    assert reembed(bench.root, far, TERMS).embedded == 8
    assert bench.store.search("owl bird", k=1, mode="vector")[0].uri == "owl.md"
    bench.settings["embedding"] = api
    assert summary(bench.ingest()) == {"changed": 8}, "the models count tokens in two ways"
    assert reembed(bench.root, local, TERMS).embedded == 0
    assert reembed(bench.root, far, TERMS).embedded == 0
    assert verify(bench.root, deep=True) == []
    assert twice(server) == {}


def test_a_model_that_has_changed_is_refused_until_it_has_another_revision(
    bench: Workbench, server: ModelServer
) -> None:
    bench.ingest()
    bench.write({"new.md": "# New\n\nA page more.\n"})
    server.drift = 0.3
    with pytest.raises(StoreError, match=r"^openai:loopback has changed on http\S+: vectors \d\.\d\d apart from"):
        bench.ingest()
    assert summary(bench.ingest(dry_run=True)) == {"added": 1, "unchanged": 8, "parsed": 1, "embedded": 1}
    before = describe_model(*Settings.model_validate(bench.settings).embedding.where())
    with pytest.raises(StoreError, match="has changed"):
        reembed(bench.root, before, TERMS)
    bench.settings["embedding"]["revision"] = "2"
    with pytest.raises(StoreError, match="docmill reembed"):
        bench.ingest()
    assert reembed(bench.root, space_of(Settings.model_validate(bench.settings)), TERMS).embedded == 8
    assert summary(bench.ingest()) == {"added": 1, "unchanged": 8, "parsed": 1, "embedded": 1}
    server.drift = 0.0
    with pytest.raises(StoreError, match="has changed"):
        bench.ingest()


def test_a_search_does_not_ask_a_model_that_has_changed(
    bench: Workbench, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.ingest()
    bench.store.search("an owl", mode="vector")
    server.drift = 0.3
    asked = len(server.requests)
    assert bench.store.search("a tit", mode="vector"), "the model was compared a moment ago"
    assert len(server.requests) == asked + 1
    later = time.time() + 3601
    monkeypatch.setattr("time.time", lambda: later)
    with pytest.raises(StoreError, match=r"^openai:loopback has changed on http\S+: vectors \d\.\d\d apart from"):
        bench.store.search("a wren", mode="vector")
    assert bench.store.search("a wren", mode="keyword")
    server.drift = 0.0
    assert bench.store.search("a wren", mode="vector"), "the server has the model again"


def costs(bench: Workbench) -> list[dict[str, Any]]:
    rows = bench.store.sql("SELECT snapshot, model, purpose, calls, failed, input, money FROM costs ORDER BY snapshot")
    return [dict(row) for row in rows.to_pylist()]


LONG: dict[str, str | bytes | None] = {
    f"{name}.md": f"# {name}\n\nThe {name} bird is here. " + "It sings in the morning, and sleeps at night. " * 8
    for name in ("owl", "tit", "finch", "crane", "heron", "swift", "dove", "wren")
}
PROBE = most_tokens(MODEL, 0, 0)


def test_a_run_stops_before_it_costs_too_much_and_the_next_goes_on(bench: Workbench, server: ModelServer) -> None:
    bench.write(LONG)
    bench.settings["model"] = {"max_cost": (PROBE + 400) / 1e6}
    with pytest.raises(ConfigError, match=r"^max_cost needs the price of openai:loopback: set \[embedding\] price"):
        bench.ingest()
    bench.settings["embedding"] |= {"price": 1.0, "batch_texts": 1, "max_concurrency": 1}
    planned = bench.ingest(dry_run=True)
    assert planned.exit_status == 0
    assert planned.embedding["input"] == PROBE + planned.tokens_embedded > PROBE
    assert planned.embedding["money"] == pytest.approx(planned.embedding["input"] / 1e6)
    first = bench.ingest()
    assert 0 < first.embedded < planned.embedded
    assert first.embedding["left"] == first.pending == planned.embedded - first.embedded
    assert first.embedding["money"] <= bench.settings["model"]["max_cost"]
    assert first.exit_status == 3
    assert first.problems == [f"{first.pending} chunks have no vectors because --max-cost was reached; run again"]
    (row,) = costs(bench)
    assert (row["calls"], row["failed"], row["purpose"]) == (first.embedding["calls"], 0, "embedding")
    assert row["model"] == "openai/loopback"
    assert bench.store.search("wren", mode="keyword")[0].uri == "wren.md", "its vector may be missing"
    bench.settings["model"] = {}
    second = bench.ingest()
    assert (second.embedded, second.pending, second.exit_status) == (first.pending, 0, 0)
    assert [row["snapshot"] for row in costs(bench)] == [first.snapshot, second.snapshot]
    assert second.embedding["input"] + first.embedding["input"] < planned.embedding["input"] + PROBE
    assert twice(server) == {}
    assert verify(bench.root, deep=True) == []


def test_a_reembed_counts_in_the_costs_and_stops_at_the_limit(
    bench: Workbench, server: ModelServer, fake_model: str
) -> None:
    bench.write(LONG)
    api, bench.settings["embedding"] = bench.settings["embedding"], {"model": fake_model}
    bench.ingest()
    far = space_of(Settings.model_validate({"embedding": api | {"batch_texts": 1, "max_concurrency": 1}}))
    folder = open_folder(bench.root)
    few = Payment(folder, "first", "openai/loopback", 1.0, (PROBE + 400) / 1e6)
    with pytest.raises(BudgetReached, match=r"^[1-7] of 8 texts are embedded, more would cost more than --max-cost"):
        reembed(folder, far, TERMS, payment=few)
    assert bench.store.snapshot.space.model == fake_model
    reembed(folder, far, TERMS, payment=Payment(folder, "second", "openai/loopback", 1.0))
    assert [(row["snapshot"], row["purpose"]) for row in costs(bench)] == [(2, "embedding"), (2, "embedding")]
    assert twice(server) == {}


@pytest.mark.usefixtures("server")
def test_what_a_killed_run_has_paid_is_in_the_costs(bench: Workbench) -> None:
    program = f"""
import os
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.tasks.model.embedding_costs import Payment, payer_of
payer = payer_of(Payment(open_folder({str(bench.root)!r}), "killed", "openai/loopback", 2.0))
payer.admit(10)
payer.settle(10, 7)
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    bench.ingest()
    assert [(row["calls"], row["money"]) for row in costs(bench) if row["input"] == 7] == [(1, 1.4e-5)]


def test_a_repair_takes_no_vectors_of_another_model(bench: Workbench, server: ModelServer) -> None:
    bench.ingest()
    for pack in (bench.root / "artifacts" / "embeddings").glob("*.parquet"):
        pack.unlink()
    server.drift = 0.3
    command = ["repair", "--store", str(bench.root)]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 1
    assert "has changed" in f"{refused.output} {refused.exception}"
    server.drift = 0.0
    assert CliRunner().invoke(app, command).exit_code == 0
    assert all_is_past(bench)


def test_an_erasure_reaches_the_answers_that_are_kept(bench: Workbench, tmp_path: Path) -> None:
    bench.ingest()
    cache = tmp_path / "cache" / "docmill" / "api"
    assert [*cache.glob("*-documents.sqlite")]
    done = erase(Settings(store=bench.root), ["owl.md"])
    assert not [*cache.glob("*-documents.sqlite")]
    assert any(one.startswith("the server of openai:loopback?base_url=http") for one in done.remains)


def test_no_kill_and_no_reembed_pays_for_a_text_again(bench: Workbench, server: ModelServer, fake_model: str) -> None:
    program = (
        "import sys\nfrom docmill.flows.cli.start import main\nsys.argv[0] = 'docmill'\nmain()"  # as the program does
    )
    words = ["ingest", str(bench.docs), "--store", str(bench.root), "--engine", "local"]
    chosen = {"model": MODEL, "base_url": server.url + "/v1", "batch_texts": 1, "max_concurrency": 1, "timeout_s": 2.0}
    server.slow_s = 2.2
    words += [part for name, value in chosen.items() for part in ("--set", f"embedding.{name}={value}")]
    process = subprocess.Popen([sys.executable, "-c", program, *words])
    before, after = iter(["well", "429", "well", "slow", "500", "well", "429"]), iter(["slow", "429"])

    def kill(own: ModelServer) -> None:
        own.behave(next(before, "well"), 1)
        if sum(count for text, count in own.embedded.items() if text not in PROBE_TEXTS) == 5:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            own.before = lambda again: again.behave(next(after, "well"), 1)
            own.behave("500", 1)  # nobody is there to read an answer

    server.before = kill
    assert process.wait(240) == -signal.SIGKILL
    bench.settings["embedding"] = chosen
    assert summary(bench.ingest())["added"] == 8
    assert next(after, "all") == "all"
    far, local = snapshots.read(bench.root).space, describe_model(fake_model)
    assert [reembed(bench.root, space, TERMS).embedded for space in (local, far)] == [8, 0]
    assert summary(bench.ingest()) == {"unchanged": 8}
    assert twice(server) == {}
    assert sum(count for text, count in server.embedded.items() if text not in PROBE_TEXTS) == 8
    assert verify(bench.root, deep=True) == []
