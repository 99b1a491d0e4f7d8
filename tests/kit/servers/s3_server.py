"""A server of S3's protocol on loopback for tests: what docmill asks of a bucket, conditional puts included.

moto plays all of S3: with it, the tests of stores in buckets took 82 s of CPU time in place of 51.
`tests/store/objects/test_s3_server.py` holds the answers of this server against moto's.
"""

import hashlib
import socket
import socketserver
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http import HTTPStatus
from io import BufferedIOBase
from secrets import token_hex
from urllib.parse import parse_qs, quote, unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_PAGE = 1000  # keys of a listing at once, as Amazon's


@dataclass(frozen=True, slots=True)
class Held:
    """The content of an object, its entity tag in quotes, and the second in which it was put."""

    data: bytes
    tag: str
    second: int

    @property
    def modified(self) -> str:
        return datetime.fromtimestamp(self.second, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: `path` is decoded, names of headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def key(self) -> str:
        return self.path[1:].partition("/")[2]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer; `headers` are those besides the length."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """A request that is answered by an error of S3."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.answer = Answered(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())


def _of(data: bytes, tag: str = "") -> Held:
    return Held(data, tag or f'"{hashlib.md5(data).hexdigest()}"', int(time.time()))


class Buckets:
    """The objects of all buckets, and the uploads in parts that have begun."""

    def __init__(self, asked: list[str] | None = None) -> None:
        self._asked = asked
        self._held: dict[str, dict[str, Held]] = {}
        self._uploads: dict[str, dict[int, Held]] = {}
        self._lock = threading.Lock()

    def answer(self, asked: Asked) -> Answered:
        """Answer a request; requests come one after another."""
        with self._lock:
            if self._asked is not None:
                self._asked.append(f"{asked.method} {asked.path}")
            try:
                return self._of_key(asked) if asked.key else self._of_bucket(asked)
            except Refused as why:
                return why.answer

    def _objects(self, asked: Asked) -> dict[str, Held]:
        try:
            return self._held[asked.path[1:].partition("/")[0]]
        except KeyError:
            raise Refused(404, "NoSuchBucket") from None

    def _of_bucket(self, asked: Asked) -> Answered:
        if asked.method == "PUT":
            self._held.setdefault(asked.path.strip("/"), {})
            return Answered()
        held = self._objects(asked)
        if asked.method == "POST" and "delete" in asked.query:
            keys = [one.text or "" for one in ElementTree.fromstring(asked.body).iterfind("{*}Object/{*}Key")]
            gone = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys if [held.pop(key, None)])
            return _xml("DeleteResult", gone)
        if asked.method in ("GET", "HEAD"):
            return _listing(held, asked.query)
        raise Refused(501, "NotImplemented")

    def _of_key(self, asked: Asked) -> Answered:
        if "uploadId" in asked.query or "uploads" in asked.query:
            return self._in_parts(asked)
        held = self._objects(asked)
        if asked.method == "PUT":
            return self._put(held, asked)
        if asked.method == "DELETE":
            held.pop(asked.key, None)
            return Answered(204)
        if asked.method in ("GET", "HEAD"):
            return _content(held, asked)
        raise Refused(501, "NotImplemented")

    def _put(self, held: dict[str, Held], asked: Asked) -> Answered:
        known = held.get(asked.key)
        if asked.headers.get("if-none-match") == "*" and known:
            raise Refused(412, "PreconditionFailed")
        if wanted := asked.headers.get("if-match"):
            if known is None:
                raise Refused(404, "NoSuchKey")
            if wanted.strip('"') != known.tag.strip('"'):
                raise Refused(412, "PreconditionFailed")
        if source := asked.headers.get("x-amz-copy-source"):
            bucket, _, key = unquote(source).removeprefix("/").partition("/")
            if key not in self._held.get(bucket, {}):
                raise Refused(404, "NoSuchKey")
            new = held[asked.key] = _of(self._held[bucket][key].data)
            return _xml("CopyObjectResult", f"<ETag>{new.tag}</ETag><LastModified>{new.modified}</LastModified>")
        new = held[asked.key] = _of(asked.body)
        return Answered(headers={"ETag": new.tag})

    def _in_parts(self, asked: Asked) -> Answered:
        """Begin, continue, end or give up an upload in parts."""
        held, upload = self._objects(asked), asked.query.get("uploadId", "")
        if "uploads" in asked.query:
            upload = token_hex(8)
            self._uploads[upload] = {}
            return _xml("InitiateMultipartUploadResult", f"<UploadId>{upload}</UploadId>")
        if upload not in self._uploads:
            raise Refused(404, "NoSuchUpload")
        if asked.method == "PUT":
            part = self._uploads[upload][int(asked.query["partNumber"])] = _of(asked.body)
            return Answered(headers={"ETag": part.tag})
        parts = self._uploads.pop(upload)
        if asked.method == "DELETE":
            return Answered(204)
        wanted = [int(one.text or 0) for one in ElementTree.fromstring(asked.body).iterfind("{*}Part/{*}PartNumber")]
        data = [parts[number].data for number in wanted]
        tag = hashlib.md5(b"".join(hashlib.md5(one).digest() for one in data)).hexdigest()
        held[asked.key] = _of(b"".join(data), f'"{tag}-{len(data)}"')
        return _xml("CompleteMultipartUploadResult", f"<ETag>{held[asked.key].tag}</ETag>")


def _xml(root: str, inner: str) -> Answered:
    text = f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    return Answered(200, f"{text}{inner}</{root}>".encode(), {"Content-Type": "application/xml"})


def _content(held: Mapping[str, Held], asked: Asked) -> Answered:
    if (known := held.get(asked.key)) is None:
        raise Refused(404, "NoSuchKey")
    head = {"ETag": known.tag, "Last-Modified": formatdate(known.second, usegmt=True), "Accept-Ranges": "bytes"}
    if not (part := asked.headers.get("range")):
        return Answered(200, known.data, head)
    size = len(known.data)
    first, last = part.removeprefix("bytes=").split("-")
    begin = int(first) if first else max(0, size - int(last))
    end = min(int(last) + 1, size) if first and last else size
    if begin >= size:
        raise Refused(416, "InvalidRange")
    return Answered(206, known.data[begin:end], {**head, "Content-Range": f"bytes {begin}-{end - 1}/{size}"})


def _listing(held: Mapping[str, Held], query: Mapping[str, str]) -> Answered:
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    after = query.get("continuation-token") or query.get("start-after", "")
    written = quote if query.get("encoding-type") == "url" else escape
    rows: dict[str, str] = {}
    for key in sorted(key for key in held if key.startswith(prefix)):
        folder = key.find(delimiter, len(prefix)) + 1 if delimiter else 0
        name = key[:folder] if folder else key
        if name <= after or name in rows:
            continue
        one = held[key]
        rows[name] = f"<CommonPrefixes><Prefix>{written(name)}</Prefix></CommonPrefixes>" if folder else (
            f"<Contents><Key>{written(name)}</Key><LastModified>{one.modified}</LastModified>"
            f"<ETag>{escape(one.tag)}</ETag><Size>{len(one.data)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )  # fmt: skip
    names = list(rows)[: int(query.get("max-keys", _PAGE))]
    more = len(names) < len(rows)
    token = f"<NextContinuationToken>{escape(names[-1])}</NextContinuationToken>" if more and names else ""
    encoding = "<EncodingType>url</EncodingType>" if written is quote else ""
    head = f"<KeyCount>{len(names)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>{token}{encoding}"
    return _xml("ListBucketResult", head + "".join(rows[name] for name in names))


class _Connection(socketserver.StreamRequestHandler):
    """Takes one request after another, as long as the client stays."""

    buckets: Buckets
    open_: set[socket.socket]
    disable_nagle_algorithm = True
    wbufsize = -1

    def handle(self) -> None:
        self.open_.add(self.connection)
        with suppress(ConnectionError, ValueError):  # the client, or the server, is gone
            while asked := _read(self.rfile):
                answer = self.buckets.answer(asked)
                _write(self.wfile, answer, asked.method == "HEAD")
        self.open_.discard(self.connection)


def _read(source: BufferedIOBase) -> Asked | None:
    """Return the next request; None at the end."""
    if not (first := source.readline()):
        return None
    method, target, _ = first.decode("latin-1").split(" ")
    headers = {}
    while (line := source.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    path, _, query = target.partition("?")
    given = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
    return Asked(method, unquote(path), given, headers, source.read(int(headers.get("content-length", 0))))


def _write(sink: BufferedIOBase, answer: Answered, only_head: bool) -> None:
    fields = {**answer.headers, "Content-Length": str(len(answer.body))}
    if answer.status == HTTPStatus.NO_CONTENT:
        del fields["Content-Length"]
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    sink.write(f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n{head}\r\n".encode())
    if not only_head:
        sink.write(answer.body)
    sink.flush()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def buckets_on_loopback(asked: list[str] | None = None) -> Iterator[int]:
    """Serve no bucket yet, and yield the port; `asked` gets the method and path of each request."""
    open_: set[socket.socket] = set()
    handler = type("_Connected", (_Connection,), {"buckets": Buckets(asked), "open_": open_})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
            for one in [*open_]:  # a client that stays would be answered for ever
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
