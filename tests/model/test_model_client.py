"""The client of a language model: kept answers, order, budgets and the ledger, on a loopback server."""

import json
import threading
from pathlib import Path

import pytest

from docmill.storage.errors import ConfigError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import CostRow
from docmill.tasks.model import ledger
from docmill.tasks.model.budget import LEAST_CACHED, Budget, BudgetTracker, Forecast
from docmill.tasks.model.client import CallSchedule, ModelAccess, ModelClient
from docmill.tasks.model.completion import ModelOptions, Usage
from docmill.tasks.model.journal import COSTS, REPLIES, Journal, PaidCall
from docmill.tasks.model.prompt import Answer, Prompt
from tests.kit.model_server import ModelServer

PRICES = {"input": 2.0, "cached": 0.5, "output": 10.0}


def model_client(
    server: ModelServer, root: Path | None = None, budget: Budget | None = None, **how: object
) -> ModelClient:
    model = ModelOptions("openai", "loopback", f"{server.url}/v1", max_concurrency=3)
    return ModelClient(ModelAccess(model, open_folder(root) if root else None, budget=budget or Budget(), **how))  # type: ignore[arg-type]


def prompts(count: int, **how: object) -> list[Prompt]:
    return [Prompt(("Say it again.", f"line {i}"), max_tokens=9, **how) for i in range(count)]  # type: ignore[arg-type]


def test_an_answer_is_kept_in_the_store_and_given_again(server: ModelServer, tmp_path: Path) -> None:
    for _ in range(2):
        with model_client(server, tmp_path) as own:
            found = own.ask(prompts(5))
            assert [found[prompt] for prompt in prompts(5)] == [Answer(f"line {i}") for i in range(5)]
    assert len(server.requests) == 5


def test_without_a_store_answers_are_kept_as_long_as_the_desk(server: ModelServer) -> None:
    with model_client(server) as own:
        assert own.ask(prompts(2)) == own.ask(prompts(2) * 3)
    assert len(server.requests) == 2


def test_an_answer_outlives_what_its_prompt_only_shows_and_is_out_of_date_then(
    server: ModelServer, tmp_path: Path
) -> None:
    def asked(shown: str, refresh: bool = False) -> Answer:
        prompt = Prompt((shown, "the chunk"), about=("the chunk",), basis=shown)
        with model_client(server, tmp_path, refresh=refresh) as own:
            return own.ask([prompt])[prompt]

    assert asked("old") == asked("new") == Answer("the chunk", "old")
    assert asked("new", refresh=True) == asked("new", refresh=True) == Answer("the chunk", "new")
    assert len(server.requests) == 2


def test_a_failed_call_leaves_its_prompt_out_and_is_in_the_ledger(server: ModelServer, tmp_path: Path) -> None:
    server.behave("500", times=1)
    with model_client(server, tmp_path) as own:
        assert len(own.ask(prompts(4))) == 3
    (row,) = ledger.read(ledger.pending(tmp_path))
    assert (row.calls, row.failed, row.output) == (4, 1, 9)


@pytest.mark.parametrize(
    ("mood", "partly", "text"), [("truncated", True, "line 0"), ("truncated", False, ""), ("refusal", True, "")]
)
def test_what_is_not_whole_is_empty_unless_a_part_is_of_use(
    server: ModelServer, mood: str, partly: bool, text: str
) -> None:
    server.behave(mood)
    with model_client(server) as own:
        (answer,) = own.ask(prompts(1, partly=partly)).values()
    assert answer.text == text


def test_a_bound_of_calls_stops_and_says_what_is_left(server: ModelServer) -> None:
    with model_client(server, budget=Budget(max_calls=3)) as own:
        assert len(own.ask(prompts(5))) == 3
        assert own.ask(prompts(6)[4:]) == {}
        assert own.spent.left == 3
    assert len(server.requests) == 3


def test_a_bound_of_cost_is_never_passed(server: ModelServer, tmp_path: Path) -> None:
    budget = Budget(PRICES, max_cost=0.0005)
    with model_client(server, tmp_path, budget) as own:
        own.ask(prompts(20))
        (row,) = own.spent.costs
        assert 0 < row.money <= 0.0005
        assert own.spent.left == 20 - row.calls > 0
    assert row.money == pytest.approx(budget.money(Usage(row.input, row.cached, row.output)))


def test_a_bound_of_cost_without_prices_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"set \[model.prices\]"):
        Budget(max_cost=1.0)


def test_what_is_taken_into_a_cache_has_its_own_price() -> None:
    usage = Usage(input=1_000_000, cached=500_000, output=0, written=250_000)
    assert Budget({"input": 4.0}).money(usage) == 4.0
    assert Budget({"input": 4.0, "cached": 0.4, "written": 5.0}).money(usage) == pytest.approx(1.0 + 0.2 + 1.25)


def test_counting_makes_no_call(server: ModelServer, tmp_path: Path) -> None:
    with model_client(server, tmp_path, Budget(PRICES, max_calls=4), calls=False) as own:
        assert own.ask(prompts(5, purpose="facts")) == {}
        (row,) = own.spent.costs
    assert (row.purpose, row.calls, row.output, own.spent.left) == ("facts", 4, 36, 1)
    assert row.input == sum(prompt.tokens for prompt in prompts(4))
    assert row.money > 0
    assert row.failed == 0
    assert server.requests == []
    assert list(tmp_path.rglob("*.*")) == []


def test_a_forecast_counts_a_shared_beginning_as_cached_where_it_is_marked_and_long() -> None:
    document = "w" * 4 * LEAST_CACHED
    forecasts = [Forecast(provider) for provider in ("anthropic", "openai")]
    some = [Prompt((document, f"chunk {i}"), max_tokens=5) for i in range(2)]
    marked, plain = [[one.usage(prompt) for prompt in some] for one in forecasts]
    size = LEAST_CACHED + 1
    assert [(usage.cached, usage.written) for usage in marked] == [(0, size), (size, 0)]
    assert [(usage.cached, usage.written) for usage in plain] == [(0, 0), (0, 0)]


def test_calls_go_document_by_document_the_first_of_each_alone(server: ModelServer) -> None:
    some = [Prompt((f"document {i // 4}", f"chunk {i}"), max_tokens=9) for i in range(12)]
    turns = CallSchedule(some)
    first = turns.take(), turns.take()
    assert [turn and turn[0] for turn in first] == [0, 4]
    turns.done(0)
    assert [turn[0] for _ in range(3) if (turn := turns.take())] == [1, 2, 3]
    with model_client(server) as own:
        own.ask(some)
    asked = [body["messages"][0]["content"].split("\n\n")[1] for _, _, body in server.requests]
    for start in (0, 4, 8):  # a call that is answered at once lets its document go on before others have begun
        own_calls = [f"chunk {number}" for number in range(start, start + 4)]
        assert min(own_calls, key=asked.index) == own_calls[0]


def test_no_more_calls_are_under_way_than_are_allowed(server: ModelServer) -> None:
    server.behave("slow", times=6)
    own = model_client(server)
    threads = [threading.Thread(target=own.ask, args=(prompts(9)[i::3],)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own.close()
    assert server.most_at_once == 3


def test_a_closed_desk_makes_no_call(server: ModelServer) -> None:
    own = model_client(server)
    own.close()
    assert own.ask(prompts(3)) == {}
    assert server.requests == []


def test_a_refused_key_ends_everything_and_is_told_once(server: ModelServer, tmp_path: Path) -> None:
    server.behave("unauthorized")
    with model_client(server, tmp_path) as own, pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        own.ask(prompts(9))


def test_what_a_killed_run_paid_for_is_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "killed", "openai/loopback")
    journal.add(PaidCall("contexts", input=5, output=2, money=0.5))
    path = tmp_path / REPLIES / "killed.jsonl"
    journal._file.close()  # type: ignore[union-attr]  # as the kernel does
    path.write_text(path.read_text() + '{"purpose": "cont')
    assert ledger.read(ledger.pending(tmp_path)) == (
        CostRow("killed", 0, "openai/loopback", "contexts", 1, 1, 5, 0, 0, 2, 0.5),
    )
    assert not path.exists()


def test_a_journal_that_is_being_written_is_let_alone(server: ModelServer, tmp_path: Path) -> None:
    with model_client(server, tmp_path) as own:
        own.ask(prompts(2))
        assert ledger.pending(tmp_path) == []
    assert len(ledger.pending(tmp_path)) == 1
    assert json.loads(next((tmp_path / COSTS).iterdir()).read_bytes())[0]["calls"] == 2


def test_a_purse_takes_back_what_was_set_aside() -> None:
    (prompt,) = prompts(1)
    dear = Budget(PRICES, max_cost=Budget(PRICES).money(Usage(prompt.tokens, 0, 9)) * 1.5)
    purse = BudgetTracker(dear)
    assert purse.admit(prompt)
    assert not purse.admit(prompt)
    purse.settle(prompt, Usage())
    assert purse.admit(prompt)
