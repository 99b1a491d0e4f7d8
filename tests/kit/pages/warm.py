"""Warm start: commands that fork from a process which has imported what they import.

Tests run hundreds of commands, and imports take most of the time of each. The program that a page finds as `docmill`
sends its arguments, environment, folder and streams to a server, whose fork runs the command. The README's commands,
those of the installed package and those of tests about signals start as a user's do.
"""

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docmill.storage.process import child_process
from tests.kit.house import ROOT
from tests.kit.pages.warm_server import PROGRAMS

_HERE = Path(__file__).parent


@contextmanager
def warm_program(folder: Path, *loaded: str) -> Iterator[Path]:
    """Write the programs of `warm_server.PROGRAMS` into a folder, and run their server; return the folder.

    Args:
        loaded: "prefect", so that the server loads Prefect, too; and folders of models whose tokenizers it loads.
    """
    with tempfile.TemporaryDirectory(prefix="warm-") as own:  # the path of a socket has at most 107 characters
        socket = f"{own}/socket"
        folder.mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            client = shlex.join([sys.executable, "-I", "-S", str(_HERE / "warm_client.py"), socket, name])
            (folder / name).write_text(f'#!/bin/sh\nexec {client} "$@"\n', encoding="utf-8")
            (folder / name).chmod(0o755)
        command = [sys.executable, "-P", str(_HERE / "warm_server.py"), socket, str(folder), *loaded]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as server:
            try:
                assert server.stdout
                assert server.stdout.readline() == b"ready\n", "the server has ended"
                yield folder
            finally:
                server.kill()


@contextmanager
def started_by(python: str) -> Iterator[None]:
    """Start child processes by a program within the block."""
    before = child_process.PYTHON[:]
    child_process.PYTHON[:] = [python]
    try:
        yield
    finally:
        child_process.PYTHON[:] = before
