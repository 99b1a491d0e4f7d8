"""What servers over HTTP do when they fail, for tests: each fault answers a request in place of the server."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

Fault = Callable[..., bool]


def refuses(request: Any) -> bool:
    request.answer(403)
    return True


def slow(_request: Any) -> bool:
    time.sleep(2.5)
    return True


def cut_off(request: Any) -> bool:
    """Send half of an answer, and say that it is longer."""
    request.send_response(207 if request.command == "PROPFIND" else 200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b"half")
    request.close_connection = True
    return True


def lying(request: Any) -> bool:
    """Say ten gigabytes, and send without end."""
    request.send_response(207 if request.command == "PROPFIND" else 200)
    request.send_header("Content-Length", str(10 * 1024**3))
    request.end_headers()
    with suppress(OSError):
        while True:
            request.wfile.write(b"a" * 65_536)
    request.close_connection = True
    return True


def busy(request: Any) -> bool:
    request.answer(429, Retry_After="86400")
    return True


def login_page(request: Any) -> bool:
    request.answer(302, Location="/account/login?next=x")
    return True


FAULTS: dict[str, Fault] = {
    "refuses": refuses, "slow": slow, "cut off": cut_off, "lies about its size": lying, "busy": busy,
    "login page": login_page,
}  # fmt: skip


@contextmanager
def away(path: Path) -> Iterator[None]:
    """Take a file or a folder away during the block."""
    aside = path.with_name(f"{path.name}.aside")
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)


@contextmanager
def at_fault(server: Any, fault: Fault) -> Iterator[None]:
    """Let a server fail during the block: its attribute `fault` answers."""
    server.fault = fault
    try:
        yield
    finally:
        server.fault = None
