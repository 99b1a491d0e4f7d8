"""What a run shows while it works, as a terminal of 80 columns draws it and as a log has it."""

import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from fcntl import ioctl
from pathlib import Path

import pytest

from docmill.flows.cli.terminal import progress
from docmill.flows.cli.terminal.progress import _Lines, figures
from docmill.flows.runs.phases import COMMIT, EMBED, PARSE, Phase
from tests.kit.docmill_with_fake_model import MARK, SLOW
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

ROOT = Path(__file__).parents[3]
SIZE = (24, 80)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "bench")
    shutil.copytree(ROOT / "tests" / "corpus", made.docs)
    return made


COLD = (sys.executable, "-m", "tests.kit.docmill_with_fake_model")


def command(bench: Workbench, model: Path, program: Sequence[str] = ("docmill_with_fake_model",)) -> list[str]:
    return [*program, str(model), "ingest", str(bench.docs), "--store", str(bench.root), "--embedding-model", NAME]


def recorded(arguments: Sequence[str], environment: dict[str, str], act: Callable[[int, str], None]) -> tuple[int, str]:
    """Run a command on a terminal of its own; return its exit status and all that it drew."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.closerange(3, 1 << 16)  # of this process; a terminal gives a command none of its own
        os.chdir(ROOT)
        os.execvpe(arguments[0], list(arguments), os.environ | {"TERM": "xterm", **environment})
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    drawn = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the command has ended
            break
        if not part:
            break
        drawn += part
        act(terminal, drawn.decode(errors="replace"))
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), drawn.decode()


def nothing(_terminal: int, _drawn: str) -> None: ...


@pytest.mark.usefixtures("warm_path")
def test_a_terminal_shows_a_bar_a_phase(bench: Workbench, token_counts_folder: Path) -> None:
    status, drawn = recorded([*command(bench, token_counts_folder), "--engine", "local"], {}, nothing)
    assert status == 0
    lines = re.split(r"[\r\n]+", _ESCAPE.sub("", drawn))
    # The report names each step that took a while, all of them on a busy machine; a terminal wraps its lines.
    assert [line for line in lines if len(line) > SIZE[1] and not line.startswith("  time ")] == []


def test_ctrl_c_on_a_terminal_reaches_the_whole_run_and_ends_it(bench: Workbench, token_counts_folder: Path) -> None:
    pressed: list[bool] = []

    def press(terminal: int, _: str) -> None:
        if not pressed and (bench.folder / "encoding").exists():
            pressed.append(True)
            os.write(terminal, b"\x03")

    environment = {MARK: str(bench.folder), SLOW: "60"}
    status, drawn = recorded([*command(bench, token_counts_folder, COLD), "--engine", "local"], environment, press)
    assert status == 130
    assert "docmill: stopped; kept: " in drawn


@pytest.mark.usefixtures("warm_path")
def test_a_log_has_a_line_a_phase(bench: Workbench, token_counts_folder: Path) -> None:
    arguments = [*command(bench, token_counts_folder), "--engine", "local"]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    said = [re.sub(r"\d[\d,]*(?:\.\d+)?", "N", line) for line in done.stderr.splitlines()]
    assert [line for line in said if " of " not in line] == [  # on a busy machine a phase may last for seconds
        "docmill: parse: N documents in N s",
        "docmill: embed: N tokens in N s",
        "docmill: commit: done in N s",
    ]


def test_every_phase_says_count_rate_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert figures(Phase(EMBED, 12_000, 400_000, "tokens", 200.0)) == "12,000 of 400,000 tokens, 200/s, 0:32:20 left"
    assert figures(Phase(PARSE, 0, 7, "documents")) == "0 of 7 documents"
    assert figures(Phase(PARSE, 7, 7, "documents", 3.5)) == "7 of 7 documents, 3.5/s"
    lines = _Lines()
    lines.say()
    phases = (
        Phase(PARSE, 3, 7, "documents", 3.0),
        Phase(EMBED, 10, 90, "tokens", 20.0),
        Phase(PARSE, 1, 1, "documents"),
    )
    for phase in (*phases, Phase(COMMIT, 0, 1)):
        lines.show(phase)
        lines.say()
    lines.show(Phase(EMBED, 0, 0, "tokens"))  # of which nobody wants a line
    lines.close()
    said = [re.sub(r"\d\.\d s", "N s", line) for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "docmill: parse: 3 of 7 documents, 3.0/s, 0:00:01 left",
        "docmill: parse: 3 documents in N s",
        "docmill: embed: 10 of 90 tokens, 20/s, 0:00:04 left",
        "docmill: embed: 10 tokens in N s",
        "docmill: parse: 1 of 1 documents",
        "docmill: parse: 1 document in N s",
        "docmill: commit: at work",
        "docmill: commit: done in N s",
    ]


def test_a_log_has_a_line_after_five_seconds_of_a_phase_and_every_thirty(capsys: pytest.CaptureFixture[str]) -> None:
    def said(lines: _Lines, *seconds: float) -> list[int]:
        """Return after which of some seconds of a phase a line came."""
        began, found = time.monotonic(), []
        for phase in (Phase(PARSE, 1, 1, "documents"), Phase(EMBED, 0, 90, "tokens")):
            lines.show(phase)
        capsys.readouterr()
        for second in seconds:
            lines.say_if_due(began + second)
            found += [int(second)] if capsys.readouterr().err == "docmill: embed: 0 of 90 tokens\n" else []
        return found

    assert said(_Lines(), 1, 4, 6, 10, 30, 37, 60, 68) == [6, 37, 68]
    assert said(_Lines(brief=True), 1, 6, 20, 31, 50, 62) == [31, 62]


def test_the_share_of_a_run_never_stands_still_while_it_embeds() -> None:
    phases = [
        Phase(PARSE, 7, 7),
        Phase(EMBED, 0, 100),
        Phase(EMBED, 50, 100),
        Phase(EMBED, 100, 100),
        Phase(COMMIT, 1, 1),
    ]
    assert [phase.percent for phase in phases] == [10.0, 10.0, 54.5, 99.0, 100.0]


def test_a_phase_that_ends_is_not_said_to_go_on_by_the_thread_that_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    lines = _Lines()
    repeating = threading.Thread(target=lines.say_if_due, args=[time.monotonic() + 60])

    def note(message: str) -> None:
        if not repeating.ident:
            repeating.start()
            repeating.join(0.1)
        said.append(message)

    monkeypatch.setattr(progress, "note", note)
    lines.show(Phase(EMBED, 90, 90, "tokens"))
    lines.close()
    repeating.join()
    assert len(said) == 1
