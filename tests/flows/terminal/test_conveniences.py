"""Small promises of the command line: completion, lines of doctor, and wrong settings told before anything loads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.cli.terminal import progress
from tests.kit.house import ROOT

LOADED = ("numpy", "pyarrow", "duckdb", "tokenizers", "lancedb", "torch", "prefect", "magika")
CHECKS = {"python", "docmill", "settings", "model", "tesseract", "libreoffice", "readpst", "store", "prefect", "disk"}
WRITERS = ("reembed", "vacuum", "compact", "undelete x", "restore 1", "remove x", "publish x", "repair")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return tmp_path


def test_completion_can_be_installed_and_completes_a_command() -> None:
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout
    asked = {"_DOCMILL_COMPLETE": "complete_bash", "COMP_WORDS": "docmill inge", "COMP_CWORD": "1"}
    code = "from docmill.flows.cli.app import app; app(prog_name='docmill')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["ingest"]


def test_doctor_has_a_line_for_each_thing_that_may_be_wrong() -> None:
    found = json.loads(CliRunner().invoke(app, ["doctor", "--store", "none", "--json"]).stdout)
    names = [one["name"] for one in found]
    assert set(names) >= CHECKS
    assert [name for name in names if name.startswith("extra ")] != []
    assert len(CliRunner().invoke(app, ["doctor", "--store", "none"]).stdout.splitlines()) == len(names)


@pytest.mark.parametrize("wrong", [["--config", "wrong.toml"], ["--set", "search.weight=3"], ["--store", "gs://b/s"]])
def test_a_wrong_setting_is_told_before_anything_is_loaded(folder: Path, wrong: list[str]) -> None:
    (folder / "wrong.toml").write_text('[embedding]\nmodel = "./nowhere"\nbatch = 3\n')
    code = (
        "import sys; from typer.testing import CliRunner; from docmill.flows.cli.app import app;"
        f"print(CliRunner().invoke(app, ['search', 'x', *{wrong!r}]).exit_code,"
        f" [name for name in {LOADED} if name in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1 []\n"


@pytest.mark.parametrize("command", WRITERS)
def test_a_command_for_a_store_that_is_missing_makes_none(folder: Path, command: str) -> None:
    done = CliRunner().invoke(app, [*command.split(), "--store", "none"])
    assert (done.exit_code, "none has no snapshot" in done.stderr) == (1, True)
    assert list(folder.iterdir()) == []


def test_a_log_has_a_line_every_half_minute() -> None:
    assert progress.EVERY_S == 30.0
