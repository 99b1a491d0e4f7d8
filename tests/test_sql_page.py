"""The page on SQL is true: its commands and code run; and every column there is, is described."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import openpyxl
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.sql.column_descriptions import TABLES
from tests.kit.house import ROOT
from tests.kit.workbench import Workbench

PAGE = ROOT / "docs" / "sql.md"
TEXT = PAGE.read_text("utf-8")
EXAMPLE = PAGE.parent / "examples" / "dbt"
SOURCE = re.compile(r"\{\{ source\('docmill', '(\w+)'\) \}\}")
REFERENCE = re.compile(r"\{\{ ref\('(\w+)'\) \}\}")


@pytest.fixture
def folder(tmp_path: Path, fake_model: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a store in the working folder."""
    assert fake_model
    bench = Workbench(tmp_path)
    bench.write({"a.md": "# Tea\n\nThe kettle stands on the stove.\n", "b.md": "# Rye\n\nBread is baked slowly.\n"})
    bench.ingest()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(program: str) -> list[list[str]]:
    lines = [
        line for block in re.findall(r"^```\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL) for line in block.split("\n")
    ]
    return [shlex.split(line)[1:] for line in lines if line.startswith(f"{program} ")]


def test_every_column_of_every_view_is_described_in_order(folder: Path) -> None:
    with open_store(folder / "store") as store:
        for name, (_, columns) in TABLES.items():
            asked = name.replace("chunk_id, k", "'x', 1")
            assert store.sql(f"FROM {asked} LIMIT 0").column_names == list(columns), name


def test_tables_are_described_without_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = json.loads(CliRunner().invoke(app, ["sql", "--tables", "--json"]).stdout)
    assert [(row["table"], row["column"]) for row in rows] == [
        (t, c) for t, (_, columns) in TABLES.items() for c in columns
    ]
    said = CliRunner().invoke(app, ["sql", "--tables"]).stdout
    assert [said_of for said_of, _ in TABLES.values() if said_of not in said] == []
    for wrong in (["sql"], ["sql", "SELECT 1", "--tables"]):
        assert CliRunner().invoke(app, wrong).exit_code == 2


def test_the_commands_of_the_page_run(folder: Path) -> None:
    for arguments in commands("docmill"):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{arguments}\n{done.output}"
    tool = Path(sys.executable).parent / "duckdb"
    for arguments in commands("duckdb"):
        ran = subprocess.run([tool, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
    assert openpyxl.load_workbook("freshness.xlsx").active["A2"].value in ("a.md", "b.md")
    assert json.loads(Path("duplicates.json").read_text()) == []
    assert {path.suffix for path in folder.iterdir()} >= {".csv", ".json", ".parquet", ".xlsx"}


@pytest.mark.usefixtures("folder")
def test_the_python_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = "".join(re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
    exec(compile(code, "sql.md", "exec"), {})
    assert capsys.readouterr().out.startswith("[('a.md', ")


def test_the_models_of_the_dbt_example_run_in_plain_duckdb(folder: Path) -> None:
    connection = duckdb.connect()
    for name in ("stg_chunks", "tokens_by_document"):
        sql = (EXAMPLE / "models" / f"{name}.sql").read_text()
        sql = SOURCE.sub(rf"read_parquet('{folder}/store/current/\1/*.parquet')", REFERENCE.sub(r"\1", sql))
        connection.execute(f"CREATE TABLE {name} AS {sql}")
    (test,) = (EXAMPLE / "tests").glob("*.sql")
    assert connection.execute(REFERENCE.sub(r"\1", test.read_text())).fetchall() == []
    assert connection.sql("SELECT count(*) FROM tokens_by_document").fetchall() == [(2,)]


@pytest.mark.skipif(
    shutil.which("dbt") is None, reason="dbt-duckdb is not installed; its models run in plain DuckDB above"
)
def test_the_dbt_example_builds(folder: Path) -> None:
    shutil.copytree(EXAMPLE, folder / "dbt")
    environment = {**os.environ, "DOCMILL_STORE": str(folder / "store"), "DO_NOT_TRACK": "1"}
    command = ["dbt", "build", "--profiles-dir", "."]
    done = subprocess.run(command, cwd=folder / "dbt", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
