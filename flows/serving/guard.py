"""Guard: refuse requests that a server should not answer, before any other code reads them.

A server handles a limited number of requests at once, per client and in total; the others wait in line.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from docmill.flows.serving.access import Access
from docmill.flows.serving.json_text import json_text
from docmill.storage.process.cancellation import Asker, asked_by


class TooManyWaiting(Exception):
    """A client has too many requests waiting, and should send fewer at once."""


class Turns:
    """The turns of one server, within its event loop. Clients get turns in rotation, each for its requests in order.

    Requests run in the server's 40 threads; the threads that are left serve the files of the page.
    """

    def __init__(self, most: int = 32, most_of_client: int = 16, most_waiting: int = 64) -> None:
        self._most = most
        self._most_of_client = most_of_client
        self._most_waiting = most_waiting
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def taken(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it during the block.

        Raises:
            TooManyWaiting: The client already has as many waiting requests as allowed.
        """
        if self._is_free(client):
            self._running[client] += 1
        else:
            await self._granted(client)
        try:
            yield
        finally:
            self._release(client)

    async def _granted(self, client: str) -> None:
        line = self._waiting.setdefault(client, deque())
        if len(line) >= self._most_waiting:
            raise TooManyWaiting
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                line.remove(turn)
            else:
                self._release(client)
            raise

    def _release(self, client: str) -> None:
        self._running[client] -= 1
        self._running += Counter()  # forget clients that have none
        for name in [*self._waiting]:
            line = self._waiting[name]
            while line and self._is_free(name):
                self._running[name] += 1
                line.popleft().set_result(None)
                self._waiting.move_to_end(name)
            if not line:
                del self._waiting[name]

    def _is_free(self, client: str) -> bool:
        return self._running.total() < self._most and self._running[client] < self._most_of_client


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
"""The most bytes of a request: a query has at most 20,000 characters, and a statement is shorter than a document."""
OPEN = "/healthz"
"""The path that needs no token, because monitoring has none; it reveals only that the server is running."""
_PAGE = "/"
"""The path of the page for a browser."""
_ON_ALL = (
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)
"""Headers of every answer, so that browsers do not give it to pages of other sites, or run it as a script."""
Tokenless = Callable[[str], bool]
"""Returns whether a path needs no token."""


class Guard:
    """An ASGI application around another. It checks Host, site, Origin and token.

    It also limits a client's parallel requests, the size of a body, and the time to send it. If a client disconnects,
    the work for it is ended.
    """

    def __init__(
        self, app: App, access: Access, most_bytes: int = MOST_BYTES, tokenless: Tokenless = OPEN.__eq__
    ) -> None:
        self._app = app
        self._access = access
        self._tokenless = tokenless
        self._most = most_bytes
        self._turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = _closed(send)
        try:
            principals = self._checked(scope)
            if self._tokenless(scope["path"]):  # such a request need not wait in line
                await self._app(scope, _replay(b"", receive), send)
            else:
                await self._in_turn(scope, receive, send, principals)
        except _Refusal as why:
            await _refuse(send, why)

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send, principals: frozenset[str]) -> None:
        asker = Asker((scope.get("client") or ("",))[0], principals)
        try:
            async with self._turns.taken(asker.client):
                body = await self._body(receive)
                if body is None:
                    return
                gone = asyncio.Event()
                watch = asyncio.create_task(_watch(receive, asker, gone))
                try:
                    with asked_by(asker):
                        await self._app(scope, _replay(body, lambda: _disconnected(gone)), send)
                finally:
                    watch.cancel()
        except TooManyWaiting:
            raise _Refusal(429, "TooMany", "too many requests of this client wait; send fewer at once", True) from None

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the body of a request, or None if the client disconnects before its end."""
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(self._access.patience.body_s):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > self._most:
                        raise self._too_large()
                    more = message.get("more_body", False)
        except TimeoutError:
            waited = self._access.patience.body_s
            raise _Refusal(408, "TooSlow", f"the request was not complete after {waited:g} s", True) from None
        return bytes(body)

    def _too_large(self) -> "_Refusal":
        return _Refusal(413, "TooLarge", f"a request may have {self._most:,} bytes")

    def _checked(self, scope: Scope) -> frozenset[str]:
        """Return the principals of a request; raise `_Refusal` if its headers are not acceptable."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self._check_site(scope, headers)
        length = headers.get("content-length", "0")
        if self._tokenless(scope["path"]):
            if length != "0" or "transfer-encoding" in headers:
                raise _Refusal(413, "TooLarge", "a request for this path has no body")
            return frozenset()
        principals = self._access.principals_of(headers.get("authorization", ""))
        if principals is None and not _is_preflight(scope, headers):
            raise _Refusal(401, "Unauthorized", "send the token: Authorization: Bearer TOKEN")
        if length.isdecimal() and int(length) > self._most:
            raise self._too_large()
        return principals or frozenset()

    def _check_site(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Raise `_Refusal` for a request to another host name, or from the page of another site."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._access.takes_host(host):
            raise _Refusal(421, "WrongHost", f"this server is not called {host!r}; name it with --allow-host")
        if not self._access.takes_site(headers.get("sec-fetch-site", ""), origin) and not _opens_page(scope, headers):
            raise _Refusal(403, "WrongOrigin", "pages of other sites may not ask; name their site with --allow-origin")
        if not self._access.takes_origin(origin, host):
            message = f"pages of {origin!r} may not ask; name their site with --allow-origin"
            raise _Refusal(403, "WrongOrigin", message)


class _Refusal(Exception):
    """Why a request is refused: a status, a kind, a message, and whether the same request may work later."""

    def __init__(self, status: int, kind: str, message: str, retry: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry = retry


def error_of(kind: str, message: str, status: int, retry: bool = False) -> dict[str, Any]:
    """Return the answer about an error, in the form that `--json` prints."""
    return {"error": {"kind": kind, "message": message, "retry": retry, "status": status}}


def _opens_page(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Return whether a browser opens the page in a tab, which any site may link to: the page itself has no data."""
    opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return opened and scope["method"] == "GET" and scope["path"] == _PAGE


def _is_preflight(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Return whether a request is a CORS preflight, with which browsers send no token."""
    return scope["method"] == "OPTIONS" and "access-control-request-method" in headers


async def _watch(receive: Receive, asker: Asker, gone: asyncio.Event) -> None:
    """Wait until the client disconnects, then end the work for it."""
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()
    asker.leave()


async def _disconnected(gone: asyncio.Event) -> Message:
    await gone.wait()
    return {"type": "http.disconnect"}


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that returns the body as one message, and then later messages."""
    left = [body]

    async def next_message() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return next_message


def _closed(send: Send) -> Send:
    """Return a send function that adds the headers of every answer."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_ON_ALL]}
        await send(message)

    return sent


async def _refuse(send: Send, why: _Refusal) -> None:
    body = json_text(error_of(why.kind, str(why), why.status, why.retry)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if why.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if why.retry:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": why.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
