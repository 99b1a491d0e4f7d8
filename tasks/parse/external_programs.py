"""External programs that read a file, each run in a folder that is its home and has its input and output."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from docmill.storage.errors import Rejected

_LONGEST = 200  # characters of a program's last line: the reason, without the paths that may follow


class ProgramSaid(NamedTuple):
    """How a program ended, and what it wrote."""

    status: int
    output: str
    errors: str


def run_program(name: str, command: list[str], folder: Path, seconds: float) -> ProgramSaid:
    """Run a program called `name`; raise Rejected `timeout`, or `crashed` if a signal ended it."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, timeout=seconds, check=False,
                              stdin=subprocess.DEVNULL)  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Rejected("timeout", f"{name} took more than {seconds:g} seconds") from error
    if done.returncode < 0:
        raise Rejected("crashed", f"{name} was killed by signal {-done.returncode}")
    return ProgramSaid(done.returncode, *(said.decode("utf-8", "replace") for said in (done.stdout, done.stderr)))


def last_line(said: str) -> str:
    """Return the last line of a program's output, or ""."""
    lines = [line.strip() for line in said.split("\n") if line.strip()]
    return lines[-1][:_LONGEST] if lines else ""
