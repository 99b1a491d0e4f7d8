"""A server of Azure's blobs on loopback for tests: one container, read only, and what was asked."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.kit.servers.loopback import served

_MODIFIED = "Thu, 01 Jan 2026 10:00:00 GMT"


@dataclass
class Container:
    """The blobs of the container `shelf` of the account `mill` by their names."""

    port: int = 0
    blobs: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": "mill",
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{self.port}/mill",
            "AZURE_SKIP_SIGNATURE": "true",
        }


def _tag(data: bytes) -> str:
    return f'"0x{hashlib.sha1(data).hexdigest()[:15].upper()}"'


def _handler(container: Container) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            container.asked.append(f"{self.command} {unquote(parts.path)}")
            query = parse_qs(parts.query)
            if query.get("comp") == ["list"]:
                self.answer(200, self.listing(query.get("prefix", [""])[0]), Content_Type="application/xml")
                return
            data = container.blobs.get(unquote(parts.path).removeprefix("/mill/shelf/"))
            if data is None:
                self.answer(404, b"", x_ms_error_code="BlobNotFound")
            else:
                self.answer(200, data, ETag=_tag(data), Last_Modified=_MODIFIED, x_ms_blob_type="BlockBlob")

        do_HEAD = do_GET  # noqa: N815  the name that http.server asks for

        def listing(self, prefix: str) -> bytes:
            found = "".join(
                f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>{_MODIFIED}</Last-Modified>"
                f"<Etag>{_tag(data)}</Etag><Content-Length>{len(data)}</Content-Length><Content-Type>x/y</Content-Type>"
                "<BlobType>BlockBlob</BlobType></Properties></Blob>"
                for name, data in sorted(container.blobs.items())
                if name.startswith(prefix)
            )
            begin = '<?xml version="1.0" encoding="utf-8"?><EnumerationResults>'
            return f"{begin}<Blobs>{found}</Blobs><NextMarker /></EnumerationResults>".encode()

        def answer(self, status: int, data: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def container_on_loopback() -> Iterator[Container]:
    """Serve an empty container."""
    made = Container()
    with served(_handler(made)) as made.port:
        yield made
