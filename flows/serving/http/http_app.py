"""HTTP app: the stores over HTTP, with an OpenAPI description, errors in words, and metrics."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException

from docmill.flows.config.settings import Settings
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.audit import AuditLog
from docmill.flows.serving.guard import OPEN, App, Guard, error_of
from docmill.flows.serving.http.http_routes import HttpRoutes
from docmill.flows.serving.http.metrics import CountingApp, Metrics
from docmill.flows.serving.json_response import as_json
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.page.add_documents import Adding
from docmill.flows.serving.page.answers_ahead import AnswersAhead
from docmill.flows.serving.page.page_files import PATH, PageFiles, index, is_page
from docmill.flows.serving.page.page_routes import PageRoutes
from docmill.flows.serving.query_notes import QueryNotes
from docmill.flows.serving.request_errors import in_words
from docmill.storage.errors import DocmillError, QueryError, Transient

LOOK_S = 0.5
"""Seconds between two looks for a newer snapshot. A look lists a folder; at object storage it looks less often."""
_END_S = 3.0
"""Seconds for what is loaded or answered ahead while the server ends: a process that exits meanwhile may crash."""
_OF_PAGE = "docmill-page"
"""The header of what the page asks. A browser logs each status from 400 on as an error of the page, also where a person
has typed a question that has no answer. So the page gets a refusal as an answer whose body says that it is one."""
_FAULT = 500  # the statuses from here on are failures of the server, not refusals
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

    `settings` say how the page reads and splits documents; without them, the defaults do. `audit` notes who asked what.
    With `judging`, clients may add judgements to the stores. With `adding`, those who see all may add documents on the
    page. Nothing else of a store changes.
    """
    metrics, page = Metrics(stores, searching.kept), PageRoutes(stores, settings or Settings(), adding)
    app = FastAPI(
        title="docmill",
        version=version("docmill"),
        description=_DESCRIPTION,
        lifespan=lambda _: _looking(stores, page.ahead, searching.notes, adding),
        redoc_url=None,
        docs_url=None,  # its page loads scripts from the internet
    )
    routers = [HttpRoutes(stores, searching, metrics, judging).router(), page.router()]
    for router in [*routers, adding.router()] if adding is not None else routers:
        app.include_router(router, dependencies=[Depends(_check_names)])
    app.add_api_route("/", index, methods=["GET"], include_in_schema=False)
    app.mount(PATH, PageFiles())
    _add_errors(app, stores)
    if access.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(access.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    counted = CountingApp(app, metrics, audit)
    return Guard(counted, access, tokenless=lambda path: path == OPEN or is_page(path))


@asynccontextmanager
async def _looking(
    stores: OpenStores, ahead: AnswersAhead, notes: QueryNotes | None, adding: Adding | None
) -> AsyncIterator[None]:
    """Take up newer snapshots, and answer ahead about them, while the server runs; no request waits for either."""
    done = threading.Event()

    def repeat(look: Callable[[], None]) -> None:
        while not done.is_set():
            look()
            done.wait(LOOK_S)

    def take_up() -> None:
        # The first view comes first: the first look loads the indexes, which takes a processor for seconds.
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
    """Refuse parameters that a path does not have: passed over, a misspelt condition would answer with everything."""
    # `async`, as FastAPI hands any other function to a thread: 0.1 ms of CPU for each request.
    known = {one.alias for one in request.scope["route"].dependant.query_params}
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", one), "input": ""} for one in unknown]
        )


def _add_errors(app: FastAPI, stores: OpenStores) -> None:
    """Have errors told in the form of the command line, without the folders of this machine."""

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
        answer = told(request, "UsageError", str(error.detail), error.status_code)
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        # Its words may hold anything; the log has them.
        return told(request, type(error).__name__, "the server has a fault; its log says more", _FAULT)


def _status_of(error: DocmillError) -> int:
    if isinstance(error, Transient):
        return 503
    return 400 if isinstance(error, QueryError) else 500
