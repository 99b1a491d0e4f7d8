"""The object store of the tests answers as moto's, which plays all of S3, to what docmill and its tests ask."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from docmill.storage.errors import StoreError
from docmill.storage.remote.objects.bucket import Objects, Vanished
from tests.kit.remote_bench import make_bucket
from tests.kit.servers.s3_server import buckets_on_loopback

PARTS = 11 << 20  # bytes: obstore uploads a file of this size in three parts


@contextmanager
def moto() -> Iterator[int]:
    from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = create_backend_app("s3")

    def signed(environ: Any, start: Any) -> Any:
        environ.setdefault("HTTP_AUTHORIZATION", "Bearer of another protocol")
        return store(environ, start)

    server = make_server("127.0.0.1", 0, signed, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()


@dataclass
class Asker:
    """Asks one server, and notes what docmill sees of its answers; times are left out."""

    port: int
    monkeypatch: pytest.MonkeyPatch
    folder: Path

    def seen(self) -> list[object]:
        """Ask all that docmill asks, with keys of every kind; return the answers."""
        for name, value in {
            "ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "ACCESS_KEY_ID": "a key",
            "SECRET_ACCESS_KEY": "a secret",
            "REGION": "us-east-1",
        }.items():
            self.monkeypatch.setenv(f"AWS_{name}", value)
        make_bucket("shelf")
        return [*self._by_client(Objects("s3://shelf/deep")), *self._as_sent()]

    def _by_client(self, objects: Objects) -> Iterator[object]:
        first = objects.put_if_absent("a.json", b"one")
        yield first, objects.put_if_absent("a.json", b"two"), objects.put_if_absent("a.json", b"one")
        tag = objects.version("a.json").tag
        yield tag, objects.put_if_same("a.json", b"three", tag), objects.put_if_same("a.json", b"four", tag)
        yield objects.read("a.json"), objects.has("a.json"), objects.has("b.json")
        with pytest.raises(Vanished):
            objects.put_if_same("b.json", b"x", tag)
        with pytest.raises(Vanished):
            objects.read("b.json")
        (self.folder / "large").write_bytes(bytes(range(256)) * (PARTS // 256))
        for name in ("sub/x.txt", "sub/ö & <y>.txt", "sub.txt", "empty"):
            objects.put(name, b"" if name == "empty" else name.encode())
        objects.upload(self.folder / "large", "large")
        objects.copy("sub/x.txt", "copied")
        with pytest.raises(Vanished):
            objects.copy("nothing", "copied")
        yield b"".join(objects.pieces("large")) == (self.folder / "large").read_bytes()
        yield objects.sizes(), [(one.key, one.bytes, one.tag) for one in objects.listing("sub")]
        yield {one.key for one in objects.listed_exactly()}, {one.key for one in objects.listed_exactly("su")}
        objects.delete(["sub.txt", "nothing", "sub/ö & <y>.txt"])
        yield sorted(one.key for one in objects.listing())
        with pytest.raises(StoreError) as said:
            Objects("s3://nobody").read("a")
        yield said.type
        with pytest.raises(StoreError, match="there is no such bucket"):
            Objects("s3://nobody").listing()

    def _as_sent(self) -> Iterator[object]:
        """Ask what no client of ours would, or what it asks only of a large bucket."""
        head = {"Content-Type": "text/plain", "Authorization": "AWS any:any"}
        for path in ("/shelf/odd//a", "/shelf/odd/b/", "/shelf/odd/%2e%2e", "/shelf/odd/c%20d"):
            yield self._ask("PUT", path, b"odd", head)
        for part in ("bytes=1-2", "bytes=2-", "bytes=-2", "bytes=1-99", "bytes=7-9"):
            yield self._ask("GET", "/shelf/odd/b/", b"", {**head, "Range": part})
        yield self._ask("HEAD", "/shelf/odd//a", b"", head), self._ask("DELETE", "/shelf/odd//a", b"", head)
        for question in (
            "list-type=2&prefix=odd/",
            "list-type=2&prefix=odd/&encoding-type=url",
            "list-type=2&delimiter=/",
            "list-type=2&delimiter=/&prefix=deep/",
            "list-type=2&prefix=deep/&start-after=deep/large",
        ):
            yield self._listed(self._ask("GET", f"/shelf?{question}", b"", head)[2])
        yield self._pages(head)

    def _pages(self, head: dict[str, str]) -> list[list[str]]:
        """Return the keys of each page of two."""
        token, pages = "", []
        while True:
            more = f"&continuation-token={token}" if token else ""
            page = ElementTree.fromstring(self._ask("GET", f"/shelf?list-type=2&max-keys=2{more}", b"", head)[2])
            pages.append([one.text or "" for one in page.iterfind("{*}Contents/{*}Key")])
            if not (token := page.findtext("{*}NextContinuationToken", "")):
                return pages

    def _ask(self, method: str, path: str, body: bytes, head: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, body, head)
        with connection.getresponse() as answer:
            kept = {name: answer.headers[name] for name in ("ETag", "Content-Range") if name in answer.headers}
            data = answer.read()
        connection.close()
        return answer.status, kept, b"" if answer.status >= 400 else data

    @staticmethod
    def _listed(page: bytes) -> dict[str, list[str | None]]:
        tree = ElementTree.fromstring(page)
        paths = ("Contents/{*}Key", "Contents/{*}ETag", "Contents/{*}Size", "CommonPrefixes/{*}Prefix", "IsTruncated")
        return {path: [one.text for one in tree.iterfind(f"{{*}}{path}")] for path in (*paths, "EncodingType")}


def test_it_answers_as_moto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with buckets_on_loopback() as port:
        ours = Asker(port, monkeypatch, tmp_path).seen()
    with moto() as port:
        theirs = Asker(port, monkeypatch, tmp_path).seen()
    assert ours == theirs


def test_nobody_answers_after_its_end() -> None:
    asked: list[str] = []
    with buckets_on_loopback(asked) as port:
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("PUT", "/shelf")
        assert connection.getresponse().read() == b""
    assert asked == ["PUT /shelf"]
    with suppress(ConnectionError):  # where the end of the connection is known at once
        connection.request("GET", "/shelf?list-type=2")
    with pytest.raises((ConnectionError, HTTPException)):
        connection.getresponse()
    with pytest.raises(ConnectionRefusedError):
        HTTPConnection("127.0.0.1", port).request("GET", "/shelf")
