"""A worker has no network, whichever way it asks: Python, native code, another thread, or another program."""

import ctypes
import errno
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool

BY_KERNEL = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
CALLS = {"io_uring_setup": 425, "pidfd_getfd": 438}
PYTHON = "import socket; socket.socket()"
REFUSED = f"refused ({errno.EACCES})"

pytestmark = [
    pytest.mark.skipif(not BY_KERNEL, reason="needs Linux on x86-64 or ARM64, whose kernel refuses"),
    pytest.mark.usefixtures("cold"),
]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Limits(workers=1)) as pool:
        yield pool


def native(number: int, *arguments: int) -> str:
    """Call the kernel past Python."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(*map(ctypes.c_long, (number, *arguments)))
    return f"refused ({ctypes.get_errno()})" if found < 0 else f"made {found}"


def native_socket(family: int) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.socket(family, 1, 0)
    return f"refused ({ctypes.get_errno()})" if found < 0 else f"made {found}"


def in_a_thread(family: int) -> str:
    said = []
    thread = threading.Thread(target=lambda: said.append(native_socket(family)))
    thread.start()
    thread.join()
    return said[0]


def in_a_program(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr[-200:]


def native_lookup(name: str) -> str:
    return f"{ctypes.CDLL(None).gethostbyname(name.encode())}"


def asked(pool: Pool, function: Callable[[Any], str], item: object) -> str | Rejected:
    (found,) = pool.map(function, [item])
    return found


@pytest.mark.parametrize("function", [native_socket, in_a_thread])
@pytest.mark.parametrize("family", [2, 10, 16, 17, 40], ids=["IPv4", "IPv6", "netlink", "packet", "virtual machine"])
def test_native_code_gets_no_socket(pool: Pool, function: Callable[[Any], str], family: int) -> None:
    assert asked(pool, function, family) == REFUSED


@pytest.mark.parametrize("name", CALLS)
def test_no_other_call_makes_one_or_takes_that_of_another_process(pool: Pool, name: str) -> None:
    assert asked(pool, native_call, CALLS[name]) == REFUSED


def native_call(number: int) -> str:
    return native(number, 2, 1, 0)


def test_a_program_that_a_worker_starts_gets_none_either(pool: Pool) -> None:
    assert "PermissionError: [Errno 13]" in str(asked(pool, in_a_program, PYTHON))


def test_native_code_looks_no_name_up(pool: Pool) -> None:
    assert asked(pool, native_lookup, "example.org") == "0"


def test_local_sockets_and_pipes_work(pool: Pool) -> None:
    assert str(asked(pool, native_socket, socket.AF_UNIX)).startswith("made")
