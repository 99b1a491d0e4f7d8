"""A WebDAV server on loopback for tests: files by path, what was asked, and what a test makes of an answer."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

from tests.kit.servers.loopback import served

_MODIFIED = "Thu, 01 Jan 2026 10:00:00 GMT"


@dataclass
class Share:
    """Files by their paths below `/dav/`; `fault` answers a request in place of the server if it returns true."""

    port: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    signed: list[str | None] = field(default_factory=list)
    fault: Callable[[Any], bool] | None = None

    @property
    def url(self) -> str:
        return f"dav+http://127.0.0.1:{self.port}/dav"

    def folders(self) -> set[str]:
        """Return the folders that hold files, each with a slash at its end."""
        steps = (path.split("/")[:-1] for path in self.files)
        return {"", *("/".join(step[:end]) + "/" for step in steps for end in range(1, len(step) + 1))}


def _handler(share: Share) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = unquote(self.path).removeprefix("/dav/")
            share.asked.append(f"{self.command} {path}")
            share.signed.append(self.headers.get("Authorization"))
            if share.fault and share.fault(self):
                return
            if self.command == "PROPFIND" and path in share.folders():
                self.answer(207, self.listing(path), Content_Type="application/xml")
            elif self.command == "GET" and path in share.files:
                self.answer(200, share.files[path])
            else:
                self.answer(404)

        do_PROPFIND = do_GET  # noqa: N815  the name that http.server asks for

        def listing(self, folder: str) -> bytes:
            assert self.headers.get("Depth") == "1"
            inner = [one for one in (*share.folders(), *share.files) if one.startswith(folder) and one != folder]
            here = [one for one in inner if "/" not in one.removeprefix(folder).rstrip("/")]
            rows = "".join(map(self.entry, (folder, *here)))
            return f'<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">{rows}</d:multistatus>'.encode()

        def entry(self, path: str) -> str:
            data = share.files.get(path)
            kind = "<d:resourcetype><d:collection/></d:resourcetype>"
            if data is not None:
                tag = hashlib.sha1(data).hexdigest()
                kind = (
                    f'<d:resourcetype/><d:getetag>"{tag}"</d:getetag><d:getcontentlength>{len(data)}'
                    f"</d:getcontentlength><d:getlastmodified>{_MODIFIED}</d:getlastmodified>"
                )
            return (
                f"<d:response><d:href>{escape(quote(f'/dav/{path}'))}</d:href><d:propstat><d:prop>{kind}</d:prop>"
                "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
            )

        def answer(self, status: int, data: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": headers.get("Content_Length", str(len(data)))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def share_on_loopback() -> Iterator[Share]:
    """Serve an empty share."""
    made = Share()
    with served(_handler(made)) as made.port:
        yield made
