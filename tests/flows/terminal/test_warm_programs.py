"""The programs of the tests that start warm: their server outlives every client."""

import shlex
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest


@pytest.mark.parametrize("said", [b"", b"\0\0", b"\0\0\0\x09{abc"])
def test_a_client_that_is_killed_before_it_has_asked_ends_no_server(warm_programs: Path, said: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        (place,) = (one for one in shlex.split((warm_programs / "python").read_text()) if one.endswith("/socket"))
        killed.connect(place)
        killed.sendall(said)
    done = subprocess.run([warm_programs / "python", "-c", "print(6 * 7)"], capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"


def test_a_signal_in_the_midst_of_a_start_ends_the_program_and_no_other(warm_programs: Path) -> None:
    command = [str(warm_programs / "python"), "-c", "import time; time.sleep(600)"]
    for number in range(20):
        with subprocess.Popen(command) as program:
            time.sleep(number / 400)  # from before its client runs until after it has asked
            program.terminate()
            try:
                assert program.wait(60) == -signal.SIGTERM
            finally:
                program.kill()


def test_a_program_starts_in_a_folder_that_is_gone(warm_programs: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    removed = 'cd gone && rmdir ../gone && exec "$0" -P -c "print(6 * 7)"'
    command = ["/bin/sh", "-c", removed, str(warm_programs / "python")]
    assert subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, check=True).stdout == b"42\n"
