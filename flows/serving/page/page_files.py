"""Page files: serve the page, with headers that keep documents from running scripts in it."""

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
"""The path below which the files are served."""
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",  # so scripts in titles, names or texts of documents are not run
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",  # a page that opens this one in a tab learns nothing about it
    "Referrer-Policy": "no-referrer",  # because an address contains the question
    "Cache-Control": "no-cache",  # the browser checks whether a file has changed, because a new docmill has a new page
}
_FOR_A_DAY = "max-age=86400"  # for the icon of the page, which browsers request with each view
_FOR_EVER = "max-age=31536000, immutable"  # for a file whose name contains the hash of its content


def is_page(path: str) -> bool:
    """Return whether a path belongs to the page, which has no data of a store and so needs no token."""
    return path == "/" or path.startswith(f"{PATH}/")


def index() -> Response:
    """Return the page."""
    name, _ = _script()
    return HTMLResponse(page_bundle.index(name), headers=dict(HEADERS))


@cache
def _script() -> tuple[str, bytes]:
    """Return the page's single script: its name, which contains its hash, and its bytes."""
    content = page_bundle.bundle().encode()
    return f"page-{sha256(content).hexdigest()[:16]}.js", content


class PageFiles(StaticFiles):
    """The scripts and styles of the page. A browser requests a single script, made of the others."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or a 304 if the browser has it already."""
        name, content = _script()
        if path == name:
            headers = {**HEADERS, "Cache-Control": _FOR_EVER}
            return Response(content, headers=headers, media_type="text/javascript")
        answer = await super().get_response(path, scope)
        answer.headers.update({name: value for name, value in HEADERS.items() if name not in answer.headers})
        return answer

    def file_response(self, *given: Any, **named: Any) -> Response:
        """Return a file; the type of a script does not depend on the machine's list of types."""
        answer = super().file_response(*given, **named)
        if str(given[0]).endswith(".svg"):
            answer.headers["cache-control"] = _FOR_A_DAY
        if str(given[0]).endswith(".js"):
            answer.headers["content-type"] = "text/javascript; charset=utf-8"
        return answer
