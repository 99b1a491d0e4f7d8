"""Guard: turns requests away that a server should not answer, before any of its code has read them."""

from collections.abc import Awaitable, Callable, MutableMapping
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
Tokenless = Callable[[str], bool]
"""Tells of a path whether it needs no token."""


class Guard:
    """An ASGI application around another. It checks Host, Origin, token, and the size of the body."""

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


def _is_preflight(scope: Scope, headers: MutableMapping[str, str]) -> bool:
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


async def _refuse(send: Send, status: int, kind: str, message: str) -> None:
    body = json_text(error_of(kind, message, status)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
