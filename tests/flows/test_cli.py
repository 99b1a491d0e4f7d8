"""The command line: what it prints where, and how it ends."""

import csv
import io
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.flows.cli.terminal.hits import WIDTH, snippet
from docmill.flows.cli.terminal.output import aligned, plain
from docmill.flows.cli.terminal.progress import waiting
from docmill.storage.arrow_schema import SCHEMAS

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "ingest",
    "plan",
    "schedule",
    "search",
    "sql",
    "status",
    "history",
    "verify",
    "repair",
    "rejects",
    "init",
    "tag",
    "diff",
    "restore",
    "undelete",
    "remove",
    "vacuum",
    "compact",
    "reembed",
)
MODULES_OF_HELP = 275  # 249 on Python 3.11; with Typer's own help, or a store's modules, there are hundreds more
READERS = ("search x", "sql x", "status", "history", "verify", "repair", "rejects", "tag x", "diff 1")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder, without a Prefect API: a test before may have loaded settings that name one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    with ExitStack() as stack:
        if "prefect" in sys.modules:
            from prefect.settings import PREFECT_API_URL, temporary_settings

            stack.enter_context(temporary_settings(restore_defaults={PREFECT_API_URL}))
        yield tmp_path


@pytest.fixture
def store(
    folder: Path, fake_model: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Give each test a copy of what one ingest of two documents and a broken one has made."""
    monkeypatch.setenv("DOCMILL_EMBEDDING__MODEL", fake_model)
    made = tmp_path_factory.getbasetemp() / "made-for-test-cli"
    if not made.exists():
        write_documents(made / "docs")
        result = call("ingest", str(made / "docs"), "--store", str(made / "store"), "--engine", "local")
        assert result.exit_code == 3, result.output
    shutil.copytree(made, folder, symlinks=True, dirs_exist_ok=True)
    return folder / "store"


def write_documents(docs: Path) -> None:
    docs.mkdir(parents=True)
    (docs / "bread.md").write_text("# Bread\n\nRye needs a sourdough.\n\n## Ovens\n\nOvens are hot.\n")
    (docs / "tea.txt").write_text("Green tea.\n")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing follows")


def test_help_names_every_command() -> None:
    result = call("--help")
    assert result.exit_code == 0
    assert all(f"  {name} " in result.stdout for name in COMMANDS)


def test_help_loads_few_modules() -> None:
    """Help is quick because of what it does not load: a count that a busy machine does not change."""
    code = (
        "import sys; from docmill.flows.cli.start import main; sys.argv = ['docmill', '--help']\n"
        "try: main()\n"
        "except SystemExit: print(len(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert 100 < int(done.stderr.splitlines()[-1]) <= MODULES_OF_HELP


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_config_and_debug(command: str) -> None:
    result = call(command, "--help")
    assert result.exit_code == 0
    assert "--config" in result.stdout
    assert "--debug" in result.stdout
    assert command == "init" or "--store" in result.stdout


@pytest.mark.parametrize(
    "arguments", [["--nonsense"], ["search"], ["ingest", "--stor", "x"], ["search", "x", "-k", "0"]]
)
def test_wrong_usage_ends_with_status_2(arguments: list[str]) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""


def needy(group: Any, *above: str) -> Iterator[tuple[str, ...]]:
    """Yield the commands that cannot run without an argument."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from needy(one, *above, name)
        elif any(parameter.required for parameter in one.params):
            yield *above, name


@pytest.mark.parametrize("command", [*needy(get_command(app))], ids=" ".join)
def test_a_missing_argument_is_wrong_usage(command: tuple[str, ...]) -> None:
    result = call(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Missing " in result.stderr


def test_a_mistyped_flag_is_told_the_right_one() -> None:
    assert "--set chunk.context_tokens=3" in call("ingest", "--chunk-contxt-tokens", "3").stderr


@pytest.mark.parametrize("command", READERS)
def test_a_store_that_is_missing_is_one_line_and_status_1(command: str) -> None:
    result = call(*command.split(), "--store", "nowhere")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("docmill: nowhere has no snapshot")
    assert result.stderr.count("\n") == 1
    assert not Path("nowhere").exists()


def test_a_file_where_the_store_should_be_is_told_so(folder: Path) -> None:
    (folder / "taken").write_text("")
    write_documents(folder / "docs")
    for name in ("taken", "taken/store"):
        result = call("ingest", "docs", "--store", name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"docmill: {name} cannot be a store: it is a file, not a folder" in result.stderr
    assert "taken cannot be a store: it is a file" in call("search", "mill", "--store", "taken").stderr


def test_a_failure_of_the_system_is_told_without_its_number() -> None:
    result = call("search", "--queries", "gone.txt")
    assert (result.exit_code, result.stderr) == (1, "docmill: gone.txt: No such file or directory\n")


def test_publish_wants_the_name_of_what_it_is_to_force_or_give_up() -> None:
    assert "name a snapshot that the gate held back" in call("publish", "--discard").stderr
    assert call("publish", "--force").exit_code == 1


def test_debug_shows_where_an_error_came_from() -> None:
    result = call("status", "--store", "nowhere", "--debug")
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("docmill: nowhere has no snapshot")


def test_a_wrong_setting_is_one_line_and_status_1() -> None:
    result = call("status", "--store", "x", "--config", "missing.toml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "docmill: missing.toml: no such file; `docmill init` writes a docmill.toml\n"


def test_ingest_without_a_source_says_how_to_name_one() -> None:
    result = call("ingest")
    assert result.exit_code == 1
    assert result.stderr == "docmill: no source given; name a folder, or set `sources` in docmill.toml\n"


def test_init_writes_a_file_once() -> None:
    assert call("init").stdout == "docmill.toml\n"
    written = Path("docmill.toml").read_text()
    second = call("init")
    assert second.exit_code == 1
    assert second.stderr == "docmill: docmill.toml exists; remove it first\n"
    assert Path("docmill.toml").read_text() == written


@pytest.mark.usefixtures("store")
def test_ingest_prints_one_object_and_says_the_rest_on_standard_error() -> None:
    result = call("ingest", "docs", "--json")
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    assert list(report) == [
        "snapshot", "documents", "chunks", "parsed", "embedded", "tokens_embedded", "rechunked", "model",
        "model_reason", "embedding", "ocr", "pictures", "candidate", "gate", "pending", "lost_text", "unreached",
        "sources", "seconds",
    ]  # fmt: skip
    assert report["snapshot"] is None
    assert report["documents"]["unchanged"] == 2
    assert "engine local, chosen by --engine auto" in result.stderr
    assert "broken.pdf: " in result.stderr


@pytest.mark.usefixtures("store")
def test_sources_of_the_file_are_ingested_where_none_is_named() -> None:
    Path("docmill.toml").write_text('sources = ["docs"]')
    assert json.loads(call("plan", "--json").stdout)["documents"]["unchanged"] == 2


def test_plan_does_nothing(store: Path) -> None:
    Path("docs/tea.txt").write_text("Black tea.\n")
    before = sorted(path for path in store.rglob("*"))
    result = call("plan", "docs", "--json")
    report = json.loads(result.stdout)
    assert (report["snapshot"], report["documents"]["changed"], report["embedded"]) == (None, 1, 1)
    assert sorted(path for path in store.rglob("*")) == before
    assert json.loads(call("ingest", "docs", "--dry-run", "--json").stdout)["documents"] == report["documents"]


@pytest.mark.usefixtures("store")
def test_search_for_machines_gives_all_fields_of_a_hit() -> None:
    hits = json.loads(call("search", "rye sourdough", "-k", "2", "--json").stdout)
    assert [hit["rank"] for hit in hits] == [1, 2]
    assert list(hits[0]) == [
        "rank", "score", "vector_score", "keyword_score", "chunk_id", "uri", "start_char", "end_char", "text",
        "context", "headings", "page", "content_type", "strategy", "role", "matched",
        "vector_rank", "keyword_rank", "terms", "fields", "steps", "relevance", "also_at", "line", "source_url",
        "passage", "confidence",
    ]  # fmt: skip
    assert hits[0]["uri"] == "bread.md"
    assert Path("docs/bread.md").read_text()[hits[0]["start_char"] : hits[0]["end_char"]] == hits[0]["text"]


@pytest.mark.usefixtures("store")
def test_search_for_people_gives_the_place_and_a_snippet() -> None:
    result = call("search", "ovens", "--mode", "keyword")
    assert result.stdout.startswith("1. ")
    assert "bread.md:" in result.stdout
    assert "Ovens are hot." in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("store")
def test_search_takes_a_predicate_and_refuses_a_wrong_one() -> None:
    found = json.loads(call("search", "rye tea", "--where", "uri = 'tea.txt'", "--json").stdout)
    assert {hit["uri"] for hit in found} == {"tea.txt"}
    wrong = call("search", "rye", "--where", "color = 3")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("docmill: ")


@pytest.mark.usefixtures("store")
def test_sql_gives_the_same_rows_in_every_format() -> None:
    statement = "SELECT uri, chunks, [1, 2] AS list FROM documents ORDER BY uri"
    rows = json.loads(call("sql", statement, "--json").stdout)
    assert [row["uri"] for row in rows] == ["bread.md", "tea.txt"]
    read = list(csv.DictReader(io.StringIO(call("sql", statement, "--format", "csv").stdout)))
    assert [(r["uri"], int(r["chunks"]), json.loads(r["list"])) for r in read] == [
        (r["uri"], r["chunks"], r["list"]) for r in rows
    ]
    assert call("sql", statement, "--format", "parquet", "--output", "rows.parquet").stdout == ""
    assert pq.read_table("rows.parquet").to_pylist() == rows
    piped = call("sql", statement, "--format", "parquet").stdout_bytes
    assert pq.read_table(io.BytesIO(piped)).to_pylist() == rows
    table = call("sql", statement).stdout.splitlines()
    assert table[0].split() == ["uri", "chunks", "list"]
    assert table[2].split()[0] == "bread.md"


@pytest.mark.usefixtures("store")
def test_json_holds_what_json_has_no_word_for() -> None:
    rows = json.loads(call("sql", "SELECT 'nan'::DOUBLE AS n, 'x'::BLOB AS b, DATE '2026-01-02' AS d", "--json").stdout)
    assert rows == [{"n": None, "b": "78", "d": "2026-01-02"}]
    assert "named 'a'; rename one of them with AS" in call("sql", "SELECT 1 AS a, 2 AS a", "--json").stderr


@pytest.mark.usefixtures("warm_path")
def test_parquet_is_not_written_to_a_terminal(store: Path) -> None:
    ours, theirs = pty.openpty()
    asked = ["sql", "SELECT 1", "--format", "parquet", "--store", str(store)]
    command = ["docmill", *asked]
    done = subprocess.run(command, cwd=ROOT, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert "--output" in done.stderr


@pytest.mark.usefixtures("store")
def test_sql_refuses_to_write() -> None:
    result = call("sql", "DELETE FROM chunks")
    assert (result.exit_code, result.stdout) == (1, "")


@pytest.mark.usefixtures("store")
def test_status_and_history_count() -> None:
    facts = json.loads(call("status", "--json").stdout)
    assert (facts["snapshot"], facts["documents"], facts["rejects"]) == (1, 2, 1)
    assert "documents" in call("status").stdout
    assert [row["snapshot"] for row in json.loads(call("history", "--json").stdout)] == [1]
    assert call("history").stdout.splitlines()[2].split()[0] == "1"


def test_verify_finds_nothing_then_a_lost_index_which_repair_brings_back(store: Path) -> None:
    assert (call("verify", "--deep").exit_code, call("verify").stdout) == (0, "")
    for file in (store / "keywords").rglob("*"):
        file.unlink()
    broken = call("verify")
    assert broken.exit_code == 1
    assert "docmill repair" in broken.stdout
    assert json.loads(call("verify", "--json").stdout)[0]["kind"]
    assert call("repair").exit_code == 0
    assert call("verify").exit_code == 0
    assert call("repair").stdout == "Nothing needed repair.\n"


@pytest.mark.usefixtures("store")
def test_rejects_are_listed_and_tried_again() -> None:
    assert "broken.pdf" in call("rejects").stdout
    row = json.loads(call("rejects", "--json").stdout)[0]
    assert (row["uri"], row["reason"], row["parser"].split()[0]) == ("broken.pdf", "corrupt", "pdf")
    assert row["content_hash"]
    assert row["first_seen"] == row["last_seen"]
    assert call("rejects", "--retry", "--set", "sources=docs", "--engine", "local").exit_code == 3


def test_a_table_is_aligned_and_its_wide_cells_are_cut() -> None:
    lines = aligned(["name", "n"], [["東京", 1], ["a" * 100, None]], width=63).splitlines()
    assert lines[2] == f"東京{' ' * 56}  1"
    assert lines[3] == f"{'a' * 59}…"


def test_a_document_cannot_steer_the_terminal() -> None:
    assert plain("a\x1b[31m\tred\n\u202eback") == "a\\x1b[31m red \\u202eback"


def test_a_snippet_shows_the_matched_words_and_marks_them_on_request() -> None:
    text = f"{'filler ' * 100}the baking of loaves {'filler ' * 100}"
    shown = snippet("loaf baked", text, mark=False)
    assert "the baking of" in shown
    assert shown.startswith("…")
    assert len(shown) <= WIDTH + 2
    assert "\x1b[33m\x1b[1mbaking\x1b[0m" in snippet("loaf baked", text, mark=True)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_wheel_turns_while_a_terminal_waits_and_nowhere_else(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    error = io.StringIO()
    monkeypatch.setattr(error, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setenv("TERM", "xterm")
    with waiting("searching"):
        pass
    assert ("searching" in error.getvalue()) == terminal


def test_the_help_of_sql_names_every_table() -> None:
    said = CliRunner().invoke(app, ["sql", "--help"]).output
    assert [name for name in (*SCHEMAS, "routing", "warnings", "snapshots", "evaluations") if name not in said] == []
