"""The page on the tools of `docmill mcp`, as a client sees them."""

import asyncio
from pathlib import Path
from typing import Any

from docmill.flows.config.settings import Settings
from tests.kit.making.reference.markdown import code, codes, entries, page, prose

HEAD = """\
The tools of [`docmill mcp`](../guides/mcp.md), with their arguments, whose types and meanings a client gets. `plan` and
`ingest` exist only with `--allow-ingest`, `judge` only with `--allow-judging`. Each answer is one object: in
`structuredContent`, and as the same JSON in a text. It has `store` and `snapshot`; other fields are those of
[`--json`](json.md).

Arguments in square brackets are optional. Most tools also take {shared}: the name of the store, the number or tag of an
older snapshot, and the characters of the answer at most.

Documents are resources, too: `{resource}`."""
SHARED = ("store", "at", "max_characters")


def made() -> str:
    """Return the page."""
    # Here, because each process of the tests imports this module, and `mcp` takes a second of CPU time.
    from docmill.flows.serving.answers import Searching
    from docmill.flows.serving.mcp.mcp_server import RESOURCE, RunTools, mcp_server
    from docmill.flows.serving.open_stores import OpenStores

    runs = RunTools(Settings(sources=("docs",)), "store")
    tools = asyncio.run(
        mcp_server(OpenStores({"store": Path("store")}), Searching({}), runs, judging=True).list_tools()
    )
    return page("MCP", HEAD.format(resource=RESOURCE, shared=codes(SHARED)), entries(map(_tool, tools)))


def _tool(tool: Any) -> tuple[str, str, str]:
    first = prose(" ".join(tool.description.partition("\n\n")[0].split()))
    required = tool.input_schema.get("required", ())
    names = [name for name in tool.input_schema["properties"] if name not in SHARED]
    arguments = ", ".join(code(one) if one in required else f"[{code(one)}]" for one in names)
    return code(tool.name), arguments, first
