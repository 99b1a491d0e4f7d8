"""A run that is killed, or finds the disk full, loses nothing that was committed, and the next one mends all."""

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.snapshots import newest, numbers
from docmill.storage.snapshots.read.store import open_store
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fake_model", "warm_path")]


def start(bench: Workbench, model: Path) -> "subprocess.Popen[bytes]":
    arguments = ["ingest", str(bench.docs), "--store", str(bench.root), "--embedding-model", NAME, "--engine", "local"]
    command = ["docmill_with_fake_model", str(model), *arguments, "--wait", "60"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def end(process: "subprocess.Popen[bytes]") -> int:
    _, complaint = process.communicate()
    assert process.returncode in (0, -9), complaint.decode()
    return process.returncode


def add_note(bench: Workbench, number: int) -> None:
    guide = bench.docs / "products" / "chough-guide.md"
    text = guide.read_text(encoding="utf-8")
    guide.write_text(f"{text}\n## Note {number}\n\nText of note {number}.\n", encoding="utf-8")


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.soak)])
def test_kills_at_random_moments_lose_nothing(tmp_path: Path, token_counts_folder: Path, kills: int) -> None:
    rng = random.Random(5)
    bench = Workbench(tmp_path / "bench")
    shutil.copytree(ROOT / "tests" / "corpus", bench.docs)
    end(start(bench, token_counts_folder))
    add_note(bench, 0)
    began = time.monotonic()
    end(start(bench, token_counts_folder))
    whole_run = time.monotonic() - began
    tried, killed, latest = 0, 0, whole_run
    while tried < kills or killed < 0.3 * kills:
        tried += 1
        add_note(bench, tried)
        before = newest(bench.root)
        assert before is not None
        process = start(bench, token_counts_folder)
        moment = rng.uniform(0.2, 0.95) * latest
        time.sleep(moment)
        process.kill()
        status = end(process)
        killed += status == -9
        latest = moment if status == 0 else latest  # the machine has less other work than before
        after = open_store(bench.root)
        assert after.snapshot.number >= before.number
        assert after.search("note", mode="keyword")
    end(start(bench, token_counts_folder))
    assert verify(bench.root, deep=True) == []
    clean = Workbench(tmp_path / "clean")
    shutil.copytree(bench.docs, clean.docs)
    clean.ingest()
    assert clean.chunks() == bench.chunks()
    assert clean.files("chunks") == bench.files("chunks")
    assert numbers(bench.root)[0] == 1


def test_a_full_disk_ends_the_run_with_one_line_and_the_snapshot_stays(
    tmp_path: Path, token_counts_folder: Path
) -> None:
    bench = Workbench(tmp_path / "bench")
    shutil.copytree(ROOT / "tests" / "corpus" / "handbook", bench.docs)
    bench.ingest()
    shutil.copytree(ROOT / "tests" / "corpus", bench.docs / "more")
    # The kernel answers a write past this size as it answers one to a full disk: with an error. It begins to when the
    # run has found room and is at work.
    limit = (
        "import resource, runpy; from docmill.storage import failpoints; failpoints.watch = lambda name: "
        "name == 'before stage documents' and resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)); "
    )
    module = "runpy.run_module('tests.kit.docmill_with_fake_model', run_name='__main__')"
    arguments = ["ingest", str(bench.docs), "--store", str(bench.root), "--embedding-model", NAME, "--engine", "local"]
    command = ["python", "-c", limit + module, str(token_counts_folder), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "everything committed is intact: free some space and run again" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert verify(bench.root, deep=True) == []
    assert bench.ingest().snapshot == 2
