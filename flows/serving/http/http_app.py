"""HTTP app: serve stores over HTTP, with an OpenAPI description, readable errors, and metrics."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib.metadata import version

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Mount, Route

from docmill.flows.config.settings import Settings
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.audit import AuditLog
from docmill.flows.serving.guard import OPEN, App, Guard, Receive, Scope, Send, error_of
from docmill.flows.serving.http.http_routes import HttpRoutes
from docmill.flows.serving.http.metrics import CountingApp, Metrics
from docmill.flows.serving.json_response import as_json
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.page.add_documents import Adding
from docmill.flows.serving.page.answers_ahead import AnswersAhead
from docmill.flows.serving.page.page_files import PATH, PageFiles, index, is_page
from docmill.flows.serving.page.page_routes import PageRoutes
from docmill.flows.serving.query_notes import QueryNotes
from docmill.flows.serving.request_errors import in_words, shown
from docmill.storage.errors import DocmillError, QueryError, Transient

LOOK_S = 0.5
"""Seconds between two checks for a newer snapshot. A check lists a folder; for object storage it is less frequent."""
_END_S = 3.0
"""Seconds to wait for background loading when the server ends, because a process that exits meanwhile may crash."""
_OF_PAGE = "docmill-page"
"""The header of requests from the page. A browser logs every status from 400 on as an error of the page, even if a
person only typed a question without an answer. So the page gets refusals with status 200, and the body says so."""
_FAULT = 500  # statuses from here on are failures of the server, not refusals
_DESCRIPTION = """\
Search and read the documents of a store. Every answer names the `store` and the number of the `snapshot` that it comes
from. Offsets are half-open and count code points. `left_out` says what did not fit into `max_characters`."""


def http_app(
    stores: OpenStores,
    searching: Searching,
    access: Access,
    settings: Settings | None = None,
    audit: AuditLog | None = None,
    judging: bool = True,
    adding: Adding | None = None,
) -> App:
    """Return the application that `docmill serve` runs; pages of `access.origins` may read its answers.

    `settings` say how the page reads and splits documents; without them, the defaults apply. `audit` logs who asked
    what. With `judging`, clients may add judgements to the stores. With `adding`, clients who see everything may add
    documents on the page. Nothing else in a store changes.
    """
    metrics, page = Metrics(stores, searching.kept), PageRoutes(stores, settings or Settings(), adding)
    app = FastAPI(
        title="docmill",
        version=version("docmill"),
        description=_DESCRIPTION,
        lifespan=lambda _: _looking(stores, page.ahead, searching.notes, adding),
        redoc_url=None,
        docs_url=None,  # its page loads scripts from the internet
        redirect_slashes=False,
    )
    routers = [HttpRoutes(stores, searching, metrics, judging).router(), page.router()]
    routers += [adding.router()] if adding is not None else []
    for router in routers:
        app.include_router(router, dependencies=[Depends(_check_names)])
    app.add_api_route("/", index, methods=["GET"], include_in_schema=False)
    app.mount(PATH, PageFiles())
    _add_errors(app, stores, [*(route for one in routers for route in one.routes), *app.routes])
    if access.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(access.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    counted = _HeadsToo(CountingApp(app, metrics, audit))
    return Guard(counted, access, tokenless=lambda path: path == OPEN or is_page(path))


@asynccontextmanager
async def _looking(
    stores: OpenStores, ahead: AnswersAhead, notes: QueryNotes | None, adding: Adding | None
) -> AsyncIterator[None]:
    """While the server runs, switch to newer snapshots and prepare answers about them; no request waits for this."""
    done = threading.Event()

    def repeat(look: Callable[[], None]) -> None:
        while not done.is_set():
            look()
            done.wait(LOOK_S)

    def take_up() -> None:
        # Prepare the first view of the page before the first check, which loads indexes and takes seconds of CPU time.
        ahead.begin()
        repeat(stores.take_up)

    looks = (take_up, lambda: repeat(ahead.look))
    threads = [threading.Thread(target=look, name="docmill-look", daemon=True) for look in looks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        ahead.close()
        if adding is not None:
            adding.close()
        if notes is not None:
            await asyncio.to_thread(notes.close)
        for thread in threads:
            thread.join(_END_S)


async def _check_names(request: Request) -> None:
    """Refuse unknown query parameters: if they were ignored, a misspelt condition would return everything."""
    # `async`, because FastAPI runs other functions in a thread, which takes 0.1 ms of CPU for each request.
    known = {one.alias for one in request.scope["route"].dependant.query_params}
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", one), "input": ""} for one in unknown]
        )


def _add_errors(app: FastAPI, stores: OpenStores, routes: Sequence[BaseRoute]) -> None:
    """Return errors in the form of the command line, without folder names of this machine."""

    def told(request: Request, kind: str, message: str, status: int, retry: bool = False) -> Response:
        is_quiet = _OF_PAGE in request.headers and status < _FAULT
        return as_json(error_of(kind, stores.without_folders(message), status, retry), 200 if is_quiet else status)

    @app.exception_handler(DocmillError)
    async def expected(request: Request, error: DocmillError) -> Response:
        return told(request, type(error).__name__, str(error), _status_of(error), isinstance(error, Transient))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return told(request, "UsageError", in_words(error.errors()), 422)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            return other_method(request)
        is_bare = error.detail == HTTPStatus(error.status_code).phrase
        message = (
            f"there is no path {shown(request.url.path)}; /openapi.json lists the paths" if is_bare else error.detail
        )
        return told(request, "UsageError", str(message), error.status_code)

    def other_method(request: Request) -> Response:
        """Return which methods a path takes: as an answer to OPTIONS, and else as an error."""
        taken = _methods_of(routes, request)
        if request.method == "OPTIONS":
            answer = Response(status_code=HTTPStatus.NO_CONTENT)
        else:
            message = f"{request.url.path} takes {', '.join(taken)}, got {request.method}"
            answer = told(request, "UsageError", message, HTTPStatus.METHOD_NOT_ALLOWED)
        answer.headers["Allow"] = ", ".join(taken)
        return answer

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        # Its message could contain anything, so it goes only to the log.
        return told(request, type(error).__name__, "the server has a fault; its log says more", _FAULT)


def _methods_of(routes: Sequence[BaseRoute], request: Request) -> list[str]:
    """Return the methods that a path takes; the files of the page are to be read."""
    scope = {**request.scope, "root_path": request.scope.get("app_root_path", "")}  # as before a mount took it
    there = [one for one in routes if isinstance(one, Route | Mount) and one.matches(scope)[0] is not Match.NONE]
    named = {method for one in there for method in (one.methods or () if isinstance(one, Route) else ("GET",))}
    return sorted({*named, "OPTIONS", *(("HEAD",) if "GET" in named else ())})


class _HeadsToo:
    """An ASGI application around another, which takes HEAD where that takes GET; the server sends no body then."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on."""
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self._app({**scope, "method": "GET"} if is_head else scope, receive, send)


def _status_of(error: DocmillError) -> int:
    if isinstance(error, Transient):
        return 503
    return 400 if isinstance(error, QueryError) else 500
