"""The model interface against a server on loopback that speaks both protocols; no provider is called."""

import sys
from collections.abc import Iterator

import pytest

from docmill.storage.errors import ConfigError, Terminal, Transient
from docmill.storage.process.client_errors import RETRIES
from docmill.storage.search.encode.api.api_address import OTHER_LIMIT, parse_address
from docmill.tasks.model.completion import PROVIDERS, Model, ModelOptions, Reply, Usage
from docmill.tasks.model.providers import FAILURES, PAUSE_S, Breaker, load_model
from tests.kit.model_server import FOREIGN, ModelServer, model_server

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
SECRET = "sk-not-a-real-key"
each_provider = pytest.mark.parametrize("provider", sorted(PROVIDERS))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    for name in KEYS.values():
        monkeypatch.setenv(name, SECRET)
    with model_server() as own:
        yield own


def model(server: ModelServer, provider: str, timeout_s: float = 10) -> Model:
    base = server.url + ("/v1" if provider == "openai" else "")
    return load_model(ModelOptions(provider, "loopback", base, timeout_s))


@each_provider
def test_a_prompt_gives_text_and_what_it_cost(server: ModelServer, provider: str) -> None:
    reply = model(server, provider).complete(["A long document. " * 8, "Say\nthis line"], 50)
    assert reply == Reply("this line", Usage(37, 2, 3), True, ending={"openai": "stop"}.get(provider, "end_turn"))
    ((_, headers, body),) = server.requests
    assert SECRET in (headers.get("authorization", "") + headers.get("x-api-key", ""))
    assert body["max_tokens"] == 50


@each_provider
def test_a_model_that_thinks_gets_tokens_for_it_beside_those_of_its_answer(server: ModelServer, provider: str) -> None:
    base = server.url + ("/v1" if provider == "openai" else "")
    load_model(ModelOptions(provider, "loopback", base, 10, thinking_tokens=400)).complete(["a", "b"], 50)
    assert server.requests[0][2]["max_tokens"] == 450


def test_what_stays_the_same_comes_first_and_is_marked_to_be_cached(server: ModelServer) -> None:
    model(server, "anthropic").complete(["document", "question"], 50)
    ((_, _, body),) = server.requests
    first, second = body["messages"][0]["content"]
    assert (first["text"], first["cache_control"]) == ("document", {"type": "ephemeral"})
    assert "cache_control" not in second


@each_provider
@pytest.mark.parametrize("mood", ["429", "500"])
def test_what_passes_is_tried_again(server: ModelServer, provider: str, mood: str) -> None:
    server.behave(mood, times=RETRIES)
    assert model(server, provider).complete(["one", "two"], 9).text == "two"
    assert len(server.requests) == RETRIES + 1


@each_provider
@pytest.mark.parametrize("mood", ["429", "500"])
def test_what_does_not_pass_is_transient(server: ModelServer, provider: str, mood: str) -> None:
    server.behave(mood)
    with pytest.raises(Transient, match="the model did not answer") as caught:
        model(server, provider).complete(["one", "two"], 9)
    assert len(server.requests) == RETRIES + 1
    assert SECRET not in str(caught.value)


@each_provider
def test_a_slow_answer_is_given_up_and_asked_for_again(server: ModelServer, provider: str) -> None:
    server.behave("slow", times=1)
    assert model(server, provider, timeout_s=0.2).complete(["one", "two"], 9).text == "two"
    assert len(server.requests) == 2


@each_provider
@pytest.mark.parametrize("mood", ["truncated", "refusal"])
def test_a_reply_that_was_cut_off_or_refused_is_not_whole(server: ModelServer, provider: str, mood: str) -> None:
    server.behave(mood)
    assert not model(server, provider).complete(["one", "two"], 9).whole


@each_provider
@pytest.mark.parametrize("mood", FOREIGN)
def test_a_server_of_another_protocol_is_told_in_one_line(server: ModelServer, provider: str, mood: str) -> None:
    server.behave(mood)
    if provider == "openai" and mood in ("failed", "nothing"):  # its client takes that for a reply without choices
        assert model(server, provider).complete(["one", "two"], 9).ending == "no choices"
        return
    with pytest.raises(Terminal, match="does not answer as servers of this protocol do; check base_url"):
        model(server, provider).complete(["one", "two"], 9)


@each_provider
def test_a_refused_key_is_named_by_its_variable_and_never_said(server: ModelServer, provider: str) -> None:
    server.behave("unauthorized")
    with pytest.raises(ConfigError, match=KEYS[provider]) as caught:
        model(server, provider).complete(["one"], 9)
    assert SECRET not in str(caught.value)


@each_provider
def test_without_a_key_the_variable_is_named(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEYS[provider], raising=False)
    with pytest.raises(ConfigError, match=KEYS[provider]):
        load_model(ModelOptions(provider, "loopback"))


@each_provider
def test_without_its_client_the_extra_is_named(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, provider, None)
    with pytest.raises(ConfigError, match=rf"pip install 'docmill\[{provider}\]'"):
        load_model(ModelOptions(provider, "loopback"))


def test_a_server_of_ones_own_needs_no_key(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert model(server, "openai").complete(["one", "two"], 9).text == "two"
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    assert load_model(ModelOptions("openai", "loopback")).complete(["one", "two"], 9).text == "two"


def test_a_server_that_the_variable_of_the_client_names_is_told_and_is_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    own = parse_address("openai:loopback")
    before = own.server, own.limit, own.cached_as
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert (own.server, own.limit) == ("http://localhost:1/v1", OTHER_LIMIT)
    assert not {own.server, own.limit, own.cached_as} & {*before}


def test_wrong_options_say_what_would_be_right() -> None:
    with pytest.raises(ConfigError, match="provider must be one of openai, anthropic, got 'acme'"):
        ModelOptions("acme", "x")
    with pytest.raises(ConfigError, match="model is empty"):
        ModelOptions("openai", "")


class Failing:
    """A model that fails so many times, and counts its calls."""

    def __init__(self, failures: int, error: type[Terminal] | type[Transient] = Transient) -> None:
        self.calls, self.failures, self.error = 0, failures, error

    def complete(self, parts: object, max_tokens: int, picture: object = None) -> Reply:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error(f"no {parts} {max_tokens} {picture}")
        return Reply("well", Usage(), True)


def test_a_model_that_failed_often_is_left_alone_for_a_while_and_then_tried_once() -> None:
    now = [0.0]
    failing = Failing(FAILURES)
    breaker = Breaker(failing, lambda: now[0])
    for _ in range(FAILURES + 5):
        with pytest.raises(Transient):
            breaker.complete(["one"], 9)
    assert failing.calls == FAILURES
    now[0] = PAUSE_S + 1
    assert breaker.complete(["one"], 9).text == "well"
    assert breaker.complete(["one"], 9).text == "well"


def test_a_prompt_that_is_wrong_says_nothing_about_the_model() -> None:
    failing = Failing(FAILURES + 1, Terminal)
    for _ in range(FAILURES + 1):
        with pytest.raises(Terminal):
            Breaker(failing).complete(["one"], 9)
    assert failing.calls == FAILURES + 1
