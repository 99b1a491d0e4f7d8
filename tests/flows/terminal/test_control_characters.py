"""What a document, a name or a query holds cannot steer a terminal; a pipe or a file is given it as it is."""

import csv
import io
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from docmill.flows.cli.terminal.output import aligned, as_json_text, for_terminal, plain
from docmill.flows.runs.report import Report
from docmill.flows.runs.terminal_safe_text import STEERING, visible
from tests.kit.workbench import Workbench

ROOT = Path(__file__).parents[3]
EVIL = "esc\x1b\u202egnp.exe\u2066\u200f c1\x9031m"
"""A document's text: signs that begin an escape sequence, which parsing leaves, and others that turn the direction."""
_OWN_STYLE = re.compile(b"\x1b\\[(0|1|2|33|36)m")  # none of which is in the texts above and below
SQL = "SELECT text, E'a\\nb' AS lines FROM chunks"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path_factory.mktemp("evil"))
    made.write({"evil.txt": f"{EVIL}\n", "two\nlines \x1b[2J.pdf": b"%PDF-1.7\nnothing follows"})
    made.ingest()
    return made


@pytest.fixture
def store(bench: Workbench, warm_path: None) -> Path:  # noqa: ARG001  what is asked starts warm
    return bench.root


def docmill(*arguments: str, cwd: Path) -> list[str]:
    assert cwd.exists()
    return ["docmill", *arguments]


def on_a_terminal(*arguments: str, cwd: Path) -> bytes:
    """Return what a command prints on a terminal, without the carriage returns that the terminal adds."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with subprocess.Popen(
        docmill(*arguments, cwd=cwd), cwd=cwd, env=environment, stdout=theirs, stderr=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        said = b""
        while piece := _read(ours):
            said += piece
        process.wait()
    os.close(ours)
    return said.replace(b"\r\n", b"\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says so when the other side is closed
        return b""


def through_a_pipe(*arguments: str, cwd: Path) -> bytes:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(docmill(*arguments, cwd=cwd), cwd=cwd, env=environment, capture_output=True, check=True)
    return done.stdout


def is_harmless(said: bytes) -> bool:
    return not STEERING.search(said.decode().replace("\n", ""))


@pytest.mark.parametrize("form", [["--json"], ["--format", "csv"], ["--format", "table"]])
def test_sql_steers_no_terminal(store: Path, form: list[str]) -> None:
    said = on_a_terminal("sql", SQL, "--store", str(store), *form, cwd=store)
    assert is_harmless(said), said
    assert b"gnp.exe" in said
    assert b"\\u202e" in said


def test_json_on_a_terminal_is_the_same_json(store: Path) -> None:
    asked = ("sql", SQL, "--store", str(store), "--json")
    shown, exact = on_a_terminal(*asked, cwd=store), through_a_pipe(*asked, cwd=store)
    assert json.loads(shown) == json.loads(exact)
    assert json.loads(exact)[0]["text"] == EVIL
    assert "\u202e".encode() in exact


def test_a_pipe_is_given_csv_as_it_is(store: Path) -> None:
    asked = ("sql", SQL, "--store", str(store), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(through_a_pipe(*asked, cwd=store).decode(), newline="")))
    assert rows == [{"text": EVIL, "lines": "a\nb"}]
    assert on_a_terminal(*asked, cwd=store).count(b"\n") == 2


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["rejects"],
        ["rejects", "--json"],
        ["search", "esc", "--mode", "keyword", "--json"],
        ["search", "esc \x1b[1m", "--mode", "keyword"],
    ],
)
def test_other_commands_steer_no_terminal(store: Path, command: list[str]) -> None:
    said = _OWN_STYLE.sub(b"", on_a_terminal(*command, "--store", str(store), cwd=store))
    assert is_harmless(said), said
    assert len(said.splitlines()) > 1 or b"[{" in said


def test_a_name_of_two_lines_is_one_line_of_the_list_of_rejects(bench: Workbench) -> None:
    said = bench.ingest(retry=True).as_text()
    (problem,) = [line for line in said.splitlines() if "two" in line]
    assert "lines" in problem
    assert is_harmless(said.encode())


def test_the_summary_of_a_run_has_one_line_for_each_problem() -> None:
    report = Report(problems=["one\n  ! two \x1b[31m", "three"])
    assert [line for line in report.as_text().splitlines() if "!" in line] == ["  ! one ! two \\x1b[31m", "  ! three"]
    assert report.as_markdown().splitlines()[-2:] == ["- one ! two \\x1b[31m", "- three"]
    assert Report(rechunked=["a\nb"], dry_run=True).as_text().count("\n") == Report(rechunked=["ab"]).as_text().count(
        "\n"
    )


def test_every_character_that_steers_is_spelled() -> None:
    assert visible("a\x1b[31m\tb\u202ec\x9b\udcff é 東") == "a\\x1b[31m\\tb\\u202ec\\x9b\\udcff é 東"
    assert plain("a\x1b[31m\tred\n\u202eback") == "a\\x1b[31m red \\u202eback"
    assert aligned(["\x1b[31mname"], [["\x1b[32m"]]).splitlines()[0] == "\\x1b[31mname"


def test_json_can_spell_half_a_character() -> None:
    assert as_json_text({"uri": "a\udcff"}) == '{"uri": "a\\udcff"}'
    assert for_terminal('["\u202e",\n "\x85"]') == '["\\u202e",\n "\\u0085"]'
