"""Rerankers by API: what a server is sent, whose answers are taken, and what a person reads when it fails."""

import json
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.process.client_errors import RETRIES
from docmill.storage.search.rank.steps import rerank_server
from docmill.storage.search.rank.steps.rerank_server import KEY, RerankServer
from tests.kit.servers.loopback import served
from tests.kit.workbench import Workbench

TEXTS = ["The owl hunts.", "The miller dresses the stones.", "Canvas and sails."]
PAGES = {f"{i}.md": f"# Page {i}\n\n{text}\n" for i, text in enumerate(TEXTS)}
SHAPES: dict[str, Callable[[Iterable[tuple[int, float]]], Any]] = {  # how each kind of server gives its scores
    "cohere": lambda scores: {"results": [{"index": i, "relevance_score": one} for i, one in scores]},
    "voyage": lambda scores: {"object": "list", "data": [{"index": i, "relevance_score": one} for i, one in scores]},
    "tei": lambda scores: [{"index": i, "score": one} for i, one in scores],
}


class Rehearsed:
    """What a server saw, and what it says next: statuses before its answers, and the shape of these."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.statuses: list[int] = []
        self.shape = "cohere"
        self.raw = b""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Rehearsed, str]]:
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setattr(rerank_server, "_FIRST_WAIT_S", 0.001)
    kept = Rehearsed()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            kept.seen.append((self.headers.get("Authorization", ""), body))
            status = kept.statuses.pop(0) if kept.statuses else 200
            texts = body.get("documents") or body.get("texts")
            scores = sorted(enumerate(float("stones" in text) for text in texts), key=lambda one: -one[1])
            data = kept.raw or json.dumps(SHAPES[kept.shape](scores)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with served(Handler) as port:
        yield kept, f"http://127.0.0.1:{port}/v2/rerank"


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_come_back_in_the_order_of_the_texts(server: tuple[Rehearsed, str], shape: str) -> None:
    kept, address = server
    kept.shape = shape
    found = RerankServer(address if shape == "tei" else f"{address}?model=rerank-1").score("stones?", TEXTS)
    assert found.tolist() == [0.0, 1.0, 0.0]
    (_, body) = kept.seen[0]
    asked = {"texts": TEXTS, "truncate": True} if shape == "tei" else {"model": "rerank-1", "documents": TEXTS}
    assert body == {"query": "stones?", **asked}


def test_a_search_asks_the_server_that_the_settings_name(
    server: tuple[Rehearsed, str], tmp_path: Path, fake_model: str
) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "search": {"rerank": f"{server[1]}?model=m"}})
    bench.write(dict(PAGES))
    bench.ingest()
    hits = bench.store.search("who hunts voles", rerank=f"{server[1]}?model=m")
    assert hits[0].uri == "1.md"
    assert any(step.step == "rerank" and step.said.startswith("m gives 1.000") for step in hits[0].steps)


def test_a_busy_server_is_asked_again(server: tuple[Rehearsed, str]) -> None:
    kept, address = server
    kept.statuses = [429, 503]
    assert RerankServer(address).score("stones?", TEXTS)[1] == 1.0
    assert len(kept.seen) == 3


def test_a_server_that_stays_busy_ends_the_search(server: tuple[Rehearsed, str]) -> None:
    kept, address = server
    kept.statuses = [503] * 9
    with pytest.raises(QueryError, match=r"127\.0\.0\.1 is busy \(503\)"):
        RerankServer(address).score("stones?", TEXTS)
    assert len(kept.seen) == RETRIES + 1


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"<html>log in</html>", "is no JSON"),
        (b'{"results": [{"index": 0, "relevance_score": 1}]}', "gave 1 scores for 3 texts"),
        (b'{"results": [{"index": 99, "relevance_score": 1}, 7, {"index": "0"}]}', "gave 0 scores for 3 texts"),
        (b'[{"index": 0, "score": NaN}]', "gave 0 scores"),
        (b"[" + b" " * (1 << 22) + b"]", "more than 4,194,304 bytes"),
    ],
)
def test_an_answer_without_scores_is_said(server: tuple[Rehearsed, str], raw: bytes, said: str) -> None:
    server[0].raw = raw
    with pytest.raises(QueryError, match=said):
        RerankServer(server[1]).score("stones?", TEXTS)


def test_a_refused_key_names_its_variable(server: tuple[Rehearsed, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sesame")
    server[0].statuses = [401]
    with pytest.raises(ConfigError, match=KEY) as caught:
        RerankServer(server[1]).score("stones?", TEXTS)
    assert server[0].seen[0][0] == "Bearer sesame"
    assert "sesame" not in str(caught.value)


def test_a_key_is_never_sent_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sesame")
    RerankServer("https://rerank.example/v1/rerank?model=m")
    with pytest.raises(ConfigError, match="in the clear"):
        RerankServer("http://rerank.example/v1/rerank?model=m")


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank_server, "_FIRST_WAIT_S", 0.001)
    with pytest.raises(QueryError, match="did not answer"):
        RerankServer("http://127.0.0.1:9/rerank").score("stones?", TEXTS)
    with pytest.raises(ConfigError, match="names no host"):
        RerankServer("http:///rerank")


def test_a_server_that_drips_does_not_hold_a_search(
    server: tuple[Rehearsed, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank_server, "_TIMEOUT_S", 0.0)
    with pytest.raises(QueryError, match="did not end its answer within 0 s"):
        RerankServer(server[1]).score("stones?", TEXTS)


def test_no_texts_need_no_server(server: tuple[Rehearsed, str]) -> None:
    assert np.array_equal(RerankServer(server[1]).score("stones?", []), np.zeros(0))
    assert not server[0].seen
