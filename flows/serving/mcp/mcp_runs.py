"""MCP runs: the tools that `--allow-ingest` adds, which bring a store up to date with its sources."""

import asyncio
from collections.abc import Callable
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from docmill.flows.prefect.run_on_engine import sources_of, start_run
from docmill.flows.runs.run_options import RunOptions
from docmill.flows.serving.bounds import left_out
from docmill.flows.serving.mcp.mcp_tools import Answer, as_result
from docmill.storage.errors import DocmillError

if TYPE_CHECKING:
    from docmill.flows.config.settings import Settings
    from docmill.flows.runs.phases import Phase
    from docmill.flows.runs.report import Report

_PLANS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True)
_MOST_NAMED = 100
"""Documents and problems that an answer names: a run may have thousands, and `sql` tells of all."""
Retry = Annotated[bool, Field(description="Try files again that were rejected before.")]
AllowDelete = Annotated[
    bool,
    Field(
        description="Allow a source to lose more documents than `max_delete_fraction`. Ask the user before you set it."
    ),
]


class RunTools:
    """The tools `plan` and `ingest`. They read the sources of the settings and no others: a model names no paths."""

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
    """Return a report with as many names of documents as a model reads."""
    named = {"rechunked": list(report.rechunked), "problems": list(report.problems)}
    shown = {name: every[:_MOST_NAMED] for name, every in named.items()}
    left = sum(len(every) - len(shown[name]) for name, every in named.items())
    return {**report.as_json(), **shown, "left_out": left_out(left, "names", "SELECT uri, message FROM rejects")}


def _progress(context: Context[Any, Any]) -> "Callable[[Phase], None]":
    """Return a function that tells the client of the progress of a run, from the thread of the run."""
    loop = asyncio.get_running_loop()

    def tell(phase: "Phase") -> None:
        if phase.percent:  # a client wants the number to grow, and while sources are read it does not
            said = context.report_progress(phase.percent, 100, phase.name)
            asyncio.run_coroutine_threadsafe(said, loop)

    return tell
