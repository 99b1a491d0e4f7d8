"""Page files: the page that a browser opens, with the headers that keep documents from running anything in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent / "static"
"""The files of the page."""
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
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # an address holds what somebody asked
    "Cache-Control": "no-cache",  # the browser asks whether a file has changed: a new docmill has a new page
}


def is_page(path: str) -> bool:
    """Return whether a path is one of the page, which holds nothing of a store and so needs no token."""
    return path == "/" or path.startswith(f"{PATH}/")


def index() -> Response:
    """Return the page."""
    return FileResponse(FOLDER / "index.html", headers=dict(HEADERS))


class PageFiles(StaticFiles):
    """The scripts and styles of the page."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or that the browser has it."""
        answer = await super().get_response(path, scope)
        answer.headers.update(HEADERS)
        return answer

    def file_response(self, *given: Any, **named: Any) -> Response:
        """Return a file; the type of a script does not hang on what the machine's list of types says."""
        answer = super().file_response(*given, **named)
        if str(given[0]).endswith(".js"):
            answer.headers["content-type"] = "text/javascript; charset=utf-8"
        return answer
