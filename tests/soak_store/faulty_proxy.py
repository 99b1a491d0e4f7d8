"""An HTTP proxy on loopback before an object store that delays, refuses, loses, cuts and alters what passes through."""

import http.client
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_SLOW_S = (0.05, 0.6)  # seconds that a slow answer is late
_DOWN_S = 2.0  # seconds that a store which is down stays so, from the first request that meets it
_HOP = {"connection", "transfer-encoding", "keep-alive"}  # these are between two neighbours


@dataclass
class Weather:
    """What happens to a request: `fault` at random to a share of them; `met` counts how many."""

    fault: str = ""
    share: float = 0.0
    met: int = 0
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    down_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def draw(self) -> str:
        """Return the fault of the next request, or an empty string."""
        with self.lock:
            struck = bool(self.fault) and (time.monotonic() < self.down_until or self.rng.random() < self.share)
            if struck and self.fault == "down" and time.monotonic() >= self.down_until:
                self.down_until = time.monotonic() + _DOWN_S
            self.met += struck
            return self.fault if struck else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the object store answered."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    weather: Weather
    target: tuple[str, int]

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.weather.draw()
        if fault in ("dropped", "down"):
            return self._hang_up()
        if fault == "503":
            return self._send(Answer(503, [], b"<Error><Code>SlowDown</Code></Error>"))
        if fault == "slow":
            time.sleep(self.weather.rng.uniform(*_SLOW_S))
        answer = self._ask(body)
        if fault == "lost answer":
            return self._hang_up()
        if fault == "flipped" and self.command == "GET" and answer.status < 300:
            answer = Answer(answer.status, answer.headers, _flip(answer.body, self.weather.rng))
        self._send(answer, cut=fault == "cut")
        return None

    def _ask(self, body: bytes) -> Answer:
        connection = http.client.HTTPConnection(*self.target, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        connection.request(self.command, self.path, body, headers)
        with connection.getresponse() as found:
            kept = [(name, value) for name, value in found.getheaders() if name.lower() not in _HOP]
            return Answer(found.status, kept, found.read())

    def _send(self, answer: Answer, cut: bool = False) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() != "content-length" or self.command == "HEAD":
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body[: len(answer.body) // 2] if cut else answer.body)
        if cut:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815  # the names that the class before asks for


def _flip(body: bytes, rng: random.Random) -> bytes:
    if not body:
        return body
    data = bytearray(body)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


@contextmanager
def faulty(environment: dict[str, str], weather: Weather) -> Iterator[dict[str, str]]:
    """Serve a proxy before the object store of an environment; yield the environment that leads through it."""
    there = urlsplit(environment["AWS_ENDPOINT_URL"])
    assert there.hostname
    assert there.port
    handler: Callable[..., BaseHTTPRequestHandler] = type(
        "Passing", (_Handler,), {"weather": weather, "target": (there.hostname, there.port)}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield environment | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
