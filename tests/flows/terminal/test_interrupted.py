"""Ctrl-C while the command loads ends it in silence, wherever it comes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def interrupted(module: str, *, ignored: bool = False) -> "subprocess.CompletedProcess[str]":
    """Run `docmill status`, and send it SIGINT when it imports a module."""
    code = f"""
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
{"signal.signal(signal.SIGINT, signal.SIG_IGN)" if ignored else ""}
from docmill.flows.cli.start import main
main()
"""
    command = [sys.executable, "-c", code, "status", "--store", "nowhere"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("module", ["typer", "docmill.flows.cli.commands.status_and_repair"])
def test_a_command_that_loads_ends_at_once(module: str) -> None:
    done = interrupted(module)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize(
    "module", ["docmill.flows.config.configuration", "pyarrow", "docmill.storage.snapshots.read.store"]
)
def test_a_command_that_runs_ends_with_its_status(module: str) -> None:
    done = interrupted(module)
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (130, "", "")


def test_where_the_interrupt_is_ignored_it_stays_so() -> None:
    done = interrupted("typer", ignored=True)
    assert (done.returncode, done.stderr[:28]) == (1, "docmill: nowhere has no snap")
