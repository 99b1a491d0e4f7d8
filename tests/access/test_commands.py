"""Commands in the name of principals: what they print and write tells of the visible documents alone."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from tests.access.company import files, founded, visible
from tests.access.test_attacks import ASKER, SECRETS
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

TRUE = re.compile(r"\d+\.\d{5,}")


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workbench, Workbench]:
    """Return the store of all, and that of the documents which the asker may see."""
    made = (files(), visible(files(), ASKER))
    whole, alone = (founded(tmp_path_factory.mktemp("company"), content) for content in made)
    return whole, alone


def ran(bench: Workbench, *command: str) -> str:
    done = CliRunner().invoke(app, [*command, "--store", str(bench.root)])
    return f"{done.exit_code} {done.stdout} {done.stderr}".replace(str(bench.root), "STORE")


def in_name(*command: str) -> list[str]:
    return [*command, *(part for one in ASKER for part in ("--principal", one))]


@pytest.mark.parametrize(
    "command",
    [
        ("search", "zeppelin300 mill", "-k", "40", "--json"),
        ("search", "Vertrag Mühle", "--mode", "keyword", "--json"),
        ("search", "mill", "--where", "metadata.team = 'sealed'", "--json"),
        ("sql", "SELECT uri, access FROM documents ORDER BY uri", "--json"),
        ("sql", "SELECT uri FROM documents_at(1) ORDER BY uri", "--json"),
        ("sql", "SELECT colour FROM documents"),
    ],
    ids=" ".join,
)
def test_searches_and_statements_print_the_same(benches: tuple[Workbench, Workbench], command: tuple[str, ...]) -> None:
    found, truth = ran(benches[0], *in_name(*command)), ran(benches[1], *command)
    assert TRUE.sub(lambda one: f"{float(one[0]):.4f}", found) == TRUE.sub(lambda one: f"{float(one[0]):.4f}", truth)
    assert not SECRETS.search(found.replace("zeppelin300 mill", "").replace("Vertrag Mühle", "").replace("sealed'", ""))


def test_an_export_and_a_report_hold_the_visible_documents_alone(
    benches: tuple[Workbench, Workbench], tmp_path: Path
) -> None:
    for number, bench in enumerate(benches):
        named = in_name if number == 0 else lambda *command: [*command]
        assert ran(bench, *named("export", str(tmp_path / f"{number}.jsonl"))).startswith("0 ")
        assert ran(bench, *named("report", "--html", str(tmp_path / f"report{number}"))).startswith("0 ")
    rows: list[Any] = [
        sorted(json.loads(line)["chunk_id"] for line in (tmp_path / f"{number}.jsonl").read_text().splitlines()
               if "chunk_id" in line)
        for number in range(2)
    ]  # fmt: skip
    assert rows[0] == rows[1] != []
    written = [*(tmp_path / "report0" / "data").iterdir()]
    assert written
    for path in (*written, tmp_path / "0.jsonl"):
        assert not (found := SECRETS.search(path.read_text("utf-8"))), (path.name, found)
