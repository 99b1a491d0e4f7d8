"""Output streams: a command whose reader has left does its work and ends with its own status."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.house import ROOT
from tests.kit.workbench import MakeBench, Workbench

TEXT = "# Mill\n\nThe mill grinds wheat.\n"


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"mill.md": TEXT})


def status_of(arguments: str, folder: Path, deaf: bool) -> int:
    """Return the exit status of a command whose output nobody reads, both of its streams if it is `deaf`."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "docmill.flows.cli.start", *arguments.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    errors = writing if deaf else subprocess.DEVNULL
    done = subprocess.run(command, cwd=folder, env=environment, stdout=writing, stderr=errors, check=False)
    os.close(writing)
    return done.returncode


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("--help", 0),
        ("settings", 0),
        ("list --json", 0),
        ("search wheat --mode keyword", 0),
        ("sql SELECT(1) --format csv", 0),
        ("sql SELECT(1) --format csv --output /dev/stdout", 0),
        ("search wheat --store nowhere", 1),
        ("search", 2),
    ],
)
def test_a_reader_that_leaves_changes_no_status(bench: Workbench, arguments: str, status: int) -> None:
    assert status_of(arguments, bench.root.parent, deaf=False) == status


def test_a_run_that_nobody_watches_goes_on(tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(TEXT)
    assert status_of("plan mill.md", tmp_path, deaf=True) == 0


@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["search", "--help"], ["--version"]])
def test_output_that_cannot_be_written_is_told(bench: Workbench, arguments: list[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    command = [sys.executable, "-m", "docmill.flows.cli.start", *arguments]
    with Path("/dev/full").open("wb") as full:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "DOCMILL_STORE": str(bench.root)}
        done = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"docmill: standard output: No space left on device\n")
