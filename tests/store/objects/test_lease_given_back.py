"""A run on an object store that a signal stops gives its lease back, if it may: other machines need not wait."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docmill.storage import failpoints
from docmill.storage.errors import Locked
from docmill.storage.process.shutdown import is_committing
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects import lease
from tests.kit.docmill_with_fake_model import MARK, SLOW, STUCK
from tests.kit.fake_encoder import NAME
from tests.kit.remote_bench import RemoteBench

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0  # of a busy machine; what is stopped would go on for ten minutes


@pytest.fixture
def begin(far: RemoteBench, token_counts_folder: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Return a starter of an ingest, on machine "one", that stops where the variables say; it returns there."""
    far.write({"a.md": "# Tea\n\nThe kettle stands on the stove.\n"})
    begun: list[subprocess.Popen[str]] = []

    def started(mark: str, **variables: str) -> "subprocess.Popen[str]":
        environment = os.environ | {MARK: str(far.folder), "DOCMILL_MIRRORS": str(far.folder / "mirrors" / "one")}
        command = [sys.executable, "-m", "tests.kit.docmill_with_fake_model", str(token_counts_folder), "ingest"]
        command += [str(far.docs), "--store", far.address, "--embedding-model", NAME, "--engine", "local"]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment | variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        begun.append(process)
        while not (far.folder / mark).exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        return process

    yield started
    for process in begun:
        process.kill()
        process.communicate()


def stop(process: "subprocess.Popen[str]", number: signal.Signals) -> tuple[int, str]:
    """Send a signal; return the exit status, and the last line."""
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said.splitlines()[-1]


def held(far: RemoteBench) -> dict[str, object]:
    found: dict[str, object] = json.loads(far.objects.read(lease.KEY))
    return found


def test_a_stopped_run_keeps_no_other_machine_waiting(
    far: RemoteBench, begin: Callable[..., "subprocess.Popen[str]"]
) -> None:
    process = begin("encoding", **{SLOW: "600"})
    assert not held(far).get("free")
    code, said = stop(process, signal.SIGINT)
    assert code == 130, said
    assert said.startswith("docmill: stopped; kept: 1 parsed document;")
    with open_folder(far.on("two").root).lock():
        assert held(far)["mirror"] != ""
    assert far.ingest().parsed == 0


def test_a_lease_that_another_machine_has_taken_over_stays_its_own(
    far: RemoteBench, begin: Callable[..., "subprocess.Popen[str]"]
) -> None:
    process = begin("encoding", **{SLOW: "600"})
    other = json.dumps({"token": "t", "mirror": "m", "pid": 77, "host": "elsewhere", "since": "2026-01-01"}).encode()
    far.objects.put(lease.KEY, other)
    assert stop(process, signal.SIGINT)[0] == 130
    assert far.objects.read(lease.KEY) == other


def test_the_lease_is_kept_while_a_commit_may_be_in_progress(
    far: RemoteBench, begin: Callable[..., "subprocess.Popen[str]"]
) -> None:
    process = begin("stuck", **{STUCK: "before remote put snapshots=600"})
    assert stop(process, signal.SIGTERM)[0] == 143
    assert not held(far).get("free")
    with pytest.raises(Locked, match=rf"process {process.pid} on"), open_folder(far.on("two").root).lock():
        pass


def test_all_that_a_run_does_to_an_object_store_is_part_of_a_commit_or_of_the_lease(
    far: RemoteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside: set[str] = set()

    def note(name: str) -> None:
        if name.startswith("before remote ") and not is_committing():
            outside.add(name.removeprefix("before remote "))

    monkeypatch.setattr(failpoints, "watch", note)
    for text in ("One.\n", "Two.\n"):
        far.write({"a.txt": text})
        far.ingest()
    assert outside - {"fetch"} == {"put store.json", "put lease.json", "replace lease.json"}
