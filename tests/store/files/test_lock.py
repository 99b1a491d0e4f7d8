"""One writer at a time, and a dead one is in nobody's way."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from docmill.storage.errors import Locked
from docmill.storage.remote.mirror.open_folder import open_folder

_HOLD = """
import sys, time
from pathlib import Path
from docmill.storage.remote.mirror.open_folder import open_folder
with open_folder(Path(sys.argv[1])).lock():
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_second_writer_is_told_who_holds_the_store(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    try:
        with (
            pytest.raises(
                Locked, match=rf"process {holder.pid} on .+ since 20.+--wait SECONDS .in Python: the setting wait_s"
            ),
            open_folder(tmp_path).lock(),
        ):
            pass
    finally:
        end(holder)


def test_the_lock_of_a_killed_writer_is_free_at_once(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    end(holder)
    with open_folder(tmp_path).lock():
        assert str(os.getpid()) in (tmp_path / "lock").read_text()


def test_a_writer_waits_as_long_as_it_was_told(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    import threading

    killer = threading.Timer(0.5, lambda: os.kill(holder.pid, signal.SIGKILL))
    killer.start()
    with open_folder(tmp_path).lock(wait_s=20):
        pass
    killer.join()
    end(holder)


def test_the_lock_can_be_taken_again_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), open_folder(tmp_path).lock():
        raise RuntimeError
    with open_folder(tmp_path).lock():
        pass


def test_a_second_writer_of_one_process_is_not_told_of_another_process(tmp_path: Path) -> None:
    told = r"another thread of this process since 20.+--wait"
    with open_folder(tmp_path).lock(), pytest.raises(Locked, match=told), open_folder(tmp_path).lock():
        pass


def test_a_writer_that_has_ended_is_never_named(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    end(holder)
    with open_folder(tmp_path).lock():
        pass
    assert (tmp_path / "lock").read_bytes() == b""
