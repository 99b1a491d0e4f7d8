"""The programs of the tests that start warm: their server outlives every client."""

import shlex
import socket
import subprocess
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
