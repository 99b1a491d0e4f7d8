"""The command `watch`: what it prints, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from docmill.storage.files import TEMPORARY
from docmill.storage.snapshots.clean.verify import verify
from tests.kit.docmill_with_fake_model import MARK, SLOW
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0  # of a busy machine

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path / "bench")
    made.write({f"{bird}.md": f"# {bird}\n\nThe {bird} sings.\n" for bird in ("owl", "tit", "jay", "daw", "wren")})
    return made


def start(bench: Workbench, model: Path, *options: str, slow: str = "") -> "subprocess.Popen[str]":
    temporary = bench.folder / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = os.environ | {"TMPDIR": str(temporary), MARK: str(bench.folder), SLOW: slow}
    command = [sys.executable, "-m", "tests.kit.docmill_with_fake_model", str(model), "watch", str(bench.docs)]
    command += ["--store", str(bench.root), "--embedding-model", NAME, "--engine", "local", *options]
    with (bench.folder / "out").open("w") as out, (bench.folder / "err").open("w") as err:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=err, text=True)


def said(bench: Workbench, where: str) -> list[str]:
    return (bench.folder / where).read_text().splitlines()


def until(bench: Workbench, process: "subprocess.Popen[str]", where: str, text: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not any(text in line for line in said(bench, where)):
        assert process.poll() is None, said(bench, "err")
        assert time.monotonic() < deadline, (said(bench, "out"), said(bench, "err"))
        time.sleep(0.02)


def left(bench: Workbench) -> list[object]:
    """Return the processes and temporary files that are left after a while; the guards of workers need one."""
    deadline = time.monotonic() + PATIENCE_S
    found: list[object] = ["unknown"]
    while found and time.monotonic() < deadline:
        time.sleep(0.02)
        folders = [*(bench.folder / "tmp").iterdir(), *bench.root.glob(f"staging/*/{TEMPORARY}*")]
        found = [*(folder for folder in Path("/proc").glob("[0-9]*") if _is_of(folder, bench)), *folders]
    return found


def _is_of(process: Path, bench: Workbench) -> bool:
    try:
        variables = (process / "environ").read_bytes().split(b"\0")
        return f"{MARK}={bench.folder}".encode() in variables and "Z" not in (process / "stat").read_text().split()[2]
    except OSError:
        return False


def stop(process: "subprocess.Popen[str]", number: signal.Signals) -> int:
    """Send a signal, and return the exit status."""
    process.send_signal(number)
    return process.wait(PATIENCE_S)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_watch_says_a_line_for_each_commit_and_ends_at_a_signal(
    bench: Workbench, token_counts_folder: Path, number: signal.Signals, status: int
) -> None:
    process = start(bench, token_counts_folder)
    until(bench, process, "err", f"docmill: watching {bench.docs}")
    bench.write({"rook.md": "# Rook\n\nThe rook caws.\n"})
    until(bench, process, "out", "Snapshot 2 committed")
    assert stop(process, number) == status
    first, second = said(bench, "out")
    assert first.endswith(" s")
    assert "  Snapshot 1 committed; documents: 5 added; chunks: 5 added; " in first
    assert "  Snapshot 2 committed; documents: 1 added; chunks: 1 added; " in second
    *before, stopping, stopped = said(bench, "err")
    assert before[-1] == f"docmill: watching {bench.docs}"
    assert stopping.startswith("docmill: stopping; ")
    assert stopped == "docmill: stopped; kept: snapshot 2; run the same command again to go on"
    assert left(bench) == []
    assert verify(bench.root, deep=True) == []


def test_a_signal_ends_a_watch_that_encodes(bench: Workbench, token_counts_folder: Path) -> None:
    process = start(bench, token_counts_folder, slow="600")
    deadline = time.monotonic() + PATIENCE_S
    while not (bench.folder / "encoding").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert stop(process, signal.SIGINT) == 130
    assert said(bench, "err")[-1].endswith("5 parsed documents; run the same command again to go on")
    assert left(bench) == []


def test_a_watch_in_json_prints_an_object_a_commit(bench: Workbench, token_counts_folder: Path) -> None:
    process = start(bench, token_counts_folder, "--json")
    until(bench, process, "err", "watching")
    (bench.docs / "owl.md").write_bytes(b"")
    until(bench, process, "err", "owl.md: empty")
    bench.write({"rook.md": "# Rook\n\nThe rook caws.\n"})
    until(bench, process, "out", '"snapshot": 3')
    stop(process, signal.SIGTERM)
    reports = [json.loads(line) for line in said(bench, "out")]
    assert [report["snapshot"] for report in reports] == [1, 2, 3]
    assert [report["documents"]["added"] for report in reports] == [5, 0, 1]
    assert sum("owl.md: empty" in line for line in said(bench, "err")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--every", "0"), "docmill: --every must be above 0, got 0"),
        (("--set", "parse.workers=-1"), "docmill: --set parse.workers: "),
    ],
)
def test_a_wrong_option_ends_a_watch(
    bench: Workbench, token_counts_folder: Path, options: tuple[str, ...], message: str
) -> None:
    process = start(bench, token_counts_folder, *options)
    assert process.wait(60) == 1
    assert said(bench, "err")[-1].startswith(message)


def test_a_source_that_does_not_exist_ends_a_watch(bench: Workbench, token_counts_folder: Path) -> None:
    bench.docs.rename(bench.folder / "away")
    process = start(bench, token_counts_folder, "nowhere")
    assert process.wait(60) == 1
    assert "docs' does not exist" in said(bench, "err")[-1]
    assert not bench.root.exists()
