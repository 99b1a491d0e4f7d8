"""Page files: the page that a browser opens, with the headers that keep documents from running anything in it."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Any

from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from docmill.flows.serving.page import page_bundle
from docmill.flows.serving.page.page_bundle import FOLDER

PATH = "/page"
"""The path below which they are served."""
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",  # a script in a title, a name or a text of a document is none of these files
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",  # a page that opens this one in a tab learns nothing of it
    "Referrer-Policy": "no-referrer",  # an address holds what somebody asked
    "Cache-Control": "no-cache",  # the browser asks whether a file has changed: a new docmill has a new page
}
_FOR_A_DAY = "max-age=86400"  # for the sign of the page, of which a browser asks with each view
_FOR_EVER = "max-age=31536000, immutable"  # for a file whose name tells its content


def is_page(path: str) -> bool:
    """Return whether a path is one of the page, which holds nothing of a store and so needs no token."""
    return path == "/" or path.startswith(f"{PATH}/")


def index() -> Response:
    """Return the page."""
    name, _ = _script()
    return HTMLResponse(page_bundle.index(name), headers=dict(HEADERS))


@cache
def _script() -> tuple[str, bytes]:
    """Return the page's one script: its name, which tells its content, and its bytes."""
    content = page_bundle.bundle().encode()
    return f"page-{sha256(content).hexdigest()[:16]}.js", content


class PageFiles(StaticFiles):
    """The scripts and styles of the page. A browser asks for one script, made of the others."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or that the browser has it."""
        name, content = _script()
        if path == name:
            headers = {**HEADERS, "Cache-Control": _FOR_EVER}
            return Response(content, headers=headers, media_type="text/javascript")
        answer = await super().get_response(path, scope)
        answer.headers.update({name: value for name, value in HEADERS.items() if name not in answer.headers})
        return answer

    def file_response(self, *given: Any, **named: Any) -> Response:
        """Return a file; the type of a script does not hang on what the machine's list of types says."""
        answer = super().file_response(*given, **named)
        if str(given[0]).endswith(".svg"):
            answer.headers["cache-control"] = _FOR_A_DAY
        if str(given[0]).endswith(".js"):
            answer.headers["content-type"] = "text/javascript; charset=utf-8"
        return answer
