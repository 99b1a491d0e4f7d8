"""Embedding models of other providers by `litellm`, against a loopback server; no provider was called."""

import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.requirements import Requirement

from docmill.flows.config.from_settings import space_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import ConfigError, DocmillError, StoreError, Terminal, Transient
from docmill.storage.process.client_errors import RETRIES
from docmill.storage.search.encode.api import api_address, litellm_client
from docmill.storage.search.encode.api.api_address import (
    OTHER_LIMIT,
    OWN_LIMIT,
    ApiAddress,
    allowed,
    extra_of,
    is_api,
    parse_address,
)
from docmill.storage.search.encode.api.embedding_server import EmbeddingServer
from docmill.storage.search.encode.api.same_model import PROBE_TEXTS
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.kit.house import ROOT
from tests.kit.model_server import DIMENSION, UNKNOWN, ModelServer, model_server, vector_of
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.skipif(find_spec("litellm") is None, reason="the extra litellm is not installed")

KEY = "not-a-real-key"
COHERE, VOYAGE, VLLM = "litellm:cohere/embed-v4.0", "litellm:voyage/voyage-3.5", "litellm:hosted_vllm/loopback"
GEMINI = "litellm:gemini/gemini-embedding-001"
PATHS = {COHERE: "/v2/embed", VOYAGE: "/v1/embeddings", VLLM: "/v1", GEMINI: ""}
PAGES: dict[str, str | bytes | None] = {
    f"{name}.md": f"# {name}\n\nThe {name} bird has {count} eggs in its nest.\n"
    for count, name in enumerate(("owl", "tit", "finch", "crane", "heron", "swift"))
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    """Serve, for a user who has an empty cache and has named no model yet; the pauses between tries are short."""
    for name in ("COHERE_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(api_address, "_NAMED", {})
    monkeypatch.setattr(litellm_client, "_FIRST_S", 0.01)
    with model_server() as own:
        yield own


def named(server: ModelServer, model: str, **options: Any) -> str:
    """Return the model as settings that name it spell it."""
    own = {"model": model, "base_url": server.url + PATHS[model], **options}
    return Settings.model_validate({"embedding": own}).embedding.where()[0]


@pytest.mark.parametrize("model", PATHS)
def test_a_provider_gives_unit_vectors_in_the_order_of_the_texts(server: ModelServer, model: str) -> None:
    encoder = load_encoder(named(server, model, batch_texts=2))
    texts = ["one owl", "two owls", "three", "one owl", "five"]
    wanted = np.array([vector_of(text) for text in texts], np.float32)
    assert np.allclose(encoder.encode(texts), wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6)
    asked = len(server.requests)
    assert np.array_equal(encoder.encode_query("one"), encoder.encode_query("one"))
    assert len(server.requests) == asked + 1, "a question asked again asks no server"
    assert max(count for text, count in server.embedded.items() if text not in PROBE_TEXTS) == 1
    assert all("litellm" in headers["user-agent"] for _, headers, _ in server.requests)


def test_the_types_of_a_provider_are_sent_unless_others_are_set(server: ModelServer) -> None:
    for model, query, document in ((COHERE, "search_query", "search_document"), (VOYAGE, "query", "document")):
        server.requests.clear()
        encoder = load_encoder(named(server, model, dimensions=DIMENSION))
        encoder.encode(["owl"])
        encoder.encode_query("owl")
        assert [body["input_type"] for _, _, body in server.requests] == [document, query]
        assert all(headers["authorization"] == f"Bearer {KEY}" for _, headers, _ in server.requests)
    server.requests.clear()
    load_encoder(named(server, VOYAGE, dimensions=16, query_type="q")).encode_query("owl")
    ((_, _, body),) = server.requests
    assert (body["input_type"], body["output_dimension"]) == ("q", 16)
    load_encoder(named(server, GEMINI, dimensions=DIMENSION)).encode_query("owl")
    assert server.requests[-1][2]["requests"][0]["taskType"] == "RETRIEVAL_QUERY"
    assert parse_address("litellm:bedrock/cohere.embed-multilingual-v3").types[0] == "search_query"
    assert (parse_address(VLLM).types, ApiAddress("cohere/a").types) == (("", ""), ("", ""))


def test_only_tokens_that_a_provider_has_counted_are_paid_for(server: ModelServer) -> None:
    for model, counted in ((COHERE, True), (VOYAGE, True), (GEMINI, False)):
        made = EmbeddingServer(parse_address(named(server, model))).embed(["one owl and two", "a tit"])
        assert (made.tokens > 0) is counted, model


@pytest.mark.parametrize("mood", ["429", "500"])
def test_what_passes_is_tried_again(server: ModelServer, mood: str) -> None:
    encoder = load_encoder(named(server, COHERE, dimensions=DIMENSION))
    server.behave(mood, times=RETRIES)
    assert encoder.encode(["owl"]).shape == (1, DIMENSION)
    assert len(server.requests) == RETRIES + 1
    server.requests.clear()
    server.behave(mood)
    with pytest.raises(Transient, match=rf"^http\S+ did not answer: {mood} "):
        encoder.encode(["tit"])
    assert len(server.requests) == RETRIES + 1


def test_a_timeout_is_tried_again(server: ModelServer) -> None:
    encoder = load_encoder(named(server, VLLM, dimensions=DIMENSION, timeout_s=0.2))
    server.behave("slow", times=1)
    assert encoder.encode(["owl"]).shape == (1, DIMENSION)
    assert server.embedded == {"owl": 1}


def test_a_server_decides_how_long_the_next_try_waits() -> None:
    def pause(told: str, tried: int) -> float:
        busy = Exception()
        busy.litellm_response_headers = {"retry-after": told}  # type: ignore[attr-defined]
        return litellm_client._pause(busy, tried)

    assert (pause("7", 0), pause("9999", 0)) == (7.0, 60.0)
    assert 1.5 <= pause("Fri, 27 Nov 2026 20:00:00 GMT", 2) <= 2.0
    assert 0.375 <= litellm_client._pause(Exception(), 0) <= 0.5


@pytest.mark.parametrize(
    ("mood", "options", "kind", "problem"),
    [
        ("unauthorized", {}, ConfigError, r"^\[embedding\] the key in the environment for cohere was refused$"),
        ("400", {}, Terminal, r"^\[embedding\] http\S+ refused a request for litellm:cohere/embed-v4.0 \(400\): does"),
        ("narrow", {"dimensions": 9}, ConfigError, r"gave vectors of 8 dimensions for litellm:cohere/embed-v4.0, but"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    server: ModelServer, mood: str, options: dict[str, Any], kind: type[DocmillError], problem: str
) -> None:
    encoder = load_encoder(named(server, COHERE, **options))
    server.behave(mood)
    with pytest.raises(kind, match=problem) as caught:
        encoder.encode(["a secret"])
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_key_model_or_provider_is_told(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(model: str, **options: Any) -> None:
        load_encoder(Settings.model_validate({"embedding": {"model": model, **options}}).embedding.where()[0])

    with pytest.raises(ConfigError, match=rf"has no model 'cohere/{UNKNOWN}'$"):
        load(f"litellm:cohere/{UNKNOWN}", base_url=server.url + "/v2/embed")
    monkeypatch.delenv("COHERE_API_KEY")
    with pytest.raises(ConfigError, match=r"model litellm:cohere/a needs a key in the environment: COHERE_API_KEY$"):
        load("litellm:cohere/a")
    with pytest.raises(ConfigError, match=r"model litellm:nobody/a: litellm knows no provider nobody$"):
        load("litellm:nobody/a")
    monkeypatch.setitem(sys.modules, "google", None)
    with pytest.raises(ConfigError, match=r"needs: pip install 'litellm\[google\]'$"):
        load("litellm:vertex_ai/text-embedding-005")
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(ConfigError, match=r"needs the package litellm: pip install 'docmill\[litellm\]'$"):
        load("litellm:cohere/b")
    assert server.requests, "of the model that is unknown"


def test_a_name_names_a_provider_and_a_model() -> None:
    for wrong in ("litellm:", "litellm:cohere", "litellm:cohere/", "litellm:/a"):
        with pytest.raises(ConfigError, match="names no"):
            parse_address(wrong)
    with pytest.raises(ConfigError, match="give openai:text-embedding-3-small"):
        parse_address("litellm:openai/text-embedding-3-small")
    own = parse_address(f"{COHERE}?dimensions=256&timeout_s=2.5")
    assert parse_address(str(own)) == own
    assert (own.name, own.provider, own.limit) == (COHERE, "cohere", OTHER_LIMIT)
    assert own.identity != ApiAddress("cohere/embed-v4.0", dimensions=256).identity
    assert parse_address("openai:a").limit == OWN_LIMIT
    assert [extra_of(name) for name in (COHERE, "openai:a", "./litellm")] == ["litellm", "openai", ""]
    assert is_api(COHERE)


def test_a_store_decides_neither_the_provider_nor_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_address, "_NAMED", {})
    monkeypatch.delenv("DOCMILL_EMBEDDING__BASE_URL", raising=False)
    for server in ("", "https://far.example/v1", "http://127.0.0.1:9/v1"):
        given = ApiAddress("cohere/a", server, client="litellm:")
        with pytest.raises(StoreError, match=r"^the store names litellm:cohere/a; to let docmill send texts to cohere"):
            allowed(given)
        with monkeypatch.context() as own:
            own.setenv("DOCMILL_EMBEDDING__BASE_URL", "http://mine/v1")
            with pytest.raises(StoreError, match="names litellm:cohere/a"):
                allowed(given)
            own.setenv("DOCMILL_EMBEDDING__MODEL", "litellm:cohere/a")
            assert allowed(given).base_url == "http://mine/v1"
            own.delenv("DOCMILL_EMBEDDING__BASE_URL")
            assert allowed(given).base_url == "", "that of the store is not asked"


def test_a_store_is_embedded_through_faults_and_no_text_is_sent_twice(
    server: ModelServer, tmp_path: Path, fake_model: str
) -> None:
    chosen = {"model": COHERE, "base_url": server.url + PATHS[COHERE], "batch_texts": 2, "price": 1.0}
    bench = Workbench(tmp_path / "bench", {"embedding": chosen})
    bench.write(PAGES)
    moods = iter(["well", "429", "500", "well", "429"])
    server.before = lambda own: own.behave(next(moods, "well"), 1)
    planned = bench.ingest(dry_run=True)
    done = bench.ingest()
    assert (summary(done), next(moods, "all")) == ({"added": 6, "parsed": 6, "embedded": 6}, "all")
    assert 0 < done.embedding["money"] < planned.embedding["money"]
    (row,) = bench.store.sql("SELECT model, purpose, failed FROM costs").to_pylist()
    assert row == {"model": "litellm/cohere/embed-v4.0", "purpose": "embedding", "failed": 0}
    assert bench.store.search("owl bird", k=1, mode="vector")[0].uri == "owl.md"
    far = snapshots.read(bench.root).space
    assert far.probe
    local = space_of(Settings.model_validate({"embedding": {"model": fake_model}}))
    assert [reembed(bench.root, one, CommitTerms(Retention())).embedded for one in (local, far)] == [6, 0]
    assert {count for text, count in server.embedded.items() if text not in PROBE_TEXTS} == {1}
    server.drift = 0.3
    with pytest.raises(StoreError, match=r"^litellm:cohere/embed-v4\.0 has changed on"):
        bench.ingest()
    assert verify(bench.root, deep=True) == []


def test_the_requirement_excludes_the_versions_that_held_malware() -> None:
    (line,) = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["litellm"]
    assert not any(Requirement(line).specifier.contains(one) for one in ("1.82.7", "1.82.8"))
