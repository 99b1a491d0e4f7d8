"""A git server on loopback for tests: repositories below a folder over HTTP, and which objects were asked for."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from gzip import decompress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.kit.servers.loopback import served


@dataclass
class GitServer:
    """`wanted` are the objects that requests named, by their hashes."""

    folder: Path
    port: int = 0
    asked: list[str] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)
    fault: Callable[[Any], bool] | None = None

    @property
    def url(self) -> str:
        return f"git+http://127.0.0.1:{self.port}"

    def clear(self) -> None:
        self.asked.clear()
        self.wanted.clear()


def _handler(server: GitServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if server.fault and server.fault(self):
                return
            path, _, query = self.path.partition("?")
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            plain = decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data
            server.asked.append(f"{self.command} {path}")
            server.wanted.extend(re.findall(r"want ([0-9a-f]{40})", plain.decode("latin-1")))
            environment = {
                "GIT_PROJECT_ROOT": str(server.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_ADDR": "127.0.0.1",
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(plain)),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "PATH": os.environ["PATH"],
                "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
            }  # fmt: skip
            said = subprocess.run(
                ["git", "http-backend"], input=plain, capture_output=True, env=environment, check=True
            )
            head, _, body = said.stdout.partition(b"\r\n\r\n")
            told = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(told.pop("Status", "200").split()[0]))
            for name, value in {**told, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def answer(self, status: int, data: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()

        do_POST = do_GET  # noqa: N815  the name that http.server asks for

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def git_on_loopback(folder: Path) -> Iterator[GitServer]:
    """Serve the repositories in a folder."""
    made = GitServer(folder)
    with served(_handler(made)) as made.port:
        yield made
