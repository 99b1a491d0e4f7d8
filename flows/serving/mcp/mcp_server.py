"""MCP server: offer stores as tools and resources of the Model Context Protocol.

`--allow-ingest` adds tools that update a store from its sources.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from importlib.metadata import version
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import Completion, CompletionArgument, CompletionContext, ToolAnnotations
from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from docmill.flows.prefect.run_on_engine import sources_of, start_run
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching, cut, left_out
from docmill.flows.serving.audit import AuditLog
from docmill.flows.serving.guard import App, Guard, error_of
from docmill.flows.serving.json_response import as_json
from docmill.flows.serving.mcp.mcp_tools import Answer, StoreTools, as_result
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.request_errors import in_words, shown
from docmill.storage.errors import DocmillError
from docmill.storage.process.cancellation import Asker, current_asker

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.runs.phases import Phase
    from docmill.flows.runs.report import Report
_PLANS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True)
_MOST_NAMED = 100
"""The most documents and problems that an answer names: a run may have thousands, and `sql` lists them all."""
Retry = Annotated[bool, Field(description="Try files again that were rejected before.")]
AllowDelete = Annotated[
    bool,
    Field(
        description="Allow a source to lose more documents than `max_delete_fraction`. Ask the user before you set it."
    ),
]


class RunTools:
    """The tools `plan` and `ingest`. They only read the sources in the settings: a model cannot name paths."""

    def __init__(self, settings: "Settings", name: str) -> None:
        self._settings = settings
        self._sources = sources_of(settings, ())
        self._name = name

    def add_to(self, server: MCPServer) -> None:
        """Add the tools to a server."""
        for tool, hints in ((self.plan, _PLANS), (self.ingest, _WRITES)):
            server.add_tool(tool, description=cleandoc(tool.__doc__ or ""), annotations=hints)

    async def plan(self, context: Context[Any, Any]) -> Answer:
        """Report what `ingest` would do: documents added, changed, moved and deleted, and the texts to embed.

        Changes nothing. It reads the sources that the server was started with.

        Example:
            {}
        """
        return await self._run(RunOptions(dry_run=True), context)

    async def ingest(
        self, context: Context[Any, Any], retry: Retry = False, allow_delete: AllowDelete = False
    ) -> Answer:
        """Bring the store up to date with its sources, and commit one snapshot if anything has changed.

        Only what is new is parsed and embedded. The next call of any tool answers from the new snapshot. `problems` are
        what a person should look at. Call `plan` first if you do not know how much there is to do.

        Examples:
            {}
            {"retry": true}
        """
        return await self._run(RunOptions(retry=retry, allow_delete=allow_delete), context)

    async def _run(self, options: RunOptions, context: Context[Any, Any]) -> Answer:
        tell = _progress(context)
        try:
            report = await asyncio.to_thread(start_run, self._settings, self._sources, options, tell)
        except DocmillError as error:
            raise ToolError(str(error)) from error
        return as_result({"store": self._name, **_told(report)})


def _told(report: "Report") -> dict[str, Any]:
    """Return a report with only as many document names as a model can use."""
    named = {"rechunked": list(report.rechunked), "problems": list(report.problems)}
    shown = {name: every[:_MOST_NAMED] for name, every in named.items()}
    left = sum(len(every) - len(shown[name]) for name, every in named.items())
    return {**report.as_json(), **shown, "left_out": left_out(left, "names", "SELECT uri, message FROM rejects")}


def _progress(context: Context[Any, Any]) -> "Callable[[Phase], None]":
    """Return a function that reports the progress of a run to the client, from the thread of the run."""
    loop = asyncio.get_running_loop()

    def tell(phase: "Phase") -> None:
        if phase.percent:  # clients expect the number to grow, and while sources are read it stays 0
            said = context.report_progress(phase.percent, 100, phase.name)
            asyncio.run_coroutine_threadsafe(said, loop)

    return tell


RESOURCE = "docmill://document/{+uri}{?store}"
_MOST_TEXT = 200_000
"""The most characters of a resource, because a client puts all of it into its model's context."""
_MOST_COMPLETED = 100  # values of a completion, the limit of the protocol
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_JUDGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_NO_PATH = ResourceSecurity(exempt_params={"uri", "store"})
"""A uri is only looked up in a table, never opened as a path, and a document may even be called ".."."""
_INSTRUCTIONS = """\
docmill holds documents as searchable passages. Begin with `search`. Each hit names its document (`uri`) and its span in
the text; cite it by uri with page or line. To read more, call `get_chunk` for what is around a hit, `get_outline`
and `get_section` for a part of a document, `get_document` for a span. `list_documents` and `sql` answer what a search
cannot: how many, which ones, the newest. Every answer names the snapshot of the store that it comes from.
Stores: {stores}."""


class _StrictServer(MCPServer):
    """A server that refuses unknown arguments; otherwise a model would believe that its misspelt filter was applied.

    Errors about wrong values are put into plain words.
    """

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool by name; raise `ToolError` for arguments that it does not have."""
        known = next(
            (one.input_schema.get("properties", {}) for one in await self.list_tools() if one.name == name), None
        )
        unknown = [] if known is None else [one for one in arguments if one not in known]
        if unknown:
            takes = ", ".join(known or ()) or "no arguments"
            raise ToolError(f"there is no {', '.join(unknown)} here; {name} takes {takes}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise _worded(error) from None


def _worded(error: ToolError) -> ToolError:
    """Return an error that explains a wrong value in plain words, if that was the cause; else the same error."""
    if not isinstance(error.__cause__, ValidationError):
        return error
    errors = error.__cause__.errors(include_url=False)
    return ToolError(in_words({**one, "loc": ("arguments", *one["loc"])} for one in errors))


def mcp_server(
    stores: OpenStores,
    searching: Searching,
    runs: "RunTools | None" = None,
    audit: AuditLog | None = None,
    judging: bool = False,
) -> MCPServer:
    """Return a server for stores.

    `runs` adds tools that change a store, and `judging` the tool `judge`. `audit` logs who asked what.
    """
    server: MCPServer = _StrictServer(
        "docmill",
        title="docmill",
        description="Search and read documents, with spans and snapshots in every answer.",
        instructions=_INSTRUCTIONS.format(stores=", ".join(stores.names)),
        version=version("docmill"),
        log_level="WARNING",
    )
    tools = StoreTools(stores, searching, audit)
    found = ", ".join(f"metadata.{key} ({kind})" for key, kind in stores.keys().items())
    keys = f"\n\nKeys of metadata for `where`: {found}." if found else ""
    for tool in (
        tools.search, tools.similar, tools.get_document, tools.get_outline, tools.get_section, tools.get_chunk,
        tools.get_figure, tools.list_documents, tools.facets, tools.sql, tools.status, tools.diff,
        tools.asked_queries, tools.replay,
    ):  # fmt: skip
        told = keys if "where" in tool.__annotations__ else ""
        server.add_tool(tool, description=cleandoc(tool.__doc__ or "") + told, annotations=_READS)
    if judging:
        server.add_tool(tools.judge, description=cleandoc(tools.judge.__doc__ or ""), annotations=_JUDGES)
    if runs is not None:
        runs.add_to(server)
    _add_documents(server, tools)
    return server


def mcp_http_app(server: MCPServer, access: Access) -> App:
    """Return the application that `docmill mcp --http` runs; it answers at /mcp."""
    # The guard checks Host and Origin. The SDK would check again, but only knows loopback names.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=unchecked)
    app.add_exception_handler(HTTPStatus.NOT_FOUND, _no_path)
    return Guard(app, access)


async def _no_path(request: Request, _: Exception) -> Response:
    message = f"there is no path {shown(request.url.path)}; MCP is at /mcp"
    return as_json(error_of("UsageError", message, HTTPStatus.NOT_FOUND), HTTPStatus.NOT_FOUND)


def _add_documents(server: MCPServer, tools: StoreTools) -> None:
    """Add documents as resources, with completion of their uris."""

    @server.resource(
        RESOURCE,
        name="document",
        title="Document",
        description="The text of a document as Markdown, by its uri, such as docmill://document/handbook/onboarding.md",
        mime_type="text/markdown",
        security=_NO_PATH,
    )
    def document(uri: str, store: str | None = None) -> str:
        asker = Asker(current_asker().client, tools.principals)
        try:
            text = tools.at(store).store.document(uri).text
        except DocmillError as error:
            tools.note("resource", asker, type(error).__name__)
            raise ResourceNotFoundError(tools.without_folders(str(error))) from error
        asker.show(1, [uri])
        tools.note("resource", asker)
        shown = cut(text, _MOST_TEXT)
        left = len(text) - len(shown)
        more = f"\n\n[{left} more characters: get_document with start_char {len(shown)}]\n" if left else ""
        return shown + more

    async def complete(_ref: Any, argument: CompletionArgument, context: CompletionContext | None) -> Completion | None:
        if argument.name != "uri":
            return None
        given = (context.arguments or {}) if context else {}
        found = await asyncio.to_thread(_uris, tools, argument.value, given.get("store"))
        return Completion(values=found[:_MOST_COMPLETED], has_more=len(found) > _MOST_COMPLETED)

    server.completion()(complete)  # type: ignore[no-untyped-call]


def _uris(tools: StoreTools, prefix: str, store: str | None) -> list[str]:
    rows = tools.at(store).store.documents(prefix=prefix, limit=_MOST_COMPLETED + 1)
    return [row.uri for row in rows]
