"""The page on the tools of `docmill mcp`, as a client sees them."""

import asyncio
from pathlib import Path
from typing import Any

from docmill.flows.config.settings import Settings
from tests.kit.making.reference.markdown import block, code, page, prose, table

HEAD = """\
The tools of [`docmill mcp`](../guides/mcp.md), with the texts that a language model reads. `plan` and `ingest` exist
only with `--allow-ingest`, `judge` only with `--allow-judging`. Each answer is one object: in `structuredContent`, and
as the same JSON in a text. It has `store` and `snapshot`; fields of hits, chunks, documents and snapshots are those of
[`--json`](json.md).

Documents are resources, too: `{resource}`."""


def made() -> str:
    """Return the page."""
    # Here, because each process of the tests imports this module, and `mcp` takes a second of CPU time.
    from docmill.flows.serving.answers import Searching
    from docmill.flows.serving.open_stores import OpenStores
    from docmill.flows.serving.protocol.mcp_runs import RunTools
    from docmill.flows.serving.protocol.mcp_server import RESOURCE, mcp_server

    runs = RunTools(Settings(sources=("docs",)), "store")
    tools = asyncio.run(
        mcp_server(OpenStores({"store": Path("store")}), Searching({}), runs, judging=True).list_tools()
    )
    return page("MCP", HEAD.format(resource=RESOURCE), *(_tool(tool) for tool in tools))


def _tool(tool: Any) -> str:
    rows = [
        (code(name), _type(one), _default(name, one, tool.input_schema), prose(one.get("description", "")))
        for name, one in tool.input_schema["properties"].items()
    ]
    arguments = table(("argument", "type", "default", "meaning"), rows)
    return "\n\n".join(filter(None, [f"## `{tool.name}`", block(tool.description), arguments]))


def _type(one: dict[str, Any]) -> str:
    """Return the type of an argument, with its values or bounds."""
    if "enum" in one:
        return ", ".join(map(code, one["enum"]))
    kinds = [each["type"] for each in one.get("anyOf", [one]) if each["type"] != "null"]
    bounds = f" from {one['minimum']:,}" if "minimum" in one else ""
    return " or ".join(kinds) + bounds + (f" to {one['maximum']:,}" if "maximum" in one else "")


def _default(name: str, one: dict[str, Any], schema: dict[str, Any]) -> str:
    if name in schema.get("required", ()):
        return "required"
    value = one.get("default")
    return "" if value in (None, "") else code(str(value).lower() if isinstance(value, bool) else value)
