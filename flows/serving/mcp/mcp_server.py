"""MCP server: the stores as tools and resources of the Model Context Protocol."""

import asyncio
from importlib.metadata import version
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import Completion, CompletionArgument, CompletionContext, ToolAnnotations

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.audit import AuditLog
from docmill.flows.serving.bounds import cut
from docmill.flows.serving.guard import App, Guard
from docmill.flows.serving.mcp.mcp_tools import StoreTools
from docmill.flows.serving.open_stores import OpenStores
from docmill.storage.errors import DocmillError
from docmill.storage.process.asker import Asker, current_asker

if TYPE_CHECKING:
    from docmill.flows.serving.mcp.mcp_runs import RunTools

RESOURCE = "docmill://document/{+uri}{?store}"
_MOST_TEXT = 200_000
"""Characters of a resource: a client puts it into the context of its model whole."""
_MOST_COMPLETED = 100  # values of a completion, the limit of the protocol
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_JUDGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_NO_PATH = ResourceSecurity(exempt_params={"uri", "store"})
"""A uri is looked up in a table and never opened as a path, and a document may be called "..", for all we know."""
_INSTRUCTIONS = """\
docmill holds documents as searchable passages. Begin with `search`. Each hit names its document (`uri`) and its span in
the text; cite it by uri with page or line. To read more, call `get_chunk` for what stands around a hit, `get_outline`
and `get_section` for a part of a document, `get_document` for a span. `list_documents` and `sql` answer what a search
cannot: how many, which ones, the newest. Every answer names the snapshot of the store that it comes from.
Stores: {stores}."""


class _StrictServer(MCPServer):
    """A server that refuses arguments that a tool does not have: a model would take its misspelt filter for applied."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool by its name, with arguments that it has."""
        known = next(
            (one.input_schema.get("properties", {}) for one in await self.list_tools() if one.name == name), None
        )
        unknown = [] if known is None else [one for one in arguments if one not in known]
        if unknown:
            takes = ", ".join(known or ()) or "no arguments"
            raise ToolError(f"there is no {', '.join(unknown)} here; {name} takes {takes}")
        return await super().call_tool(name, arguments, context)


def mcp_server(
    stores: OpenStores,
    searching: Searching,
    runs: "RunTools | None" = None,
    audit: AuditLog | None = None,
    judging: bool = False,
) -> MCPServer:
    """Return a server over stores.

    `runs` adds tools that change a store, `judging` the tool `judge`, and `audit` notes who asked what.
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
    # The guard checks Host and Origin. The SDK would do so once more, and knows no names but those of loopback.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=unchecked)
    return Guard(app, access)


def _add_documents(server: MCPServer, tools: StoreTools) -> None:
    """Add the documents as resources, and the completion of their uris."""

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
