"""A command that a signal stops gives its lease back, whatever it writes, so that no other machine waits for it."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import typer

from docmill.flows.cli.app import app
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects import lease
from tests.kit.docmill_with_fake_model import MARK, STUCK
from tests.kit.house import ROOT
from tests.kit.remote_bench import RemoteBench

PATIENCE_S = 60.0  # of a busy machine; what is stopped would go on for ten minutes
pytestmark = pytest.mark.usefixtures("warm_path")
WRITING = ("compact", "erase", "publish", "reembed", "remove", "repair", "restore", "tag", "undelete", "vacuum")


def stopped_at(far: RemoteBench, model: Path, moment: str, *arguments: str) -> tuple[int, str]:
    """Begin a command on machine "one", send SIGTERM at `moment`; return its status and its last line."""
    environment = os.environ | {MARK: str(far.folder), "DOCMILL_MIRRORS": str(far.folder / "mirrors" / "one")}
    command = ["docmill_with_fake_model", str(model), *arguments]
    command += ["--store", far.address]
    stuck = environment | {STUCK: f"{moment}=600"}
    process = subprocess.Popen(command, cwd=ROOT, env=stuck, stdout=-1, stderr=-1, text=True)
    try:
        while not (far.folder / "stuck").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        assert not lease_of(far).get("free")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE_S)
        return process.returncode, (said.splitlines() or [""])[-1]
    finally:
        process.kill()


def lease_of(far: RemoteBench) -> dict[str, object]:
    found: dict[str, object] = json.loads(far.objects.read(lease.KEY))
    return found


@pytest.mark.parametrize(
    ("moment", "arguments"),
    [
        ("before remote put tags", ["tag", "good"]),
        ("before remote write dropped", ["vacuum", "--set", "retention.keep_snapshots=1"]),
        ("before remote upload artifacts", ["compact"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_stopped_command_keeps_no_other_machine_waiting(
    far: RemoteBench, token_counts_folder: Path, moment: str, arguments: list[str]
) -> None:
    for text in ("# Tea\n\nThe kettle stands on the stove.\n", "# Tea\n\nThe kettle is cold.\n"):
        far.write({"a.md": text})
        far.ingest()
    status, said = stopped_at(far, token_counts_folder, moment, *arguments)
    assert status == 143, said
    assert said == "docmill: stopped; what was committed is kept; run the same command again to finish"
    assert lease_of(far)["free"] is True
    with open_folder(far.on("two").root).lock():
        pass
    assert far.ingest().documents.unchanged == 1


def test_every_command_that_takes_the_lock_can_be_stopped() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    waiting = {name for name, one in commands.items() if "wait_s" in getattr(one, "sections", ())}
    assert waiting == {*WRITING}
