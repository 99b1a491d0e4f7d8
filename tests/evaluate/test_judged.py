"""Judgements of a language model, asked of a loopback server: each paid for once, none guessed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.tasks.evaluate.model_judgements import average_precision
from tests.kit.model_server import model_server
from tests.kit.workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path)
    made.write(
        {"boots.md": "# Boots\n\nNew boots come in May. Old boots go to Anna.\n", "ice.md": "# Ice\n\nIce is cold.\n"}
    )
    made.ingest()
    (tmp_path / "q.csv").write_text("question,uri,phrase\nwhen do boots come,boots.md,New boots come in May\n")
    return made


def call(bench: Workbench, url: str, *arguments: str) -> tuple[int, str, str]:
    model = ["--set", "model.provider=openai", "--set", "model.model=loopback", "--set", f"model.base_url={url}/v1"]
    where = ["--questions", str(bench.folder / "q.csv"), "--store", str(bench.root), *model]
    done = CliRunner().invoke(app, ["evaluate", "context", *where, *arguments])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("useful", "value"), [([True, False, True], (1 + 2 / 3) / 2), ([False, True], 0.5), ([False], 0.0), ([], 0.0)]
)
def test_context_precision_is_the_mean_of_the_precisions_at_useful_ranks(useful: list[bool], value: float) -> None:
    assert average_precision(useful) == pytest.approx(value)


def test_a_model_judges_and_is_asked_once(bench: Workbench) -> None:
    with model_server() as server:
        status, out, _ = call(bench, server.url, "--json")
        assert status == 0
        found = {row["measure"]: row for row in json.loads(out)}
        assert found["context precision"]["value"] == 1
        # one sentence of those shown begins with the word that the server takes for needed
        assert 0 < found["context relevance"]["value"] < 1
        asked = len(server.requests)
        assert asked == 3
        assert call(bench, server.url, "--json")[1] == out
        assert len(server.requests) == asked
    kept = bench.store.sql("SELECT measure FROM evaluations WHERE kind = 'context'").column(0).to_pylist()
    assert sorted(kept) == ["context precision", "context relevance"]


def test_replies_that_say_nothing_are_left_out_and_told(bench: Workbench) -> None:
    with model_server() as server:
        server.behave("nonsense")
        status, out, err = call(bench, server.url)
    assert status == 1
    assert "no judgement" in err
    assert not out


def test_without_a_model_it_says_what_is_missing(bench: Workbench) -> None:
    where = ["--questions", str(bench.folder / "q.csv"), "--store", str(bench.root)]
    done = CliRunner().invoke(app, ["evaluate", "context", *where])
    assert done.exit_code == 1
    assert "[model]" in done.stderr
