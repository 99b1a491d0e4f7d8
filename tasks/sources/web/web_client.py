"""Web client: bounded requests to public addresses only, each connected to the very address that was checked."""

import ipaddress
import re
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from threading import BoundedSemaphore
from urllib.parse import urljoin, urlsplit

import httpx

from docmill.storage.errors import ConfigError, Rejected, SourceError, Transient
from docmill.storage.keys import hash_bytes
from docmill.tasks.sources.web.web_pages import canonical

AGENT = "docmill"
_MOST_REDIRECTS = 5
"""Redirects of one page: sites use one or two; a loop has no end."""
_MOST_TRIES = 3
"""Requests for one page whose server says that it is busy."""
_MOST_WAIT_S = 60.0
"""Seconds that a `retry-after` can make a run wait; a longer wait is left to the next run."""
_PIECE = 1 << 20
"""Bytes that unpacking yields at a time, so that a bomb is noticed after one piece."""
_GZIP, _SLICE = b"\x1f\x8b", 1 << 16
_BUSY = (429, 502, 503, 504)
_WITH_DATA = (200, 207)
"""The statuses of answers whose data are used: a page, and a WebDAV listing."""
REDIRECTS = (301, 302, 303, 307, 308)
_LOGIN = re.compile(r"(?i)[/?&._-](log-?in|sign-?in|sso|oauth2?|saml)\b")


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """A server's answer for a page: `url` is its address after redirects, `data` is unpacked."""

    url: str
    status: int
    headers: httpx.Headers
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class WebQuestion:
    """A request; its headers are added to the usual ones."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes = b""


class _CheckedTransport(httpx.HTTPTransport):
    """Resolves a host, checks its addresses, and connects to a checked one, so that DNS is not queried again."""

    def __init__(self, private: bool) -> None:
        # One request per connection: two hosts may share an address, and certificates are checked on connecting.
        super().__init__(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
        self._private = private

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        checked = httpx.Request(
            request.method,
            request.url.copy_with(host=address_of(host, request.url.port or 443, self._private)),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},  # check the certificate against the name
        )
        return super().handle_request(checked)


def address_of(host: str, port: int, private: bool) -> str:
    """Return an address of a host; raise `Rejected` if it is private, and `Transient` if there is none."""
    try:
        found = [entry[4][0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        raise Transient(f"there is no host {host!r}, or the name service does not answer") from None
    for address in found:
        if not private and not is_public(str(address)):
            is_it = "is" if host == address else f"is {address},"
            why = f"{host} {is_it} an address of a private network (private = true allows it)"
            raise Rejected("unreadable", why)
    return str(found[0])


def is_public(address: str) -> bool:
    """Return whether an address is public, even if it is wrapped in an IPv6 address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass
class WebClient:
    """Requests pages from servers, at most `connections` at a time.

    Args:
        first: the first address of the source, as `canonical` writes it.
        credentials: the value of the Authorization header, sent only to the server of `first`.
        delay_s: seconds between two requests.
    """

    first: str
    credentials: str = ""
    private: bool = False
    timeout_s: float = 30.0
    delay_s: float = 0.5
    most_bytes: int = 50_000_000
    connections: int = 1
    _next: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._free = BoundedSemaphore(self.connections)
        self._client = httpx.Client(transport=_CheckedTransport(self.private), timeout=self.timeout_s, trust_env=False)

    def get(
        self,
        url: str,
        etag: str = "",
        modified: str = "",
        *,
        follows: Callable[[str], bool] = lambda _: True,
        method: str = "GET",
        body: bytes = b"",
    ) -> WebAnswer:
        """Return the answer for a page, after redirects; its status is 304 if `etag` or `modified` still match.

        A redirect to an address that `follows` refuses is returned as it is. Raise `Rejected` for what can never be
        read, and `Transient` if the server does not answer or is busy.
        """
        asked = {"If-None-Match": etag} if etag else {"If-Modified-Since": modified} if modified else {}
        if body:
            asked |= {"Content-Type": "application/xml", "Depth": "1"}
        at = url
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._patient(WebQuestion(method, at, asked, body))
            if answer.status not in REDIRECTS or "location" not in answer.headers:
                return answer
            to = self._led(url, at, answer.headers["location"])
            if not follows(to):
                return answer
            at = to
        raise Rejected("unreadable", f"{url} redirects more than {_MOST_REDIRECTS} times")

    def _led(self, url: str, at: str, location: str) -> str:
        """Return where a redirect leads, with blanks and non-ASCII letters written as browsers send them."""
        try:
            to = urljoin(at, location.strip())
        except ValueError:
            to = location
        check_url(to)
        to = canonical(at, to)
        if _LOGIN.search(to) and not _LOGIN.search(url):
            raise Rejected("unreadable", f"{url} leads to a login page ({urlsplit(to).hostname}); set `token`")
        return to

    def _patient(self, asked: "WebQuestion") -> WebAnswer:
        for again in reversed(range(_MOST_TRIES)):
            with self._free:
                answer = self._answer(asked)
            if answer.status not in _BUSY:
                return answer
            wait = _wait_of(answer.headers.get("retry-after", ""))
            if not again or wait > _MOST_WAIT_S:
                break
            time.sleep(wait)
        raise Transient(f"{asked.url} answers {answer.status}; it is asked again at the next run")

    def _answer(self, asked: "WebQuestion") -> WebAnswer:
        url = asked.url
        check_url(url)
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + self.delay_s
        headers = {"User-Agent": AGENT, "Accept-Encoding": "gzip", **asked.headers}
        if self.credentials and self._may_sign(url):
            headers["Authorization"] = self.credentials
        try:
            with self._client.stream(asked.method, url, headers=headers, content=asked.body) as response:
                data = self._unpacked(url, response) if response.status_code in _WITH_DATA else b""
                return WebAnswer(url, response.status_code, response.headers, data)
        except httpx.TransportError as error:
            raise _explained(url, error) from None
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise Rejected("unreadable", f"{url[:200]} is no address that can be asked: {error}") from None

    def _may_sign(self, url: str) -> bool:
        """Return whether an address gets the credentials: if on the same server, or on its host with encryption."""
        own, at = urlsplit(self.first), urlsplit(canonical(url, url))
        return (at.scheme, at.netloc) in ((own.scheme, own.netloc), ("https", own.hostname))

    def _unpacked(self, url: str, response: httpx.Response) -> bytes:
        packed = response.headers.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity", "gzip", "deflate"):
            raise Rejected("unreadable", f"{url} is packed by {packed[:50]!r}, which nobody asked for")
        end, data = time.monotonic() + 10 * self.timeout_s, bytearray()
        try:
            for piece in _pieces(response.iter_raw(), packed in ("gzip", "deflate")):
                data += piece
                if len(data) > self.most_bytes:
                    raise Rejected("too_large", f"{url} has more than {self.most_bytes} bytes (page_bytes, file_bytes)")
                if time.monotonic() > end:
                    raise Transient(f"{url} sends too slowly")
        except zlib.error:
            raise Transient(f"{url} is cut off, or not packed as it says") from None
        return bytes(data)


def _pieces(raw: Iterator[bytes], is_packed: bool) -> Iterator[bytes]:
    """Yield the incoming data, unpacked in pieces of bounded size."""
    if not is_packed:
        yield from raw
        return
    unpacking = zlib.decompressobj(wbits=47)  # detects the format itself
    for chunk in raw:
        rest = chunk
        while rest:
            if unpacking.eof:
                if rest[:1] != _GZIP[:1]:  # zeros, with which some files are padded
                    break
                unpacking = zlib.decompressobj(wbits=47)  # a gzip file may have several members
            yield unpacking.decompress(rest, _PIECE)
            rest = unpacking.unconsumed_tail or unpacking.unused_data
    if not unpacking.eof:
        raise zlib.error("cut off")


def unpacked(data: bytes, most_bytes: int, is_meant: Callable[[bytes], bool]) -> bytes:
    """Return a file, unpacked if it is gzip and `is_meant` accepts its beginning; raise `Rejected` for a bomb."""
    if not data.startswith(_GZIP):
        return data
    found = bytearray()
    try:
        for piece in _pieces((data[at : at + _SLICE] for at in range(0, len(data), _SLICE)), is_packed=True):
            found += piece
            if not is_meant(bytes(found[:4096])):
                return data
            if len(found) > most_bytes:
                raise Rejected("too_large", f"it unpacks to more than {most_bytes} bytes (page_bytes)")
    except zlib.error:
        return bytes(found) or data  # cut off, or not gzip after all
    return bytes(found)


def check_url(url: str) -> None:
    """Raise `Rejected` for anything but a web address."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or "@" in parts.netloc or len(url) > _LONGEST_URL:
        raise Rejected("unreadable", f"{url[:200]!r} is no address of the web")


_LONGEST_URL = 2_000
"""Characters of an address: browsers accept about as many, and endless addresses are traps."""


def told_ns(modified: str) -> int:
    """Return when a server says that a page or file last changed, in nanoseconds since 1970; 0 if it does not say."""
    try:
        return max(0, int(parsedate_to_datetime(modified).timestamp())) * 1_000_000_000 if modified else 0
    except (ValueError, TypeError, OverflowError):
        return 0


def _wait_of(told: str) -> float:
    """Return the seconds that a `retry-after` asks for; without one, a second."""
    if told.isdigit():
        return float(told)
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 1.0


def _explained(url: str, error: httpx.TransportError) -> Exception:
    said = " ".join(str(error).split())[:200] or type(error).__name__
    if "CERTIFICATE" in said.upper():
        return SourceError(f"the certificate of {urlsplit(url).hostname} is not accepted: {said}")
    return Transient(f"{url} does not answer: {said}")


def refused(answer: WebAnswer) -> Exception | None:
    """Return the error to raise for an answer that is not the page, or None."""
    if answer.status in (httpx.codes.OK, httpx.codes.NOT_MODIFIED):
        return None
    if answer.status in (401, 403, 407):
        return ConfigError(f"{answer.url} answers {answer.status}: it wants credentials (`token`), or refuses programs")
    return SourceError(f"{answer.url} answers {answer.status}")


_SAME = 304


@dataclass(frozen=True, slots=True)
class PageMark:
    """The last answer with the bytes of a page, and their hash."""

    answer: WebAnswer
    hash: str


@dataclass
class PageMarks:
    """Requests pages from a client, and remembers the answer for each."""

    client: WebClient
    _known: dict[str, PageMark] = field(default_factory=dict, init=False)

    def of(self, url: str) -> PageMark:
        """Return the current mark of a page; raise the reason if it cannot be requested."""
        known = self._known.get(url)
        said = known.answer.headers if known else {}
        answer = self.client.get(url, said.get("etag", ""), said.get("last-modified", ""))
        if error := refused(answer):
            raise error
        if known is None or answer.status != _SAME:
            known = self._known[url] = PageMark(answer, hash_bytes(answer.data))
        return known
