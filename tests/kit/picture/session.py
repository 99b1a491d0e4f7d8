"""The session of the README: its commands, typed in a terminal on documents of the project."""

import fcntl
import os
import pty
import shutil
import struct
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
COLUMNS, ROWS = 100, 48
FOLDERS = ("products", "support")
COMMANDS = (
    "docmill ingest docs",
    "docmill search 'how long does the battery last without sun?' -k 1",
    "sed -i 's/thirteen days/twelve days/' docs/support/faq.md; mv docs/products docs/stations",
    "docmill plan docs",
    "docmill ingest docs",
    "docmill sql 'SELECT format, count(*) AS files FROM documents GROUP BY 1 ORDER BY 2 DESC LIMIT 3'",
    "docmill verify",
)
"""One line each. The third edits a sentence of one document and renames a folder of others."""
PICTURED = 5
"""The commands of the picture, from the first. The others stand in the text alone, so that a picture fits a screen."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a terminal got: the number of the command, seconds since that command began, bytes."""

    command: int
    seconds: float
    data: bytes


def play(folder: Path) -> Iterator[Output]:
    """Run the commands in a folder that is empty, and yield what each writes to its terminal, as it does so.

    Raises:
        RuntimeError: A command did not end with exit status 0.
    """
    work = folder / "work"
    for name in FOLDERS:
        shutil.copytree(ROOT / "tests" / "corpus" / name, work / "docs" / name)
    environment = _environment(folder)
    for number, line in enumerate(COMMANDS):
        yield from _run(number, line, work, environment)


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a terminal, in which `docmill` is that of this checkout."""
    program = folder / "bin" / "docmill"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m docmill.flows.cli.start "$@"\n')
    program.chmod(0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOCMILL_", "PREFECT_"))}
    paths = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    links = {"FORCE_HYPERLINK": "0"}  # they would name folders of this machine
    same = {
        "DOCMILL_EMBEDDING__DTYPE": "float32"
    }  # by bfloat16, where a CPU has it, a cosine differs in its third digit
    return {**kept, **links, **same, "TERM": "xterm-256color", "PATH": paths, "PYTHONPATH": str(ROOT)}


def _run(number: int, line: str, work: Path, environment: dict[str, str]) -> Iterator[Output]:
    start = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        _become(line, work, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with os.fdopen(terminal, "rb", buffering=0) as stream:
        while data := _read(stream.fileno()):
            yield Output(number, time.monotonic() - start, data)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise RuntimeError(f"exit status {status}: {line}")


def _become(line: str, work: Path, environment: dict[str, str]) -> None:
    """Become the command, in the child process. Nothing of the parent may run there, not even after an error."""
    try:
        os.closerange(3, 1 << 16)  # of this process; a terminal gives a command none of its own
        os.chdir(work)
        os.execvpe("sh", ["sh", "-c", line], environment)
    finally:
        os._exit(127)


def _read(terminal: int) -> bytes:
    """Return what the terminal got, empty at the end, which Linux tells by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
