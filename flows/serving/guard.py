"""Guard: turns requests away that a server should not answer, before any of its code has read them."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from docmill.flows.serving.access import Access
from docmill.flows.serving.json_text import json_text

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
"""Bytes of a request: a query has 20,000 characters at most, and a statement is shorter than a document."""
OPEN = "/healthz"
"""The path that needs no token, because what watches over a service has none; it tells nothing but that it is there."""
_PAGE = "/"
"""The path of the page for a browser."""
_ON_ALL = (
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)
"""Headers of every answer: no browser gives it to the page of another site, or takes it for a script."""
Tokenless = Callable[[str], bool]
"""Tells of a path whether it needs no token."""


class Guard:
    """An ASGI application around another. It checks Host, site, Origin, token, and the size of the body."""

    def __init__(
        self, app: App, access: Access, most_bytes: int = MOST_BYTES, tokenless: Tokenless = OPEN.__eq__
    ) -> None:
        self._app = app
        self._access = access
        self._tokenless = tokenless
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = _closed(send)
        refused = self._refused(scope)
        body = b"" if refused else await _body(receive, self._most)
        if body is None:
            refused = 413, "TooLarge", f"a request may have {self._most:,} bytes"
        if refused:
            await _refuse(send, *refused)
        else:
            await self._app(scope, _replay(body or b"", receive), send)

    def _refused(self, scope: Scope) -> tuple[int, str, str] | None:
        """Return the status, the kind and the message of a refusal, or None."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._access.takes_host(host):
            return 421, "WrongHost", f"this server is not called {host!r}; name it with --allow-host"
        if not self._access.takes_site(headers.get("sec-fetch-site", ""), origin) and not _opens_page(scope, headers):
            return 403, "WrongOrigin", "pages of other sites may not ask; name their site with --allow-origin"
        if not self._access.takes_origin(origin, host):
            return 403, "WrongOrigin", f"pages of {origin!r} may not ask; name their site with --allow-origin"
        if _is_preflight(scope, headers) or self._tokenless(scope["path"]):
            return None
        if not self._access.takes_token(headers.get("authorization", "")):
            return 401, "Unauthorized", "send the token: Authorization: Bearer TOKEN"
        if headers.get("content-length", "0").isdecimal() and int(headers.get("content-length", "0")) > self._most:
            return 413, "TooLarge", f"a request may have {self._most:,} bytes"
        return None


def error_of(kind: str, message: str, status: int, retry: bool = False) -> dict[str, Any]:
    """Return what a client is told of an error, in the form in which `--json` tells it."""
    return {"error": {"kind": kind, "message": message, "retry": retry, "status": status}}


def _opens_page(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Return whether a browser opens the page in a tab, by a link on any site; the page itself tells nothing."""
    opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return opened and scope["method"] == "GET" and scope["path"] == _PAGE


def _is_preflight(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Return whether a browser asks if it may ask; it sends no token with that."""
    return scope["method"] == "OPTIONS" and "access-control-request-method" in headers


async def _body(receive: Receive, most: int) -> bytes | None:
    """Return the body of a request, or None if it is too large."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            return None
        more = message.get("more_body", False)
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives the body as one message, and then what comes after it."""
    left = [body]

    async def next_message() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return next_message


def _closed(send: Send) -> Send:
    """Return a function that sends with the headers of every answer."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_ON_ALL]}
        await send(message)

    return sent


async def _refuse(send: Send, status: int, kind: str, message: str) -> None:
    body = json_text(error_of(kind, message, status)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
