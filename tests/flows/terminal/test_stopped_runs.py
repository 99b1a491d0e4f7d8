"""A signal ends a run wherever it is, long before its work would end: with one sentence, and nothing left behind."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from docmill.storage.files import TEMPORARY
from docmill.storage.lock import locked
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.snapshots import newest
from docmill.tasks.work.pool.temporary_folder import PLANNED
from tests.kit.docmill_with_fake_model import MARK, SLOW
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

ROOT = Path(__file__).parents[3]
LONG_S = "600"
"""Seconds that the work of a run would go on: a run that ends within `PATIENCE_S` was ended by its signal."""
PATIENCE_S = 60.0  # of a busy machine

pytestmark = pytest.mark.usefixtures("fake_model")


def start(bench: Workbench, model: Path, *arguments: str, slow: str = "") -> "subprocess.Popen[str]":
    temporary = bench.folder / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = os.environ | {"TMPDIR": str(temporary), MARK: str(bench.folder), SLOW: slow}
    command = [sys.executable, "-m", "tests.kit.docmill_with_fake_model", str(model), *(arguments or ("ingest",))]
    command += [str(bench.docs), "--store", str(bench.root), "--embedding-model", NAME, "--engine", "local"]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def processes(bench: Workbench) -> list[int]:
    """Return the numbers of all processes that a run on a bench has started, and of itself."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
            if f"{MARK}={bench.folder}".encode() in variables and "Z" not in (folder / "stat").read_text().split()[2]:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def opened(number: int) -> list[Path]:
    """Return the files that a process has open."""
    found = []
    for link in Path(f"/proc/{number}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            found.append(link.readlink())
    return found


def leftovers(bench: Workbench) -> list[object]:
    """Return the processes and temporary files that are left after a while; the guards of workers need one."""
    deadline = time.monotonic() + PATIENCE_S
    left: list[object] = ["unknown"]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        folders = [*(bench.folder / "tmp").iterdir(), *bench.root.glob(f"staging/*/{TEMPORARY}*")]
        left = [*processes(bench), *folders]
    return left


def stop(process: "subprocess.Popen[str]", *numbers: signal.Signals) -> tuple[int, str]:
    """Send signals; return the exit status, and what was written to standard error."""
    for number in numbers:
        process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "bench")
    shutil.copytree(ROOT / "tests" / "corpus", made.docs)
    return made


@pytest.fixture
def few(tmp_path: Path) -> Workbench:
    """Return a bench of some documents, for a run that reaches the place where it waits."""
    made = Workbench(tmp_path / "bench")
    shutil.copytree(ROOT / "tests" / "corpus" / "support", made.docs)
    return made


def until(found: object, process: "subprocess.Popen[str]") -> None:
    assert callable(found)
    while not found():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_encodes_ends_at_a_signal_and_is_gone_on_with(
    few: Workbench, token_counts_folder: Path, number: signal.Signals, status: int
) -> None:
    process = start(few, token_counts_folder, slow=LONG_S)
    until(lambda: (few.folder / "encoding").exists(), process)
    code, said = stop(process, number)
    assert code == status, said
    first, last = said.strip().splitlines()[-2:]
    assert first.startswith("docmill: stopping; ")
    assert last.startswith("docmill: stopped; kept: ")
    assert last.endswith(" parsed documents; run the same command again to go on")
    assert leftovers(few) == []
    assert few.ingest().parsed == 0
    assert verify(few.root, deep=True) == []


def test_a_second_signal_ends_a_run_at_once(few: Workbench, token_counts_folder: Path) -> None:
    process = start(few, token_counts_folder, slow=LONG_S)
    until(lambda: (few.folder / "encoding").exists(), process)
    assert stop(process, signal.SIGINT, signal.SIGINT)[0] == 130
    assert leftovers(few) == []


def test_a_run_that_waits_for_the_lock_ends(few: Workbench, token_counts_folder: Path) -> None:
    with locked(few.root, "store", time.monotonic()):
        process = start(few, token_counts_folder, "ingest", "--wait", LONG_S)
        until(lambda: (few.root / "lock") in opened(process.pid), process)
        code, said = stop(process, signal.SIGINT)
    assert code == 130
    assert "kept: nothing yet" in said
    assert leftovers(few) == []


def test_a_plan_leaves_no_temporary_folder(bench: Workbench, token_counts_folder: Path) -> None:
    process = start(bench, token_counts_folder, "plan")
    until(lambda: any((bench.folder / "tmp").glob(f"{PLANNED}*")), process)
    code, said = stop(process, signal.SIGTERM)
    assert code == 143
    assert said.endswith("docmill: stopped; a plan keeps nothing, and the store is as it was\n")
    assert leftovers(bench) == []


@pytest.mark.parametrize("signals", [3, pytest.param(100, marks=pytest.mark.soak)])
def test_signals_at_random_moments_leave_nothing_behind(
    bench: Workbench, token_counts_folder: Path, signals: int
) -> None:
    rng = random.Random(11)
    number, stopped, latest = 0, 0, 2.0
    while number < signals or stopped < signals / 4:
        number += 1
        guide = bench.docs / "products" / "chough-guide.md"
        guide.write_text(guide.read_text(encoding="utf-8") + f"\nNote {number}.\n", encoding="utf-8")
        before = newest(bench.root)
        process = start(bench, token_counts_folder)
        until(lambda own=process.pid: (bench.root / "lock") in opened(own), process)
        moment = rng.uniform(0, latest)
        time.sleep(moment)
        code, said = stop(process, rng.choice([signal.SIGINT, signal.SIGTERM]))
        assert "Traceback" not in said
        assert leftovers(bench) == []
        stopped += code in (130, 143)
        # A run that ended before its signal says how long a run takes here: later signals come sooner.
        latest = moment if code == 0 else latest
        after = newest(bench.root)
        assert (after.number if after else 0) >= (before.number if before else 0)
    bench.ingest()
    assert verify(bench.root, deep=True) == []
