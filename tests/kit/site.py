"""A web site on loopback for tests: pages with tags, what was asked, and what a test makes of an answer."""

import gzip
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from ssl import SSLContext
from typing import Any

from tests.kit.servers.loopback import served


@dataclass
class Site:
    """Pages by path: HTML, or a function that answers by itself."""

    port: int = 0
    pages: dict[str, str | bytes | Callable[[Any], None]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    fault: Callable[[Any], bool] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def clear(self) -> None:
        self.asked.clear()
        self.sent.clear()


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.places.append(self.connection.getsockname()[0])
            page = site.pages.get(self.path)
            if site.fault and site.fault(self):
                return
            if page is None:
                self.answer(404)
            elif callable(page):
                page(self)
            else:
                self.page(page.encode() if isinstance(page, str) else page)

        def page(self, data: bytes) -> None:
            tag = f'"{hashlib.sha1(data).hexdigest()}"'
            if self.headers.get("If-None-Match") == tag:
                self.answer(304)
                return
            site.sent.append(self.path)
            packed = gzip.compress(data)
            kind = site.types.get(self.path, "text/html; charset=utf-8")
            self.answer(200, packed, ETag=tag, Content_Type=kind, Content_Encoding="gzip")

        def answer(self, status: int, data: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def site_on_loopback(encryption: SSLContext | None = None) -> Iterator[Site]:
    """Run a site at all addresses of loopback."""
    site = Site()
    with served(_handler(site), host="", encryption=encryption) as site.port:
        yield site
