"""Servers of models that speak the protocol badly, or another one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.storage.errors import Terminal
from docmill.storage.search.encode.api import api_address
from docmill.storage.search.encode.api.api_address import ApiAddress, parse_address
from docmill.storage.search.encode.api.embedding_server import EmbeddingServer
from docmill.storage.search.encode.api.same_model import PROBE_TEXTS
from docmill.storage.search.encode.encoder import load_encoder
from tests.kit.model_server import FOREIGN, ModelServer, model_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(api_address, "_NAMED", {})
    with model_server() as own:
        yield own


@pytest.mark.parametrize("mood", FOREIGN)
def test_a_server_of_another_protocol_is_told_in_one_line(server: ModelServer, mood: str) -> None:
    server.behave(mood)
    with pytest.raises(
        Terminal, match=r"http\S+ does not answer as servers of this protocol do; check base_url, which"
    ):
        load_encoder(str(ApiAddress("loopback", server.url + "/v1")))


def test_a_server_that_numbers_no_vectors_or_gives_zeros_is_noticed(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(ApiAddress("loopback", server.url + "/v1"))
    rows = [{"embedding": [1.0, 0.0]}, {"embedding": [0.0, 1.0]}]
    monkeypatch.setitem(FOREIGN, "unnumbered", {"data": rows})
    server.behave("unnumbered")
    found = EmbeddingServer(parse_address(model)).embed(["one", "two"])
    assert found.vectors.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    monkeypatch.setitem(FOREIGN, "unnumbered", {"data": [{"embedding": [0.0, 0.0]}] * len(PROBE_TEXTS)})
    with pytest.raises(Terminal, match="gave vectors of zeros for openai:loopback"):
        load_encoder(model)


def test_vectors_of_two_lengths_are_told_as_such(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FOREIGN, "uneven", {"data": [{"embedding": [1.0, 0.0]}, {"embedding": [1.0]}]})
    server.behave("uneven")
    with pytest.raises(Terminal, match="gave vectors of 1 and 2 dimensions for openai:loopback"):
        EmbeddingServer(ApiAddress("loopback", server.url + "/v1")).embed(["one", "two"])


@pytest.mark.parametrize("mood", ["413", "422"])
def test_a_server_that_takes_fewer_texts_leads_to_the_setting(server: ModelServer, mood: str) -> None:
    server.behave(mood)
    with pytest.raises(Terminal, match=rf"\({mood}\): does it take 2 texts \(batch_texts\)"):
        EmbeddingServer(ApiAddress("loopback", server.url + "/v1")).embed(["one", "two"])
