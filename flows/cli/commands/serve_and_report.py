"""The commands that serve stores to other programs, or export the web page as files: mcp, serve, report."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.flows.cli.commands.search_and_sql import At, Principal, rewrite_of_search
from docmill.flows.cli.terminal.command import UsageError, checked_settings_of, command, settings_of
from docmill.flows.cli.terminal.interruption import interruptible
from docmill.flows.cli.terminal.output import note, print_text
from docmill.flows.cli.terminal.progress import waiting
from docmill.storage.errors import ConfigError

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.serving.access import Access
    from docmill.flows.serving.answers import Searching
    from docmill.flows.serving.audit import AuditLog
    from docmill.flows.serving.open_stores import OpenStores
    from docmill.flows.serving.page.add_documents import Adding
    from docmill.flows.serving.search_pool import SearchPool

LOOPBACK, PORT = "127.0.0.1", 8642
Stores = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=]STORE...", help="Stores to serve. The default is the setting `store`."),
]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, metavar="N", help="Listen on this port; 0 takes any.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host", metavar="NAME", help="Another name that clients use for this server; may be repeated."
    ),
]
NoToken = Annotated[
    bool, typer.Option("--no-token", help="Answer without a token; on loopback only, to all users of this machine.")
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--processes",
        min=0,
        metavar="N",
        help="Processes that search while several clients ask; by default one per processor, at most 4.",
    ),
]
Audit = Annotated[
    Path | None,
    typer.Option("--audit", metavar="FILE", help="Append who asked what, and the uris of the answers, as JSON lines."),
]


@command("*")
def mcp(
    context: typer.Context,
    stores: Stores = None,
    http: Annotated[bool, typer.Option("--http", help="Serve over streamable HTTP at /mcp, not over stdio.")] = False,
    host: Host = LOOPBACK,
    port: Port = PORT,
    allow_host: AllowHost = None,
    no_token: NoToken = False,
    principal: Annotated[
        list[str] | None,
        typer.Option("--principal", metavar="NAME", help="Answer in this name, without --http; may be repeated."),
    ] = None,
    audit: Audit = None,
    processes: Processes = None,
    allow_ingest: Annotated[
        bool, typer.Option("--allow-ingest", help="Add tools that ingest and plan the setting `sources`.")
    ] = False,
    allow_judging: Annotated[
        bool, typer.Option("--allow-judging", help="Add a tool that judges passages as answers.")
    ] = False,
) -> None:
    """Serve stores to language models over the Model Context Protocol.

    A client starts this command and talks to it on standard input and output. With --http it listens instead, and
    clients must send a token: DOCMILL_TOKEN, or one that the server makes and prints at each start.
    """
    settings = checked_settings_of(context)
    from docmill.storage.process.extras import extra

    with extra("mcp", "`docmill mcp`"):
        from docmill.flows.serving.mcp.mcp_server import RunTools, mcp_http_app, mcp_server
    if http and principal:
        raise ConfigError("--principal is for one client: with --http, DOCMILL_TOKENS names those of each token")
    access = _access(host, port, no_token, allow_host, ()) if http else None
    principals = access.without_asker if access else _named(principal)
    if allow_ingest:
        _check_whole(principals)
    pool = _pool(processes) if http else None
    served = _opened(stores, settings, principals, "--allow-ingest" * allow_ingest, pool)
    runs = RunTools(settings, served.names[0]) if allow_ingest else None
    server = mcp_server(served, _noted(settings, "mcp"), runs, _log(audit), allow_judging)
    threading.Thread(target=served.take_up, daemon=True).start()  # the model loads while the client introduces itself
    if access is None:
        server.run("stdio")
        return
    from docmill.flows.serving.connections import listen

    sent = f"; clients send the header Authorization: Bearer {made}" if (made := _made(access)) else ""
    app = mcp_http_app(server, access)
    listen(app, access, lambda url: note(f"serving {', '.join(served.names)} at {url}/mcp{sent}"))


@command("*")
def serve(
    context: typer.Context,
    stores: Stores = None,
    host: Host = LOOPBACK,
    port: Port = PORT,
    allow_host: AllowHost = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin", metavar="URL", help="A website whose pages may query this server; may be repeated."
        ),
    ] = None,
    no_token: NoToken = False,
    audit: Audit = None,
    processes: Processes = None,
    judging: Annotated[
        bool, typer.Option("--judging/--no-judging", help="Let clients judge hits, which adds files to the stores.")
    ] = True,
    allow_ingest: Annotated[
        bool,
        typer.Option("--allow-ingest", help="Let everyone who has the token add files, folders and URLs on the page."),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Also ingest the setting `sources`, at the start and after each change.")
    ] = False,
    cron: Annotated[str, typer.Option("--cron", hidden=True, help="The option of `schedule`, once `serve`.")] = "",
) -> None:
    """Serve stores over HTTP, with searches, documents, SQL and metrics.

    /openapi.json describes the paths. Clients must send a token: DOCMILL_TOKEN, or one that the
    server makes at each start and prints in the address of the page.
    """
    if cron:
        raise typer.BadParameter("`docmill serve` is `docmill schedule` now; it takes --cron")
    settings = checked_settings_of(context)
    from docmill.storage.sql.statement_pool import prepare

    prepare()  # the page's first request needs the SQL process, which starts while this one loads its libraries
    from docmill.flows.serving.connections import listen
    from docmill.flows.serving.http.http_app import http_app

    access = _access(host, port, no_token, allow_host, allow_origin or ())
    writing = "--allow-ingest" if allow_ingest else "--watch" * watch
    served = _opened(stores, settings, access.without_asker, writing, _pool(processes))
    adding = _adding(settings, served, access) if allow_ingest else None
    entry = f"/#token={made}" if (made := _made(access)) else ""
    app = http_app(served, _noted(settings, "http"), access, settings, _log(audit), judging, adding)
    with _watching(settings) if watch else nullcontext():
        listen(app, access, lambda url: note(f"serving {', '.join(served.names)} at {url}{entry}"))


def _watching(settings: "Settings") -> AbstractContextManager[None]:
    """Return a context that watches the sources of the settings; raise `ConfigError` if there are none."""
    from docmill.flows.prefect.run_on_engine import sources_of
    from docmill.flows.prefect.watch_beside import watch_beside

    sources_of(settings, ())
    return watch_beside(settings, note)


def _log(path: Path | None) -> "AuditLog | None":
    from docmill.flows.serving.audit import AuditLog

    return AuditLog(path) if path else None


def _made(access: "Access") -> str:
    """Return the token if it was made at this start, because the user has to see it."""
    from docmill.flows.serving.access import given_token

    return "" if given_token() else access.token


def _named(principals: Sequence[str] | None) -> frozenset[str]:
    from docmill.flows.serving.open_stores import SEES_ALL
    from docmill.storage.access.principals import check_principals

    return check_principals(principals) if principals else SEES_ALL


def _access(host: str, port: int, no_token: bool, hosts: Sequence[str] | None, origins: Sequence[str]) -> "Access":
    from docmill.flows.serving.access import Access, chosen_token, given_tokens

    tokens = given_tokens()
    if tokens and no_token:
        raise ConfigError("DOCMILL_TOKENS names tokens, so the server has some: unset it, or leave out --no-token")
    token = "" if tokens else chosen_token(no_token)
    return Access(host, port, token, tuple(hosts or ()), tuple(origins), tokens=tokens)


def _opened(
    stores: Sequence[str] | None,
    settings: "Settings",
    principals: frozenset[str],
    writing: str,
    pool: "SearchPool | None",
) -> "OpenStores":
    """Open stores to serve. With the option `writing`, the setting `store` is created if it does not exist."""
    from docmill.flows.serving.open_stores import OpenStores

    named = places(stores or (), settings)
    _check(named, settings, writing)
    return OpenStores(named, principals, pool)


def _pool(processes: int | None) -> "SearchPool":
    from docmill.flows.serving.search_pool import SearchPool, default_processes

    return SearchPool(default_processes() if processes is None else processes)


def _check_whole(principals: frozenset[str]) -> None:
    from docmill.flows.serving.open_stores import SEES_ALL

    if principals != SEES_ALL:
        raise ConfigError("--allow-ingest reveals all documents: leave it out, or serve without principals")


def _adding(settings: "Settings", served: "OpenStores", access: "Access") -> "Adding":
    """Return what users may add on the page; raise `ConfigError` if anybody could, or if there is no source."""
    from docmill.flows.serving.page.add_documents import Adding

    if not access.has_token:
        raise ConfigError("--allow-ingest lets clients add what this user can read: leave out --no-token")
    return Adding(settings, served)


def places(stores: Sequence[str], settings: "Settings") -> dict[str, Path]:
    """Return the stores to serve by name: the one before the `=`, else the folder's."""
    from docmill.storage.remote.mirror.open_folder import open_folder

    if not stores:
        return {_name_of(open_folder(settings.store).name): settings.store}
    found: dict[str, Path] = {}
    for one in stores:
        name, equals, place = one.partition("=")
        if not equals or "/" in name:  # then the "=" is part of a folder's name, as in year=2026
            name, place = _name_of(one), one
        if not name or not place or name in found:
            why = "two stores have this name" if name in found else "write NAME=STORE"
            raise ConfigError(f"{one}: {why}")
        found[name] = open_folder(place, settings.mirrors).root
    return found


def _name_of(place: str) -> str:
    return place.rstrip("/").rpartition("/")[2] or "store"


def _check(named: dict[str, Path], settings: "Settings", writing: str) -> None:
    """Raise `StoreError` for a store that does not exist, unless the option `writing` creates it."""
    from docmill.storage.remote.mirror.open_folder import open_folder

    if writing and settings.store not in named.values():
        raise ConfigError(f"{writing} writes to the setting `store`, {settings.store}; serve it, too")
    for place in named.values():
        if not (writing and place == settings.store):
            open_folder(place).existing()


def _noted(settings: "Settings", door: str) -> "Searching":
    """Return the search options of the settings, with logging and a cache of answers."""
    from docmill.flows.config.search_settings import how_of, log_bounds_of
    from docmill.flows.serving.answers import Searching
    from docmill.flows.serving.kept_searches import KeptSearches
    from docmill.flows.serving.query_notes import QueryNotes

    cache, alike = settings.search.cache, settings.search.cache_alike
    kept = KeptSearches(cache, alike) if cache else None
    notes = QueryNotes(log_bounds_of(settings.queries), door) if settings.queries.log else None
    return Searching(how_of(settings.search), rewrite_of_search(settings), notes, kept)


_HELD = 1000
"""Documents whose texts a report contains by default: a browser can search this many while the user types."""


@command("store")
def report(
    context: typer.Context,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FOLDER", help="Folder to write to (required). An earlier report in it is replaced."
        ),
    ] = None,
    documents: Annotated[
        int,
        typer.Option("--documents", min=0, metavar="N", help="Include the texts of the N documents changed last."),
    ] = _HELD,
    at: At = None,
    principal: Principal = None,
) -> None:
    """Export the web page as a static site.

    Open FOLDER/index.html in a browser. A report holds at most 20 million characters of document texts.
    """
    if html is None:
        raise UsageError("Name the folder to write to, such as: docmill report --html report", context)
    settings = settings_of(context)
    from docmill.flows.runs.phases import counted
    from docmill.flows.serving.open_stores import ServedStore
    from docmill.flows.serving.page.report_files import write_report
    from docmill.storage.snapshots.read.store import open_store

    (name,) = places((), settings)
    opened = open_store(settings.store, at, principals=principal)
    with opened as store, interruptible(lambda: "nothing was written"), waiting("writing"):
        done = write_report(ServedStore(name, store), html, documents)
    print_text(f"{done.folder / 'index.html'}: snapshot {done.snapshot}, {done.held:,} of {done.documents:,} documents")
    if done.pending:
        note(f"left out of the map, as they wait for their vectors: {counted(done.pending, 'chunks')}")
    if done.held < done.documents:
        why = "--documents N holds more" if done.held == documents else "more characters are too many for a browser"
        note(f"left out the texts of {done.documents - done.held:,} documents: {why}")
