"""The README is true: its commands run, its code runs, and it names what there is."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import ConfigError
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.split.parts.options import Options
from docmill.tasks.split.strategies import SPLITTERS, options_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
STANDING = ("docmill schedule",)  # these do not end by themselves; tests/flows/test_flow.py starts one


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands(program: str) -> list[list[str]]:
    """Return the commands of a program in unlabelled blocks, without their comments."""
    lines = [line for block in blocks("") for line in block.splitlines() if line.startswith(f"{program} ")]
    return [shlex.split(line, comments=True) for line in lines if not line.startswith(STANDING)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_model: str) -> Path:
    """Give the README a folder with documents in `docs`, and the fake model."""
    shutil.copytree(ROOT / "tests" / "corpus" / "handbook", tmp_path / "docs")
    shutil.copytree(ROOT / "tests" / "corpus" / "src", tmp_path / "docs" / "src")
    for team in ("team-a", "team-b"):
        (tmp_path / team / "docs").mkdir(parents=True)
        (tmp_path / team / "docs" / "same.md").write_text(f"# The notes of {team}\n\nText.\n")
    (tmp_path / "q.csv").write_text("question,uri\nWho wears boots?,onboarding.md\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCMILL_EMBEDDING__MODEL", fake_model)
    monkeypatch.setenv("DOCMILL_ENGINE", "local")
    return tmp_path


def run(arguments: list[str]) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"docmill {shlex.join(arguments)}\n{result.output}"
    return result.output


def test_every_command_in_the_readme_runs(folder: Path) -> None:
    ran = [arguments for _, *arguments in commands("docmill")]
    for arguments in ran:
        run(arguments)
    assert len(ran) >= 9
    assert (folder / "docmill.toml").is_file()


def test_the_python_code_in_the_readme_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["ingest", "docs"])
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert "handbook" not in str(folder)
    assert capsys.readouterr().out.startswith("1 ")


def test_the_duckdb_commands_in_the_readme_run_from_any_folder(folder: Path, tmp_path: Path) -> None:
    run(["ingest", "docs"])
    program = shutil.which("duckdb", path=str(Path(sys.executable).parent))
    assert program, "the development dependencies hold the duckdb command line"
    for _, *arguments in commands("duckdb"):
        elsewhere = [argument.replace("store/", f"{folder}/store/") for argument in arguments]
        done = subprocess.run([program, *elsewhere], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{elsewhere}\n{done.stderr}"
        assert done.stdout.strip()


def test_the_readme_names_every_command_strategy_and_format() -> None:
    names = {name for group in (typer.main.get_command(app).commands, SPLITTERS, FORMATS) for name in group}  # type: ignore[attr-defined]
    assert {name for name in names if not re.search(rf"\b{name}\b", README)} == set()


def test_the_readme_says_each_option_of_each_strategy_with_its_default_and_true_bounds() -> None:
    rows = dict.fromkeys(SPLITTERS, "")
    for names, said in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (`\w+`(?: = |, ).*) \|$", README, re.MULTILINE):
        rows |= {name: rows[name] + said for name in re.findall(r"\w+", names)}
    rows["sliding_window"] += rows["fixed"]  # "likewise"
    for name, splitter in SPLITTERS.items():
        for field in fields(splitter.options)[len(fields(Options)) :]:
            default = json.dumps(field.default)
            assert f"`{field.name}`" in rows[name], f"{name}.{field.name}"
            assert f"`{default.removesuffix('.0')}`" in rows[name], f"{name}.{field.name} = {default}"
        for option, low, high in re.findall(r"`(\w+)` = [^(;|]*\((\d+) to (\d+)", rows[name]):
            if option in splitter.options.__dataclass_fields__:
                for value in (int(low), int(high)):
                    options_of(name, {option: value})
                for value in (int(low) - 1, int(high) + 1):
                    with pytest.raises(ConfigError):
                        options_of(name, {option: value})


def test_the_readme_names_every_verb_of_make() -> None:
    done = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True)
    verbs = set(re.findall(r"^make (\w+)", done.stdout, re.MULTILINE))
    assert {"demo", "test", "lint", "bench", "clean"} <= verbs
    assert {verb for verb in verbs if f"make {verb}" not in README} == set()
