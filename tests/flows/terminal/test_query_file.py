"""`docmill search --queries`: a line that cannot be searched for costs that line alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from tests.kit.workbench import MakeBench, Workbench


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"a.md": "# A\n\nzebra alpha\n", "b.md": "# B\n\ngiraffe beta\n"})


def asked(bench: Workbench, file: Path, lines: str, *words: str) -> Any:
    file.write_text(lines, encoding="utf-8")
    return CliRunner().invoke(app, ["search", "--queries", str(file), "--store", str(bench.root), "-k", "1", *words])


@pytest.mark.parametrize("wrong", ["?!", "the of"], ids=["no word", "stop words"])
def test_the_other_lines_are_answered_and_the_command_says_which_was_not(
    bench: Workbench, tmp_path: Path, wrong: str
) -> None:
    done = asked(bench, tmp_path / "q.txt", f"zebra\n{wrong}\ngiraffe\n", "--mode", "keyword")
    assert done.exit_code == 3
    assert [line for line in done.stdout.splitlines() if line.startswith("# ")] == [
        "# zebra",
        f"# {wrong}",
        "# giraffe",
    ]
    assert "a.md" in done.stdout
    assert "b.md" in done.stdout
    assert f"{wrong!r} was not searched for: " in done.stderr


def test_json_has_the_error_of_a_line_beside_the_hits_of_the_others(bench: Workbench, tmp_path: Path) -> None:
    done = asked(bench, tmp_path / "q.txt", "zebra\n?!\n", "--json")
    first, second = json.loads(done.stdout)
    assert (first.keys(), [hit["uri"] for hit in first["hits"]]) == ({"query", "hits"}, ["a.md"])
    assert second == {"query": "?!", "hits": [], "error": "the query '?!' contains no word; ask in words"}


def test_a_file_without_any_query_that_can_be_searched_for_is_an_error(bench: Workbench, tmp_path: Path) -> None:
    done = asked(bench, tmp_path / "q.txt", "?!\n...\n")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "contains no word" in done.stderr
