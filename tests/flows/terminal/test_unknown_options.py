"""A wrong option is answered by the right one."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments])
    assert done.exit_code == 2
    assert done.stdout == ""
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("ingest docs --chunk-size 500", "type --set split.structure.size=500. `docmill explain FILE` says which"),
        ("ingest docs --chunk-size=500", "type --set split.structure.size=500."),
        ("plan docs --overlap", "type --set split.sentence.overlap=VALUE."),
        ("ingest docs --strategy table", "[[routes]] in docmill.toml choose the strategies"),
        ("ingest docs --ocr", "Did you mean --parse-ocr?"),
        ("ingest docs --model x", "Did you mean --embedding-model or --model-model?"),
        ("ingest docs --password x", "Did you mean --parse-passwords?"),
        ("ingest docs --exlude x", "Did you mean --exclude?"),
        ("search x --top-k 3", "Type -k N instead."),
        ("search x --source docs", "Type --where \"source = 'NAME'\" instead."),
    ],
)
def test_an_unknown_option_says_what_was_meant(arguments: str, answer: str) -> None:
    name = next(word for word in arguments.split() if word.startswith("--")).partition("=")[0]
    assert f"Error: No such option: {name}. " in said(*arguments.split())
    assert answer in said(*arguments.split())


def test_where_nothing_is_like_it_nothing_is_suggested() -> None:
    for name in ("--quiet", "--verbose"):
        assert said("ingest", "docs", name).endswith(f"Error: No such option: {name}")


def test_with_json_the_suggestion_is_in_the_message() -> None:
    told = json.loads(said("ingest", "docs", "--chunk-size", "500", "--json"))["error"]
    assert (told["kind"], told["status"]) == ("UsageError", 2)
    assert "split.structure.size=500" in told["message"]


def test_a_report_without_a_folder_shows_the_whole_command() -> None:
    assert said("report").endswith("Error: Name the folder to write to, such as: docmill report --html report")
