"""Terminal sessions: what one types and what the terminal then shows, as text that a reviewer can read.

Colours and links are spelled as tags, `[cyan bold]tea.md[/]`. Of what is drawn again and again each different line
stands once, without the bar's length. Counts that grow, rates and times are masked: N, TIME.
"""

import os
import pty
import re
import shlex
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path

from tests.kit.docmill_with_fake_model import EVERY, MARK, SLOW, STUCK
from tests.kit.fake_encoder import NAME
from tests.kit.house import ROOT

SIZE = (24, 80)
TERMINAL = {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}
DOCUMENTS = {
    "tea.md": "# Tea\n\nGreen teas are steamed at once. " + "Their leaves are rolled and dried slowly. " * 12,
    "bread.md": "# Bread\n\nRye needs a sourdough, and an oven that stays hot.\n",
    "mill/wheel.md": "# The wheel\n\nIt turns while there is water enough to carry it round.\n",
}
SETTINGS = 'sources = ["docs"]\nengine = "local"\n'
WRONG = '[chunk]\ncontextualiser = "structural"\n\n[search]\nfusion = "rrf"\nweight = 1.5\n'
LONG = "how are green teas steamed and dried, and which of their leaves are rolled before the evening " * 9
IN_PIPE = " 2>&1 | cat"
_ANY = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_STYLES = re.compile(r"(?:\x1b\[[0-9;]*m)+")
_LINK = re.compile(r"\x1b\]8;;(.*?)\x1b\\(.*?)\x1b\]8;;\x1b\\")
_MOVING = re.compile(r"━| of [\dN,]+ \w+$| of [\dN,]+ \w+, |: at work$")  # a run draws them again and again
_QUICK = re.compile(r"^docmill: (?:discover|plan|parse): ")  # shown in a log only if the machine is busy
_SPINNER = re.compile("[\u2800-\u28ff]")
_WORDS = {"1": "bold", "2": "dim", "31": "red", "33": "yellow", "36": "cyan"}


@dataclass(frozen=True, slots=True)
class Session:
    """A command as it is typed, in a folder with `DOCUMENTS` and `SETTINGS`, and its exit status.

    `control_c` is pressed as soon as the model is at work.
    """

    command: str
    status: int = 0
    control_c: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


SESSIONS = {
    "progress": Session("docmill ingest"),
    "ctrl-c": Session("docmill ingest --store two", 130, control_c=True, variables={SLOW: "60"}),
    "log": Session(
        f"docmill ingest --store two{IN_PIPE}",
        variables={SLOW: "1.2", EVERY: "0.5", STUCK: "before swap current=1.2"},
    ),
    "hits": Session("docmill search 'how is tea steamed?' -k 2"),
    "table": Session("docmill sql 'SELECT uri, tokens, text FROM chunks ORDER BY uri'"),
    "wrong-file": Session("docmill search tea --config wrong.toml", 1),
    "wrong-sql": Session("docmill sql 'SELECT uri FROM chunks WHERE content_type = code'", 1),
}
"""The sessions with the fake model, in the order in which they are recorded: some need the store of one before."""
FIRST_SEARCH = Session("docmill search --queries questions.txt -k 1 --mode vector")
"""A session with the packaged model, which loads PyTorch for so many questions."""


def lay(folder: Path, model: str) -> None:
    """Write the files that the sessions need, with settings for a model."""
    for name, text in DOCUMENTS.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1, 1))  # a file that was written just now is not linked: it may be another one already
    (folder / "docmill.toml").write_text(SETTINGS + (model and f'\n[embedding]\nmodel = "{model}"\n'), encoding="utf-8")
    (folder / "wrong.toml").write_text(WRONG, encoding="utf-8")
    (folder / "questions.txt").write_text(f"{LONG}\n" * 30, encoding="utf-8")  # enough for the full model


def sessions(folder: Path, model: Path, warm: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name and the page of each session with the fake model, whose files lie in the folder `model`.

    Args:
        warm: the folder of programs that start warm, to be taken instead of those that start as a user's do.
    """
    lay(folder, NAME)
    cold = [sys.executable, "-m", "tests.kit.docmill_with_fake_model"]
    program = [str(warm / "docmill_with_fake_model")] if warm else cold
    program += [str(model)]
    for name, session in SESSIONS.items():
        (folder / "encoding").unlink(missing_ok=True)
        yield name, recorded(session, program, folder)


def first_search(folder: Path, warm: Path | None = None) -> str:
    """Return the page of `FIRST_SEARCH`, on which each line stands once; see `sessions`."""
    lay(folder, "")
    program = [str(warm / "docmill")] if warm else [sys.executable, "-m", "docmill.flows.cli.app"]
    recorded(Session("docmill ingest"), program, folder)
    lines = recorded(FIRST_SEARCH, program, folder).splitlines(keepends=True)
    return "".join(dict.fromkeys(lines))


def recorded(session: Session, program: Sequence[str], folder: Path) -> str:
    """Run a session in a folder, and return its page."""
    told = {"COLUMNS", "LINES", "NO_COLOR", "VTE_VERSION"}
    environment = {key: value for key, value in os.environ.items() if key not in told} | TERMINAL
    environment |= {"PYTHONPATH": str(ROOT), MARK: str(folder), **session.variables}
    typed = shlex.split(session.command.removesuffix(IN_PIPE))[1:]
    run = _in_pipe if session.command.endswith(IN_PIPE) else _on_terminal
    status, drawn = run([*program, *typed], environment, folder, session.control_c)
    page = f"$ {session.command}\n{readable(drawn, folder)}"
    assert status == session.status, page
    return page


def _on_terminal(
    arguments: Sequence[str], environment: dict[str, str], folder: Path, control_c: bool
) -> tuple[int, str]:
    pid, terminal = pty.fork()
    if pid == 0:
        os.closerange(3, 1 << 16)  # of this process; a terminal gives a command none of its own
        os.chdir(folder)
        os.execve(arguments[0], list(arguments), environment)
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    drawn = b""
    while part := _read(terminal):
        drawn += part
        if control_c and (folder / "encoding").exists():
            os.write(terminal, b"\x03")
            control_c = False
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), drawn.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # so Linux says that the command has ended
        return b""


def _in_pipe(arguments: Sequence[str], environment: dict[str, str], folder: Path, _: bool) -> tuple[int, str]:
    done = subprocess.run(
        arguments, cwd=folder, env=environment, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


def readable(drawn: str, folder: Path) -> str:
    """Return what was drawn as text: tags for colours, masks for what differs from run to run, moving lines once."""
    drawn = _LINK.sub(r"[link \1]\2[/link]", drawn).replace(socket.gethostname(), "HOST")
    drawn = drawn.replace(str(folder.resolve()), "/FOLDER")
    kept: list[str] = []
    for line in map(_masked, re.split(r"[\r\n]+", _ANY.sub("", _STYLES.sub(_tag, drawn)))):
        if line and not (line in kept and _MOVING.search(line)) and not _QUICK.match(line):
            kept.append(line)
    return "\n".join(kept) + "\n"


def _tag(found: re.Match[str]) -> str:
    codes = re.findall(r"\d+", found.group())
    return f"[{' '.join(_WORDS.get(code, code) for code in codes)}]" if codes[-1:] != ["0"] else "[/]"


def _masked(line: str) -> str:
    line = line.replace("^C", "").rstrip()  # the terminal's own echo of the key
    line = re.sub(r"^(  time +).*", r"\1TIME", re.sub(r"\d+:\d\d:\d\d", "TIME", line))
    line = re.sub(r"\d+\.\d s\b", "TIME", line)
    if _SPINNER.search(line):  # it is seen if it has time to turn: a page has it only where it says what is slow
        return re.sub(r"^.*?[\u2800-\u28ff]\S*", "⠋", line) if ": " in line else ""
    if "━" in line:  # how a bar is coloured is the business of the library that draws it
        line = re.sub(r"[━╸╺]+", "━", re.sub(r"\[[^\]]*\]", "", line))
        line = re.sub(r"^(commit +━).*", r"\1", line)
    if _MOVING.search(line):
        line = re.sub(r"\d[\d,]*(?:\.\d+)?", "N", line)
        line = re.sub(r"(?:, N/s)?(?:, TIME left)?$", "", line)  # shown as soon as they are known
    return line.rstrip()
